import pytest
import torch

from contextualdag.training.data import Rows, Split, make_folds, n_held_out, stack, standard_error


def a_split(n, n_val, with_mask=False):
    """Samples that say where they stood: in X by their number, in Z by a hundred times it, in masks and weights as X."""
    X = torch.arange(n + n_val, dtype=torch.float32)[:, None]
    rows = Rows(X, 100 * X, X[:, :, None] if with_mask else None, weight=X[:, 0])
    return Split(rows[:n], rows[n:])


def test_one_member_keeps_the_split():
    split = a_split(7, 3, with_mask=True)
    (own,) = make_folds(split, 1, seed=0).splits
    for ours, theirs in ((own.train, split.train), (own.held_out, split.held_out)):
        for name in ("X", "Z", "mask", "weight"):
            assert torch.equal(getattr(ours, name), getattr(theirs, name)), name


@pytest.mark.parametrize(
    ("n", "n_val", "n_members", "size"),
    [(100, 100, 3, 66), (100, 100, 2, 100), (80, 20, 3, 20), (80, 20, 8, 12), (2, 1, 5, 1)],
)
def test_members_hold_out_as_many_samples_as_the_validation_set_or_a_share(n, n_val, n_members, size):
    assert n_held_out(n, n_val, n_members) == size
    folds = make_folds(a_split(n, n_val), n_members, seed=0)
    for train, held_out in zip(folds.train, folds.held_out, strict=True):
        assert len(held_out) == size
        assert torch.equal(torch.cat([train, held_out]).sort().values, torch.arange(n + n_val))


def test_members_together_train_on_all_and_hold_out_each_sample_once():
    folds = make_folds(a_split(50, 50), 4, seed=0)
    assert torch.equal(torch.cat(folds.held_out).sort().values, torch.arange(100))
    assert torch.cat(folds.train).bincount().tolist() == [3] * 100


def test_rows_of_all_tables_stay_together():
    for own in make_folds(a_split(30, 10, with_mask=True), 3, seed=1).splits:
        for rows in (own.train, own.held_out):
            assert torch.equal(rows.Z, 100 * rows.X)
            assert torch.equal(rows.mask[:, :, 0], rows.X)
            assert torch.equal(rows.weight, rows.X[:, 0])


def test_all_that_some_member_trains_on():
    split = a_split(30, 10, with_mask=True)
    rows = make_folds(split, 1, seed=0).trained_on
    assert torch.equal(rows.Z, split.train.Z)
    assert torch.equal(rows.mask, split.train.mask)
    rows = make_folds(split, 3, seed=0).trained_on
    assert torch.equal(rows.Z, torch.cat([split.train.Z, split.held_out.Z]))


def test_the_seed_decides():
    split = a_split(30, 10)
    held_out = [make_folds(split, 3, seed).held_out[0].tolist() for seed in (1, 1, 2)]
    assert held_out[0] == held_out[1] != held_out[2]


def test_stacked_rows_can_be_taken_apart():
    split = a_split(4, 4, with_mask=True)
    both = stack([split.train, split.held_out])
    assert both.X.shape == (2, 4, 1)
    assert both.mask.shape == (2, 4, 1, 1)
    assert both.scored is None
    assert torch.equal(both.flatten().weight, torch.arange(8.0))


def test_repeated_folds_are_the_same():
    folds = make_folds(a_split(30, 10), 1, seed=0).repeat(3)
    assert len(folds.splits) == 3
    assert torch.equal(folds.splits[2].held_out.X, folds.splits[0].held_out.X)


def test_standard_errors_of_groups():
    generator = torch.Generator().manual_seed(0)
    values = torch.randn(60, generator=generator, dtype=torch.float64)
    alone = standard_error(values, None)
    assert standard_error(values, torch.arange(60)) == pytest.approx(alone)
    # Copies add nothing: the error is that of one of each, however they are ordered.
    copies, group = values.repeat(5), torch.arange(60).repeat(5)
    assert standard_error(copies, group) == pytest.approx(alone)
    assert standard_error(copies, None) == pytest.approx(alone / 5**0.5, rel=0.01)
