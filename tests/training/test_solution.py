"""The three kinds of solution: one interface, packed and unpacked."""

import math

import pytest
import torch

from contextualdag.errors import InvalidParameterError
from contextualdag.graphs import is_acyclic
from contextualdag.network import ContextNetwork, initialise
from contextualdag.projection import Order
from contextualdag.threads import ROWS_WORTH_THREADS
from contextualdag.training.path import PathPoint
from contextualdag.training.prune import Curve, Refit
from contextualdag.training.selection import Refitted, Shrunken
from contextualdag.training.solution import ClusterGraphs, ConstantGraph, VaryingGraphs, unpack_solution
from contextualdag.training.trainer import Fit, copy_state

ALL = torch.ones(3, 3, dtype=torch.bool)
Z = torch.linspace(-1, 1, 6)[:, None]


def points_of(learned, refitted, empty):
    """A path of two points with a budget, the first of which has a refit and the second no edges."""
    curve = Curve([0.0, 0.5, 1.0], [3.0, 2.0, 0.0], [1.0, 1.1, 1.3])
    refit = Refit(tuple(Fit(one, 1.0, 1.0, 3) for one in refitted), torch.zeros(len(refitted), 3, 3), ALL, curve, 0, 1.0)
    fits = tuple(Fit(one, 1.0, 1.2, 5) for one in learned)
    thresholds = (0.1,) * len(fits)
    return (
        PathPoint(math.inf, thresholds, 3.0, fits),
        PathPoint(2.0, thresholds, 3.0, fits, refit),
        PathPoint(0.0, (math.inf,) * len(fits), 0.0, tuple(Fit(one, 1.0, 1.2, 5) for one in empty)),
    )


@pytest.fixture
def varying():
    network = ContextNetwork(1, 3, (8,), "silu", 0.0)
    states = []
    for seed in range(4):
        initialise(network, torch.Generator().manual_seed(seed))
        states.append(copy_state(network))
    return VaryingGraphs(points_of(states[:2], states[2:], states[:2]), Shrunken(1), network, Order())


@pytest.fixture
def constant():
    W = torch.triu(torch.rand(2, 1, 3, 3, generator=torch.Generator().manual_seed(0), dtype=torch.float64), 1)
    return ConstantGraph(points_of(W, 2 * W, 0 * W), Shrunken(1))


@pytest.fixture
def clusters():
    W = torch.triu(torch.rand(1, 2, 3, 3, generator=torch.Generator().manual_seed(0), dtype=torch.float64), 1)
    return ClusterGraphs(points_of(W, 2 * W, 0 * W), Shrunken(1), torch.tensor([[-1.0], [1.0]]))


@pytest.fixture(params=["varying", "constant", "clusters"])
def solution(request):
    return request.getfixturevalue(request.param)


@pytest.mark.parametrize("selected", [Shrunken(1), Shrunken(2), Refitted(1, 0.3), Refitted(1, 0.3, 0.1)])
def test_graphs_are_acyclic_and_come_back(solution, selected):
    solution = solution.at(selected)
    W = solution.graphs(Z)
    assert W.shape == (6, 3, 3)
    assert W.dtype == torch.float32
    assert bool(is_acyclic(W).all())
    again = unpack_solution(*solution.pack(), torch.device("cpu"), Z.shape[1], 3)
    assert type(again) is type(solution)
    assert again.selected == selected
    assert torch.equal(again.graphs(Z), W)
    for k in range(solution.n_members):
        assert torch.equal(again.member_graphs(k, Z), solution.member_graphs(k, Z))


def test_rows_do_not_depend_on_their_neighbours(solution):
    W = solution.at(Refitted(1, 0.3)).graphs(Z)
    torch.testing.assert_close(solution.at(Refitted(1, 0.3)).graphs(Z[2:3]), W[2:3])


def test_another_point_is_another_solution(solution):
    before = solution.graphs(Z)
    sparser = solution.select(n_edges=0)
    assert not sparser.graphs(Z).any()
    assert torch.equal(solution.graphs(Z), before)
    assert solution.select(n_edges=2.5).selected == Refitted(1, 0.25)
    assert solution.select(l1_budget=1.9).selected == Refitted(1, 0.0)
    with pytest.raises(InvalidParameterError, match=r"n_edges must be from 0 to 3.0"):
        solution.select(n_edges=4)
    with pytest.raises(InvalidParameterError, match="l1_budget must be 0 or more"):
        solution.select(l1_budget=-1)


def test_descriptions(solution):
    shrunken = solution.describe()
    assert (shrunken.n_edges, shrunken.loss, shrunken.l1_budget, shrunken.refitted) == (3.0, 1.2, 2.0, False)
    refitted = solution.at(Refitted(1, 0.25)).describe()
    assert (refitted.n_edges, refitted.loss, refitted.refitted) == (2.5, pytest.approx(1.05), True)
    table = solution.path_table()
    assert [row["l1_budget"] for row in table] == [2.0, 0.0]
    assert [row["selected"] for row in table] == [True, False]
    assert table[0]["refit_edges"] == 3.0
    assert math.isnan(table[1]["refit_loss"])


def test_which_kinds_vary(varying, constant, clusters):
    assert (varying.varies, constant.varies, clusters.varies) == (True, False, True)
    W = constant.graphs(Z)
    assert torch.equal(W, W[:1].expand_as(W))
    W = clusters.graphs(Z)
    assert torch.equal(W[:3], W[:1].expand(3, 3, 3))
    assert not torch.equal(W[0], W[5])


def test_a_point_without_a_refit_says_so(solution):
    with pytest.raises(ValueError, match="has no refit"):
        _ = solution.at(Shrunken(2)).refit


@pytest.mark.parametrize(("n", "expected"), [(1, 1), (ROWS_WORTH_THREADS - 1, 1), (ROWS_WORTH_THREADS, 2)])
def test_graphs_of_few_contexts_use_one_thread(monkeypatch, n, expected):
    found = []

    def learned(self, Z, mask):
        found.append(torch.get_num_threads())
        return torch.zeros(len(Z), 2, 2)

    monkeypatch.setattr(ConstantGraph, "_learned", learned)
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    try:
        ConstantGraph((), Shrunken(0)).graphs(torch.zeros(n, 1))
    finally:
        torch.set_num_threads(before)
    assert found == [expected]
