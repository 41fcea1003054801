"""The projection as a PyTorch layer: sparse DAGs forward, the analytic gradient backward."""

import math
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn
from torch.autograd.function import once_differentiable

from contextualdag.errors import InvalidInputError, InvalidParameterError
from contextualdag.graphs import break_cycles
from contextualdag.projection.kernels.l1_torch import in_parts, soft_threshold_
from contextualdag.projection.l1 import AllReduce, l1_threshold, l1_threshold_on_device
from contextualdag.projection.logdet import LogDet
from contextualdag.projection.ordering import Order
from contextualdag.projection.validation import check_mask, check_number, check_weights, is_captured

Acyclicity = Order | LogDet
ACYCLICITIES: dict[str, Callable[[], Acyclicity]] = {"order": Order, "logdet": LogDet}

# The gradient (Theorem 2 of the paper). Let A be the set of entries that are not zero in W*, over the whole batch, and
# sigma = sgn(W*). Under a small change of W~ the acyclic support stays, and so does A. On A, W* = W~ - kappa sigma; off A,
# W* = 0. Hence off A all derivatives vanish, and on A
#
#     dw*_a = dw~_a - sigma_a dkappa.
#
# If the l1 constraint does not bind, kappa = 0 and dkappa = 0. If it binds, sum_A sigma_a w*_a = n lambda is constant, so
# 0 = sum_A sigma_a dw*_a = sum_A sigma_a dw~_a - |A| dkappa, which gives dkappa = (1/|A|) sum_A sigma_a dw~_a. The Jacobian
# on A, I - sigma sigma^T / |A|, is symmetric, so with g the incoming gradient
#
#     dL/dw~_a = g_a - sigma_a (1/|A|) sum_A sigma_b g_b    for a in A, and zero elsewhere.
#
# An empty A (budget zero, or an empty graph) gives zero. In eval mode kappa is a constant, as in the case that does not
# bind. With the batch spread over processes, |A| and the sum run over all of them, for the loss added up over processes.


class _SparseDAG(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any, W_tilde: Tensor, project: Callable[[Tensor], tuple[Tensor, bool | Tensor]], all_reduce: AllReduce | None
    ) -> Tensor:
        W_star, ctx.binds = project(W_tilde)
        ctx.all_reduce = all_reduce
        ctx.save_for_backward(W_star)
        return W_star

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, g: Tensor) -> tuple[Tensor, None, None]:
        (W_star,) = ctx.saved_tensors
        if isinstance(ctx.binds, Tensor):
            return _gradient_on_device(W_star, g, ctx.binds), None, None
        dW = torch.empty_like(W_star)
        sums = torch.zeros(2, dtype=torch.float64, device=g.device)
        for d, w, incoming in zip(in_parts(dW), in_parts(W_star), in_parts(g), strict=True):
            sign = w.sign()
            torch.mul(incoming, sign, out=d)
            sums += torch.stack([part.flatten(1).sum(1).sum(dtype=torch.float64) for part in (d, sign.abs_())])
        finite = bool(sums[0].isfinite())
        if not finite:  # off A the gradient is zero, even where NaN comes in
            dW = torch.where(W_star != 0, g * W_star.sign(), 0)
            sums[0] = dW.sum(dtype=torch.float64)
        if ctx.binds and ctx.all_reduce is not None:
            sums = ctx.all_reduce(sums)
        mean = (sums[0] / sums[1].clamp_min(1)).to(g.dtype) if ctx.binds else 0.0
        for d, w in zip(in_parts(dW), in_parts(W_star), strict=True):
            d.sub_(mean).mul_(w.sign())  # the square of the sign is one on A and zero elsewhere
        return dW if finite else torch.where(W_star != 0, dW, 0), None, None


def _gradient_on_device(W_star: Tensor, g: Tensor, binds: Tensor) -> Tensor:
    """The gradient of one process, without synchronising with the host; for several budgets, per part of the batch."""
    sign = W_star.sign()
    along = torch.where(W_star != 0, g * sign, 0)  # zero off A, even where NaN comes in
    parts = (along.view(binds.numel(), -1), sign.abs().view(binds.numel(), -1))
    sums, counts = (part.sum(1, dtype=torch.float64) for part in parts)
    mean = torch.where(binds.flatten(), sums / counts.clamp_min(1), 0.0).to(g.dtype)
    return ((parts[0] - mean[:, None]) * parts[1]).view_as(sign) * sign


