import math

import pytest

from contextualdag.training.path import PathPoint, equispaced_budgets, geometric_budgets


def test_grids():
    points = [PathPoint(math.inf, (0.0,), 50.0, ())]
    following = equispaced_budgets(5)
    while (budget := following(8.0, points)) is not None:
        points.append(PathPoint(budget, (0.0,), budget, ()))
    assert [point.l1_budget for point in points[1:]] == [8.0, 6.0, 4.0, 2.0, 0.0]
    points = []
    following = geometric_budgets(3)
    while (budget := following(8.0, points)) is not None:
        points.append(PathPoint(budget, (0.0,), 50.0, ()))
    assert [point.l1_budget for point in points] == pytest.approx([8.0, 5.6, 3.92, 0.0])
