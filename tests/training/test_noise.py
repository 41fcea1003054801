import math

import pytest
import torch

from contextualdag.training.data import Rows
from contextualdag.training.noise import (
    brackets,
    floored,
    gain_of_scales,
    is_clear,
    log_likelihoods,
    residual_scales,
    sized,
)

EVERYTHING = ~torch.eye(4, dtype=torch.bool)


def chain(scales, n=3000, seed=0, varies=True):
    """x1 -> x2 -> x3 and x4 alone, with noise of given scales; weights change with the context."""
    generator = torch.Generator().manual_seed(seed)
    Z = torch.rand(n, 1, generator=generator, dtype=torch.float64) * 2 - 1
    X = torch.randn(n, 4, generator=generator, dtype=torch.float64) * torch.tensor(scales, dtype=torch.float64)
    weight = 1.5 * Z[:, 0] if varies else torch.full((n,), 0.8, dtype=torch.float64)
    X[:, 1] += weight * X[:, 0]
    X[:, 2] += weight * X[:, 1]
    return Rows(X, Z)


def test_brackets_hold_the_noise_variances():
    scales = [0.5, 2.0, 1.0, 3.0]
    found = brackets(chain(scales), EVERYTHING)
    truth = torch.tensor(scales, dtype=torch.float64) ** 2
    assert (found.low <= 1.1 * truth).all()
    assert (found.high >= 0.9 * truth).all()
    assert found.low[3] == pytest.approx(9, rel=0.1)
    assert (found.low[:3] < 0.95 * found.high[:3]).all()


def test_brackets_tell_whether_noise_can_be_equal():
    units = torch.tensor([1.0, 10.0, 0.1, 1.0])
    equal, unequal = chain([1.0] * 4), chain([1.0, 1.0, 1.0, 3.0])
    assert brackets(equal, EVERYTHING).allow_equal(torch.ones(4))
    assert not brackets(equal, EVERYTHING).allow_equal(units)
    assert not brackets(unequal, EVERYTHING).allow_equal(torch.ones(4))
    in_units = Rows(equal.X * units, equal.Z)
    assert brackets(in_units, EVERYTHING).allow_equal(units)


@pytest.mark.parametrize("n", [3, 5, 20])
def test_brackets_of_few_rows(n):
    found = brackets(chain([1.0] * 4, n), EVERYTHING)
    assert found.low.isfinite().all()
    assert (found.low >= 0).all()
    assert (found.low <= found.high).all()


def test_brackets_leave_out_constant_columns_and_count_weights():
    rows = chain([1.0] * 4)
    rows.X[:, 3] = 0
    allowed = EVERYTHING.clone()
    allowed[3] = allowed[:, 3] = False
    assert brackets(rows, allowed).allow_equal(torch.ones(4))
    bad = Rows(rows.X.clone(), rows.Z, weight=torch.ones(len(rows)))
    bad.X[:10, :3] *= 1000
    bad.weight[:10] = 0
    torch.testing.assert_close(brackets(bad, allowed).high, brackets(rows, allowed).high, rtol=0.05, atol=0)


def test_scales_of_residuals():
    residuals = torch.tensor([[3.0, 0.0], [4.0, 2.0]], dtype=torch.float64)
    rows = Rows(residuals, residuals)
    assert residual_scales(residuals, rows).tolist() == pytest.approx([math.sqrt(12.5), math.sqrt(2)])
    weighted = Rows(residuals, residuals, weight=torch.tensor([1.0, 0.0]))
    assert residual_scales(residuals, weighted).tolist() == [3.0, 0.0]
    assert floored(torch.tensor([0.0, 1.0, 0.0]), torch.tensor([10.0, 1.0, 0.0])).tolist() == pytest.approx([3.0, 1.0, 1.0])
    divided = residuals / sized(torch.tensor([1.0, 2.0], dtype=torch.float64), rows)
    assert float((divided**2).mean()) == pytest.approx(1)


def test_the_log_likelihood_is_greatest_at_the_true_scales():
    residuals = torch.randn(5000, 2, generator=torch.Generator().manual_seed(0)) * torch.tensor([1.0, 5.0])
    at = lambda *scales: float(log_likelihoods(residuals, torch.tensor(scales, dtype=torch.float64)).mean())  # noqa: E731
    assert at(1.0, 5.0) > max(at(1.3, 5.0), at(1.0, 4.0), at(2.0, 6.0))


@pytest.mark.parametrize("scales", [(1.0, 1.0, 1.0), (1.0, 1.0, 3.0)])
def test_equal_noise_is_kept_and_unequal_noise_seen(scales):
    wrong = 0
    for seed in range(20):
        residuals = torch.randn(2, 150, 3, generator=torch.Generator().manual_seed(seed)) * torch.tensor(scales)
        halves = [(half, Rows(half, half)) for half in residuals]
        wrong += is_clear(*gain_of_scales(*halves)) != (scales[2] != 1)
    assert wrong == 0
