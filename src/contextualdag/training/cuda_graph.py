"""Training on a GPU as one CUDA graph an epoch, which the host replays and hardly looks at.

An epoch of a small network is a hundred short kernels, and launching them one by one takes longer than running them. The
epoch is therefore captured once and replayed. Early stopping happens on the device: the best weights so far, their losses
and whether training is done are tensors there. The host reads a copy of them a few epochs late, so a fit runs a few more
than it needs; they change nothing, because what is kept does not change once training is done.

A graph trains several networks of one shape at once, each in a slot with data, weights, a budget and early stopping of its
own. Short kernels leave most of a GPU idle, so eight slots take little longer than one.
"""

import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.func import functional_call, vmap

from contextualdag.projection import DAGProjection
from contextualdag.training.data import Rows, Split, stack
from contextualdag.training.loss import errors, mean_error
from contextualdag.training.trainer import (
    Fit,
    Residuals,
    State,
    Training,
    TrainingSettings,
    divergence,
    graph_residuals,
)

LAG = 3  # epochs that the host may be ahead
WARM_UP = 3  # epochs before the capture, in which libraries allocate what they need


class Standing(NamedTuple):
    """Where early stopping stands: a tensor with one number for each network that is trained at once."""

    epoch: Tensor
    best_epoch: Tensor
    best_train: Tensor
    best_validation: Tensor
    train: Tensor
    validation: Tensor
    done: Tensor
    diverged: Tensor

    @classmethod
    def start(cls, active: Tensor) -> "Standing":
        """Before the first epoch; networks that are not active are done already."""
        zero = torch.zeros_like(active, dtype=torch.float64)
        never = torch.full_like(zero, torch.inf)
        return cls(zero, zero, never, never, zero, zero, (~active).double(), zero)

    def after(self, train: Tensor, validation: Tensor, patience: Tensor) -> tuple["Standing", Tensor]:
        """The standing after one more epoch, and which networks have improved on their best validation loss."""
        train, validation = train.double(), validation.double()
        running = self.done == 0
        improved = (validation < self.best_validation) & running
        best_epoch = torch.where(improved, self.epoch, self.best_epoch)
        following = Standing(
            epoch=self.epoch + 1,
            best_epoch=best_epoch,
            best_train=torch.where(improved, train, self.best_train),
            best_validation=torch.where(improved, validation, self.best_validation),
            train=train,
            validation=validation,
            done=torch.where(self.epoch - best_epoch >= patience, 1.0, self.done),
            diverged=torch.where(running & ~(validation < torch.inf), 1.0, self.diverged),
        )
        return following, improved


