"""What a path must be that was read from a folder.

A folder may come from anyone, and hashes only find accidents. So before a network is built or a graph computed, all numbers
are checked: against the tensors that are there, which bound the sizes, and against what a fit can have written. What does
not hold is a ValueError that names the entry.
"""

import math
from collections.abc import Mapping, Sequence
from typing import Any

import torch
from torch import Tensor

from contextualdag.checks import is_count, is_flag, is_integer, is_number
from contextualdag.graphs import is_acyclic
from contextualdag.training.path import PathPoint
from contextualdag.training.prune import Curve, Refit
from contextualdag.training.selection import Refitted, Selected

Shapes = Mapping[str, tuple[int, ...]]


def expect(holds: bool, name: str, expected: str, got: object) -> None:
    """Raise unless an entry is as expected."""
    if not holds:
        shown = f"a tensor {tuple(got.shape)} of {got.dtype}" if isinstance(got, Tensor) else f"{got!a:.80}"
        raise ValueError(f"{name} must be {expected}. Got {shown}")


def expect_tensor(tensor: Any, name: str, shape: Sequence[int], low: float = -math.inf, infinite: bool = False) -> None:
    """Raise unless it is a tensor of finite numbers of this shape, or of infinite ones too, none of them below `low`."""
    sound = isinstance(tensor, Tensor) and tensor.dtype.is_floating_point and tensor.shape == tuple(shape)
    expect(sound, name, f"a tensor of floats {tuple(shape)}", tensor)
    known = ~tensor.isnan() if infinite else tensor.isfinite()
    expect(bool((known & (tensor >= low)).all()), name, f"made of numbers from {low:g} on", tensor)


def expect_flags(tensor: object, name: str, shape: Sequence[int]) -> None:
    """Raise unless it is a tensor of bool of this shape."""
    holds = isinstance(tensor, Tensor) and tensor.dtype == torch.bool and tensor.shape == tuple(shape)
    expect(holds, name, f"a tensor of bool {tuple(shape)}", tensor)


def check_points(points: Sequence[PathPoint[Any]], n_nodes: int, learned: Shapes | tuple[int, ...]) -> None:
    """Check a path.

    Parameters
    ----------
    points : sequence of PathPoint
        The path.
    n_nodes : int
        p.
    learned : mapping of str to tuple, or tuple
        What every fit has learned: the shapes of the weights of a network by name, or that of matrices.
    """
    for index, point in enumerate(points):
        where = f"points[{index}]"
        expect(is_number(point.l1_budget, 0), f"{where}.l1_budget", "a number of at least 0", point.l1_budget)
        expect(is_number(point.n_edges, 0, high_open=True), f"{where}.n_edges", "a number of at least 0", point.n_edges)
        sound = all(is_number(threshold, 0) for threshold in point.thresholds)
        sound = sound and len(point.thresholds) == len(point.fits) > 0
        expect(sound, f"{where}.thresholds", "one number of at least 0 for each fit", point.thresholds)
        _check_fits(point, where, learned)
        if point.refit is not None:
            _check_fits(point.refit, f"{where}.refit", learned)
            expect(len(point.refit.fits) == len(point.fits), f"{where}.refit.fits", "as many as fits", len(point.refit.fits))
            _check_refit(point.refit, f"{where}.refit", n_nodes)


def check_selected(selected: Selected, points: Sequence[PathPoint[Any]]) -> None:
    """Check that there is such a point."""
    budgets = [point.l1_budget for point in points]
    expect(math.isfinite(min(budgets, default=math.inf)), "points", "a path with budgets", budgets)
    index = selected.index
    expect(is_integer(index) and 0 <= index < len(points), "selected.index", f"from 0 to {len(points) - 1}", index)
    if isinstance(selected, Refitted):
        sound = isinstance(selected.cut, float) and is_number(selected.cut, 0, high_open=True)
        expect(sound, "selected.cut", "a float of at least 0", selected.cut)
        whole = selected.whole
        sound = whole is None or (isinstance(whole, float) and is_number(whole, 0, selected.cut))
        expect(sound, "selected.whole", "None or a float from 0 to the cut", whole)
        expect(points[index].refit is not None, "selected.index", "that of a point with a refit", index)