class DAGProjection(nn.Module):
    r"""Turn any batch of square matrices into sparse directed acyclic graphs.

    First every matrix is projected onto acyclic matrices, then the batch as a whole onto the ball
    :math:`\frac1n\sum_i\|W_i\|_1 \le \lambda`: one threshold :math:`\kappa` is subtracted from all absolute values. In
    training mode :math:`\kappa` is computed for each batch and stored; in eval mode the stored one is used, so that a
    sample's graph does not depend on its batch.

    Parameters
    ----------
    l1_budget : float or list of float, default=inf
        :math:`\lambda`: the largest mean l1 norm of the graphs. Larger is denser; zero gives empty graphs. Several budgets
        divide a batch into as many consecutive parts of equal size, each with its own budget and threshold, for networks
        that are trained side by side.
    acyclicity : {"order", "logdet"} or Order or LogDet, default="order"
        How to make a matrix acyclic; pass an `Order` or `LogDet` to change its settings. "order" is ``Order()``, which
        searches from three starts; the estimators mean one start by it (see `Order`).
    all_reduce : callable, optional
        Function that returns the sum of a float64 tensor over all processes, for batches distributed over processes.

    Attributes
    ----------
    threshold : Tensor, float64, zero-dimensional, or of shape (g,) with g budgets
        :math:`\kappa` of the last batch in training mode; before, NaN unless the budget determines it (zero for an infinite
        one, infinity for zero). It is a buffer, so it is part of `state_dict`.
    threshold_budget : Tensor, float64, of the same shape
        Budget that the threshold belongs to. A threshold loaded into a layer with another budget is not used.

    Examples
    --------
    >>> import torch
    >>> from contextualdag.projection import DAGProjection
    >>> layer = DAGProjection(l1_budget=2.0)
    >>> W = torch.tensor([[[0.0, 3.0], [2.0, 0.0]]], requires_grad=True)
    >>> layer(W)
    tensor([[[0., 2.],
             [0., 0.]]], grad_fn=<_SparseDAGBackward>)
    >>> layer.eval().threshold
    tensor(1., dtype=torch.float64)
    """

    threshold: Tensor
    threshold_budget: Tensor
    budget: Tensor  # l1_budget where the device can read it, so that a captured graph serves many budgets

    def __init__(
        self,
        l1_budget: float | list[float] = math.inf,
        acyclicity: str | Acyclicity = "order",
        all_reduce: AllReduce | None = None,
    ) -> None:
        super().__init__()
        if all_reduce is not None and not callable(all_reduce):
            raise InvalidParameterError(
                f"The 'all_reduce' parameter of DAGProjection must be callable or None. Got {all_reduce!r} instead."
            )
        shape = (len(l1_budget),) if isinstance(l1_budget, list | tuple) else ()
        unknown = torch.full(shape, math.nan, dtype=torch.float64)
        self.register_buffer("threshold", unknown)
        self.register_buffer("threshold_budget", unknown.clone())
        self.register_buffer("budget", unknown.clone(), persistent=False)
        self.l1_budget = l1_budget
        self.acyclicity = _acyclicity(acyclicity)
        self.all_reduce = all_reduce

    @property
    def l1_budget(self) -> float | list[float]:
        """The budget or budgets. Setting them resets the thresholds, which belonged to the old ones."""
        return self._l1_budgets[0] if self.budget.ndim == 0 else list(self._l1_budgets)

    @l1_budget.setter
    def l1_budget(self, value: float | list[float]) -> None:
        budgets: list[float] = list(value) if isinstance(value, list | tuple) else [value]
        for budget in budgets:
            check_number(budget, "l1_budget", "DAGProjection")
        if self.budget.shape != ((len(budgets),) if isinstance(value, list | tuple) else ()) or not budgets:
            raise InvalidParameterError(
                "The 'l1_budget' parameter of DAGProjection must be a number, or a list of numbers that keeps its "
                f"length. Got {value!r} instead."
            )
        self._l1_budgets = [float(budget) for budget in budgets]
        known = [{0.0: math.inf, math.inf: 0.0}.get(budget, math.nan) for budget in self._l1_budgets]
        self.budget.copy_(torch.tensor(self._l1_budgets, dtype=torch.float64).view_as(self.budget))
        self.keep_threshold(torch.tensor(known, dtype=torch.float64).view_as(self.budget))

    def keep_threshold(self, kappa: float | Tensor) -> None:
        """Use `kappa` in eval mode, as if it had been computed in training with the current budget."""
        self.threshold.copy_(torch.as_tensor(kappa))
        self.threshold_budget.copy_(self.budget)

    def _apply(self, fn: Callable[[Tensor], Tensor], recurse: bool = True) -> "DAGProjection":
        # Moving the module moves the buffers; casting it must not round them.
        exact = {name: getattr(self, name) for name in ("threshold", "threshold_budget", "budget")}
        super()._apply(fn, recurse)  # type: ignore[no-untyped-call]
        for name, value in exact.items():
            self._buffers[name] = value.to(getattr(self, name).device)
        return self

    @torch.compiler.disable  # type: ignore[untyped-decorator]
    def forward(self, W: Tensor, mask: Tensor | None = None) -> Tensor:
        """Project.

        Parameters
        ----------
        W : Tensor of shape (n, p, p), float32 or float64
            Any matrices; the diagonal is ignored.
        mask : Tensor of bool, shape (p, p) or (n, p, p), optional
            Allowed edges; the others are dropped before the projection.

        Returns
        -------
        Tensor of shape (n, p, p)
            ``W[i, j, k]`` is the weight of the edge j -> k of sample i. Every ``W[i]`` is acyclic.
        """
        check_weights(W)
        if mask is not None:
            check_mask(mask, W)
        if len(W) % self.budget.numel() != 0:
            raise InvalidInputError(
                f"W has {len(W)} matrices, which do not divide into {self.budget.numel()} equal parts, one per l1_budget."
            )

        def project(W_tilde: Tensor) -> tuple[Tensor, bool | Tensor]:
            return self._project(W_tilde if mask is None else W_tilde.masked_fill(mask == 0, 0))

        W_star: Tensor = _SparseDAG.apply(W, project, self.all_reduce)  # type: ignore[no-untyped-call]
        return W_star

    def _project(self, W: Tensor) -> tuple[Tensor, bool | Tensor]:
        """The projected batch, and whether its threshold depends on the input."""
        W_hat = self._acyclic(W)
        if self.training:
            if self.all_reduce is None and len(W) > 0 and (on_device := l1_threshold_on_device(W_hat)) is not None:
                kappa = on_device(self.budget)
                self.keep_threshold(kappa)
                return soft_threshold_(W_hat, kappa), kappa > 0
            parts = W_hat.tensor_split(self.budget.numel())
            kappas = [l1_threshold(part, b, self.all_reduce) for part, b in zip(parts, self._l1_budgets, strict=True)]
            kappa = torch.stack(kappas).view_as(self.budget)
            if len(W) > 0 or self.all_reduce is not None:
                self.keep_threshold(kappa)
            return soft_threshold_(W_hat, kappa), kappa > 0 if kappa.ndim else bool(kappa > 0)
        if isinstance(self.acyclicity, LogDet) and not self.acyclicity.repair:
            W_hat = break_cycles(W_hat)
        return soft_threshold_(W_hat, self._stored_threshold()), False

    def _acyclic(self, W: Tensor) -> Tensor:
        return self.acyclicity(W)

    def _stored_threshold(self) -> Tensor:
        if is_captured(self.threshold):
            return self.threshold
        implied = torch.where(self.budget == 0, math.inf, torch.where(self.budget == math.inf, 0.0, math.nan))
        stored = torch.where(implied.isnan() & (self.threshold_budget == self.budget), self.threshold, implied)
        if bool(stored.isnan().any()):
            from contextualdag.errors import NotFittedError  # imports scikit-learn

            raise NotFittedError(
                "DAGProjection has no threshold yet for this l1_budget. Pass a batch in training mode first, or load a "
                "state_dict of a layer that was trained with the same budget."
            )
        return stored

    def extra_repr(self) -> str:
        """The settings, for `repr`."""
        budgets = ", ".join(f"{budget:g}" for budget in self._l1_budgets)
        shown = f"({budgets})" if self.budget.ndim else budgets
        return f"l1_budget={shown}, acyclicity={self.acyclicity}"


