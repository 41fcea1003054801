import math

import pytest
import torch

from contextualdag.graphs import is_acyclic
from contextualdag.training.data import Folds, Rows
from contextualdag.training.prune import average, candidate_cuts, prune, split_half_graphs, strongest
from contextualdag.training.trainer import Fit

N = 4000
FIT = Fit({}, 0.0, 0.0, 0)


def samples(effect, scale=1.0):
    """Three variables; the first, of this scale, drives the second with weight `effect` (n,), the third stands alone."""
    generator = torch.Generator().manual_seed(0)
    X = torch.randn(N, 3, generator=generator)
    X[:, 0] *= scale
    X[:, 1] += effect * X[:, 0]
    return X


def graphs(**weights):
    """Graphs (n, 3, 3) with the weights of given pairs, such as ``ab=1.0``."""
    W = torch.zeros(N, 3, 3)
    for pair, weight in weights.items():
        W[:, "abc".index(pair[0]), "abc".index(pair[1])] = torch.as_tensor(weight)
    return W


def held_out(X, n_members=1):
    """Folds of which all members hold out everything."""
    rows = (torch.arange(len(X)),) * n_members
    return Folds(Rows(X, torch.zeros(len(X), 1)), rows, rows)


def first(share):
    """True for the given share of the samples."""
    return torch.arange(N) < share * N


def test_a_pair_without_which_the_loss_is_lower_is_dropped():
    X = samples(torch.ones(N))
    misleading = -0.3 if float((X[:, 0] * X[:, 2]).mean()) > 0 else 0.3
    W = graphs(ab=1.0, ac=misleading)
    refit = prune((FIT,), [W], held_out(X))
    assert refit.pairs.nonzero().tolist() == [[0, 1]]
    assert refit.loss < float(((X - (X[:, None] @ W)[:, 0]) ** 2).mean())
    assert torch.equal(refit.mean_graphs([W], 0.0), graphs(ab=1.0))


def test_split_half_graphs_have_no_luck_in_their_pairs():
    """The first of twenty nodes drives all others; graphs have those edges and as many that mean nothing, equally large."""
    gaps = []
    for seed in range(30):
        generator = torch.Generator().manual_seed(seed)
        X = torch.randn(2, 60, 20, generator=generator)
        X[:, :, 1:] += 0.2 * X[:, :, :1]
        false = 0.2 * torch.randn(20, 20, generator=generator).sign() * (torch.rand(20, 20, generator=generator) < 0.12)
        W = torch.triu(false, 1)
        W[0, 1:] = 0.2
        refit = prune((FIT,), [W.expand(60, 20, 20)], held_out(X[0]))
        elsewhere = float(((X[1] - X[1] @ (W * refit.pairs)) ** 2).mean() / (X[1] ** 2).mean() * (X[0] ** 2).mean())
        rows = Rows(X[0], torch.zeros(60, 1))
        honest = split_half_graphs(W.expand(60, 20, 20), rows)
        loss = float(((X[0] - (X[0][:, None] @ honest)[:, 0]) ** 2).mean())
        gaps.append((elsewhere - refit.loss, elsewhere - loss))
    lucky, unlucky = (sum(gap) / len(gaps) for gap in zip(*gaps, strict=True))
    assert lucky > 0
    assert abs(unlucky) < lucky / 2


@pytest.mark.parametrize(("share", "is_kept"), [(0.02, False), (0.03, True)])
def test_a_pair_that_is_an_edge_in_too_few_contexts_is_dropped(share, is_kept):
    rare = torch.where(first(share), 3.0, 0.0)
    refit = prune((FIT,), [graphs(ab=rare)], held_out(samples(rare)))
    assert bool(refit.pairs[0, 1]) == is_kept


def test_mean_graphs_have_as_many_edges_as_members_and_are_acyclic():
    effect = torch.where(first(0.5), 1.0, 0.0)
    X = samples(effect)
    members = [graphs(ab=effect), graphs(ab=torch.where(first(0.6), 0.9, 0.0)), graphs(ba=torch.where(first(0.5), 0.4, 0.0))]
    refit = prune((FIT,) * 3, members, held_out(X, 3))
    kept = refit.mean_graphs(members, refit.best_cut)
    assert is_acyclic(kept).all()
    assert torch.equal(kept[:, 0, 1] != 0, first(0.5))
    assert kept[:, 1, 0].abs().sum() == 0
    losses = [float(((X - (X[:, None] @ W)[:, 0]) ** 2).mean()) for W in members[:2]]
    assert losses[0] < losses[1]
    assert losses[0] < refit.loss < float((X**2).mean())


def test_what_a_member_drops_is_not_in_the_mean():
    X = samples(torch.ones(N))
    misleading = -0.3 if float((X[:, 0] * X[:, 2]).mean()) > 0 else 0.3
    members = [graphs(ab=1.0, ac=misleading), graphs(ab=1.0)]
    refit = prune((FIT,) * 2, members, held_out(X, 2))
    assert refit.member_cuts.shape == (2, 3, 3)
    assert refit.member_cuts[0, 0, 2] == math.inf
    assert torch.equal(refit.mean_graphs(members, 0.0), graphs(ab=1.0))


