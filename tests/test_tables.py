"""From tables of any kind to arrays: names, kinds of columns, and what is refused."""

import datetime
import re

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from contextualdag.errors import InvalidInputError
from contextualdag.tables import (
    check_aligned,
    check_scaled,
    check_size,
    is_date,
    read_variables,
    too_many_categories,
    varying,
)

FRAME = pd.DataFrame({"a": [1.0, 2, 4], "b": [3, 1, 2]})


@pytest.mark.parametrize("make", [lambda f: f, pl.from_pandas, pa.Table.from_pandas], ids=["pandas", "polars", "arrow"])
def test_names_come_through(make):
    values, names = read_variables(make(FRAME))
    assert names == ["a", "b"]
    np.testing.assert_array_equal(values, FRAME)


def test_objects_that_are_all_numbers_are_numbers():
    values, _ = read_variables(FRAME.astype(object))
    np.testing.assert_array_equal(values, FRAME)
    with pytest.raises(InvalidInputError, match=r"how many: 'a' \(2\)"):
        read_variables(FRAME.astype(object).assign(a=[None, pd.NA, 1]))
    with pytest.raises(InvalidInputError, match="a mixture of numbers and true or false"):
        read_variables(FRAME.astype(object).assign(a=[True, 1, 2]))


def test_masked_entries_are_missing():
    masked = np.ma.masked_array(FRAME.to_numpy(), [[False, False], [True, False], [True, False]])
    with pytest.raises(InvalidInputError, match=r"how many: 'x1' \(2\)\. Drop these rows"):
        read_variables(masked)
    np.testing.assert_array_equal(read_variables(np.ma.masked_array(FRAME.to_numpy()))[0], FRAME)


def test_dates_are_no_numbers():
    with pytest.raises(InvalidInputError, match=r"column 'a' holds dates.* such as days since a start"):
        read_variables(FRAME.assign(a=pd.to_timedelta([1, 2, 3], unit="D")))
    assert is_date(np.array([datetime.date(2020, 1, 1), None], dtype=object))
    assert not is_date(np.array(["2020-01-01", None], dtype=object))


@pytest.mark.parametrize("value", [1e39, -1e160, np.finfo(float).max])
def test_values_too_large_among_others(value):
    column = np.append(np.arange(9.0), value)
    with pytest.raises(InvalidInputError, match="Column 'a' of X has values too large to compute with, up to"):
        check_size(column[:, None], ["a"], "X")


def test_units_may_be_very_large_or_small():
    column = np.random.default_rng(0).standard_normal((50, 1))
    for factor in (1e-100, 1, 1e100):
        check_size(column * factor, ["a"], "X")
    with pytest.raises(InvalidInputError, match="too large"):
        check_size(column * 1e160, ["a"], "X")
    with pytest.raises(InvalidInputError, match="too small"):
        check_size(column * 1e-160, ["a"], "X")
    with pytest.raises(InvalidInputError, match=r"'a' of Z_val .* 1\.0e\+40 standard deviations"):
        check_scaled(np.array([[1.0], [1e40]]), ["a"], "Z_val")


def test_constant_but_for_rounding():
    columns = np.stack(
        [np.full(10, 0.1), np.full(10, 3e9), np.zeros(10), np.arange(10) * 1e-30, 1e9 + np.arange(10)], axis=1
    )
    columns[3, 1] += 1e-6
    assert varying(columns).tolist() == [False, False, False, True, True]
    assert np.full(3, 0.1).std() > 0  # why the standard deviation does not tell
    assert varying(np.array([[0.0, 0.0], [5e-324, 1e-160]])).tolist() == [False, True]


def test_too_many_categories():
    assert too_many_categories(3, 3, "a") == ""
    assert too_many_categories(5, 10, "a") == ""
    assert "6 different values in 10 rows" in too_many_categories(6, 10, "a")


def shuffled(frame):
    return frame.loc[[2, 0, 1]]