class GraphTrainer:
    """Slots with fixed data, whose networks can be trained many times: from other weights, with other budgets and masks.

    Parameters
    ----------
    network : nn.Module
        The shape of all networks; its weights are not used.
    layer : nn.Module
        A `DAGProjection`, whose acyclicity is used, or a layer without settings.
    splits : sequence of Split
        The data of each slot, all of one size, on one device.
    settings : TrainingSettings
        Settings without a batch size.
    residuals_of : callable
        As in `train`.
    """

    def __init__(
        self,
        network: nn.Module,
        layer: nn.Module,
        splits: Sequence[Split],
        settings: TrainingSettings,
        residuals_of: Residuals = graph_residuals,
    ) -> None:
        self.network, self.settings, self._residuals_of = network, settings, residuals_of
        self.n_slots = len(splits)
        self._rows = stack([split.train for split in splits])
        self._rows_val = stack([split.held_out for split in splits])
        self._device = self._rows.X.device
        self._layer = layer
        if isinstance(layer, DAGProjection):
            self._layer = DAGProjection([math.inf] * self.n_slots, layer.acyclicity).to(self._device)
        self._names = [name for name, _ in network.named_parameters()]
        self._parameters = [
            torch.zeros(self.n_slots, *parameter.shape, dtype=parameter.dtype, device=self._device, requires_grad=True)
            for parameter in network.parameters()
        ]
        self._kept = [parameter.detach().clone() for parameter in self._parameters]
        on_gpu = self._device.type == "cuda"
        self._optimiser = torch.optim.Adam(self._parameters, lr=settings.learning_rate, fused=True, capturable=on_gpu)
        self._patience = torch.ones(self.n_slots, dtype=torch.float64, device=self._device)
        self._keeps_last = torch.zeros(self.n_slots, dtype=torch.bool, device=self._device)
        # One tensor, so that a single copy brings all of it to the host.
        self._standing = torch.zeros(len(Standing._fields), self.n_slots, dtype=torch.float64, device=self._device)
        self._copies = [self._standing.cpu().pin_memory() if on_gpu else self._standing.clone() for _ in range(LAG)]
        self._events = [torch.cuda.Event() if on_gpu else None for _ in range(LAG)]  # type: ignore[no-untyped-call]
        self._graph: torch.cuda.CUDAGraph | None = None

    def run(self, trainings: Mapping[int, Training]) -> dict[int, Fit[State]]:
        """Carry out the trainings of some slots, as `train` does one; the other slots rest."""
        if self._graph is None and self._device.type == "cuda":
            self._capture()
        self._begin(trainings)
        torch.manual_seed(sum(training.seed for training in trainings.values()) % 2**63)
        seen = -1
        for epoch in range(self.settings.max_epochs):
            self.replay(1)
            place = epoch % LAG
            self._copies[place].copy_(self._standing, non_blocking=True)
            if (event := self._events[place]) is not None:
                event.record()
            if epoch >= LAG - 1 and self._is_done_after(epoch - LAG + 1, trainings):
                break
            seen = epoch - LAG + 1
        for epoch_left in range(max(seen + 1, 0), epoch + 1):
            if self._is_done_after(epoch_left, trainings):
                break
        reached = Standing(*self._standing.cpu())
        return {
            slot: Fit(
                {name: kept[slot].clone() for name, kept in zip(self._names, self._kept, strict=True)},
                float(reached.best_train[slot]),
                float(reached.best_validation[slot]),
                int(reached.best_epoch[slot]),
            )
            for slot in trainings
        }

    def replay(self, epochs: int) -> None:
        """Run epochs without reading the result."""
        for _ in range(epochs):
            if self._graph is None:
                self._epoch()
            else:
                self._graph.replay()

    def _is_done_after(self, epoch: int, trainings: Mapping[int, Training]) -> bool:
        """Wait for an epoch, report it, and return whether all trainings are done."""
        place = epoch % LAG
        if (event := self._events[place]) is not None:
            event.synchronize()
        now = Standing(*self._copies[place])
        for slot, training in trainings.items():
            if now.diverged[slot]:
                raise divergence(float(now.validation[slot]), epoch, self.settings)
            if training.progress is not None and not now.done[slot]:
                training.progress(epoch, float(now.train[slot]), float(now.validation[slot]))
        return all(bool(now.done[slot]) for slot in trainings)

    def _losses(self, rows: Rows) -> Tensor:
        """One loss for each slot."""
        if self.n_slots == 1:
            weights = {name: value.squeeze(0) for name, value in zip(self._names, self._parameters, strict=True)}
            output = functional_call(self.network, weights, (rows.Z.squeeze(0),))
        else:
            weights = dict(zip(self._names, self._parameters, strict=True))
            output = vmap(self._output, randomness="different")(weights, rows.Z).flatten(0, 1)
        residuals = self._residuals_of(output, self._layer, rows.flatten())
        return mean_error(errors(residuals.view_as(rows.X)), rows)

    def _output(self, weights: State, Z: Tensor) -> Tensor:
        output: Tensor = functional_call(self.network, weights, (Z,))
        return output

    def _epoch(self) -> None:
        self.network.train()
        self._layer.train()
        losses = self._losses(self._rows)
        self.network.eval()
        self._layer.eval()
        with torch.no_grad():
            self._keep_the_best(losses.detach(), self._losses(self._rows_val))
        self._optimiser.zero_grad(set_to_none=True)
        torch.autograd.backward(losses.sum())
        self._optimiser.step()

    def _keep_the_best(self, train: Tensor, validation: Tensor) -> None:
        """Keep the weights of slots that have improved, or keep their last weights, and update the standing."""
        standing = Standing(*self._standing.unbind())
        following, improved = standing.after(train, validation, self._patience)
        to_keep = improved | (self._keeps_last & (standing.done == 0))
        for kept, parameter in zip(self._kept, self._parameters, strict=True):
            torch.where(to_keep.view(-1, *[1] * (kept.ndim - 1)), parameter, kept, out=kept)
        self._standing.copy_(torch.stack(following))

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
    def _begin(self, trainings: Mapping[int, Training]) -> None:
        """Set weights, budgets, masks and the standing. A slot that rests keeps its weights."""
        for state in self._optimiser.state.values():
            torch._foreach_zero_(list(state.values()))
        torch._foreach_copy_(self._parameters, self._kept)
        budgets, patience = [0.0] * self.n_slots, [1.0] * self.n_slots
        for slot, training in trainings.items():
            for name, parameter in zip(self._names, self._parameters, strict=True):
                parameter[slot].copy_(training.start[name])
            for ours, given in ((self._rows.mask, training.mask), (self._rows_val.mask, training.mask_val)):
                if ours is not None:
                    ours[slot].copy_(given) if given is not None else ours[slot].fill_(1)
            budgets[slot] = math.inf if training.l1_budget is None else training.l1_budget
            patience[slot] = float(training.patience * self.settings.patience)
        if isinstance(self._layer, DAGProjection):
            self._layer.l1_budget = budgets
        torch._foreach_copy_(self._kept, self._parameters)
        self._patience.copy_(torch.tensor(patience, dtype=torch.float64))
        slots = range(self.n_slots)
        self._keeps_last.copy_(torch.tensor([slot in trainings and trainings[slot].keep_last for slot in slots]))
        self._standing.copy_(torch.stack(Standing.start(torch.tensor([slot in trainings for slot in slots]))))


def can_capture(layer: nn.Module, split: Split, settings: TrainingSettings) -> bool:
    """Whether training can run as a CUDA graph: on CUDA, all samples at once, and the layer never asks the host."""
    X = split.train.X
    if X.device.type != "cuda" or (isinstance(settings.batch_size, int) and settings.batch_size < len(X)):
        return False
    if isinstance(layer, DAGProjection):
        return layer.all_reduce is None and layer.acyclicity.stays_on_device(X.device, X.shape[1])
    return True