def test_members_are_cut_by_what_they_held_out_alone():
    """Both members have an edge that is right in the half that the first holds out, and wrong in the other."""
    X = samples(torch.where(first(0.5), 1.0, -1.0))
    halves = torch.arange(N).tensor_split(2)
    folds = Folds(Rows(X, torch.zeros(N, 1)), train=halves, held_out=halves[::-1])
    members = [graphs(ab=-1.0), graphs(ab=-1.0)]
    refit = prune((FIT,) * 2, members, folds)
    assert refit.member_cuts[:, 0, 1].tolist() == [0.0, math.inf]
    later = halves[1]
    residual = X[later] - (X[later, None] @ members[0][later])[:, 0]
    without = X[halves[0]].square().mean()
    assert refit.loss == pytest.approx(float(residual.square().mean() + without) / 2)


def test_a_pair_stays_if_it_helps_in_what_members_held_out_together():
    X = samples(torch.where(first(0.75), 1.0, -1.0))
    quarters = torch.arange(N).tensor_split(4)
    folds = Folds(Rows(X, torch.zeros(N, 1)), train=quarters, held_out=quarters)
    members = [graphs(ab=1.0)] * 4
    refit = prune((FIT,) * 4, members, folds)
    assert refit.member_cuts[:, 0, 1].tolist() == [0.0, 0.0, 0.0, math.inf]
    assert refit.pairs.nonzero().tolist() == [[0, 1]]


def test_a_pair_goes_if_it_does_more_harm_than_good_in_what_members_held_out():
    """Two of three members hold out rows where the edge helps a little, the third rows where it does more harm."""
    effect = torch.where(first(2 / 3), 0.6, 0.2)
    X = samples(effect)
    X[:, 2] += X[:, 0]
    parts = torch.arange(N).tensor_split(3)
    folds = Folds(Rows(X, torch.zeros(N, 1)), train=parts, held_out=parts)
    # The third member keeps the edge through its first cut, since it is as strong as a good one.
    refit = prune((FIT,) * 3, [graphs(ab=1.0, ac=1.0)] * 3, folds)
    assert refit.member_cuts[:, 0, 1].tolist() == [0.0, 0.0, math.inf]
    assert refit.pairs.nonzero().tolist() == [[0, 2]]


def test_strongest_edges():
    W = graphs(ab=first(0.5) * 2.0, bc=1.0)
    assert torch.equal(strongest(W, 0.5), graphs(ab=first(0.5) * 2.0))
    assert torch.equal(strongest(W, 3), W)
    assert not strongest(W, 0).any()


def test_empty_graphs_have_an_empty_refit():
    refit = prune((FIT,), [graphs()], held_out(samples(torch.zeros(N))))
    assert (refit.curve.cuts, refit.curve.n_edges, refit.best) == ([0.0], [0.0], 0)
    assert not refit.pairs.any()


def test_cuts_leave_fewer_and_fewer_edges():
    W = torch.rand(20, 5, 5, generator=torch.Generator().manual_seed(0))
    cuts, n_edges = candidate_cuts(W)
    left = [int((cut < W).sum()) for cut in cuts]
    assert cuts[0] == 0
    assert cuts == sorted(cuts)
    assert left == sorted(left, reverse=True)
    assert left[-1] < 10
    assert n_edges == [count / 20 for count in left]


def test_a_cut_is_not_selected_as_if_fading_weights_did_no_harm():
    """In the second half of the contexts the edge is there less and less often, and its weight is the chance of it."""
    chance = torch.cat([torch.ones(N // 2), torch.linspace(1, 0, N // 2)])
    is_edge = torch.rand(N, generator=torch.Generator().manual_seed(1)) < chance
    W = graphs(ab=chance)
    refit = prune((FIT,), [W], held_out(samples(torch.where(is_edge, 1.0, 0.0), scale=10.0)))
    by_loss = refit.curve.best
    kept = refit.mean_graphs([W], refit.best_cut)[:, 0, 1] != 0
    # Half of the usual weight lowers the loss where the chance is above a quarter.
    assert float(kept.float().mean()) == pytest.approx(0.5 + 0.5 * 0.75, abs=0.06)
    assert refit.curve.n_edges[by_loss] > float(kept.float().mean())


def test_the_average_of_graphs_that_disagree_is_acyclic():
    one, other = torch.tensor([[[0.0, 1.0], [0.0, 0.0]]]), torch.tensor([[[0.0, 0.0], [0.8, 0.0]]])
    assert average([one, other]).tolist() == [[[0.0, 0.5], [0.0, 0.0]]]
    assert average([one]) is one


def test_cuts_lie_between_weights():
    """Of nine contexts each weight occurs many times, up to rounding."""
    generator = torch.Generator().manual_seed(0)
    levels = torch.rand(9, generator=generator) + 0.1
    W = torch.zeros(900, 2, 2)
    W[:, 0, 1] = levels.repeat(100) * (1 + 1e-6 * torch.rand(900, generator=generator))
    cuts, n_edges = candidate_cuts(W)
    sizes = W[:, 0, 1]
    for cut, count in zip(cuts[1:], n_edges[1:], strict=True):
        assert float((sizes - cut).abs().min()) > 1e-4 * cut
        assert float((sizes > cut).sum()) / 900 == pytest.approx(count)
    assert cuts == sorted(cuts)
