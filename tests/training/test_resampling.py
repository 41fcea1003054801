"""Half-samples: complementary, groups together, and problems that differ in nothing but their rows."""

import pytest
import torch

from contextualdag.training.resampling import group_numbers, half_samples


@pytest.mark.parametrize("n", [20, 21])
def test_pairs_of_halves_complete_each_other(n):
    halves = half_samples(n, 6, seed=0)
    for first, second in zip(halves[::2], halves[1::2], strict=True):
        assert sorted(torch.cat([first, second]).tolist()) == list(range(n))
        assert abs(len(first) - len(second)) <= 1
    assert not torch.equal(halves[0], halves[2])


def test_an_odd_number_leaves_one_without_its_other():
    assert len(half_samples(20, 5, seed=0)) == 5
    assert torch.equal(half_samples(20, 5, seed=0)[4], half_samples(20, 6, seed=0)[4])


def test_groups_stay_together():
    groups = group_numbers(["a", "b", "b", "c", "c", "c", "d", "e", "e", "f"])
    for half in half_samples(10, 20, seed=1, groups=groups):
        inside = set(groups[half].tolist())
        outside = set(groups.tolist()) - inside
        assert inside
        assert outside
        assert not inside & {int(groups[i]) for i in range(10) if i not in half.tolist()}


def test_one_large_group_is_still_one_half():
    groups = torch.tensor([0] * 90 + list(range(1, 11)))
    for first, second in zip(*[iter(half_samples(100, 8, seed=0, groups=groups))] * 2, strict=True):
        assert {len(first), len(second)} != {0, 100}
        assert max(len(first), len(second)) >= 90


def test_numbers_of_groups_follow_their_order():
    assert group_numbers(["x", 3, "x", None]).tolist() == [0, 1, 0, 2]
