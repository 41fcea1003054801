"""Whether the context matters: a permutation test."""

from dataclasses import replace

import pytest
import torch
from scipy.stats import kstest

from contextualdag.training.context_test import permutation_test, permuted
from contextualdag.training.data import Rows

FEATURES = {"a": (0,), "b": (1,)}


def rows(seed, n=300, depends=True, heavy=False):
    """x1 -> x2 with a weight that is the first of two contexts, or has nothing to do with it."""
    generator = torch.Generator().manual_seed(seed)
    Z = torch.randn(n, 2, generator=generator)
    X = torch.randn(n, 3, generator=generator)
    if heavy:
        X = X**3
    X[:, 1] += (Z[:, 0] if depends else torch.randn(n, generator=generator)) * X[:, 0]
    return Rows(X, Z)


def test_a_context_that_matters():
    found = permutation_test(rows(0), FEATURES, seed=0)
    assert found.p_value == pytest.approx(1 / 200)
    assert found.context_matters
    assert found.n_rows == 300
    assert found.features["a"] == pytest.approx(1 / 200)
    assert (found.gain, found.gain_interval) == (None, None)


@pytest.mark.parametrize("heavy", [False, True])
def test_p_values_are_uniform_where_it_does_not(heavy):
    found = [permutation_test(rows(seed, n=60, depends=False, heavy=heavy), FEATURES, seed) for seed in range(200)]
    for values in ([one.p_value for one in found], [one.features["b"] for one in found]):
        assert kstest(values, "uniform").pvalue > 0.01
        assert sum(value <= 0.05 for value in values) < 20


def test_a_feature_that_only_goes_along_with_another_does_not_matter():
    found = []
    for seed in range(60):
        given = rows(seed)
        Z = given.Z.clone()
        Z[:, 1] = 0.7 * Z[:, 0] + 0.7 * Z[:, 1]
        found.append(permutation_test(Rows(given.X, Z), FEATURES, seed).features)
    assert sum(one["a"] <= 0.05 for one in found) > 55
    assert sum(one["b"] <= 0.05 for one in found) < 10


def test_categories_are_one_feature():
    generator = torch.Generator().manual_seed(0)
    group = torch.randint(3, (400,), generator=generator)
    X = torch.randn(400, 2, generator=generator)
    X[:, 1] += torch.tensor([-1.0, 0.0, 1.0])[group] * X[:, 0]
    Z = torch.cat([torch.nn.functional.one_hot(group).float(), torch.randn(400, 1, generator=generator)], 1)
    found = permutation_test(Rows(X, Z), {"group": (0, 1, 2), "noise": (3,)}, 0)
    assert found.features["group"] == pytest.approx(1 / 200)
    assert found.features["noise"] > 0.05


def test_contexts_that_do_not_vary_and_columns_that_do_not():
    given = rows(0)
    assert permutation_test(Rows(given.X, torch.ones(300, 2)), FEATURES, 0) is None
    assert permutation_test(Rows(given.X, torch.ones(300, 0)), {}, 0) is None
    still = permutation_test(Rows(torch.zeros(300, 3), given.Z), FEATURES, 0)
    assert still.p_value == 1
    half = Rows(given.X, torch.stack([given.Z[:, 0], torch.ones(300)], 1))
    assert permutation_test(half, FEATURES, 0).features == {"a": pytest.approx(1 / 200)}  # b does not vary


def test_many_rows_are_thinned_out_and_few_are_enough_for_a_p_value():
    assert permutation_test(rows(0, n=2500), FEATURES, 0).n_rows == 2000
    assert 0 < permutation_test(rows(0, n=5), FEATURES, 0).p_value <= 1


def persons(seed, n_persons=30, n_each=6):
    """Covariances that differ from person to person, whatever their context."""
    generator = torch.Generator().manual_seed(seed)
    group = torch.arange(n_persons).repeat_interleave(n_each)
    Z = torch.randn(n_persons, 2, generator=generator)[group]
    X = torch.randn(len(group), 3, generator=generator)
    X[:, 1] += 2 * torch.randn(n_persons, generator=generator)[group] * X[:, 0]
    return Rows(X, Z, group=group)


