"""Log-det descent in plain PyTorch: Algorithm 1 exactly as in the paper, and the per-sample descent used by default.

Both follow, for mu decreasing geometrically, the minimum of

    f(W) = mu/2 ||W~ - W||^2 + h(W),    h(W) = -log det(s I - W o W) + p log s,

whose gradient is mu (W - W~) + 2 (s I - W o W)^-T o W. Inside the domain rho(W o W) < s, h is zero for DAGs and positive
for all other matrices. Each W~ is first scaled to a largest entry of one.
"""

import torch
from torch import Tensor

from contextualdag.graphs import break_cycles

MAX_HALVINGS = 60


def path_of_mu(mu: float, decay: float, steps: int) -> list[float]:
    """The decreasing values of mu."""
    values = [mu]
    for _ in range(steps - 1):
        values.append(values[-1] * decay)
    return values


def scale_of(W: Tensor) -> Tensor:
    """Largest absolute entry of each graph, shape (n, 1, 1); one for an empty graph."""
    largest = W.abs().amax((1, 2), keepdim=True)
    return torch.where(largest > 0, largest, 1.0)


def descend_as_published(
    W_tilde: Tensor, *, s: float, mu_path: list[float], tolerance: float, max_iterations: int, step_size: float
) -> tuple[Tensor, list[int]]:
    """Algorithm 1 as its authors run it: plain gradient descent on the whole batch, one stopping rule for all samples.

    Descent for one mu ends after the step whose gradient is at most `tolerance` in every entry of every sample. Iterates
    may leave the domain: a sample may end as NaN, and then the others run to `max_iterations`.

    Returns the last iterate on the scale of `W_tilde`, and the number of iterations for each mu.
    """
    scale = scale_of(W_tilde)
    target = W_tilde / scale
    W = torch.zeros_like(target)
    sI = s * torch.eye(W.shape[1], dtype=W.dtype, device=W.device)
    iterations = []
    for mu in mu_path:
        iterations.append(0)
        for _ in range(max_iterations):
            inverse = torch.linalg.inv_ex(sI - (W * W).mT).inverse  # inv_ex: a singular matrix is no error
            gradient = 2 * inverse * W + mu * (W - target)
            W = W - step_size * gradient
            iterations[-1] += 1
            if bool(gradient.abs().max() <= tolerance):
                break
    return W * scale, iterations


def descend(
    W_tilde: Tensor, *, s: float, mu_path: list[float], tolerance: float, max_iterations: int, step_size: float, cut: float
) -> Tensor:
    """The per-sample descent: few preconditioned steps, never outside the domain, acyclic at the end.

    Edges that are kept have no curvature from h, edges that are dropped have much, so one step size suits neither. The
    diagonal of the Hessian is about mu + 2 (s I - W o W)^-T, and dividing the gradient by it suits both. In the domain
    s I - W o W is an M-matrix: elimination without pivoting is stable, and its pivots are all positive exactly in the
    domain. A step that would leave the domain is halved until it does not.

    An edge j -> k whose entry of the inverse is zero lies on no cycle, and its minimum is w~ itself: it gets that value, so
    that a descent that stops early does not shrink a DAG. Then entries of at most `cut` (on the scale of `W_tilde`) are
    dropped, and after them the smallest entries of the iterate until no cycle is left. The iterate is thresholded rather
    than W~ because the descent has already shrunk the edges that close cycles.

    Returns the iterate with the dropped edges at zero. Its support is the answer.
    """
    scale = scale_of(W_tilde)
    target = W_tilde / scale
    W = torch.zeros_like(target)
    inverse, _ = _inverse_transposed(W, s)
    for mu in mu_path:
        running = torch.ones(len(W), dtype=torch.bool, device=W.device)
        for _ in range(max_iterations):
            rows = running.nonzero().flatten()
            if len(rows) == 0:
                break
            gradient = 2 * inverse[rows] * W[rows] + mu * (W[rows] - target[rows])
            direction = gradient / (mu + 2 * inverse[rows])
            W[rows], inverse[rows] = _step_inside(W[rows], inverse[rows], direction, s, step_size)
            running[rows] = gradient.abs().amax((1, 2)) > tolerance
    W = torch.where(inverse == 0, W_tilde, W * scale)
    return break_cycles(torch.where(W.abs() > cut, W, 0))


def _step_inside(W: Tensor, inverse: Tensor, direction: Tensor, s: float, step_size: float) -> tuple[Tensor, Tensor]:
    """Step against `direction`; each sample's step is halved until the sample stays in the domain."""
    W, inverse = W.clone(), inverse.clone()
    step = step_size
    outside = torch.arange(len(W), device=W.device)
    for _ in range(MAX_HALVINGS):
        trial = W[outside] - step * direction[outside]
        trial_inverse, inside = _inverse_transposed(trial, s)
        moved = outside[inside]
        W[moved], inverse[moved] = trial[inside], trial_inverse[inside]
        outside = outside[~inside]
        if len(outside) == 0:
            break
        step = step / 2
    return W, inverse


def _inverse_transposed(W: Tensor, s: float) -> tuple[Tensor, Tensor]:
    """(s I - W o W)^-T by Gauss-Jordan elimination without pivoting, and whether all pivots were positive.

    Products and differences are rounded one by one, in the order of the compiled kernel, so that both agree to the bit.
    """
    p = W.shape[1]
    A = -(W * W).mT.contiguous()
    A.diagonal(dim1=1, dim2=2).add_(s)
    inside = torch.ones(len(W), dtype=torch.bool, device=W.device)
    for k in range(p):
        pivot = A[:, k, k].clone()
        inside &= pivot > 0
        A[:, k, k] = 1
        row = A[:, k] / pivot[:, None]
        factor = A[:, :, k].clone()
        A[:, :, k] = 0
        A -= factor[:, :, None] * row[:, None, :]
        A[:, k] = row
    return A, inside
