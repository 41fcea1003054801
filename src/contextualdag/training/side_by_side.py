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

    def run(self, paths: Sequence[Steps[Result]]) -> list[Result]:
        """Carry out all trainings that paths ask for, round by round, and return what they return.

        Every path has the same number of members, those of one path side by side in `splits`.
        """
        each = len(self._splits) // max(len(paths), 1)
        results: dict[int, Result] = {}
        wanted: dict[int, list[Training]] = {}

        def go_on(path: int, fits: list[Fit] | None) -> None:
            try:
                wanted[path] = next(paths[path]) if fits is None else paths[path].send(fits)
            except StopIteration as end:
                results[path] = end.value

        try:
            for path in range(len(paths)):
                go_on(path, None)
            while wanted:
                fits = self.train({path * each + k: one for path, some in wanted.items() for k, one in enumerate(some)})
                counts = {path: len(some) for path, some in wanted.items()}
                wanted.clear()
                for path, count in counts.items():
                    go_on(path, [fits[path * each + k] for k in range(count)])
        finally:
            for steps in paths:  # so that what they hold open, such as a progress bar, ends with an interruption
                steps.close()
        return [results[path] for path in range(len(paths))]

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
        patience = training.patience * self._settings.patience
        settings = replace(self._settings, patience=patience, keep_last=training.keep_last)
        return train(self._network, layer, split, settings, progress=training.progress)


def _with_masks(split: Split) -> Split:
    if split.mask is not None:
        return split
    p = split.X.shape[1]
    mask, mask_val = (torch.ones(len(X), p, p, dtype=X.dtype, device=X.device) for X in (split.X, split.X_val))
    return replace(split, mask=mask, mask_val=mask_val)
