"""How rows that were held out are predicted, each by members of the ensemble that did not see it."""

import math
from collections.abc import Mapping, Sequence

import torch
from torch import Tensor

from contextualdag.network import MeanNetwork
from contextualdag.training.context_test import permuted
from contextualdag.training.data import Folds, Rows, standard_error
from contextualdag.training.loss import entry_weights, errors, residuals, weighted_row_errors
from contextualdag.training.prune import split_half_graphs
from contextualdag.training.selection import Refitted
from contextualdag.training.solution import ConstantGraph, Solution
from contextualdag.training.structure import Choice

N_PERMUTED, N_PERMUTED_OF_FEATURES = 20, 3  # permutations
ROUNDING = 1e-5  # share of the size of a variable by which it varies in single precision


def predictions(solution: Solution, folds: Folds) -> tuple[Tensor, Rows, Tensor]:
    """Rows that were held out, as indices and as rows, with the graphs of members that did not see them.

    Where members hold out different rows, each predicts its own, with as many edges as are selected; the rows that all hold
    out are predicted by the average.
    """
    if folds.hold_out_the_same:
        index = folds.held_out[0]
        rows = folds.rows[index]
        return index, rows, solution.graphs(rows.Z, rows.mask)
    index = torch.cat(folds.held_out)
    return index, folds.rows[index], torch.cat(_graphs_held_out(solution, folds))


def _graphs_held_out(solution: Solution, folds: Folds, contexts: Sequence[Tensor] | None = None) -> list[Tensor]:
    """Graphs of the rows that each fold holds out, by the member that did not see them.

    Contexts of all rows may be others for each fold. Those of all rows decide where weak edges are cut.
    """
    rows, n_members = folds.rows, solution.n_members
    each = [rows.Z] * len(folds.held_out) if contexts is None else contexts
    both = enumerate(zip(folds.held_out, each, strict=True))
    return [solution.member_graphs(k % n_members, Z, rows.mask)[held_out] for k, (held_out, Z) in both]


def explained(choice: Choice, folds: Folds, n_train: int, mean: MeanNetwork | None, scale: Tensor) -> tuple[Tensor, int]:
    """Shares of the variance of rows held out that are explained, and how many rows these are; see `Outcome.explained`.

    Only rows outside the training set count: the means are fitted to all of that.
    """
    index, rows, W = predictions(choice.solution, folds)
    unseen = index >= n_train
    n_unseen = len(set(index[unseen].tolist()))
    if n_unseen == 0:
        return torch.full((rows.X.shape[1], 3), math.nan, dtype=torch.float64), 0
    by = scale.to(rows.X)
    X = rows.X * by if mean is None else rows.X * by + mean(rows.Z)
    single = None if choice.constant is None else predictions(choice.constant, folds)[2]

    of_entries = entry_weights(rows[unseen])
    weights = torch.ones_like(X[unseen]) if of_entries is None else of_entries

    def squares(left: Tensor) -> Tensor:
        return (left[unseen].double().square() * weights).sum(0).cpu()

    means = (X[unseen] * weights).sum(0) / weights.sum(0).clamp_min(torch.finfo(X.dtype).tiny)
    total, centred, own = squares(X - means), squares(rows.X * by), squares(residuals(rows.X, W) * by)
    common = torch.full_like(own, math.nan) if single is None else squares(residuals(rows.X, single) * by)
    before = centred if single is None else common
    shares = torch.stack([total - centred, centred - common, before - own], 1) / total[:, None]
    varies = total > ROUNDING**2 * squares(X)
    return torch.where(varies[:, None], shares, math.nan), n_unseen


def gain_of_context(solution: Solution, folds: Folds, seed: int) -> tuple[float, float]:
    """Share of the squared error of rows held out that their own graphs save against those of others; its standard error.

    The graphs of one member are permuted among the rows that it held out: it has trained on none of them.
    """
    generator = torch.Generator().manual_seed(seed)
    own, others = [], []
    for held_out, W in zip(folds.held_out, _graphs_held_out(solution, folds), strict=True):
        rows = folds.rows[held_out]
        orders = [permuted(len(W), rows.group, generator).to(W.device) for _ in range(N_PERMUTED)]
        own.append(_weighted_errors(W, rows))
        others.append(torch.stack([_weighted_errors(W[order], rows) for order in orders]).mean(0))
    usual = folds.by_row_held_out(others)
    saved, mean = usual - folds.by_row_held_out(own), float(usual.mean())
    error = standard_error(saved, folds.group_held_out)
    return (float(saved.mean()) / mean, error / mean) if mean > 0 else (0.0, 0.0)


def gains_of_features(
    solution: Solution, folds: Folds, features: Mapping[str, Sequence[int]], seed: int
) -> dict[str, float]:
    """Share of the squared error of rows held out that each context feature saves against that of another row.

    The other features are the row's own, so a feature that others can stand in for saves little.
    """
    generator = torch.Generator().manual_seed(seed)
    own = _error_held_out(_graphs_held_out(solution, folds), folds)
    gains = {}
    for name, columns in features.items():
        errors_without = []
        for _ in range(N_PERMUTED_OF_FEATURES):
            mixed = [_with_others(folds.rows.Z, columns, folds, held_out, generator) for held_out in folds.held_out]
            errors_without.append(_error_held_out(_graphs_held_out(solution, folds, mixed), folds))
        usual = sum(errors_without) / len(errors_without)
        gains[name] = 1 - own / usual if usual > 0 else 0.0
    return gains


def _with_others(Z: Tensor, columns: Sequence[int], folds: Folds, held_out: Tensor, generator: torch.Generator) -> Tensor:
    """Contexts of all rows, in which columns are permuted among the rows that are held out."""
    group = None if folds.rows.group is None else folds.rows.group[held_out]
    order = permuted(len(held_out), group, generator).to(Z.device)
    Z, mine = Z.clone(), Z[held_out]
    mine[:, columns] = mine[order][:, columns]
    Z[held_out] = mine
    return Z


def _error_held_out(graphs: Sequence[Tensor], folds: Folds) -> float:
    """Mean error of the rows that members hold out, with graphs for these of each."""
    both = zip(folds.held_out, graphs, strict=True)
    return float(torch.cat([_weighted_errors(W, folds.rows[held_out]) for held_out, W in both]).mean())


def losses_of_rows(solution: Solution, folds: Folds) -> Tensor:
    """Mean squared errors of rows held out (n,), times the weights of the rows, each with the graph of a single member.

    Networks have many pairs to select by these rows, and some help by luck. So the graphs of each half of the rows have the
    pairs that the other half speaks for.
    """
    lucky = isinstance(solution.selected, Refitted) and not isinstance(solution, ConstantGraph)
    if not lucky:
        both = zip(folds.held_out, _graphs_held_out(solution, folds), strict=True)
        return folds.by_row_held_out([_weighted_errors(W, folds.rows[held_out]) for held_out, W in both])
    losses = []
    for k, held_out in enumerate(folds.held_out):
        rows = folds.rows[held_out]
        W = solution.member_weights(k % solution.n_members, rows.Z, rows.mask)
        losses.append(_weighted_errors(split_half_graphs(W, rows), rows))
    return folds.by_row_held_out(losses)


def _weighted_errors(W: Tensor, rows: Rows) -> Tensor:
    """Mean squared errors of rows, times their weights."""
    return weighted_row_errors(errors(residuals(rows.X, W)), rows)