@pytest.mark.long
def test_rows_of_one_person_do_not_count_as_many():
    found = [permutation_test(persons(seed), FEATURES, seed) for seed in range(100)]
    ignored = [permutation_test(replace(persons(seed), group=None), FEATURES, seed) for seed in range(100)]
    assert sum(one.p_value <= 0.05 for one in ignored) > 20
    for values in ([one.p_value for one in found], [one.features["b"] for one in found]):
        assert sum(value <= 0.05 for value in values) <= 11


def test_groups_swap_contexts_as_wholes():
    group = torch.arange(300) % 20
    assert permutation_test(replace(rows(0), group=group), FEATURES, 0).p_value < 0.01
    generator = torch.Generator().manual_seed(0)
    for _ in range(50):
        order = permuted(300, group, generator)
        assert torch.equal(order.sort().values, torch.arange(300))  # groups of one size
        assert all(len(group[order][group == g].unique()) == 1 for g in range(20))
    assert len({int(permuted(300, group, generator)[0]) for _ in range(50)}) > 20
    unequal = torch.tensor([0] * 5 + [1] * 2)
    for _ in range(50):
        order = permuted(7, unequal, generator)
        swapped = bool(unequal[order[0]] == 1)
        assert torch.equal(unequal[order], 1 - unequal if swapped else unequal)
        assert len(order[:5].unique()) == (2 if swapped else 5)


def test_blocks_of_a_time_series_keep_their_order():
    """Variables whose covariance wanders slowly, and contexts that wander slowly, but apart from it."""
    series = torch.randn(1000, 40, 5, generator=torch.Generator().manual_seed(0))
    for step in range(1, 1000):
        series[step] += 0.95 * series[step - 1]
    series /= series.std(0)
    block = torch.arange(1000) // 50
    tested = [Rows(one[:, :3], one[:, 3:], group=block) for one in series.unbind(1)]
    p_values = [permutation_test(one, FEATURES, 0).p_value for one in tested]
    assert sum(p_value <= 0.05 for p_value in p_values) <= 6


def test_features_that_are_the_same_within_groups_beside_others_that_are_not():
    found = []
    for seed in range(30):
        generator = torch.Generator().manual_seed(seed)
        group = torch.arange(60).repeat_interleave(5)
        Z = torch.randn(300, 2, generator=generator)
        Z[:, 0] = Z[group * 5, 0]
        X = torch.randn(300, 3, generator=generator)
        X[:, 1] += Z[:, 0] * X[:, 0]
        found.append(permutation_test(Rows(X, Z, group=group), FEATURES, seed))
    assert sum(one.p_value <= 0.05 for one in found) >= 28
    assert sum(one.features["a"] <= 0.05 for one in found) >= 28
    assert sum(one.features["b"] <= 0.05 for one in found) <= 5
    assert all(one.n_groups == 0 and not one.has_low_power for one in found)


def test_few_groups_see_little():
    given = persons(0, n_persons=2, n_each=100)
    found = permutation_test(given, FEATURES, 0)
    assert (found.n_rows, found.n_groups, found.has_low_power) == (200, 2, True)
    assert found.p_value > 0.3
    nearly_all_alone = torch.cat([torch.arange(299), torch.tensor([0])])
    assert permutation_test(replace(rows(0), group=nearly_all_alone), FEATURES, 0).p_value < 0.05


def test_groups_of_one_row_are_no_groups():
    alone = replace(rows(1, depends=False), group=torch.arange(300).flip(0))
    by_group, by_row = (permutation_test(one, FEATURES, 0) for one in (alone, replace(alone, group=None)))
    assert (by_group.p_value, by_group.features) == (by_row.p_value, by_row.features)
