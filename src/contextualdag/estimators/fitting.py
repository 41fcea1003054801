"""From the user's tables to a fitted model: tables are read and scaled, the recipe is run, what it learned is kept."""

import contextlib
import copy
import os
import secrets
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from numpy.typing import NDArray

from contextualdag.checks import find_device, listed
from contextualdag.contexts import ContextEncoder, ContextSummary
from contextualdag.errors import InvalidInputError, InvalidParameterError
from contextualdag.estimators.experiments import (
    Known,
    complete,
    read_known,
    rows_that_count,
    with_flags_as_tables,
)
from contextualdag.estimators.groups import check_number, hold_out, read_groups
from contextualdag.estimators.imputation import IMPUTE, check_enough_observed, check_some_observed, filled_by_context
from contextualdag.estimators.interventions import check_validation_set
from contextualdag.estimators.knowledge import check_masks, check_n_edges, check_required
from contextualdag.estimators.poor_fit import warn_of_poor_fit
from contextualdag.estimators.progress import FitProgress
from contextualdag.estimators.rows_of_fit import RowsOfFit
from contextualdag.estimators.scaling import Preparation, Scaling, with_trust
from contextualdag.estimators.summary import find_untold, learn_variation
from contextualdag.estimators.table_warnings import varying_columns, warn_of_functions, warn_of_spreads, warn_of_tables
from contextualdag.files import in_use
from contextualdag.tables import (
    Array,
    Flags,
    check_aligned,
    check_same_samples,
    check_scaled,
    n_rows,
    read_columns,
    read_variables,
    varying,
)
from contextualdag.training.checkpoint import Checkpoint
from contextualdag.training.data import Rows, Split
from contextualdag.training.filling import filled_by_model
from contextualdag.training.noise import EQUAL, residual_scales
from contextualdag.training.noise_changes import changes_of_noise
from contextualdag.training.outliers import OUTLIER
from contextualdag.training.problem import NetworkSettings, Outcome, Problem
from contextualdag.training.recipe import learn
from contextualdag.training.scales import divided
from contextualdag.training.structure import VARYING
from contextualdag.transforms import Transforms

if TYPE_CHECKING:
    from contextualdag.estimators.base import GraphEstimator

Indices = NDArray[np.int64]
Pair = tuple[Array, Array]
NO_INFLUENCE = ("device", "verbose")  # parameters that do not change what is learned
LOWEST = -1e10  # share explained below which the variance is nothing but rounding


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
    >>> models = [ContextualDAG(hidden_layers=(32,), n_members=1, random_state=seed) for seed in range(2)]
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
    for model, given in zip(models, tables, strict=True):
        _check_names(model, given)
    with contextlib.ExitStack() as stack:
        for folder in {os.fspath(given["checkpoint"]) for given in tables if given.get("checkpoint") is not None}:
            stack.enter_context(in_use(folder))
        prepared: list[Prepared] = []
        alike: dict[object, list[int]] = {}
        for index, (model, given) in enumerate(zip(models, tables, strict=True)):
            prepared.append(prepare(model, Tables(**given)))
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
        warn_of_poor_fit(model)


def fit_prepared(model: "GraphEstimator", prepared: "Prepared") -> Outcome:
    """Fit one model to what `prepare` has read, and return what it has learned."""
    with _progress(model) as progress, _own_random_numbers(prepared.scaling.device):
        (outcome,) = learn([replace(prepared.problem, observer=progress)])
    _keep(model, prepared, outcome)
    warn_of_poor_fit(model)
    return outcome


def problem_of_fit(prepared: "Prepared", outcome: Outcome) -> Problem:
    """The problem whose graphs were learned: without means, with weights of rows, divided by the scales of the noise."""
    problem = replace(prepared.problem, split=outcome.split, noise=outcome.noise, checkpoint=None, observer=None)
    return divided(problem, outcome.scale)