@pytest.mark.parametrize(
    ("X", "Z", "problem"),
    [
        (FRAME, FRAME, None),
        (FRAME, FRAME["a"], None),
        (shuffled(FRAME), shuffled(FRAME), None),
        (shuffled(FRAME), FRAME, "the same labels in another order"),
        (FRAME, shuffled(FRAME)["a"], "the same labels in another order"),
        (FRAME.set_axis(list("uvw")), FRAME.set_axis(list("uvx")), "different labels"),
        (FRAME.set_axis(list("uvw")), FRAME, None),  # one only counts its rows
        (FRAME.set_axis([5, 7, 9]), FRAME, None),
        (FRAME.set_axis([5, 7, 9]), FRAME.set_axis([7, 5, 9]), "the same labels in another order"),
        (FRAME.set_axis(list("uvw")), FRAME.to_numpy(), None),
        (FRAME.set_axis(list("uvw")), pl.from_pandas(FRAME), None),
        (FRAME.iloc[:2], FRAME, None),  # said by the check of the lengths
        (FRAME.set_axis(pd.MultiIndex.from_tuples([(0, 1), (0, 2), (1, 1)])), FRAME, None),
        (FRAME.set_axis([0, 1, 7]), FRAME, None),  # the labels that both have are those of the same rows
    ],
)
def test_rows_of_data_frames_belong_together_by_label(X, Z, problem):
    if problem is None:
        check_aligned({"X": X, "Z": Z})
        return
    remedy = r"Z_val = Z_val\.loc\[X_val\.index\]" if "order" in problem else r"X_val\.align\(Z_val, join='inner', axis=0\)"
    with pytest.raises(InvalidInputError, match=rf"{problem}.*{remedy}"):
        check_aligned({"X_val": X, "Z_val": Z})


@pytest.mark.parametrize(
    ("labels", "others", "first"),
    [
        (list("uvw"), list("uxw"), "row 1, counted from 0, is 'v' in X and 'x' in Z"),
        ([5, 7, 9], [5, 9, 7], "row 1, counted from 0, is 7 in X and 9 in Z"),
        ([(0, 1), (0, 2), (1, 1)], [(0, 1), (0, 2), (1, 2)], "row 2, counted from 0, is (1, 1) in X and (1, 2) in Z"),
        ([np.nan, 1.0, 2.0], [np.nan, 1.0, 3.0], "row 2, counted from 0, is 2.0 in X and 3.0 in Z"),
    ],
)
def test_the_first_labels_that_disagree_are_named(labels, others, first):
    left, right = (
        pd.MultiIndex.from_tuples(one) if isinstance(one[0], tuple) else pd.Index(one) for one in (labels, others)
    )
    with pytest.raises(InvalidInputError, match=re.escape(first)):
        check_aligned({"X": FRAME.set_axis(left), "Z": FRAME.set_axis(right)})


def test_other_numbers_of_rows_are_a_matter_of_labels():
    kept = FRAME.drop(index=1)
    message = r"X has 2 rows and Z has 3; they must describe the same samples\. Keep .*: X, Z = X\.align\(Z, join='inner'"
    with pytest.raises(InvalidInputError, match=message):
        check_aligned({"X": kept, "Z": FRAME})
    X, Z = kept.align(FRAME, join="inner", axis=0)
    check_aligned({"X": X, "Z": Z})


def test_tables_beside_one_without_labels_are_compared_too():
    labelled = FRAME.set_axis(list("uvw"))
    for X in (FRAME.to_numpy(), FRAME):
        check_aligned({"X": X, "Z": labelled, "groups": labelled["a"]})
        with pytest.raises(InvalidInputError, match="The indexes of Z and groups hold the same labels in another order"):
            check_aligned({"X": X, "Z": labelled, "groups": labelled["a"][::-1]})


@pytest.mark.parametrize("labels", [[2, 3, 4], [1, 2, 3], [0, 0, 1], [2.0, 3.0, 4.0]])
def test_labels_of_other_rows_are_warned_of_where_one_table_only_counts_its_rows(labels):
    moved = FRAME.set_axis(labels)
    for X, Z in ((FRAME, moved), (moved, FRAME), (FRAME, moved["a"])):
        with pytest.warns(UserWarning, match=r"Rows of X and Z are paired by position.* reset_index\(drop=True\)") as said:
            check_aligned({"X": X, "Z": Z})
        assert len(said) == 1
