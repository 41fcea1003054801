import torch

from contextualdag.training.data import Rows, Split
from contextualdag.training.outliers import OUTLIER, weighted


def a_split(n=400, p=6, seed=0):
    generator = torch.Generator().manual_seed(seed)
    X = torch.randn(2 * n, p, generator=generator) * torch.tensor([1.0, 100.0, 1e-3, 1.0, 1.0, 1.0])[:p]
    return Split(Rows(X[:n], X[:n, :1]), Rows(X[n:], X[n:, :1]))


def test_normal_rows_all_count_the_same():
    split = a_split()
    assert weighted(split) is split


def test_rows_far_away_count_less_and_no_others():
    split = a_split()
    split.train.X[[3, 50]] *= 10
    split.held_out.X[7] *= 1e6
    found = weighted(split)
    assert (found.train.weight < OUTLIER).nonzero().flatten().tolist() == [3, 50]
    assert (found.held_out.weight < OUTLIER).nonzero().flatten().tolist() == [7]
    assert (found.train.weight > 0).all()
    assert (found.train.weight == 1).sum() >= 395
    sizes = found.train.weight[:, None] * (found.train.X / split.train.X.abs().median(0).values) ** 2
    assert float(sizes[[3, 50]].mean()) < 10 * float(sizes.mean())  # their influence is bounded


def test_units_do_not_matter():
    split = a_split()
    split.train.X[3] *= 10
    factors = torch.tensor([2.0, 0.25, 1024.0, 1.0, 0.5, 8.0])
    scaled = Split(*(Rows(rows.X * factors, rows.Z) for rows in (split.train, split.held_out)))
    assert torch.equal(weighted(scaled).train.weight, weighted(split).train.weight)


def test_columns_with_few_values():
    split = a_split()
    for rows in (split.train, split.held_out):
        rows.X[:, 0] = (rows.X[:, 0] > 1.5).float()  # mostly zero, so the median deviation is zero
        rows.X[:, 1] = 4.0
    found = weighted(split)
    weights = torch.ones(1) if found.train.weight is None else found.train.weight
    assert weights.isfinite().all()
    assert float((weights < OUTLIER).float().mean()) < 0.01


def test_weights_that_are_given_are_kept():
    split = a_split()
    split.train.X[3] *= 10
    given = Split(*(Rows(rows.X, rows.Z, weight=torch.full((400,), 2.0)) for rows in (split.train, split.held_out)))
    found = weighted(given)
    assert found.train.weight[0] == 2
    assert 0 < found.train.weight[3] < 1


def test_rows_that_are_mostly_one_row_all_count():
    rows = Rows(torch.zeros(20, 2), torch.zeros(20, 1))
    rows.X[::5] = torch.randn(4, 2, generator=torch.Generator().manual_seed(0))
    split = Split(rows, rows)
    assert weighted(split) is split
