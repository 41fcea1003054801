import pytest
import torch

from contextualdag.training.folds import make_folds, n_held_out
from contextualdag.training.trainer import Split


def a_split(n, n_val, with_mask=False):
    """Samples that say where they stood: in X by their number, in Z by a hundred times it, in masks as X."""
    X = torch.arange(n + n_val, dtype=torch.float32)[:, None]
    masks = (X[:n, :, None], X[n:, :, None]) if with_mask else ()
    return Split(X[:n], 100 * X[:n], X[n:], 100 * X[n:], *masks)


def test_one_member_keeps_the_split():
    split = a_split(7, 3, with_mask=True)
    (own,) = make_folds(split, 1, seed=0).splits
    for name, tensor in vars(split).items():
        assert torch.equal(getattr(own, name), tensor), name


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
        assert torch.equal(own.Z, 100 * own.X)
        assert torch.equal(own.Z_val, 100 * own.X_val)
        assert torch.equal(own.mask[:, :, 0], own.X)
        assert torch.equal(own.mask_val[:, :, 0], own.X_val)


def test_all_that_some_member_trains_on():
    split = a_split(30, 10, with_mask=True)
    Z, mask = make_folds(split, 1, seed=0).trained_on
    assert torch.equal(Z, split.Z)
    assert torch.equal(mask, split.mask)
    Z, _ = make_folds(split, 3, seed=0).trained_on
    assert torch.equal(Z, torch.cat([split.Z, split.Z_val]))


def test_the_seed_decides():
    split = a_split(30, 10)
    held_out = [make_folds(split, 3, seed).held_out[0].tolist() for seed in (1, 1, 2)]
    assert held_out[0] == held_out[1] != held_out[2]
