import math
from dataclasses import replace

import pytest
import torch

from contextualdag.training import selection
from contextualdag.training.path import PathPoint
from contextualdag.training.prune import Curve, Refit
from contextualdag.training.selection import Refitted, Shrunken
from contextualdag.training.trainer import Fit


def path_with(losses):
    """A path from 20 edges down, with validation losses that are the negative of these."""
    points = [PathPoint(math.inf, (0.0,), 99.0, (Fit({}, 0.0, 0.0, 0),))]
    return points + [PathPoint(1 / (i + 1), (0.0,), 20.0 - i, (Fit({}, 0.0, -float(v), 0),)) for i, v in enumerate(losses)]


def refitted(point, loss):
    curve = Curve([0.0, 0.5, 1.0], [point.n_edges, point.n_edges - 4, 0.0], [loss + 0.1, loss, loss + 0.3])
    pairs = torch.ones(2, 2, dtype=torch.bool)
    return replace(point, refit=Refit(point.fits, torch.zeros(1, 2, 2), pairs, curve, 1, loss))


def search(points, losses):
    """Refit what the search asks for, in place, and return what it asked for."""
    asked = []
    while (index := selection.next_to_refit(points)) is not None:
        asked.append(index)
        points[index] = refitted(points[index], losses[index - 1])
    return asked


@pytest.mark.parametrize("best", range(20))
def test_relaxed_finds_the_least_of_a_valley_without_asking_for_all(best):
    losses = [abs(i - best) for i in range(20)]
    points = path_with(losses)
    asked = search(points, losses)
    assert selection.least_refit_loss(points) == Refitted(best + 1, 0.5)
    assert len(asked) == len(set(asked)) <= 12


def test_the_search_is_the_same_after_an_interruption():
    """The second neighbour is better than the best so far, and the search still looks at the other neighbours first."""
    losses = [9, 8, 7, 6, 5, 3, 4, 1, 2, 3, 4, 5]
    asked = search(path_with(losses), losses)
    for done in range(len(asked)):
        points = path_with(losses)
        for index in asked[:done]:
            points[index] = refitted(points[index], losses[index - 1])
        assert search(points, losses) == asked[done:]


def test_selections_without_refits():
    points = path_with([3.0, 2.0, 5.0, 1.0])
    assert selection.least_validation_loss(points) == Shrunken(3)
    assert selection.with_n_edges(points, 18.4) == Shrunken(3)
    assert selection.with_n_edges(points, 0) == Shrunken(4)
    assert selection.nearest_budget(points, 0.49) == Shrunken(2)


def test_selections_with_refits():
    losses = [2.0, 1.0, 1.05, 1.2]
    points = path_with([3.0, 2.0, 5.0, 1.0])
    search(points, losses)
    assert selection.nearest_budget(points, 0.49) == Refitted(2, 0.5)
    # Points 1 to 4 have 20, 19, 18, 17 edges; half way between two cuts lie the loss and the edges half way between.
    assert selection.with_n_edges(points, 17) == Refitted(2, 0.25)
    assert selection.with_n_edges(points, 19.5) == Refitted(1, pytest.approx(0.0625))
    assert selection.with_n_edges(points, 20.5) == Shrunken(1)
    polished = [*points[:2], replace(points[2], refit=replace(points[2].refit, polished=True)), *points[3:]]
    assert selection.with_n_edges(polished, 20.5) == Refitted(2, 0.0)  # it has 19 edges, more than nine tenths
    assert selection.with_n_edges(polished, 22) == Shrunken(1)
    assert selection.with_n_edges(points, 0) == Shrunken(4)  # the sparsest point, not a refit with a large cut
    assert selection.within_one_standard_error(points, [0.9, 1.0, 1.1]) == Refitted(3, 0.5)
    assert selection.within_one_standard_error(points, [1.0, 1.0, 1.0]) == Refitted(2, 0.5)


def test_points_to_refit_for_a_number_of_edges():
    points = path_with([3.0, 2.0, 5.0, 1.0])
    assert selection.to_refit_for(points, 18.4) == [2, 1]
    points[2] = refitted(points[2], 1.0)
    assert selection.to_refit_for(points, 18.4) == [1]
    assert selection.to_refit_for(points, 99) == []


def test_the_fewest_edges_are_those_required():
    points = path_with([3.0, 2.0, 5.0, 1.0])
    points[2] = refitted(points[2], 1.0)
    assert selection.with_n_edges(points, 17, fewest=17) == Shrunken(4)
    assert selection.with_n_edges(points, 17) == Refitted(2, 0.25)


def test_of_cuts_that_leave_as_many_edges_the_smallest_is_taken():
    curve = Curve([0.0, 0.5, 0.75, 1.0], [3.0, 2.0, 2.0, 1.0], [0.1, 0.2, 0.3, 0.4])
    assert curve.cut_to(2) == 0.5
    assert curve.loss_with(2) == pytest.approx(0.2)
    assert curve.at(0.75)[0] == 2
    assert curve.at(curve.cut_to(1.5))[0] == pytest.approx(1.5)
