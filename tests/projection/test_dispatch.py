import subprocess
import sys

import pytest
import torch

from contextualdag.errors import InvalidParameterError
from contextualdag.projection import DAGProjection
from contextualdag.projection.kernels import dispatch

pytestmark = pytest.mark.slow

WITHOUT_NUMBA = """
import sys, warnings
sys.modules["numba"] = None  # every import of it now fails
import torch
from contextualdag.projection import DAGProjection, LogDet, Order

torch.manual_seed(0)
W = torch.randn(50, 12, 12)
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    for acyclicity in (Order(), LogDet(), Order(), LogDet()):
        DAGProjection(3.0, acyclicity)(W)
messages = [str(w.message) for w in caught if w.category is RuntimeWarning]
assert len(messages) == 1, messages
assert "numba cannot be imported" in messages[0]
try:
    Order(kernel="numba")(W)
except ValueError as error:
    assert "Available: 'torch'" in str(error)
else:
    raise AssertionError("no error")
print(float(DAGProjection(3.0)(W).sum()))
"""


@pytest.mark.long
def test_without_numba_one_warning_and_the_same_answer():
    done = subprocess.run([sys.executable, "-c", WITHOUT_NUMBA], capture_output=True, text=True, check=False)  # noqa: S603
    assert done.returncode == 0, done.stderr
    W = torch.randn(50, 12, 12, generator=torch.Generator().manual_seed(0))
    assert float(done.stdout) == pytest.approx(float(DAGProjection(3.0)(W).sum()), rel=1e-6)


def test_kernels_by_device():
    cpu, cuda = torch.device("cpu"), torch.device("cuda")
    assert dispatch.choose("auto", cpu, 5, "order") == "numba"
    assert dispatch.choose("auto", cuda, 256, "order") == "triton"
    assert dispatch.choose("auto", cuda, 257, "order") == "torch"
    assert dispatch.choose("auto", cuda, 129, "logdet") == "torch"
    assert dispatch.choose("auto", torch.device("meta"), 5, "order") == "torch"
    assert dispatch.choose("torch", cpu, 5, "order") == "torch"
    with pytest.raises(InvalidParameterError, match="works on cpu, and the input is on cuda"):
        dispatch.choose("numba", cuda, 5, "order")
    with pytest.raises(InvalidParameterError, match="works on cuda, and the input is on cpu"):
        dispatch.choose("triton", cpu, 5, "order")
    with pytest.raises(InvalidParameterError, match="takes up to 128 nodes, and the input has 200"):
        dispatch.choose("triton", cuda, 200, "logdet")


def test_importing_the_package_is_light():
    heavy = "('numba', 'pandas', 'matplotlib', 'sklearn')"
    program = f"import sys, contextualdag.projection; print([m for m in {heavy} if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)  # noqa: S603
    assert done.stdout.strip() == "[]"


UNWRITABLE = """
import numba.core.caching as caching
caching.CacheImpl._locator_classes = []  # what numba finds where no folder can be written
caching.CompileResultCacheImpl._locator_classes = []
import torch
from contextualdag.projection import Order
print(Order()(torch.tensor([[[0.0, 3.0], [2.0, 0.0]]])).tolist())
"""


@pytest.mark.long
def test_without_a_place_for_the_cache():
    done = subprocess.run([sys.executable, "-c", UNWRITABLE], capture_output=True, text=True, check=True)  # noqa: S603
    assert done.stdout.strip() == "[[[0.0, 3.0], [0.0, 0.0]]]"
