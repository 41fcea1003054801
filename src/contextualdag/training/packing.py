"""Points of a path as JSON and named tensors, for models and checkpoints."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

from torch import Tensor

from contextualdag.projection import LogDet, Order
from contextualdag.training.path import PathPoint
from contextualdag.training.prune import Curve, Refit
from contextualdag.training.trainer import Fit

SOLVERS: dict[str, type[Order] | type[LogDet]] = {"Order": Order, "LogDet": LogDet}

Tensors = dict[str, Tensor]


def pack_points(points: Sequence[PathPoint[Any]]) -> tuple[list[dict[str, Any]], Tensors]:
    """Points as JSON and named tensors."""
    tensors: Tensors = {}
    rows = []
    for index, point in enumerate(points):
        row: dict[str, Any] = {"l1_budget": point.l1_budget, "thresholds": point.thresholds, "n_edges": point.n_edges}
        row["fits"] = _pack_fits(point.fits, f"fit/{index}", tensors)
        row["refit"] = None
        if (refit := point.refit) is not None:
            numbers = {name: getattr(refit, name) for name in ("best", "loss", "polished")}
            row["refit"] = {**numbers, "curve": asdict(refit.curve)}
            row["refit"]["fits"] = _pack_fits(refit.fits, f"refit/{index}", tensors)
            tensors |= {f"member_cuts/{index}": refit.member_cuts, f"pairs/{index}": refit.pairs}
        rows.append(row)
    return rows, tensors


def unpack_points(rows: Sequence[dict[str, Any]], tensors: Tensors) -> list[PathPoint[Any]]:
    """What `pack_points` packed."""
    points: list[PathPoint[Any]] = []
    for index, row in enumerate(rows):
        refit: Refit[Any] | None = None
        if (second := row["refit"]) is not None:
            packed = second | {"curve": Curve(**second["curve"])}
            packed |= {"fits": _unpack_fits(second["fits"], f"refit/{index}", tensors)}
            packed |= {name: tensors[f"{name}/{index}"] for name in ("member_cuts", "pairs")}
            refit = Refit(**packed)
        fits = _unpack_fits(row["fits"], f"fit/{index}", tensors)
        points.append(PathPoint(row["l1_budget"], tuple(row["thresholds"]), row["n_edges"], fits, refit))
    return points


def pack_setting(value: object) -> object:
    """A constructor parameter as JSON can hold it."""
    if isinstance(value, Order | LogDet):
        return {"solver": type(value).__name__, **asdict(value)}
    if isinstance(value, Mapping):
        return {"mapping": {name: one.item() if hasattr(one, "item") else one for name, one in value.items()}}
    return list(value) if isinstance(value, tuple) else value


def unpack_setting(value: object) -> Any:
    """What `pack_setting` packed; lists come back as tuples."""
    if isinstance(value, dict) and "solver" in value:
        return SOLVERS[value["solver"]](**{name: setting for name, setting in value.items() if name != "solver"})
    if isinstance(value, dict) and "mapping" in value:
        return dict(value["mapping"])
    return tuple(value) if isinstance(value, list) else value


def under(tensors: Tensors, prefix: str) -> Tensors:
    """The tensors whose names begin with a prefix, without it."""
    return {name.removeprefix(prefix + "/"): value for name, value in tensors.items() if name.startswith(prefix + "/")}


def _pack_fits(fits: Sequence[Fit[Any]], prefix: str, tensors: Tensors) -> list[dict[str, Any]]:
    """Losses as JSON; what was learned, a matrix or the state of a network, goes to `tensors`."""
    rows = []
    for k, fit in enumerate(fits):
        if isinstance(fit.learned, Tensor):
            tensors[f"{prefix}/{k}"] = fit.learned
        else:
            tensors |= {f"{prefix}/{k}/{name}": value for name, value in fit.learned.items()}
        rows.append({"train_loss": fit.train_loss, "validation_loss": fit.validation_loss, "epochs": fit.epochs})
    return rows


def _unpack_fits(rows: Sequence[dict[str, Any]], prefix: str, tensors: Tensors) -> tuple[Fit[Any], ...]:
    names = [f"{prefix}/{k}" for k in range(len(rows))]
    learned = [tensors[name] if name in tensors else under(tensors, name) for name in names]
    return tuple(Fit(one, **row) for one, row in zip(learned, rows, strict=True))
