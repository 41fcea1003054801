"""Every container and every type of value: what is read are the values that were given, or the table is refused."""

import warnings
from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pytest

from attack.names import ALLOWED, REFUSED
from attack.tables import CONTEXTS, VARIABLES
from contextualdag.columns import as_text, columns, is_date, is_flags, is_missing
from contextualdag.contexts import ContextEncoder
from contextualdag.errors import InvalidInputError
from contextualdag.tables import read_variables


def contexts_as_read(table):
    """Columns of contexts by way of the encoding: numbers, and categories as text."""
    encoder = ContextEncoder.learn(table)
    encoded = encoder.encode(table)
    found = []
    for name, categories in zip(encoder.names, encoder.categories, strict=True):
        column = encoded[:, list(encoder.columns_of_features[name])]
        found.append(column[:, 0] if categories is None else np.array(categories, dtype=object)[column.argmax(1)])
    return found


def assert_read(found, columns):
    assert len(found) == len(columns)
    for column, expected in zip(found, columns, strict=True):
        np.testing.assert_array_equal(column, np.array(expected, dtype=object if isinstance(column[:1], str) else None))


@pytest.mark.parametrize("case", VARIABLES, ids=lambda case: case.name)
def test_variables(case):
    table = case.make()
    if case.columns is None:
        with pytest.raises(InvalidInputError):
            read_variables(table, with_missing=True)
        return
    values, names = read_variables(table, with_missing=True)
    assert values.dtype == np.float64
    assert_read(list(values.T), case.columns)
    assert names == [str(name) for name in getattr(table, "column_names", getattr(table, "columns", ["x1", "x2"]))]


@pytest.mark.parametrize("case", CONTEXTS, ids=lambda case: case.name)
def test_contexts(case):
    table = case.make()
    if case.columns is None:
        with pytest.raises(InvalidInputError):
            contexts_as_read(table)
        return
    assert_read(contexts_as_read(table), case.columns)


@pytest.mark.parametrize("names", ALLOWED.values(), ids=ALLOWED)
def test_names(names):
    frame = pd.DataFrame(np.arange(8.0).reshape(2, 4), columns=list(names))
    for table in (frame, pl.from_pandas(frame)):
        found, read = columns(table, "X", "x")
        assert read == list(names)
        assert [column.tolist() for column in found] == frame.T.to_numpy().tolist()


@pytest.mark.parametrize("names", REFUSED.values(), ids=REFUSED)
def test_names_that_no_file_can_hold(names):
    frame = pd.DataFrame(np.arange(8.0).reshape(2, 4), columns=pd.Index(names, dtype=object))
    with pytest.raises(InvalidInputError, match=r"must differ|has an empty name|half a character"):
        columns(frame, "X", "x")


def test_numbers_within_text_are_not_taken_for_text():
    _, numbers = contexts_as_read([["a", 1], ["b", 2.5], ["a", 3]])
    np.testing.assert_array_equal(numbers, [1, 2.5, 3])


def test_flags_and_numbers_mean_the_same_contexts():
    flags, codes = pd.DataFrame({"smoker": [True, False]}), pd.DataFrame({"smoker": [1, 0]})
    for fitted, given in ((flags, codes), (codes, flags)):
        encoder = ContextEncoder.learn(fitted)
        np.testing.assert_array_equal(encoder.encode(given), encoder.encode(fitted))


def test_text_of_equal_numbers_is_one():
    assert as_text(np.array([1, 1.0, "1", "1.0", True], dtype=object)) == ["1", "1", "1", "1.0", "1"]


def test_missing_values_of_all_kinds():
    dates = [pd.NaT, np.datetime64("NaT"), np.timedelta64("NaT")]
    assert all(map(is_missing, [None, np.nan, np.float32("nan"), pd.NA, Decimal("nan"), Decimal("sNaN"), *dates]))
    assert not any(map(is_missing, ["nan", "", 0, False, np.inf, pd.Timestamp(0)]))


def test_what_columns_hold():
    def objects(*values):
        return np.array([*values, None], dtype=object)

    assert is_flags(objects(True, np.False_))
    assert is_flags(np.array([True]))
    assert not is_flags(objects(True, 1))
    assert is_date(objects(pd.Period("2024", "M")))
    assert not is_date(objects(pd.Timestamp(0), "2024"))
    assert not is_date(objects())


def test_lazy_frames_are_not_computed():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(InvalidInputError, match=r"Got a LazyFrame instead. Call collect\(\) or compute\(\) first"):
            columns(pl.LazyFrame({"a": [1]}), "X", "x")
