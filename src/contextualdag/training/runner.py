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
from collections.abc import Generator, Mapping, Sequence
from dataclasses import replace
from typing import TypeVar

import torch
from torch import nn

from contextualdag.network import ContextNetwork
from contextualdag.projection import DAGProjection
from contextualdag.projection.kernels import dispatch
from contextualdag.threads import Job, in_turns
from contextualdag.training.cuda_graph import GraphTrainer, can_capture
from contextualdag.training.data import Rows, Split
from contextualdag.training.pairs import few_pairs, layer_on_pairs
from contextualdag.training.trainer import (
    AutogradDescent,
    Descent,
    Fit,
    NoProjection,
    State,
    Training,
    TrainingSettings,
    descend,
)

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
        settings = self._settings.settling() if training.settles else self._settings
        settings = replace(settings, patience=training.patience * settings.patience)
        descent = _descent(network, layer, split, settings, generator)
        return (yield from descend(descent, settings, training.progress, training.keep_last))


def _descent(
    network: nn.Module, layer: nn.Module, split: Split, settings: TrainingSettings, generator: torch.Generator
) -> Descent:
    """Compiled steps where they can do it: on the CPU, behind a projection that takes pairs."""
    if isinstance(network, ContextNetwork) and dispatch.choose("auto", network.places.device, 0, "order") == "numba":
        from contextualdag.training.compiled_descent import CompiledDescent  # without numba it cannot be imported

        pairs = few_pairs(network, split.train.mask, split.held_out.mask)
        pairs = network.places if pairs is None else pairs
        own = layer_on_pairs(layer, pairs, network.n_nodes)
        if own is not None and len(pairs) > 0:
            return CompiledDescent(network, own, split, pairs, settings, generator)
    return AutogradDescent(network, layer, split, settings, generator=generator)


def _with_masks(split: Split) -> Split:
    return Split(_with_mask(split.train), _with_mask(split.held_out))


def _with_mask(rows: Rows) -> Rows:
    if rows.mask is not None:
        return rows
    (n, p), like = rows.X.shape, rows.X
    return replace(rows, mask=torch.ones(n, p, p, dtype=like.dtype, device=like.device))