def with_holes(problem: Problem, prepared: "Prepared") -> Problem:
    """The problem whose rows know which of their values were missing, so that these can be filled in anew."""
    if prepared.missing is None:
        return problem
    device = problem.split.train.X.device
    marked = (
        replace(rows, missing=torch.from_numpy(holes).to(device))
        for rows, holes in zip((problem.split.train, problem.split.held_out), prepared.missing, strict=True)
    )
    return replace(problem, split=Split(*marked))


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
    interventions: Any = None
    interventions_val: Any = None
    sample_weight: Any = None
    sample_weight_val: Any = None
    groups: Any = None


@dataclass(frozen=True)
class Prepared:
    """What a fit begins with: the problem, and the training rows in the user's units, transformed."""

    problem: Problem
    names: list[str]
    contexts: ContextSummary
    scaling: Scaling
    transforms: Transforms
    n_samples: int
    rows: RowsOfFit
    X: Array
    Z: Array
    mask: Array | None
    trusted: Flags  # training rows that did not lose much of their weight
    outliers: list[int]  # rows of the table that was given which did, not those of a validation set
    missing: tuple[Flags, Flags] | None = None  # which values were filled in, of training rows and of those held out


def prepare(model: "GraphEstimator", tables: Tables) -> Prepared:
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

    tables = with_flags_as_tables(tables)
    for names_of_tables in (
        ("X", "Z", "interventions", "sample_weight", "groups"),
        ("X_val", "Z_val", "interventions_val", "sample_weight_val"),
    ):
        check_aligned({name: getattr(tables, name) for name in names_of_tables})
    n_given = n_rows(tables.X)
    tables, weight, weight_val, numbers = rows_that_count(tables)
    X, names = read_variables(tables.X, with_missing=model.missing == IMPUTE)
    check_some_observed(X, names)
    transforms = Transforms.learn(X, names, model.get_params(deep=False)["transform"])
    all_rows, X = X, transforms.forward(X, "X")
    encoder = _learn_encoder(tables.Z, model.cyclic)
    Z = encoder.encode(X if tables.Z is None else tables.Z)
    check_same_samples(X, Z)
    knowledge = model._knowledge(names)
    check_n_edges(model, len(names), int(knowledge.required.sum()))
    all_contexts = Z
    mask, mask_val = tables.mask, tables.mask_val
    if (tables.X_val is None) != (tables.Z_val is None) and tables.Z is not None:
        raise InvalidInputError("X_val and Z_val belong together: pass both or neither.")
    train: Indices = np.arange(len(X))
    held_out: Indices | None = None
    known = read_known(tables, weight, names, len(X))
    groups = read_groups(tables.groups, len(X), tables.X_val is not None)
    if groups is not None:
        check_number(groups, n_folds(model))
        known = replace(known, group=groups.numpy())
    if tables.X_val is None:
        train, held_out = hold_out(len(X), n_given, model.validation_fraction, rng, known.group)
        X_val, Z_val = X[held_out], Z[held_out]
        X, Z = X[train], Z[train]
        known, known_val = known[train], known[held_out]
        mask, mask_val = (None, None) if mask is None else (mask[train], mask[held_out])
    else:
        X_val = read_columns(tables.X_val, names, "X_val", type(model).__name__, with_missing=model.missing == IMPUTE)
        X_val = transforms.forward(X_val, "X_val")
        Z_val = encoder.encode(X_val if tables.Z is None else tables.Z_val, "Z_val")
        check_same_samples(X_val, Z_val)
        if len(X) < 2 or len(X_val) < 1:
            raise InvalidInputError(f"X needs two rows and X_val one at least. Got {len(X)} and {len(X_val)}.")
        known_val = read_known(tables, weight_val, names, len(X_val), of_validation=True)
        check_validation_set(known_val.intervened, np.isnan(X_val), names)
    known, known_val = complete(known, known_val, (Z, Z_val), names, model.intercept != "none")

    if np.isnan(X).any() or np.isnan(X_val).any():
        check_enough_observed(~np.isnan(X), names)
        known, known_val = replace(known, missing=np.isnan(X)), replace(known_val, missing=np.isnan(X_val))
        both = filled_by_context(np.concatenate([X, X_val]), np.concatenate([Z, Z_val]))
        X, X_val = both[: len(X)], both[len(X) :]
        is_complete = ~np.isnan(all_rows).any(1)
        all_rows, all_contexts_of_rows = all_rows[is_complete], all_contexts[is_complete]
    else:
        all_contexts_of_rows = all_contexts

    n_groups = 0 if groups is None else int(groups.max()) + 1
    described = RowsOfFit.count((known, known_val), (len(X), len(X_val)), names, n_groups)
    contexts = ContextSummary.learn(encoder, all_contexts)
    check_masks(mask, mask_val, knowledge.required, names)
    varies = varying_columns(X, names)
    check_required(knowledge.required, varies, names, type(model).__name__)
    warn_of_functions(X, varies, names)
    if model.noise == EQUAL:
        warn_of_spreads(X, varies, names)
    warn_of_tables(all_rows, names, all_contexts_of_rows, encoder)
    if model.robust:
        known, known_val = with_trust((X, X_val), (Z, Z_val), (known, known_val))
    scaling = Scaling.learn(X, Z, known, varies, centre=model.intercept != "none", device=device)
    check_scaled((X - scaling.x_mean) / scaling.x_scale, names, "X")
    check_scaled((X_val - scaling.x_mean) / scaling.x_scale, names, "X_val" if held_out is None else "X")
    check_scaled((Z_val - scaling.z_mean) / scaling.z_scale, encoder.feature_names, "Z_val" if held_out is None else "Z")

    def rows(X: Array, Z: Array, mask: Array | None, known: Known) -> Rows:
        return known.rows(Rows(scaling.variables(X), scaling.contexts(Z), None if mask is None else scaling.tensor(mask)))

    problem = Problem(
        split=Split(rows(X, Z, mask, known), rows(X_val, Z_val, mask_val, known_val)),
        allowed=torch.from_numpy(np.outer(varies, varies) & knowledge.allowed),
        required=torch.from_numpy(knowledge.required),
        settings=model._settings(float(scaling.unit[0]), len(X) + len(X_val) if groups is None else None),
        contextual_mean=model.intercept == "contextual",
        noise=model.noise,
        given_weight=_given_weight(known, known_val, device),
        units=torch.from_numpy(scaling.unit / scaling.x_scale),
        features=encoder.columns_of_features,
        seed=int(rng.integers(2**31)),
        checkpoint=checkpoint,
    )
    if numbers is not None:  # some rows had no weight
        train, held_out = numbers[train], None if held_out is None else numbers[held_out]
    outliers = sorted(_not_trusted(known, train) + ([] if held_out is None else _not_trusted(known_val, held_out)))
    trusted = np.ones(len(X), dtype=bool) if known.trust is None else known.trust >= OUTLIER
    n_samples, parts = len(all_contexts), (X, Z, mask, trusted, outliers)
    prepared = Prepared(problem, names, contexts, scaling, transforms, n_samples, described, *parts)
    if known.missing is None or known_val.missing is None:
        return prepared
    return _filled_by_model(model, prepared, known.missing, (X_val, Z_val, mask_val), known_val.missing)


