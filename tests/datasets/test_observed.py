"""Options of `make_varying_dag` that make tables like real ones."""

import numpy as np
import pytest

from contextualdag.datasets import make_varying_dag
from contextualdag.errors import InvalidParameterError

PLAIN = make_varying_dag(2000, 20, 2, random_state=3)


def make(n=2000, **options):
    return make_varying_dag(n, 20, 2, random_state=3, **options)


def test_graphs_and_contexts_stay_the_same():
    for options in ({"binary": 0.3}, {"counts": 0.3}, {"missing": 0.2}, {"interventions": 0.2}):
        data = make(**options)
        np.testing.assert_array_equal(data.W, PLAIN.W)
        np.testing.assert_array_equal(data.Z, PLAIN.Z)


def test_some_columns_are_cut_and_some_counted():
    data = make(binary=0.25, counts=0.25)
    binary = [k for k in range(20) if set(np.unique(data.X[:, k])) == {0, 1}]
    counts = [k for k in range(20) if k not in binary and (data.X[:, k] == data.X[:, k].round()).all()]
    assert (len(binary), len(counts)) == (5, 5)
    others = [k for k in range(20) if k not in (*binary, *counts)]
    np.testing.assert_array_equal(data.X[:, others], PLAIN.X[:, others])
    for k in binary:
        assert (data.X[:, k] == (PLAIN.X[:, k] > np.median(PLAIN.X[:, k]))).all()
    for k in counts:
        rate = np.exp(0.7 * PLAIN.X[:, k])
        assert data.X[:, k].min() == 0
        assert ((data.X[:, k] - rate) / np.sqrt(rate)).std() == pytest.approx(1, abs=0.1)


def test_large_values_do_not_overflow_counts():
    X = make(counts=1.0, outliers=0.2, mean_shift=50.0).X
    assert (X >= 0).all()
    assert X.max() < 30_000


@pytest.mark.parametrize("share", [0.1, 0.4])
def test_values_are_missing_at_random(share):
    X = make(missing=share).X
    holes = np.isnan(X)
    assert holes.mean() == pytest.approx(share, abs=0.01)
    np.testing.assert_array_equal(X[~holes], PLAIN.X[~holes])
    assert np.abs(PLAIN.X[holes].mean()) < 0.03


def test_large_values_are_missing_more_often():
    holes = np.isnan(make(missing=0.2, missing_by_value=True).X)
    assert holes.mean() == pytest.approx(0.2, abs=0.01)
    above = np.median(PLAIN.X, axis=0) < PLAIN.X
    assert (holes[above].mean(), holes[~above].mean()) == pytest.approx((0.3, 0.1), abs=0.02)


def test_interventions_cut_edges_and_reach_what_follows():
    data = make(interventions=0.2)
    ever = data.interventions.any(0)
    assert ever.sum() == 4
    assert data.interventions[:, ever].mean() == pytest.approx(0.2, abs=0.02)
    values = data.X[data.interventions]
    assert (values.mean(), values.std()) == pytest.approx((0, 2), abs=0.15)
    noise = data.X - np.einsum("nj,njk->nk", data.X, data.W)
    before = PLAIN.X - np.einsum("nj,njk->nk", PLAIN.X, PLAIN.W)
    np.testing.assert_allclose(noise[~data.interventions], before[~data.interventions], atol=1e-10)
    parents = np.einsum("nj,njk->nk", data.X, data.W)[data.interventions]
    assert abs(np.corrcoef(values, parents)[0, 1]) < 0.1


def test_rows_of_a_person_share_context_and_noise():
    data = make(group_size=5)
    assert data.groups.tolist() == np.repeat(np.arange(400), 5).tolist()
    assert (np.ptp(data.Z.reshape(400, 5, 2), axis=1) == 0).all()
    noise = (data.X - np.einsum("nj,njk->nk", data.X, data.W)).reshape(400, 5, 20)
    assert noise.var() == pytest.approx(2, abs=0.1)
    assert noise.mean(1).var() == pytest.approx(1.2, abs=0.1)  # what is shared, and a fifth of the rest
    assert make(n=7, group_size=5).groups.tolist() == [0] * 5 + [1] * 2


def test_slices_know_persons_and_interventions():
    data = make(group_size=5, interventions=0.5)
    some = data[5:15]
    assert some.groups.tolist() == [1] * 5 + [2] * 5
    np.testing.assert_array_equal(some.interventions, data.interventions[5:15])
    assert PLAIN[:5].groups is None
    assert PLAIN.interventions is None


def test_all_at_once_and_the_same_again():
    options = {"binary": 0.3, "counts": 0.3, "missing": 0.1, "missing_by_value": True, "interventions": 0.2, "group_size": 3}
    first, second = (make(n=100, units=1.0, standardise=True, **options) for _ in range(2))
    np.testing.assert_array_equal(first.X, second.X)
    np.testing.assert_array_equal(first.interventions, second.interventions)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"binary": 1.1}, "'binary' parameter of make_varying_dag must be in [0, 1]. Got 1.1"),
        ({"counts": -1}, "'counts' parameter of make_varying_dag must be in [0, 1]. Got -1"),
        (
            {"binary": 0.75, "counts": 0.5},
            "'counts' parameter of make_varying_dag must be at most 0.25 where",
        ),
        ({"missing": 1.0}, "'missing' parameter of make_varying_dag must be a number in [0, 1). Got 1.0"),
        ({"missing": 0.6, "missing_by_value": True}, "must be at most 0.5 with missing_by_value. Got 0.6"),
        ({"missing_by_value": 1}, "'missing_by_value' parameter of make_varying_dag must be True or False"),
        ({"interventions": 2}, "'interventions' parameter of make_varying_dag must be in [0, 1]"),
        ({"group_size": 0}, "'group_size' parameter of make_varying_dag must be an integer of at least 1"),
    ],
)
def test_bad_options(options, message):
    with pytest.raises(InvalidParameterError) as error:
        make(**options)
    assert message in str(error.value)
