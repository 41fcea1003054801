"""Trainings that run side by side: how they are asked for, and who carries them out.

The protocol. A step of the recipe that needs trained networks is a generator. It never trains: it yields a list of
`Training`, one for each member of its ensemble, is sent the list of `Fit` that came of them, and returns its result:

    def step(...) -> Steps[Result]:
        fits = yield [Training(...), Training(...)]
        return Result(fits)

So that several models can be fitted at once, a `Runner` drives their generators round by round: it collects what all of them
ask for, carries it out, and sends the outcome back. On a GPU the trainings of one round run side by side in one CUDA graph,
elsewhere on one thread each. A single fit is the case of one generator.
"""

import copy
from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import TypeVar

import torch
from torch import Tensor, nn

from contextualdag.network import ContextNetwork, PairNetwork
from contextualdag.projection import DAGProjection
from contextualdag.threads import Job, in_turns
from contextualdag.training.cuda_graph import GraphTrainer, can_capture
from contextualdag.training.data import Rows, Split
from contextualdag.training.loss import pair_residuals
from contextualdag.training.pairs import few_pairs, layer_on_pairs
from contextualdag.training.trainer import Fit, NoProjection, State, Training, TrainingSettings, copy_state, train_by_epoch

Result = TypeVar("Result")
Steps = Generator[list[Training], list[Fit[State]], Result]


class Runner:
    """Carries out trainings of networks of one shape, each in a slot with data of its own.

    Data are all of one size if trainings are to run in one CUDA graph; otherwise there is one after another on a GPU.

    Parameters
    ----------
    network, layer : nn.Module
        The shape of all networks and the projection behind them, on the device of the data. Their weights and budgets are
        set anew for every training.
    splits : sequence of Split
        The data of each slot.
    settings : TrainingSettings
        Settings of every training.
    """

    def __init__(
        self, network: nn.Module, layer: DAGProjection, splits: Sequence[Split], settings: TrainingSettings
    ) -> None:
        self._network, self._layer, self._splits, self._settings = network, layer, splits, settings
        self._graph_trainers: dict[bool, GraphTrainer] = {}
        # Groups of rows may have made them differ in size, and then they cannot be stacked.
        self._alike = len({(len(split.train), len(split.held_out)) for split in splits}) == 1

    def run(self, models: Sequence[Steps[Result]]) -> list[Result]:
        """Drive the generators of several models to their end and return their results.

        Every model has equally many members, whose slots are next to each other.
        """
        n_members = len(self._splits) // max(len(models), 1)
        results: dict[int, Result] = {}
        wanted: dict[int, list[Training]] = {}

        def advance(model: int, fits: list[Fit[State]] | None) -> None:
            try:
                wanted[model] = next(models[model]) if fits is None else models[model].send(fits)
            except StopIteration as end:
                results[model] = end.value

        try:
            for model in range(len(models)):
                advance(model, None)
            while wanted:
                fits = self.train({m * n_members + k: one for m, some in wanted.items() for k, one in enumerate(some)})
                counts = {model: len(some) for model, some in wanted.items()}
                wanted.clear()
                for model, count in counts.items():
                    advance(model, [fits[model * n_members + k] for k in range(count)])
        finally:
            for steps in models:  # so that what they hold open, such as a progress bar, is closed after an interruption
                steps.close()
        return [results[model] for model in range(len(models))]

    def train(self, trainings: Mapping[int, Training]) -> dict[int, Fit[State]]:
        """Carry out one training for each of some slots."""
        fits: dict[int, Fit[State]] = {}
        for projected in (False, True):
            some = {slot: training for slot, training in trainings.items() if (training.l1_budget is not None) == projected}
            layer = self._layer if projected else NoProjection()
            if not some:
                continue
            if self._alike and can_capture(layer, self._splits[0], self._settings):
                fits |= self._graph_trainer(projected, layer).run(some)
            else:
                fits |= self._train_each(layer, some)
        return dict(sorted(fits.items()))

    def _graph_trainer(self, projected: bool, layer: nn.Module) -> GraphTrainer:
        if projected not in self._graph_trainers:
            # Without the projection one CUDA graph serves pre-training, which may have no mask, and refits.
            splits = self._splits if projected else [_with_masks(split) for split in self._splits]
            self._graph_trainers[projected] = GraphTrainer(self._network, layer, splits, self._settings)
        return self._graph_trainers[projected]

    def _train_each(self, layer: nn.Module, trainings: Mapping[int, Training]) -> dict[int, Fit[State]]:
        """Carry out trainings in turns on the threads of the CPU; one after another on other devices, which they fill."""
        jobs = [self._train_alone(slot, layer, training) for slot, training in trainings.items()]
        on_cpu = self._splits[0].train.X.device.type == "cpu"
        fits = in_turns(jobs) if on_cpu else [fit for job in jobs for fit in in_turns([job])]
        return dict(zip(trainings, fits, strict=True))

    def _train_alone(self, slot: int, layer: nn.Module, training: Training) -> Job[Fit[State]]:
        """Carry out one training with a network, a layer and random numbers of its own: others may run at the same time."""
        split = self._splits[slot]
        split = Split(replace(split.train, mask=training.mask), replace(split.held_out, mask=training.mask_val))
        network, layer = copy.deepcopy(self._network), copy.deepcopy(layer)
        network.load_state_dict(training.start)
        if isinstance(layer, DAGProjection) and training.l1_budget is not None:
            layer.l1_budget = training.l1_budget
        generator = torch.Generator().manual_seed(training.seed)
        on_cpu = split.train.X.device.type == "cpu"
        if not on_cpu:
            torch.manual_seed(training.seed)  # dropout elsewhere has no generator of its own
        settings = replace(self._settings, patience=training.patience * self._settings.patience)
        go_on = partial(
            train_by_epoch, settings=settings, progress=training.progress, keep_last=training.keep_last, generator=generator
        )
        if isinstance(network, ContextNetwork):
            pairs = few_pairs(network, split.train.mask, split.held_out.mask)
            if pairs is not None and (own := layer_on_pairs(layer, pairs, network.n_nodes)) is not None:
                return (yield from _train_pairs(network, own, pairs, split, go_on))
        return (yield from go_on(network, layer, split))


def _train_pairs(
    network: ContextNetwork, layer: nn.Module, pairs: Tensor, split: Split, go_on: Callable[..., Job[Fit[State]]]
) -> Job[Fit[State]]:
    """Train some entries of the matrices and set the others aside: they are zero and have no gradient."""
    live = PairNetwork(network, pairs)

    def residuals_of(weights: Tensor, layer: nn.Module, rows: Rows) -> Tensor:
        return pair_residuals(rows.X, layer(weights, rows.mask), pairs)

    def masked(rows: Rows) -> Rows:
        return rows if rows.mask is None else replace(rows, mask=rows.mask.flatten(1)[:, pairs])

    fit = yield from go_on(live, layer, Split(masked(split.train), masked(split.held_out)), residuals_of=residuals_of)
    live.load_state_dict(fit.learned)
    live.merge_into(network)
    return replace(fit, learned=copy_state(network))


def _with_masks(split: Split) -> Split:
    return Split(_with_mask(split.train), _with_mask(split.held_out))


def _with_mask(rows: Rows) -> Rows:
    if rows.mask is not None:
        return rows
    (n, p), like = rows.X.shape, rows.X
    return replace(rows, mask=torch.ones(n, p, p, dtype=like.dtype, device=like.device))
