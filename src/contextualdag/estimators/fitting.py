"""From the user's tables to a fitted model: tables are read and scaled, the recipe is run, what it learned is kept."""

import contextlib
import os
import secrets
import warnings
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from contextualdag.checks import find_device, listed
from contextualdag.contexts import ContextEncoder, ContextSummary
from contextualdag.errors import InvalidInputError, InvalidParameterError
from contextualdag.estimators.progress import FitProgress
from contextualdag.network import MeanNetwork
from contextualdag.tables import Array, Flags, check_same_samples, read_columns, read_variables
from contextualdag.training.checkpoint import Checkpoint
from contextualdag.training.data import Rows, Split
from contextualdag.training.noise import EQUAL
from contextualdag.training.outliers import OUTLIER
from contextualdag.training.problem import NetworkSettings, Outcome, Problem
from contextualdag.training.recipe import learn

if TYPE_CHECKING:
    from contextualdag.estimators.base import GraphEstimator

Indices = NDArray[np.int64]
EXACT = 1e-9  # share of the variance of a column below which others determine it
NO_INFLUENCE = ("device", "verbose")  # parameters that do not change what is learned


def fit_together(models: Sequence["GraphEstimator"], tables: Sequence[Mapping[str, Any]]) -> None:
    """Fit several models, each to data of its own, as their `fit` would.

    Networks of models whose data and networks have the same sizes are trained side by side: on a GPU that takes little
    longer than one of them alone, on the CPU each has one thread.

    Parameters
    ----------
    models : sequence of estimators
        The models to fit. If one fails, none is changed.
    tables : sequence of dict
        Arguments of each model's `fit`: ``{"X": X, "Z": Z}`` at least.

    Examples
    --------
    >>> from contextualdag import ContextualDAG
    >>> from contextualdag.datasets import make_varying_dag
    >>> from contextualdag.estimators import fit_together
    >>> models = [ContextualDAG(hidden_layers=(32,), random_state=seed) for seed in range(2)]
    >>> data = [make_varying_dag(200, n_nodes=3, n_edges=2, random_state=seed) for seed in range(2)]
    >>> fit_together(models, [{"X": one.X, "Z": one.Z} for one in data])
    >>> [model.adjacency(one.Z).shape for model, one in zip(models, data)]
    [(200, 3, 3), (200, 3, 3)]
    """
    if len(models) != len(tables):
        raise InvalidInputError(f"Every model needs a dict of tables. Got {len(models)} models and {len(tables)} dicts.")
    for model in models:
        if not hasattr(model, "_settings"):
            raise InvalidInputError(f"fit_together takes estimators of contextualdag. Got {model!r}.")
    prepared: list[_Prepared] = []
    alike: dict[object, list[int]] = {}
    for index, (model, given) in enumerate(zip(models, tables, strict=True)):
        _check_names(model, given)
        prepared.append(_prepare(model, Tables(**given)))
        alike.setdefault(prepared[index].problem.shape, []).append(index)
    outcomes: dict[int, Outcome] = {}
    for group in alike.values():
        # A terminal holds one progress bar.
        with _progress(models[group[0]]) as progress, _own_random_numbers(prepared[group[0]].scaling.device):
            problems = [prepared[index].problem for index in group]
            problems[0] = replace(problems[0], observer=progress)
            outcomes |= dict(zip(group, learn(problems), strict=True))
    for index, model in enumerate(models):
        _keep(model, prepared[index], outcomes[index])


@dataclass(frozen=True)
class Tables:
    """The arguments of `fit`."""

    X: Any
    Z: Any = None
    X_val: Any = None
    Z_val: Any = None
    mask: Any = None
    mask_val: Any = None
    checkpoint: str | os.PathLike[str] | None = None


@dataclass(frozen=True)
class Scaling:
    """From numbers in the user's units to those that networks see, and back.

    Contexts and variables are scaled column by column to mean zero and standard deviation one. Graphs are learned from
    variables divided by the scales of their noise; `unit` is what a variable in the user's units is divided by for that, up
    to a common factor.
    """

    z_mean: Array
    z_scale: Array
    x_mean: Array
    x_scale: Array
    unit: Array
    device: torch.device

    @classmethod
    def learn(cls, X: Array, Z: Array, varies: Flags, centre: bool, device: torch.device) -> "Scaling":
        """From training data; columns of X that are not in `varies` are not scaled. The unit is that of equal noise."""
        z_scale = Z.std(0)
        z_scale[z_scale == 0] = 1
        x_mean = X.mean(0) if centre else np.zeros(X.shape[1])
        variances = ((X - x_mean) ** 2).mean(0)
        x_scale = np.where(varies, np.sqrt(variances), 1.0)
        return cls(Z.mean(0), z_scale, x_mean, x_scale, np.full(X.shape[1], np.sqrt(variances[varies].mean())), device)

    def weights(self, W: Array) -> Array:
        """Weights (n, p, p) in the user's units."""
        scaled: Array = W * (self.unit / self.unit[:, None])
        return scaled

    def contexts(self, Z: Array) -> Tensor:
        """Contexts for the networks."""
        return self.tensor((Z - self.z_mean) / self.z_scale)

    def variables(self, X: Array) -> Tensor:
        """Variables for the networks."""
        return self.tensor((X - self.x_mean) / self.x_scale)

    def means(self, Z: Array, network: MeanNetwork | None) -> Array:
        """Means (n, p) of the variables in the user's units."""
        means = np.broadcast_to(self.x_mean, (len(Z), len(self.x_mean)))
        if network is None:
            return means
        shifted: Array = means + self.x_scale * network(self.contexts(Z)).double().cpu().numpy()
        return shifted

    def tensor(self, values: Array) -> Tensor:
        """An array on the device of the networks."""
        return torch.tensor(values, dtype=torch.float32, device=self.device)


