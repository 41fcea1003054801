"""What a model must be that was read from a folder, besides its path: see `contextualdag.training.stored`."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from contextualdag.checks import is_count, is_finite, is_flag, is_integer, is_number
from contextualdag.contexts import N_QUANTILES
from contextualdag.estimators.rows_of_fit import RowsOfFit
from contextualdag.estimators.scaling import Preparation
from contextualdag.tables import Array
from contextualdag.training.context_test import ContextTest
from contextualdag.training.noise import EQUAL, UNEQUAL
from contextualdag.training.stored import expect, expect_tensor
from contextualdag.training.structure import STRUCTURES
from contextualdag.training.variation import Variation
from contextualdag.transforms import KINDS, NORMAL_SCORES, TRANSFORMS, Transforms

if TYPE_CHECKING:
    from contextualdag.estimators.base import GraphEstimator

FURTHEST_DAY = 10**8


def check_names(names: Any, where: str) -> None:
    """Check names of variables or features: texts, each once."""
    sound = isinstance(names, list | tuple) and all(isinstance(name, str) for name in names)
    expect(sound and len(set(names)) == len(names), where, "different texts", names)


def check_contexts(described: Any) -> None:
    """Check how context features are described."""
    check_names([feature["name"] for feature in described], "context.name")
    for feature in described:
        where, categories, cycle = f"context[{feature['name']!a:.40}]", feature["categories"], feature["cycle"]
        expect(is_flag(feature["ordered"]), f"{where}.ordered", "true or false", feature["ordered"])
        if categories is not None:
            check_names(categories, f"{where}.categories")
            expect(len(categories) > 0, f"{where}.categories", "one at least", categories)
        expect(categories is not None or not feature["ordered"], f"{where}.ordered", "false for a number", True)
        if cycle is not None:
            numbers = isinstance(cycle, list) and len(cycle) == 2 and all(is_finite(number) for number in cycle)
            expect(numbers and cycle[1] > 0, f"{where}.cycle", "a start and a positive period", cycle)
            expect(categories is None, f"{where}.cycle", "none for categories", cycle)
        joined = feature.get("joined")
        if joined is not None:
            sound = isinstance(joined, dict) and categories is not None and not feature["ordered"]
            sound = sound and all(value not in categories and joined[value] in categories for value in joined)
            expect(sound, f"{where}.joined", "other categories, and those that they are joined to", joined)
        origin = feature.get("origin")
        if origin is not None:
            expect(isinstance(origin, str) and _is_day(origin), f"{where}.origin", "a day such as 2024-01-01", origin)
            expect(categories is None, f"{where}.origin", "none for categories", origin)


def _is_day(text: str) -> bool:
    """Whether a text is a day as NumPy writes it, not too far off to count microseconds from."""
    try:
        day = np.datetime64(text, "D")
    except ValueError:
        return False
    return bool(str(day) == text != "NaT" and abs(day.astype(np.int64)) < FURTHEST_DAY)


def check_preparation(preparation: Preparation) -> None:
    """Check how a model reads tables."""
    scaling, contexts = preparation.scaling, preparation.contexts
    check_names(preparation.names, "names")
    p, m = len(preparation.names), len(contexts.encoder.feature_names)
    n_seen = sum(len(places) for places in contexts.encoder.seen_columns.values())
    expect(p >= 2, "names", "two at least", preparation.names)
    _expect_array(scaling.z_mean, "z_mean", (m,))
    _expect_array(scaling.z_scale, "z_scale", (m,), positive=True, infinite=True)
    _expect_array(scaling.x_mean, "x_mean", (p,))
    _expect_array(scaling.x_scale, "x_scale", (p,), positive=True)
    _expect_array(scaling.unit, "unit", (p,), positive=True)
    _expect_array(contexts.means, "context_means", (n_seen,))
    _expect_array(contexts.quantiles, "context_quantiles", (N_QUANTILES, n_seen))
    expect(bool((np.diff(contexts.quantiles, axis=0) >= 0).all()), "context_quantiles", "rising", "a fall")
    _check_transforms(preparation.transforms, p)


def _check_transforms(transforms: Transforms, p: int) -> None:
    expect(len(transforms.columns) == p, "transforms", f"{p} of them", len(transforms.columns))
    for position, column in enumerate(transforms.columns):
        where = f"transforms[{position}]"
        expect(column.kind in KINDS, where, f"of a kind in {list(KINDS)}", column.kind)
        expect(column.transform in TRANSFORMS, where, f"one of {list(TRANSFORMS)}", column.transform)
        sound = np.isfinite(column.unit) and column.unit > 0
        expect(bool(sound), f"unit/{position}", "a positive number", column.unit)
        if column.transform == NORMAL_SCORES:
            values, scores = column.values, column.scores
            if values is None or scores is None:
                raise ValueError(f"{where} has no values and scores")
            for name, knots in (("values", values), ("scores", scores)):
                _expect_array(knots, f"{name}/{position}", (len(values),))
                expect(bool((np.diff(knots) > 0).all()), f"{name}/{position}", "rising", "a fall")


def check_learned(model: "GraphEstimator") -> None:
    """Check what a model reports of its fit."""
    p, features = len(model.names_), [feature.name for feature in model.context_features_]
    expect(is_count(model.n_samples_), "n_samples", "an integer of at least 1", model.n_samples_)
    held_out = model.n_held_out_
    expect(is_integer(held_out) and held_out >= 0, "n_held_out", "an integer of at least 0", held_out)
    expect(model.noise_ in (EQUAL, UNEQUAL), "noise", f"'{EQUAL}' or '{UNEQUAL}'", model.noise_)
    expect(model.structure_ in STRUCTURES, "structure", f"one of {list(STRUCTURES)}", model.structure_)
    for name, score in model.structure_scores_.items():
        expect(name in STRUCTURES, "structure_scores", f"named {list(STRUCTURES)}", name)
        numbers = (score.log_likelihood, score.behind, score.standard_error)
        expect(all(isinstance(number, float | int) for number in numbers), f"structure_scores[{name!r}]", "numbers", numbers)
    if model.context_test_ is not None:
        _check_test(model.context_test_, features)
    _check_rows(model.rows_, model.names_)
    rows = model.outliers_
    expect(all(is_integer(row) and row >= 0 for row in rows), "outliers", "integers of at least 0", rows)
    _expect_array(model.noise_scale_, "noise_scale", (p,), low=0)
    _expect_array(model._noise_changes, "noise_changes", (p,), low=0)
    untold = model._untold
    sound = untold.dtype == np.bool_ and untold.shape == (p, p) and bool((untold == untold.T).all())
    expect(sound, "untold", f"flags {(p, p)}, the same in both orders", f"{untold.dtype} {untold.shape}")
    explained = model._explained
    expect(explained.dtype.kind == "f" and explained.shape == (p, 3), "explained", f"floats {(p, 3)}", explained.shape)
    if model._variation is not None:
        _check_variation(model._variation, p, len(features))


def _check_rows(rows: RowsOfFit, names: Sequence[str]) -> None:
    expect(is_count(rows.n_rows), "rows.n_rows", "an integer of at least 1", rows.n_rows)
    for where in ("n_missing", "n_interventions"):
        counts = getattr(rows, where)
        sound = isinstance(counts, dict) and set(counts) <= set(names) and all(map(is_count, counts.values()))
        expect(sound, f"rows.{where}", "counts by variable", counts)
    for where in ("n_intervened", "n_groups"):
        number = getattr(rows, where)
        expect(is_integer(number) and 0 <= number <= rows.n_rows, f"rows.{where}", "an integer up to n_rows", number)
    expect(is_flag(rows.weighted), "rows.weighted", "true or false", rows.weighted)


def _check_test(test: ContextTest, features: Sequence[str]) -> None:
    values = [test.p_value, *test.features.values()]
    sound = all(isinstance(value, float | int) and not (value < 0 or value > 1) for value in values)
    expect(sound, "context_test", "p-values from 0 to 1", values)
    expect(set(test.features) <= set(features), "context_test.features", f"some of {features}", list(test.features))
    expect(is_count(test.n_rows), "context_test.n_rows", "an integer of at least 1", test.n_rows)
    sound = is_integer(test.n_groups) and 0 <= test.n_groups <= test.n_rows
    expect(sound, "context_test.n_groups", "an integer up to n_rows", test.n_groups)
    gains = [test.gain, *(test.gain_interval or ())]
    sound = test.gain is None if test.gain_interval is None else len(gains) == 3 and all(is_number(gain) for gain in gains)
    expect(sound, "context_test.gain", "a number with an interval of two", gains)
    of_features = test.feature_gains
    sound = isinstance(of_features, dict) and set(of_features) <= set(features) and all(map(is_number, of_features.values()))
    expect(sound, "context_test.feature_gains", "numbers by feature", of_features)


def _check_variation(variation: Variation, p: int, n_features: int) -> None:
    n_pairs = len(variation.share)
    for name in ("source", "target"):
        places = getattr(variation, name)
        whole = places.dtype == torch.int64 and places.shape == (n_pairs,)
        sound = whole and bool(((places >= 0) & (places < p)).all())
        expect(sound, f"variation/{name}", f"{n_pairs} integers below {p}", places)
    for name in ("share", "reverse", "weight", "spread"):
        expect_tensor(getattr(variation, name), f"variation/{name}", (n_pairs,))
    for name, shape in (("p_value", (n_pairs,)), ("of_features", (n_pairs, n_features))):
        tensor = getattr(variation, name)
        sound = tensor.dtype.is_floating_point and tensor.shape == shape and not bool(((tensor < 0) | (tensor > 1)).any())
        expect(sound, f"variation/{name}", f"p-values {shape}", tensor)


def _expect_array(
    values: Array, name: str, shape: tuple[int, ...], low: float = -np.inf, positive: bool = False, infinite: bool = False
) -> None:
    sound = values.dtype == np.float64 and values.shape == shape
    if sound:
        known = ~np.isnan(values) if infinite else np.isfinite(values)
        sound = bool((known & (values >= low) & ((values > 0) | (not positive))).all())
    kind = "positive floats" if positive else "finite floats" if low else "floats of at least 0"
    expect(sound, name, f"{kind} {shape}", f"{values.dtype} {values.shape}")
