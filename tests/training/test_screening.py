import torch

from contextualdag.training.data import Rows
from contextualdag.training.screening import explained_share, screen


def rows_of(n, p, seed=0):
    generator = torch.Generator().manual_seed(seed)
    return Rows(torch.randn(n, p, generator=generator), torch.rand(n, 2, generator=generator) * 2 - 1)


def everything(p):
    return ~torch.eye(p, dtype=torch.bool)


def test_edges_that_vary_are_kept_whatever_the_units():
    rows = rows_of(500, 40)
    rows.X[:, 1] += rows.X[:, 0] * rows.Z[:, 0]  # no correlation on average
    rows.X[:, 5] -= 0.5 * rows.X[:, 30]
    kept = screen(rows, everything(40), kept=3)
    assert kept[0, 1]
    assert kept[1, 0]
    assert kept[30, 5]
    assert kept.sum() < 6 * 40
    rows.X[:, ::2] *= 1e6
    assert torch.equal(screen(rows, everything(40), kept=3), kept)


def test_few_variables_are_not_screened():
    assert torch.equal(screen(rows_of(50, 25), everything(25)), everything(25))
    assert not torch.equal(screen(rows_of(50, 26), everything(26)), everything(26))


def test_only_allowed_edges_are_kept():
    allowed = torch.ones(30, 30, dtype=torch.bool).triu(1)
    kept = screen(rows_of(50, 30), allowed, kept=4)
    assert not (kept & ~allowed).any()
    assert (kept | kept.T).sum(0).min() >= 4


def test_constant_columns_and_contexts():
    rows = rows_of(50, 3)
    rows.X[:, 0] = 0
    rows.Z[:] = 0
    share = explained_share(rows)
    assert share.isfinite().all()
    assert share[0].tolist() == share[:, 0].tolist() == [0.0, 0.0, 0.0]
    torch.testing.assert_close(share[1, 2], torch.corrcoef(rows.X.double().T)[1, 2] ** 2, atol=0.05, rtol=0)


def test_weights_count_rows():
    rows = rows_of(60, 4)
    twice = Rows(torch.cat([rows.X, rows.X[:20]]), torch.cat([rows.Z, rows.Z[:20]]))
    weighted = Rows(rows.X, rows.Z, weight=torch.cat([torch.full((20,), 2.0), torch.ones(40)]))
    torch.testing.assert_close(explained_share(weighted), explained_share(twice))