@dataclass(frozen=True)
class Preparation:
    """How a fitted model reads tables: names of variables, contextual features, scaling, and the mean given the context."""

    names: tuple[str, ...]
    contexts: ContextSummary
    scaling: Scaling
    mean_network: MeanNetwork | None


@dataclass(frozen=True)
class _Prepared:
    """What a fit begins with: the problem, and the training rows in the user's units."""

    problem: Problem
    names: list[str]
    contexts: ContextSummary
    scaling: Scaling
    n_samples: int
    X: Array
    Z: Array
    mask: Array | None
    train_rows: Indices  # rows of the table that was given
    held_out_rows: Indices | None  # None for a validation set of its own


def _prepare(model: "GraphEstimator", tables: Tables) -> _Prepared:
    """Read and check parameters and tables: all that comes before anything is trained."""
    model._check_parameters()
    tables = model._check_tables(tables)
    device = find_device(model.device)
    checkpoint, entropy = None, model.random_state
    if tables.checkpoint is not None:
        parameters = {name: value for name, value in model.get_params(deep=False).items() if name not in NO_INFLUENCE}
        checkpoint = Checkpoint(tables.checkpoint, parameters, entropy)
        entropy = checkpoint.seed
    rng = np.random.default_rng(secrets.randbits(63) if entropy is None else entropy)

    X, names = read_variables(tables.X)
    encoder = ContextEncoder((), ()) if tables.Z is None else ContextEncoder.learn(tables.Z)
    Z = encoder.encode(X if tables.Z is None else tables.Z)
    check_same_samples(X, Z)
    _check_n_edges(model, len(names))
    all_contexts = Z
    mask, mask_val = tables.mask, tables.mask_val
    if (tables.X_val is None) != (tables.Z_val is None) and tables.Z is not None:
        raise InvalidInputError("X_val and Z_val belong together: pass both or neither.")
    train: Indices = np.arange(len(X))
    held_out: Indices | None = None
    if tables.X_val is None:
        train, held_out = _hold_out(len(X), model.validation_fraction, rng)
        X_val, Z_val = X[held_out], Z[held_out]
        X, Z = X[train], Z[train]
        mask, mask_val = (None, None) if mask is None else (mask[train], mask[held_out])
    else:
        X_val = read_columns(tables.X_val, names, "X_val", type(model).__name__)
        Z_val = encoder.encode(X_val if tables.Z is None else tables.Z_val)
        check_same_samples(X_val, Z_val)
        if len(X) < 2 or len(X_val) < 1:
            raise InvalidInputError(f"X needs two rows and X_val one at least. Got {len(X)} and {len(X_val)}.")

    contexts = ContextSummary.learn(encoder, all_contexts)
    varies = _varying_columns(X, names)
    _warn_of_functions(X, varies, names)
    scaling = Scaling.learn(X, Z, varies, centre=model.intercept != "none", device=device)

    def rows(X: Array, Z: Array, mask: Array | None) -> Rows:
        return Rows(scaling.variables(X), scaling.contexts(Z), None if mask is None else scaling.tensor(mask))

    problem = Problem(
        split=Split(rows(X, Z, mask), rows(X_val, Z_val, mask_val)),
        allowed=torch.from_numpy(np.outer(varies, varies) & model._allowed_edges(names)),
        settings=model._settings(float(scaling.unit[0])),
        contextual_mean=model.intercept == "contextual",
        noise=model.noise,
        robust=bool(model.robust),
        units=torch.from_numpy(scaling.unit / scaling.x_scale),
        features=encoder.columns_of_features,
        seed=int(rng.integers(2**31)),
        checkpoint=checkpoint,
    )
    return _Prepared(problem, names, contexts, scaling, len(all_contexts), X, Z, mask, train, held_out)


def _check_names(model: "GraphEstimator", given: Mapping[str, Any]) -> None:
    """Raise unless a dict has X, and nothing that `fit` does not take."""
    known = [field.name for field in fields(Tables)]
    unknown = [name for name in given if name not in known]
    if unknown or "X" not in given:
        wrong = f"unknown: {listed(unknown)}" if unknown else "'X' is missing"
        raise InvalidInputError(f"The tables of {type(model).__name__} must be a dict of {listed(known)}; {wrong}.")


