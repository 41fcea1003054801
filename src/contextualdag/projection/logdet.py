"""Acyclicity "logdet": Algorithm 1 of the paper, as published or in a fast variant."""

from dataclasses import dataclass

import torch
from torch import Tensor

from contextualdag.errors import InvalidParameterError
from contextualdag.graphs import break_cycles
from contextualdag.projection.kernels import dispatch
from contextualdag.projection.kernels.l1_torch import in_parts
from contextualdag.projection.kernels.logdet_torch import descend_as_published, path_of_mu
from contextualdag.projection.kernels.order_torch import fixed_point, net_flow
from contextualdag.projection.validation import check_count, check_flag, check_kernel, check_number, check_weights

DESCENT_STEPS = 4  # per mu in the default mode; more steps keep more weight and cost proportionally more
DESCENT_STEP_SIZE = 0.5
PUBLISHED_STEPS = 10_000
MOST_STEPS = 1_000_000  # of all mu together, ten times those of `paper_exact`: with more, one sample may take for ever


@dataclass(frozen=True)
class LogDet:
    r"""Path of log-det penalised problems that ends near a DAG (Algorithm 1 of the paper).

    For :math:`\mu` decreasing from `mu` by the factor `decay`, follows the minimum of

    .. math:: \tfrac{\mu}{2}\|\tilde W - W\|_F^2 - \log\det(sI - W \circ W) + p \log s,

    with each :math:`\tilde W` scaled to a largest entry of one. Then entries of the last iterate with ``abs(w) <= cut`` (on
    the original scale) are dropped and the others get their original value back.

    By default every sample descends independently in few preconditioned steps, stays inside the domain, and the smallest
    entries of its iterate are dropped until no cycle is left. With ``paper_exact=True`` the whole batch descends and stops
    together, as in the authors' program.

    Parameters
    ----------
    s : float, default=1.0
        Bound of the domain, :math:`\rho(W \circ W) < s`.
    mu : float, default=1.0
        First value of :math:`\mu`.
    decay : float, default=0.5
        Factor from one :math:`\mu` to the next.
    steps : int, default=10
        Number of values of :math:`\mu`.
    tolerance : float, default=1e-2
        Largest entry of the gradient at which the descent for one :math:`\mu` ends: over the sample, or over the whole
        batch with `paper_exact`.
    max_iterations : int, optional
        Maximum number of steps per :math:`\mu`; by default 4, or 10 000 with `paper_exact`. At most a million for all
        :math:`\mu` together.
    step_size : float, optional
        Step size; by default 0.5 (of a preconditioned step), or 1 / p with `paper_exact`.
    cut : float, default=0.1
        Threshold up to which entries of the last iterate are dropped. It is absolute, so it depends on the units of the
        data.
    paper_exact : bool, default=False
        Whether to follow the published algorithm iteration by iteration. This is slow, a sample's graph depends on the rest
        of its batch, and the result often has cycles before repair.
    repair : bool, default=True
        Whether to drop the smallest weights until no cycle is left; only with `paper_exact`. The authors do this only at
        prediction; `DAGProjection` always does it in eval mode.
    kernel : {"auto", "numba", "triton", "torch"}, default="auto"
        Kernel of the default mode, as for `Order`, with "triton" up to 128 nodes; `paper_exact` always runs in PyTorch.

    Examples
    --------
    >>> import torch
    >>> from contextualdag.projection import LogDet
    >>> LogDet()(torch.tensor([[[0.0, 3.0], [2.0, 0.0]]]))
    tensor([[[0., 3.],
             [0., 0.]]])
    """

    s: float = 1.0
    mu: float = 1.0
    decay: float = 0.5
    steps: int = 10
    tolerance: float = 1e-2
    max_iterations: int | None = None
    step_size: float | None = None
    cut: float = 0.1
    paper_exact: bool = False
    repair: bool = True
    kernel: str = "auto"

    def __post_init__(self) -> None:
        for name in ("s", "mu", "step_size"):
            if getattr(self, name) is not None:
                check_number(getattr(self, name), name, "LogDet", low_open=True, high_open=True)
        check_number(self.decay, "decay", "LogDet", high=1, low_open=True, high_open=True)
        check_number(self.tolerance, "tolerance", "LogDet", high_open=True)
        check_number(self.cut, "cut", "LogDet", high_open=True)
        check_count(self.steps, "steps", "LogDet")
        if self.max_iterations is not None:
            check_count(self.max_iterations, "max_iterations", "LogDet")
        check_flag(self.paper_exact, "paper_exact", "LogDet")
        at_once = self.max_iterations or (PUBLISHED_STEPS if self.paper_exact else DESCENT_STEPS)
        if self.steps * at_once > MOST_STEPS:
            raise InvalidParameterError(
                f"LogDet takes at most {MOST_STEPS} steps, for all values of mu together. Got steps={self.steps} with "
                f"{at_once} iterations each; lower 'steps' or 'max_iterations'."
            )
        check_flag(self.repair, "repair", "LogDet")
        check_kernel(self.kernel, "LogDet")
        if not self.repair and not self.paper_exact:
            raise InvalidParameterError("repair=False needs paper_exact=True: the default mode is always acyclic.")
        if self.kernel != "auto" and self.paper_exact:
            raise InvalidParameterError("paper_exact=True always runs in PyTorch. Leave 'kernel' at 'auto'.")

    def stays_on_device(self, device: torch.device, p: int) -> bool:
        """Whether graphs of p nodes are projected without synchronising with the host, as CUDA graph capture requires."""
        return not self.paper_exact and dispatch.choose(self.kernel, device, p, "logdet") == "triton"

    @torch.no_grad()
    def __call__(self, W: Tensor) -> Tensor:
        """Project a batch of matrices (n, p, p). The diagonal is ignored; no gradient is recorded."""
        check_weights(W)
        W = W.clone()
        W.diagonal(dim1=1, dim2=2).zero_()
        if W.numel() == 0:
            return W
        if self.paper_exact:
            return self._as_published(W)
        largest = torch.finfo(W.dtype).max
        label = _canonical_labels(W)
        iterate = dispatch.logdet_descent(self.kernel, W)(
            _permute(W, label),
            s=self.s,
            mu_path=self._mu_path(W.dtype),
            tolerance=min(self.tolerance, largest),
            max_iterations=self.max_iterations or DESCENT_STEPS,
            step_size=self.step_size or DESCENT_STEP_SIZE,
            cut=min(self.cut, largest),
        )
        return W.masked_fill_(_permute(iterate, label.argsort(1)) == 0, 0)

    def _mu_path(self, dtype: torch.dtype) -> list[float]:
        """The values of mu, with a check that the settings are neither zero nor infinite in this dtype."""
        mu_path = path_of_mu(self.mu, self.decay, self.steps)
        numbers = {"s": self.s, "mu": self.mu, "steps": mu_path[-1], "step_size": self.step_size or 1.0}
        for name, value in numbers.items():
            if not torch.finfo(dtype).tiny <= value <= torch.finfo(dtype).max:
                raise InvalidParameterError(
                    f"The '{name}' parameter of LogDet leads to {value:g}, which {dtype} cannot hold. Use float64 or "
                    "another value."
                )
        return mu_path

    def _as_published(self, W: Tensor) -> Tensor:
        iterate, _ = descend_as_published(
            W,
            s=self.s,
            mu_path=self._mu_path(W.dtype),
            tolerance=self.tolerance,
            max_iterations=self.max_iterations or PUBLISHED_STEPS,
            step_size=self.step_size or 1 / W.shape[1],
        )
        # A NaN is not <= cut: as in the authors' program, a sample that left the domain gets all its entries back.
        kept = W.masked_fill_(iterate.abs() <= self.cut, 0)
        return break_cycles(kept) if self.repair else kept


def _canonical_labels(W: Tensor) -> Tensor:
    """Nodes of every graph by decreasing net flow, ties by index.

    Elimination rounds differently for another order of the nodes. Descending on nodes in this order makes the result
    permute with the nodes to the last bit; the flows are sums of integers, which are exact.
    """
    return torch.cat([net_flow(fixed_point(part)).argsort(dim=1, descending=True, stable=True) for part in in_parts(W)])


def _permute(W: Tensor, label: Tensor) -> Tensor:
    return W.gather(1, label[:, :, None].expand_as(W)).gather(2, label[:, None, :].expand_as(W))
