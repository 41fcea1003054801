import math
import re

import numpy as np
import pytest
import torch

from contextualdag.checks import shown
from contextualdag.errors import ContextualDAGError, InvalidInputError, InvalidParameterError
from contextualdag.projection import DAGProjection, LogDet, Order, project_l1

PROJECTIONS = {
    "order": Order(),
    "logdet": LogDet(),
    "layer": DAGProjection(1.0),
    "layer-logdet": DAGProjection(math.inf, "logdet"),
    "l1": lambda W: project_l1(W, 1.0),
}
every_projection = pytest.mark.parametrize("project", PROJECTIONS.values(), ids=PROJECTIONS.keys())


@every_projection
@pytest.mark.parametrize(
    ("W", "message"),
    [
        (torch.zeros(3, 3), r"W must hold one square matrix per sample, shape \(n, p, p\). Got shape \(3, 3\)"),
        (torch.zeros(2, 3, 4), r"Got shape \(2, 3, 4\)"),
        (torch.zeros(2, 2, 3, 3), r"Got shape \(2, 2, 3, 3\)"),
        ([[[0.0]]], r"W must be a torch.Tensor of shape \(n, p, p\). Got list"),
        (torch.zeros(2, 3, 3, dtype=torch.int64), r"W must be float32 or float64. Got torch.int64 instead; convert"),
        (torch.zeros(2, 3, 3, dtype=torch.bool), r"Got torch.bool"),
        (torch.zeros(2, 3, 3, dtype=torch.float16), r"Got torch.float16"),
        (torch.zeros(2, 3, 3, dtype=torch.complex64), r"Got torch.complex64"),
    ],
)
def test_shapes_and_types(project, W, message):
    with pytest.raises(InvalidInputError, match=message):
        project(W)


@every_projection
@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
def test_entries_that_are_not_finite(project, value):
    W = torch.ones(4, 3, 3)
    W[2, 0, 1] = W[3, 0, 0] = value
    with pytest.raises(InvalidInputError, match=r"W must be finite. 2 of its entries .* the first in sample 2"):
        project(W)


@pytest.mark.parametrize("budget", [-1, -1e-300, math.nan, -math.inf, "1", None, True, 10**400])
def test_budgets(budget):
    message = re.escape(f"The 'l1_budget' parameter of DAGProjection must be a number in [0, inf]. Got {shown(budget)}")
    with pytest.raises(InvalidParameterError, match=message):
        DAGProjection(budget)
    with pytest.raises(InvalidParameterError, match="'l1_budget' parameter of project_l1"):
        project_l1(torch.ones(1, 2, 2), budget)
    layer = DAGProjection(1.0)
    with pytest.raises(InvalidParameterError, match=message):
        layer.l1_budget = budget
    assert layer.l1_budget == 1.0


@pytest.mark.parametrize(
    ("mask", "message"),
    [
        (torch.ones(3, 4), r"mask must have shape \(p, p\) = \(3, 3\) or \(n, p, p\) = \(2, 3, 3\). Got \(3, 4\)"),
        (torch.ones(3), r"Got \(3,\)"),
        (torch.ones(1, 3, 3), r"Got \(1, 3, 3\)"),
        (torch.full((3, 3), 0.5), "only zeros and ones"),
        (torch.full((3, 3), math.nan), "only zeros and ones"),
        (torch.ones(3, 3, device="meta"), "mask is on meta and W on cpu"),
        (torch.ones(3, 3).to_sparse(), "mask must be a dense tensor"),
        ([[True]], "mask must be a torch.Tensor. Got list"),
    ],
)
def test_masks(mask, message):
    with pytest.raises(InvalidInputError, match=message):
        DAGProjection(1.0)(torch.ones(2, 3, 3), mask)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"s": 0}, r"'s' parameter of LogDet must be a number in \(0, inf\). Got 0 instead"),
        ({"mu": -1.0}, "'mu'"),
        ({"decay": 1.0}, r"'decay' parameter of LogDet must be a number in \(0, 1\)"),
        ({"steps": 0}, "'steps' parameter of LogDet must be an integer of at least 1"),
        ({"steps": 2.5}, "'steps'"),
        ({"tolerance": math.nan}, "'tolerance'"),
        ({"max_iterations": -3}, "'max_iterations'"),
        ({"step_size": math.inf}, "'step_size'"),
        ({"cut": -0.1}, "'cut'"),
        ({"kernel": "cuda"}, "'kernel' parameter of LogDet must be one of 'auto', 'numba', 'triton', 'torch'. Got 'cuda'"),
    ],
)
def test_logdet_settings(settings, message):
    with pytest.raises(InvalidParameterError, match=message):
        LogDet(**settings)


def test_order_settings():
    with pytest.raises(InvalidParameterError, match="'cut' parameter of Order"):
        Order(cut=math.inf)
    for starts in (0, 4, 1.5):
        with pytest.raises(InvalidParameterError, match=r"'starts' parameter of Order must be an integer from 1 to 3. Got"):
            Order(starts=starts)
    with pytest.raises(InvalidParameterError, match="'kernel' parameter of Order"):
        Order(kernel="fast")


@pytest.mark.parametrize("training", [True, False])
@pytest.mark.parametrize("shape", [(0, 5, 5), (0, 1, 1), (3, 1, 1), (0, 0, 0)])
def test_nothing_to_do_has_the_obvious_answer(shape, training):
    layer = DAGProjection(1.0)
    layer(torch.ones(2, 2, 2))
    W = torch.ones(shape, requires_grad=True)
    out = layer.train(training)(W)
    assert torch.equal(out, torch.zeros(shape))
    out.sum().backward()
    assert torch.equal(W.grad, torch.zeros(shape))


def test_numbers_of_numpy_are_numbers():
    assert DAGProjection(np.float32(1)).l1_budget == 1.0
    assert Order(starts=np.int64(2)).starts == 2


def test_options_that_would_be_ignored():
    with pytest.raises(InvalidParameterError, match="repair=False needs paper_exact=True"):
        LogDet(repair=False)
    with pytest.raises(InvalidParameterError, match="always runs in PyTorch"):
        LogDet(paper_exact=True, kernel="torch")
    with pytest.raises(InvalidParameterError, match=r"'paper_exact' parameter of LogDet must be True or False. Got 'no'"):
        LogDet(paper_exact="no")
    with pytest.raises(InvalidParameterError, match="'all_reduce' parameter of DAGProjection must be callable"):
        DAGProjection(1.0, all_reduce=3)


def test_every_error_is_ours():
    for error in (InvalidInputError, InvalidParameterError):
        assert issubclass(error, ContextualDAGError)
        assert issubclass(error, ValueError)
