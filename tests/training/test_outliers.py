import torch

from contextualdag.training.data import Rows, Split
from contextualdag.training.outliers import OUTLIER, trust


def a_split(n=400, p=6, seed=0):
    generator = torch.Generator().manual_seed(seed)
    X = torch.randn(2 * n, p, generator=generator) * torch.tensor([1.0, 100.0, 1e-3, 1.0, 1.0, 1.0])[:p]
    return Split(Rows(X[:n], X[:n, :1]), Rows(X[n:], X[n:, :1]))


def test_normal_rows_all_count_the_same():
    split = a_split()
    assert trust(split) is None


def test_rows_far_away_count_less_and_no_others():
    split = a_split()
    split.train.X[[3, 50]] *= 10
    split.held_out.X[7] *= 1e6
    train, held_out = trust(split)
    assert (train < OUTLIER).nonzero().flatten().tolist() == [3, 50]
    assert (held_out < OUTLIER).nonzero().flatten().tolist() == [7]
    assert (train > 0).all()
    assert (train == 1).sum() >= 395
    sizes = train[:, None] * (split.train.X / split.train.X.abs().median(0).values) ** 2
    assert float(sizes[[3, 50]].mean()) < 10 * float(sizes.mean())  # their influence is bounded


def test_units_do_not_matter():
    split = a_split()
    split.train.X[3] *= 10
    factors = torch.tensor([2.0, 0.25, 1024.0, 1.0, 0.5, 8.0])
    scaled = Split(*(Rows(rows.X * factors, rows.Z) for rows in (split.train, split.held_out)))
    assert torch.equal(trust(scaled)[0], trust(split)[0])


def test_columns_with_few_values():
    split = a_split()
    for rows in (split.train, split.held_out):
        rows.X[:, 0] = (rows.X[:, 0] > 1.5).float()  # mostly zero, so the median deviation is zero
        rows.X[:, 1] = 4.0
    found = trust(split)
    weights = torch.ones(1) if found is None else found[0]
    assert weights.isfinite().all()
    assert float((weights < OUTLIER).float().mean()) < 0.01


def test_many_far_rows_are_a_kind_of_their_own():
    split = a_split()
    split.train.X[:32] *= 30
    assert int((trust(split)[0] < OUTLIER).sum()) == 32
    split.train.X[:48] *= 30
    assert trust(split) is None


def test_means_that_move_with_the_context_are_no_outliers():
    split = a_split()
    kind = (torch.arange(400) % 7 == 0).float()[:, None]
    shift = kind * torch.tensor([10.0, 1000.0, 1e-2, 10.0, 10.0, 10.0])
    moved = Split(*(Rows(rows.X + shift, 2 * kind - 1) for rows in (split.train, split.held_out)))
    assert trust(moved) is None
    moved.train.X[3] *= 10
    assert (trust(moved)[0] < OUTLIER).nonzero().flatten().tolist() == [3]


def test_a_column_that_is_mostly_one_value():
    split = a_split(p=4)
    for rows in (split.train, split.held_out):
        rows.X[: len(rows) * 11 // 20, 0] *= 1e-4
    found = trust(split)
    assert found is None or float((found[0] < OUTLIER).float().mean()) < 0.01


def test_rows_that_are_mostly_one_row_all_count():
    rows = Rows(torch.zeros(20, 2), torch.zeros(20, 1))
    rows.X[::5] = torch.randn(4, 2, generator=torch.Generator().manual_seed(0))
    split = Split(rows, rows)
    assert trust(split) is None