def check_state(state: Any, where: str, shapes: Shapes) -> None:
    """Check the weights of a network."""
    found = {} if not isinstance(state, Mapping) else {name: tuple(weights.shape) for name, weights in state.items()}
    expect(found == dict(shapes), where, f"the weights {dict(shapes)!a:.80}", found)
    for name, weights in state.items():
        expect_tensor(weights, f"{where}.{name}", shapes[name])


def check_network(shape: Mapping[str, Any], n_features: int, n_nodes: int, activations: Sequence[str]) -> None:
    """Check the shape of a network, before its weights are looked at."""
    given = (shape["n_features"], shape["n_nodes"])
    expect(given == (n_features, n_nodes), "network", f"one from {n_features} features to {n_nodes} nodes", given)
    widths = shape["hidden_layers"]
    expect(isinstance(widths, list | tuple) and all(map(is_count, widths)), "hidden_layers", "positive integers", widths)
    known = isinstance(shape["activation"], str) and shape["activation"] in activations
    expect(known, "activation", f"one of {sorted(activations)}", shape["activation"])


def _check_fits(holder: PathPoint[Any] | Refit[Any], where: str, learned: Shapes | tuple[int, ...]) -> None:
    for k, fit in enumerate(holder.fits):
        own = f"{where}.fits[{k}]"
        for name in ("train_loss", "validation_loss"):
            expect(isinstance(getattr(fit, name), float | int), f"{own}.{name}", "a number", getattr(fit, name))
        expect(is_number(fit.epochs, 0, high_open=True), f"{own}.epochs", "a number of at least 0", fit.epochs)
        if isinstance(learned, Mapping):
            check_state(fit.learned, own, learned)
        else:
            expect_tensor(fit.learned, own, learned)
            expect(bool(fit.learned.float().isfinite().all()), own, "made of numbers up to 1e38", fit.learned)
            expect(bool(is_acyclic(fit.learned).all()), own, "acyclic", fit.learned)


def _check_refit(refit: Refit[Any], where: str, n_nodes: int) -> None:
    _check_curve(refit.curve, f"{where}.curve")
    n_cuts = len(refit.curve.cuts)
    expect(is_integer(refit.best) and 0 <= refit.best < n_cuts, f"{where}.best", f"from 0 to {n_cuts - 1}", refit.best)
    expect(is_number(refit.loss), f"{where}.loss", "a number", refit.loss)
    expect(is_flag(refit.polished), f"{where}.polished", "true or false", refit.polished)
    expect_tensor(refit.member_cuts, f"{where}.member_cuts", (len(refit.fits), n_nodes, n_nodes), 0, infinite=True)
    expect_flags(refit.pairs, f"{where}.pairs", (n_nodes, n_nodes))


def _check_curve(curve: Curve, where: str) -> None:
    columns = {"cuts": curve.cuts, "n_edges": curve.n_edges, "losses": curve.losses}
    for name, values in columns.items():
        sound = isinstance(values, list) and len(values) == len(curve.cuts) > 0
        sound = sound and all(is_number(value, low_open=True, high_open=True) for value in values)
        expect(sound, f"{where}.{name}", "a list of numbers, as many as cuts", values)
    rises = all(one <= other for one, other in zip(curve.cuts, curve.cuts[1:], strict=False))
    falls = all(one >= other for one, other in zip(curve.n_edges, curve.n_edges[1:], strict=False))
    expect(rises and curve.cuts[0] >= 0, f"{where}.cuts", "rising, from 0 on", curve.cuts)
    expect(falls and curve.n_edges[-1] >= 0, f"{where}.n_edges", "falling, down to 0", curve.n_edges)
