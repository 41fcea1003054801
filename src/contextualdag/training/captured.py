"""Training on a GPU as one captured graph an epoch, which the host replays and hardly looks at.

An epoch of a small network is a hundred short kernels, and launching them one by one takes longer than running them. The
epoch is therefore captured once and replayed. Early stopping happens on the device: the best weights so far, their losses
and whether training is done are tensors there. The host reads a copy of them a few epochs late, so a fit runs a few more
than it needs; they change nothing, because what is kept does not move once training is done.

A graph holds several networks of one shape, the members, each with data, weights, a budget and early stopping of its own.
Short kernels leave most of a GPU idle, so eight members take little longer than one.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.func import functional_call, vmap

from contextualdag.projection import DAGProjection
from contextualdag.training.trainer import Errors, Fit, Split, State, Training, TrainingSettings, diverged, residual_errors

LAG = 3  # epochs that the host may be ahead
WARM_UP = 3  # epochs before the capture, in which libraries allocate what they need


class _Numbers(NamedTuple):
    """Where each member stands, one number for each."""

    epoch: Tensor
    best_epoch: Tensor
    best_train: Tensor
    best_validation: Tensor
    train: Tensor
    validation: Tensor
    done: Tensor
    diverged: Tensor


class CapturedTraining:
    """Members on fixed data, ready to be trained many times: from other weights, with other budgets and masks.

    Parameters
    ----------
    network : nn.Module
        The shape of all members; its weights are not used.
    layer : nn.Module
        A `DAGProjection`, whose acyclicity is used, or a layer without settings.
    splits : sequence of Split
        The data of each member, all of one size, on one device.
    settings : TrainingSettings
        Without a batch size.
    errors_of : callable
        As in `train`.
    """

    def __init__(
        self,
        network: nn.Module,
        layer: nn.Module,
        splits: Sequence[Split],
        settings: TrainingSettings,
        errors_of: Errors = residual_errors,
    ) -> None:
        self.network, self.settings, self._errors_of = network, settings, errors_of
        self.n_members = len(splits)
        self._split = _side_by_side(splits)
        self._device = self._split.X.device
        self._layer = layer
        if isinstance(layer, DAGProjection):
            self._layer = DAGProjection([math.inf] * self.n_members, layer.acyclicity).to(self._device)
        self._names = [name for name, _ in network.named_parameters()]
        self._parameters = [
            torch.zeros(self.n_members, *parameter.shape, dtype=parameter.dtype, device=self._device, requires_grad=True)
            for parameter in network.parameters()
        ]
        self._best = [parameter.detach().clone() for parameter in self._parameters]
        on_gpu = self._device.type == "cuda"
        self._optimiser = torch.optim.Adam(self._parameters, lr=settings.learning_rate, fused=True, capturable=on_gpu)
        self._patience = torch.ones(self.n_members, dtype=torch.float64, device=self._device)
        self._keeps_last = torch.zeros(self.n_members, dtype=torch.bool, device=self._device)
        self._numbers = torch.zeros(len(_Numbers._fields), self.n_members, dtype=torch.float64, device=self._device)
        self._copies = [self._numbers.cpu().pin_memory() if on_gpu else self._numbers.clone() for _ in range(LAG)]
        self._events = [torch.cuda.Event() if on_gpu else None for _ in range(LAG)]  # type: ignore[no-untyped-call]
        self._graph: torch.cuda.CUDAGraph | None = None

    def run(self, wanted: Mapping[int, Training]) -> dict[int, Fit]:
        """Carry out the trainings of some members, as `train` does one; the other members rest."""
        if self._graph is None and self._device.type == "cuda":
            self._capture()
        self._begin(wanted)
        torch.manual_seed(sum(training.seed for training in wanted.values()) % 2**63)
        seen = -1
        for epoch in range(self.settings.max_epochs):
            self.replay(1)
            slot = epoch % LAG
            self._copies[slot].copy_(self._numbers, non_blocking=True)
            if (event := self._events[slot]) is not None:
                event.record()
            if epoch >= LAG - 1 and self._look(epoch - LAG + 1, wanted):
                break
            seen = epoch - LAG + 1
        for epoch_left in range(max(seen + 1, 0), epoch + 1):
            if self._look(epoch_left, wanted):
                break
        reached = _Numbers(*self._numbers.cpu())
        return {
            member: Fit(
                {name: best[member].clone() for name, best in zip(self._names, self._best, strict=True)},
                float(reached.best_train[member]),
                float(reached.best_validation[member]),
                int(reached.best_epoch[member]),
            )
            for member in wanted
        }

    def replay(self, epochs: int) -> None:
        """Run epochs without a look at the result."""
        for _ in range(epochs):
            if self._graph is None:
                self._epoch()
            else:
                self._graph.replay()

    def _look(self, epoch: int, wanted: Mapping[int, Training]) -> bool:
        """Wait for an epoch, tell of it, and return whether training is done."""
        slot = epoch % LAG
        if (event := self._events[slot]) is not None:
            event.synchronize()
        now = _Numbers(*self._copies[slot])
        for member, training in wanted.items():
            if now.diverged[member]:
                raise diverged(float(now.validation[member]), epoch, self.settings)
            if training.progress is not None and not now.done[member]:
                training.progress(epoch, float(now.train[member]), float(now.validation[member]))
        return all(bool(now.done[member]) for member in wanted)

    def _losses(self, X: Tensor, Z: Tensor, mask: Tensor | None) -> Tensor:
        """One loss for each member."""
        if self.n_members == 1:
            weights = {name: value.squeeze(0) for name, value in zip(self._names, self._parameters, strict=True)}
            said = functional_call(self.network, weights, (Z.squeeze(0),))
        else:
            weights = dict(zip(self._names, self._parameters, strict=True))
            said = vmap(self._say, randomness="different")(weights, Z).flatten(0, 1)
        flat_mask = None if mask is None else mask.flatten(0, 1)
        errors = self._errors_of(said, self._layer, X.flatten(0, 1), flat_mask)
        return errors.view(self.n_members, -1).mean(1)

    def _say(self, weights: State, Z: Tensor) -> Tensor:
        said: Tensor = functional_call(self.network, weights, (Z,))
        return said

    def _epoch(self) -> None:
        split = self._split
        self.network.train()
        self._layer.train()
        losses = self._losses(split.X, split.Z, split.mask)
        self.network.eval()
        self._layer.eval()
        with torch.no_grad():
            self._note(losses.detach(), self._losses(split.X_val, split.Z_val, split.mask_val))
        self._optimiser.zero_grad(set_to_none=True)
        torch.autograd.backward(losses.sum())
        self._optimiser.step()

    def _note(self, train: Tensor, validation: Tensor) -> None:
        """Keep the weights of members that are better than ever, or want their last ones, and count."""
        last = _Numbers(*self._numbers.unbind())
        train, validation = train.double(), validation.double()
        improved = (validation < last.best_validation) & (last.done == 0)
        kept = improved | (self._keeps_last & (last.done == 0))
        for best, parameter in zip(self._best, self._parameters, strict=True):
            torch.where(kept.view(-1, *[1] * (best.ndim - 1)), parameter, best, out=best)
        best_epoch = torch.where(improved, last.epoch, last.best_epoch)
        now = _Numbers(
            epoch=last.epoch + 1,
            best_epoch=best_epoch,
            best_train=torch.where(improved, train, last.best_train),
            best_validation=torch.where(improved, validation, last.best_validation),
            train=train,
            validation=validation,
            done=torch.where(last.epoch - best_epoch >= self._patience, 1.0, last.done),
            diverged=torch.where((last.done == 0) & ~(validation < torch.inf), 1.0, last.diverged),
        )
        self._numbers.copy_(torch.stack(now))

    def _capture(self) -> None:
        generator_state = torch.cuda.get_rng_state(self._device)
        stream = torch.cuda.Stream()  # type: ignore[no-untyped-call]
        stream.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(stream):
            for _ in range(WARM_UP):
                self._epoch()
        torch.cuda.current_stream().wait_stream(stream)
        graph = torch.cuda.CUDAGraph()
        self._optimiser.zero_grad(set_to_none=True)
        with torch.cuda.graph(graph):
            self._epoch()
        torch.cuda.set_rng_state(generator_state, self._device)
        self._graph = graph

    @torch.no_grad()
    def _begin(self, wanted: Mapping[int, Training]) -> None:
        """Set weights, budgets, masks and numbers. A member that rests keeps its weights, and is done from the start."""
        for state in self._optimiser.state.values():
            torch._foreach_zero_(list(state.values()))
        torch._foreach_copy_(self._parameters, self._best)
        numbers = torch.tensor([0.0, 0, torch.inf, torch.inf, 0, 0, 1, 0], dtype=torch.float64)[:, None]
        numbers = numbers.repeat(1, self.n_members)
        budgets, patience = [0.0] * self.n_members, [1.0] * self.n_members
        for member, training in wanted.items():
            for name, parameter in zip(self._names, self._parameters, strict=True):
                parameter[member].copy_(training.start[name])
            for ours, given in ((self._split.mask, training.mask), (self._split.mask_val, training.mask_val)):
                if ours is not None:
                    ours[member].copy_(given) if given is not None else ours[member].fill_(1)
            budgets[member] = math.inf if training.l1_budget is None else training.l1_budget
            patience[member] = float(training.patience * self.settings.patience)
            numbers[_Numbers._fields.index("done"), member] = 0
        if isinstance(self._layer, DAGProjection):
            self._layer.l1_budget = budgets
        torch._foreach_copy_(self._best, self._parameters)
        self._patience.copy_(torch.tensor(patience, dtype=torch.float64))
        self._keeps_last.copy_(
            torch.tensor([member in wanted and wanted[member].keep_last for member in range(self.n_members)])
        )
        self._numbers.copy_(numbers)


def can_capture(layer: nn.Module, split: Split, settings: TrainingSettings) -> bool:
    """Whether training can run as a captured graph: on CUDA, all samples at once, and the layer never asks the host."""
    device, (n, p) = split.X.device, split.X.shape
    if device.type != "cuda" or (settings.batch_size is not None and settings.batch_size < n):
        return False
    if isinstance(layer, DAGProjection):
        return layer.all_reduce is None and layer.acyclicity.stays_on_device(device, p)
    return True


def _side_by_side(splits: Sequence[Split]) -> Split:
    """All data in one, with the member as the first dimension."""
    first = splits[0]
    joined = {name: torch.stack([getattr(split, name) for split in splits]) for name in ("X", "Z", "X_val", "Z_val")}
    if first.mask is not None and first.mask_val is not None:
        joined |= {name: torch.stack([getattr(split, name) for split in splits]) for name in ("mask", "mask_val")}
    return replace(first, **joined)