def _given_weight(known: Known, known_val: Known, device: torch.device) -> torch.Tensor | None:
    """Weights of all rows, but for how far they are from others."""
    if known.weight is None or known_val.weight is None:
        return None
    return torch.tensor(np.concatenate([known.weight, known_val.weight]), dtype=torch.float32, device=device)


def _not_trusted(known: Known, numbers: Indices) -> list[int]:
    """The numbers of rows that lost much of their weight."""
    found: list[int] = [] if known.trust is None else numbers[known.trust < OUTLIER].tolist()
    return found


def _learn_encoder(Z: Any, cyclic: Mapping[str, float] | None) -> ContextEncoder:
    if Z is not None:
        return ContextEncoder.learn(Z, cyclic)
    if cyclic:
        raise InvalidParameterError(f"The 'cyclic' parameter names {listed(list(cyclic))}, but there is no context (Z).")
    return ContextEncoder((), ())


def _filled_by_model(
    model: "GraphEstimator",
    prepared: Prepared,
    missing: Flags,
    held_out: tuple[Array, Array, Array | None],
    missing_held_out: Flags,
) -> Prepared:
    """Fill missing values of X by what a quick fit expects of them; see `contextualdag.estimators.imputation`."""
    settings = prepared.problem.settings
    if isinstance(settings, NetworkSettings):
        structure = VARYING if settings.structure == "auto" else settings.structure
        settings = replace(settings, n_members=1, cross_fit=False, structure=structure, selection="relaxed", final=False)
    trial = replace(prepared.problem, settings=settings, checkpoint=None)
    with _own_random_numbers(prepared.scaling.device):
        (outcome,) = learn([trial])
    quick = copy.copy(model)
    _keep(quick, prepared, outcome)
    split, filled = prepared.problem.split, []
    for (X, Z, mask), holes in (((prepared.X, prepared.Z, prepared.mask), missing), (held_out, missing_held_out)):
        filled.append(filled_by_model(X, ~holes, quick._weights(Z, mask), quick._means(Z), quick.noise_scale_))
    train, other = (
        replace(rows, X=prepared.scaling.variables(X)) for rows, X in zip((split.train, split.held_out), filled, strict=True)
    )
    problem = replace(prepared.problem, split=Split(train, other))
    return replace(prepared, problem=problem, X=filled[0], missing=(missing, missing_held_out))