class PairProjection(DAGProjection):
    """The same for matrices whose entries can only be edges at a few positions, at a cost that follows their number.

    It takes and returns these entries alone, (n, l). For use on the CPU: nothing is checked, and no gradient is recorded.

    Parameters
    ----------
    pairs : Tensor of int64, shape (l,)
        Positions in the flattened matrix, none of them on the diagonal.
    n_nodes : int
        Number of nodes.
    l1_budget : float
        As in `DAGProjection`.
    acyclicity : Order
        One whose `Order.takes_pairs` is true.
    """

    def __init__(self, pairs: Tensor, n_nodes: int, l1_budget: float, acyclicity: Order) -> None:
        super().__init__(l1_budget, acyclicity)
        self._pairs, self._n_nodes, self._order = pairs, n_nodes, acyclicity

    def forward(self, W: Tensor, mask: Tensor | None = None) -> Tensor:
        """Project entries (n, l); a mask has the same shape."""
        return self.project(W if mask is None else W.masked_fill(mask == 0, 0))[0]

    @torch.no_grad()
    def project(self, W: Tensor) -> tuple[Tensor, bool]:
        """The projected entries, and whether the budget binds."""
        W_star, binds = self._project(W)
        return W_star, bool(binds)

    def _acyclic(self, W: Tensor) -> Tensor:
        return self._order.on_pairs(W, self._pairs, self._n_nodes)


def _acyclicity(choice: str | Acyclicity) -> Acyclicity:
    if isinstance(choice, Order | LogDet):
        return choice
    if isinstance(choice, str) and choice in ACYCLICITIES:
        return ACYCLICITIES[choice]()
    raise InvalidParameterError(
        "The 'acyclicity' parameter of DAGProjection must be 'order', 'logdet', an Order or a LogDet. "
        f"Got {choice!r} instead."
    )
