"""Training on a GPU as one captured graph an epoch, which the host replays and hardly looks at.

An epoch of a small network is a hundred short kernels, and launching them one by one takes longer than running them. The
epoch is therefore captured once and replayed. Early stopping happens on the device: the best weights so far, their losses
and whether training is done are tensors there. The host reads a copy of them a few epochs late, so a fit runs a few more
than it needs; they change nothing, because what is kept does not move once training is done.
"""

import torch
from torch import Tensor, nn

from contextualdag.projection import DAGProjection
from contextualdag.training.trainer import Fit, Loss, Progress, Split, TrainingSettings, diverged, residual_loss

LAG = 3  # epochs that the host may be ahead
WARM_UP = 3  # epochs before the capture, in which libraries allocate what they need


class CapturedTraining:
    """One network behind one layer on fixed data, ready to be trained many times: from other weights, with other masks.

    Parameters
    ----------
    network, layer : nn.Module
        On the device of the data. The network's weights are trained in place.
    split : Split
        The data. Masks are copied, and can be changed for each run.
    settings : TrainingSettings
        Without a batch size.
    loss_of : callable
        As in `train`.
    """

    def __init__(
        self, network: nn.Module, layer: nn.Module, split: Split, settings: TrainingSettings, loss_of: Loss = residual_loss
    ) -> None:
        self.network, self.layer, self.settings, self._loss_of = network, layer, settings, loss_of
        self._mask = None if split.mask is None else split.mask.clone()
        self._mask_val = None if split.mask_val is None else split.mask_val.clone()
        self._split = split
        self._parameters: list[Tensor] = [parameter for parameter in network.parameters() if parameter.requires_grad]
        self._best = [parameter.detach().clone() for parameter in self._parameters]
        self._optimiser = torch.optim.Adam(self._parameters, lr=settings.learning_rate, fused=True, capturable=True)
        device = split.X.device
        # epoch, best epoch, best training loss, best validation loss, training loss, validation loss, done, diverged
        self._numbers = torch.zeros(8, dtype=torch.float64, device=device)
        self._copies = [torch.zeros(8, dtype=torch.float64).pin_memory() for _ in range(LAG)]
        self._events = [torch.cuda.Event() for _ in range(LAG)]  # type: ignore[no-untyped-call]
        self._graph: torch.cuda.CUDAGraph | None = None

    def run(self, mask: Tensor | None = None, mask_val: Tensor | None = None, progress: Progress | None = None) -> Fit:
        """Train from the network's present weights, as `train` does, and leave the network at its best ones."""
        for ours, given in ((self._mask, mask), (self._mask_val, mask_val)):
            if ours is not None and given is not None:
                ours.copy_(given)
        if self._graph is None:
            self._capture()
        self._reset()
        seen = -1
        for epoch in range(self.settings.max_epochs):
            self._graph.replay()  # type: ignore[union-attr]
            slot = epoch % LAG
            self._copies[slot].copy_(self._numbers, non_blocking=True)
            self._events[slot].record()
            if epoch >= LAG - 1 and self._look(epoch - LAG + 1, progress):
                break
            seen = epoch - LAG + 1
        for epoch_left in range(max(seen + 1, 0), epoch + 1):
            if self._look(epoch_left, progress):
                break
        with torch.no_grad():
            torch._foreach_copy_(self._parameters, self._best)
        _, best_epoch, train_loss, validation_loss, *_ = self._numbers.tolist()
        state = {name: value.detach().clone() for name, value in self.network.state_dict().items()}
        return Fit(state, train_loss, validation_loss, int(best_epoch))

    def replay(self, epochs: int) -> None:
        """Run epochs without keeping anything, for timing; `run` must have been called before."""
        for _ in range(epochs):
            self._graph.replay()  # type: ignore[union-attr]

    def _look(self, epoch: int, progress: Progress | None) -> bool:
        """Wait for an epoch, tell of it, and return whether training is done."""
        slot = epoch % LAG
        self._events[slot].synchronize()
        _, _, _, _, train_loss, validation_loss, done, bad = self._copies[slot].tolist()
        if bad:
            raise diverged(validation_loss, epoch, self.settings)
        if progress is not None and not done:
            progress(epoch, train_loss, validation_loss)
        return bool(done)

    def _epoch(self) -> None:
        split = self._split
        self.network.train()
        self.layer.train()
        loss = self._loss_of(self.network, self.layer, split.X, split.Z, self._mask)
        self.network.eval()
        self.layer.eval()
        with torch.no_grad():
            validation_loss = self._loss_of(self.network, self.layer, split.X_val, split.Z_val, self._mask_val)
            self._note(loss.detach(), validation_loss)
        self._optimiser.zero_grad(set_to_none=True)
        torch.autograd.backward(loss)
        self._optimiser.step()

    def _note(self, train_loss: Tensor, validation_loss: Tensor) -> None:
        """Keep the weights if they are the best so far, and count."""
        numbers = self._numbers
        epoch, best_epoch, best_train, best_validation, _, _, done, bad = numbers.unbind()
        train_loss, validation_loss = train_loss.double(), validation_loss.double()
        improved = (validation_loss < best_validation) & (done == 0)
        for best, parameter in zip(self._best, self._parameters, strict=True):
            torch.where(improved, parameter, best, out=best)
        best_epoch = torch.where(improved, epoch, best_epoch)
        best_train = torch.where(improved, train_loss, best_train)
        best_validation = torch.where(improved, validation_loss, best_validation)
        bad = torch.where((done == 0) & ~(validation_loss < torch.inf), 1.0, bad)
        done = torch.where(epoch - best_epoch >= self.settings.patience, 1.0, done)
        numbers.copy_(
            torch.stack([epoch + 1, best_epoch, best_train, best_validation, train_loss, validation_loss, done, bad])
        )

    def _capture(self) -> None:
        before = [parameter.detach().clone() for parameter in self._parameters]
        generator_state = torch.cuda.get_rng_state(self._split.X.device)
        stream = torch.cuda.Stream()  # type: ignore[no-untyped-call]
        stream.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(stream):
            for _ in range(WARM_UP):
                self._epoch()
        torch.cuda.current_stream().wait_stream(stream)
        self._graph = torch.cuda.CUDAGraph()
        self._optimiser.zero_grad(set_to_none=True)
        with torch.cuda.graph(self._graph):
            self._epoch()
        torch.cuda.set_rng_state(generator_state, self._split.X.device)
        with torch.no_grad():
            torch._foreach_copy_(self._parameters, before)

    def _reset(self) -> None:
        torch._foreach_zero_([moment for state in self._optimiser.state.values() for moment in state.values()])
        self._numbers.copy_(torch.tensor([0.0, 0, torch.inf, torch.inf, 0, 0, 0, 0], dtype=torch.float64))
        with torch.no_grad():
            torch._foreach_copy_(self._best, self._parameters)


def can_capture(layer: nn.Module, split: Split, settings: TrainingSettings) -> bool:
    """Whether training can run as a captured graph: on CUDA, all samples at once, and the layer never asks the host."""
    device, (n, p) = split.X.device, split.X.shape
    if device.type != "cuda" or (settings.batch_size is not None and settings.batch_size < n):
        return False
    if isinstance(layer, DAGProjection):
        return layer.all_reduce is None and layer.acyclicity.stays_on_device(device, p)
    return True