def _check_names(model: "GraphEstimator", given: Mapping[str, Any]) -> None:
    """Raise unless a dict has X, and nothing that `fit` does not take."""
    known = [field.name for field in fields(Tables)]
    unknown = [name for name in given if name not in known]
    if unknown or "X" not in given:
        wrong = f"unknown: {listed(unknown)}" if unknown else "'X' is missing"
        raise InvalidInputError(f"The tables of {type(model).__name__} must be a dict of {listed(known)}; {wrong}.")


def _keep(model: "GraphEstimator", prepared: Prepared, outcome: Outcome) -> None:
    """Set the attributes of a fitted model."""
    scaling = prepared.scaling
    if outcome.noise != EQUAL:
        scaling = replace(scaling, unit=scaling.x_scale * outcome.scale.numpy())
    choice = outcome.choice
    model.noise_, model.context_test_ = outcome.noise, choice.context_test
    model.structure_, model.structure_scores_ = choice.structure, choice.scores
    names, contexts, transforms = tuple(prepared.names), prepared.contexts, prepared.transforms
    model._preparation = Preparation(names, contexts, scaling, outcome.mean_network, transforms)
    model._solution = choice.solution
    model.names_, model.n_samples_, model.rows_ = prepared.names, prepared.n_samples, prepared.rows
    # Of a column that does not vary, or not in the rows held out, there is nothing to explain, whatever rounding leaves.
    explained = outcome.explained.numpy()
    moves = varying(prepared.X) & (np.nansum(explained, axis=1) > LOWEST)
    model._explained = np.where(moves[:, None], explained, np.nan)
    model.n_held_out_ = outcome.n_held_out
    train = outcome.split.train
    left = torch.from_numpy(model._residuals(prepared.X, prepared.Z, prepared.mask))
    model.noise_scale_ = residual_scales(left, train.to("cpu")).numpy()
    usual = np.broadcast_to(prepared.trusted[:, None], left.shape)
    scored = usual if train.scored is None else usual & train.scored.cpu().numpy()
    model._noise_changes = changes_of_noise(left.numpy(), prepared.Z, scored)
    model.outliers_ = prepared.outliers
    problem = problem_of_fit(prepared, outcome)
    model._variation = learn_variation(model, problem)
    model._untold = find_untold(model, problem)


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


def n_folds(model: "GraphEstimator") -> int:
    """How many different parts of the rows the networks of a model hold out, where rows come in groups."""
    settings = model._settings(1.0, None)
    return settings.n_folds if isinstance(settings, NetworkSettings) else 1