def _keep(model: "GraphEstimator", prepared: _Prepared, outcome: Outcome) -> None:
    """Set the attributes of a fitted model."""
    scaling = prepared.scaling
    if outcome.noise != EQUAL:
        scaling = replace(scaling, unit=scaling.x_scale * outcome.scale.numpy())
    choice = outcome.choice
    model.noise_, model.context_test_ = outcome.noise, choice.context_test
    model.structure_, model.structure_scores_ = choice.structure, choice.scores
    model._preparation = Preparation(tuple(prepared.names), prepared.contexts, scaling, outcome.mean_network)
    model._solution = choice.solution
    model.names_, model.n_samples_ = prepared.names, prepared.n_samples
    model._explained, model.n_held_out_ = outcome.explained.numpy(), outcome.n_held_out
    weights = _row_weights(outcome.split.train)
    squares = model._residuals(prepared.X, prepared.Z, prepared.mask) ** 2
    model.noise_scale_ = np.sqrt(np.average(squares, axis=0, weights=weights))
    model.outliers_ = _outliers(prepared, outcome.split)


def _row_weights(rows: Rows) -> Array:
    weights: Array = np.ones(len(rows)) if rows.weight is None else rows.weight.double().cpu().numpy()
    return weights


def _outliers(prepared: "_Prepared", split: Split) -> list[int]:
    """Rows of X, counted from zero, that have little weight; rows of a validation set are not among them."""
    found = prepared.train_rows[_row_weights(split.train) < OUTLIER].tolist()
    if prepared.held_out_rows is not None:
        found += prepared.held_out_rows[_row_weights(split.held_out) < OUTLIER].tolist()
    return sorted(found)


def _progress(model: "GraphEstimator") -> AbstractContextManager[FitProgress | None]:
    settings = model._settings(1.0)
    if not isinstance(settings, NetworkSettings):
        return contextlib.nullcontext()
    show = bool(getattr(model, "verbose", False))
    return FitProgress(show, settings.n_budgets, settings.budgets == "geometric", settings.selection != "min")


def _own_random_numbers(device: torch.device) -> AbstractContextManager[None]:
    """Leave the global random numbers as they were. On the CPU nothing touches them: trainings have their own generators."""
    if device.type == "cpu":
        return contextlib.nullcontext()
    forked: AbstractContextManager[None] = torch.random.fork_rng([device] if device.type == "cuda" else [])
    return forked


def _check_n_edges(model: "GraphEstimator", n_nodes: int) -> None:
    """Raise if more edges are asked for than a graph of so many nodes can have."""
    most = n_nodes * (n_nodes - 1) // 2
    if not isinstance(model.selection, str) and model.selection > most:
        raise InvalidParameterError(
            f"The 'selection' parameter of {type(model).__name__} asks for {model.selection:g} edges, but a graph of "
            f"{n_nodes} variables has {most} at most."
        )


def _hold_out(n: int, share: float, rng: np.random.Generator) -> tuple[Indices, Indices]:
    """Rows to train on and rows to hold out, at random, both rising."""
    n_val = max(1, round(share * n))
    if n - n_val < 2:
        raise InvalidInputError(
            f"X has {n} samples (rows), too few to hold out {share:g} of them and train on the rest. Pass more rows, or a "
            "validation set as X_val and Z_val."
        )
    order = rng.permutation(n)
    return np.sort(order[n_val:]), np.sort(order[:n_val])


def _varying_columns(X: Array, names: list[str]) -> Flags:
    """Which columns of X are not constant; a warning names those that are."""
    varies: Flags = X.std(0) > 0
    if varies.sum() < 2:
        raise InvalidInputError(
            f"X has {len(names)} feature(s), of which {varies.sum()} vary; a graph needs two columns that vary."
        )
    if not varies.all():
        constant = [name for name, moves in zip(names, varies, strict=True) if not moves]
        warnings.warn(f"Columns of X that do not vary get no edges: {constant}.", UserWarning, stacklevel=5)
    return varies


def _warn_of_functions(X: Array, varies: Flags, names: list[str]) -> None:
    """A warning that names columns which are linear functions of others."""
    columns = np.flatnonzero(varies)
    if len(X) < 2 * len(columns):
        return  # with so few rows every column is nearly a function of the others
    correlation = np.corrcoef(X[:, columns], rowvar=False)
    values, vectors = np.linalg.eigh(correlation)
    involved = (np.abs(vectors[:, values < EXACT]) > 1e-3).any(1)
    if involved.any():
        exact = [names[column] for column in columns[involved]]
        warnings.warn(
            f"Each of these columns of X is a linear function of the others of them: {exact}. Edges among them mean little; "
            "leave one out.",
            UserWarning,
            stacklevel=5,
        )
