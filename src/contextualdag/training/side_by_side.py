"""Several fits at once: side by side in one captured graph on a GPU, one training after another elsewhere."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

import torch
from torch import nn

from contextualdag.projection import DAGProjection
from contextualdag.training.captured import CapturedTraining, can_capture
from contextualdag.training.path import Result, Steps
from contextualdag.training.trainer import Fit, NoProjection, Split, Training, TrainingSettings, train


class SideBySide:
    """Carries out the trainings of members: networks of one shape, each with data of one size of its own.

    Parameters
    ----------
    network, layer : nn.Module
        The shape of all members, on the device of the data; their weights and budgets are set anew for every training.
    splits : sequence of Split
        The data of each member.
    settings : TrainingSettings
        Of each training.
    """

    def __init__(
        self, network: nn.Module, layer: DAGProjection, splits: Sequence[Split], settings: TrainingSettings
    ) -> None:
        self._network, self._layer, self._splits, self._settings = network, layer, splits, settings
        self._captured: dict[bool, CapturedTraining] = {}

    def run(self, members: Sequence[Steps[Result]]) -> list[Result]:
        """Carry out all trainings that the members ask for, round by round, and return what they return."""
        results: dict[int, Result] = {}
        wanted: dict[int, Training] = {}

        def go_on(member: int, fit: Fit | None) -> None:
            try:
                wanted[member] = next(members[member]) if fit is None else members[member].send(fit)
            except StopIteration as end:
                results[member] = end.value

        for member in range(len(members)):
            go_on(member, None)
        while wanted:
            fits = self.train(wanted)
            wanted.clear()
            for member, fit in fits.items():
                go_on(member, fit)
        return [results[member] for member in range(len(members))]

    def train(self, wanted: Mapping[int, Training]) -> dict[int, Fit]:
        """Carry out one training for each of some members."""
        fits: dict[int, Fit] = {}
        for projected in (False, True):
            some = {member: training for member, training in wanted.items() if (training.l1_budget is not None) == projected}
            layer = self._layer if projected else NoProjection()
            if not some:
                continue
            if can_capture(layer, self._splits[0], self._settings):
                fits |= self._capture(projected, layer).run(some)
            else:
                fits |= {member: self._train_alone(member, layer, training) for member, training in some.items()}
        return dict(sorted(fits.items()))

    def _capture(self, projected: bool, layer: nn.Module) -> CapturedTraining:
        if projected not in self._captured:
            # Without the projection one capture serves pre-training, which may have no mask, and refits.
            splits = self._splits if projected else [_with_masks(split) for split in self._splits]
            self._captured[projected] = CapturedTraining(self._network, layer, splits, self._settings)
        return self._captured[projected]

    def _train_alone(self, member: int, layer: nn.Module, training: Training) -> Fit:
        split = replace(self._splits[member], mask=training.mask, mask_val=training.mask_val)
        self._network.load_state_dict(training.start)
        if training.l1_budget is not None:
            self._layer.l1_budget = training.l1_budget
        torch.manual_seed(training.seed)
        return train(self._network, layer, split, self._settings, progress=training.progress)


def _with_masks(split: Split) -> Split:
    if split.mask is not None:
        return split
    p = split.X.shape[1]
    mask, mask_val = (torch.ones(len(X), p, p, dtype=X.dtype, device=X.device) for X in (split.X, split.X_val))
    return replace(split, mask=mask, mask_val=mask_val)
