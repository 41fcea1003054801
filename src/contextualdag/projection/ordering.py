"""Acyclicity "order": keep the acyclic set of edges with the largest sum of squares."""

from dataclasses import dataclass

import torch
from torch import Tensor

from contextualdag.projection.kernels import dispatch
from contextualdag.projection.kernels.order_torch import STARTS
from contextualdag.projection.validation import check_count, check_kernel, check_number, check_weights

THOROUGH_STARTS = STARTS  # of `Order()` and hence of `DAGProjection(acyclicity="order")`
FEW_PAIRS, FEW_NODES = 0.25, 8  # share of pairs, and more nodes, where leaving out the others pays
TRAINING_STARTS = 1  # of the estimators: a little less weight is kept, graphs are recovered as well, at half the cost


@dataclass(frozen=True)
class Order:
    r"""Frobenius projection onto DAGs, through the order of the nodes whose forward edges have the largest weight.

    Solves, for every sample independently,

    .. math:: \hat W = \arg\min_{W \in \mathrm{DAG}} \|\tilde W - W\|_F^2,

    which keeps the values of an acyclic set of edges with the largest :math:`\sum \tilde w^2`. This is exact when at most
    eight nodes remain after nodes without parents or without children are removed repeatedly, and a local search
    otherwise. The result does not depend on the rest of the batch, on the kernel or on the device, and permuting the nodes
    permutes it. Ties are broken by the rules in ``projection/kernels/order_torch.py``. Weights are compared after squaring
    and rounding to about 14 digits of the largest in a cycle.

    Parameters
    ----------
    cut : float, default=0.0
        Threshold: entries with ``abs(w) <= cut`` are dropped first.
    starts : int, default=3
        Number of constructive orders from which the local search starts, 1 to 3. Fewer are faster and keep a little less
        weight. It has no effect where the result is exact. The default is `THOROUGH_STARTS`; ``acyclicity="order"`` means
        this default in `DAGProjection`, and `TRAINING_STARTS` (one start) in the estimators.
    kernel : {"auto", "numba", "triton", "torch"}, default="auto"
        "numba" needs the CPU; "triton" needs CUDA and takes up to 256 nodes; "torch" works on any device with float64;
        "auto" is the fastest that is available.

    Examples
    --------
    >>> import torch
    >>> from contextualdag.projection import Order
    >>> Order()(torch.tensor([[[0.0, 3.0], [2.0, 0.0]]]))
    tensor([[[0., 3.],
             [0., 0.]]])
    """

    cut: float = 0.0
    starts: int = THOROUGH_STARTS
    kernel: str = "auto"

    def __post_init__(self) -> None:
        check_number(self.cut, "cut", "Order", high_open=True)
        check_count(self.starts, "starts", "Order", high=STARTS)
        check_kernel(self.kernel, "Order")

    def stays_on_device(self, device: torch.device, p: int) -> bool:
        """Whether graphs of p nodes are projected without synchronising with the host, as CUDA graph capture requires."""
        return dispatch.choose(self.kernel, device, p, "order") == "triton"

    @torch.no_grad()
    def __call__(self, W: Tensor) -> Tensor:
        """Project a batch of matrices (n, p, p). The diagonal is ignored; no gradient is recorded."""
        check_weights(W)
        if W.numel() == 0:
            return W.clone()
        if self.takes_pairs(W.device, W.shape[1]) and W.shape[1] > FEW_NODES:
            live = (W != 0).any(0).fill_diagonal_(False)
            pairs = live.flatten().nonzero().flatten()
            if len(pairs) < FEW_PAIRS * live.numel():
                kept = torch.zeros_like(W, memory_format=torch.contiguous_format).flatten(1)
                kept[:, pairs] = self.on_pairs(W.flatten(1)[:, pairs], pairs, W.shape[1])
                return kept.view_as(W)
        return dispatch.order_projection(self.kernel, W)(W, self.cut, self.starts)

    def takes_pairs(self, device: torch.device, p: int) -> bool:
        """Whether `on_pairs` is cheaper on a device than projecting the whole matrices."""
        return dispatch.choose(self.kernel, device, p, "order") == "numba"

    @torch.no_grad()
    def on_pairs(self, W: Tensor, pairs: Tensor, n_nodes: int) -> Tensor:
        """Project matrices that are zero but for some entries.

        `W` (n, l) holds these, and `pairs` (l,) their positions in the flattened matrix. On the CPU, with numba.
        """
        from contextualdag.projection.kernels import order_numba

        return order_numba.project_pairs(W, pairs, n_nodes, self.cut, self.starts) if W.numel() else W.clone()
