"""One graph for many samples: the paper's DAGMA path, for many problems at once.

A problem is a second-moment matrix S = X^T X / n and a penalty lambda. Where some entries of X are not scored, every
response has a matrix of its own, from its own rows, and each column of S (I - W) belongs to one of them. For mu falling
geometrically, proximal steps follow the minimum of

    mu (1/2 tr((I - W)^T S (I - W)) + lambda ||W||_1) + h(W),    h(W) = -log det(s I - W o W) + p log s,

which ends near a DAG. An order of the nodes is read off it, and the lasso on the forward edges of that order, a convex
problem, is solved to the end.
"""

import torch
from torch import Tensor

from contextualdag.graphs import order_to_mask
from contextualdag.projection.kernels.dispatch import available_or_warning
from contextualdag.projection.kernels.logdet_torch import path_of_mu
from contextualdag.projection.kernels.order_torch import linear_order
from contextualdag.training.loss import cross_moments, moment_errors, moment_product, response_moments

S_DOMAIN, MU, DECAY, STEPS = 1.0, 1.0, 0.5, 10
MAX_ITERATIONS, TOLERANCE = 200, 1e-3
# Where nodes are many an iteration takes long, and steps with momentum swing on data without edges: fewer for each mu.
FEWEST_ITERATIONS, CUBES_PLAIN, CUBES_WITH_MOMENTUM = 10, 7.5e7, 2.5e7
MAX_HALVINGS = 60
MOST_MOMENTUM = 0.95
SMALLEST = 1e-30
LASSO_ITERATIONS, LASSO_TOLERANCE = 2000, 1e-6


def penalised_dags(S: Tensor, penalty: Tensor, allowed: Tensor) -> tuple[Tensor, list[int]]:
    """Graphs (b, p, p) for problems S and penalties (b,), and how many proximal steps each took.

    `S` is (b, p, p), or (b, p, p, p) with one matrix for every response.

    `allowed` (p, p) marks the allowed edges. The weights are shrunken, as the lasso leaves them.

    On the CPU by compiled loops where numba is there, see `dagma_numba`, which search a little further. The work on a
    problem is bounded, and an interruption from the keyboard ends it.

    The problem is not convex. Steps with momentum get further where variables are strongly correlated, plain ones settle
    where momentum swings; both are tried, and the better graph of each problem is kept.
    """
    if S.device.type == "cpu" and available_or_warning("numba"):
        from contextualdag.training import dagma_numba

        return dagma_numba.penalised_dags(
            S,
            penalty,
            allowed,
            curvature=_curvature(S),
            mu_path=path_of_mu(MU, DECAY, STEPS),
            s=S_DOMAIN,
            max_iterations=(max_iterations(S.shape[1], momentum=False), max_iterations(S.shape[1], momentum=True)),
            tolerance=TOLERANCE,
            most_momentum=MOST_MOMENTUM,
        )
    return penalised_dags_in_torch(S, penalty, allowed)


def max_iterations(p: int, momentum: bool) -> int:
    """The most steps for each value of mu: each costs p^3, so that there are fewer with more than fifty or seventy nodes.

    Examples
    --------
    >>> from contextualdag.training.dagma import max_iterations
    >>> [max_iterations(p, momentum=True) for p in (50, 100, 200)]
    [200, 25, 10]
    """
    cubes = CUBES_WITH_MOMENTUM if momentum else CUBES_PLAIN
    return min(MAX_ITERATIONS, max(FEWEST_ITERATIONS, int(cubes / p**3)))


def penalised_dags_in_torch(S: Tensor, penalty: Tensor, allowed: Tensor) -> tuple[Tensor, list[int]]:
    """The same in plain PyTorch, on any device."""
    best, least, iterations = (
        torch.zeros_like(cross_moments(S)),
        torch.full_like(penalty, torch.inf),
        torch.zeros_like(penalty),
    )
    for momentum in (False, True):
        W, steps = _descend(S, penalty, allowed, momentum)
        W = lasso_on_order(S, penalty, order_to_mask(linear_order(W)) & allowed)
        value = objective(S, penalty, W)
        best = torch.where((value < least)[:, None, None], W, best)
        least = torch.minimum(least, value)
        iterations += steps
    return best, [int(count) for count in iterations]


def objective(S: Tensor, penalty: Tensor, W: Tensor) -> Tensor:
    """1/2 tr((I - W)^T S (I - W)) + penalty ||W||_1 of each problem."""
    return 0.5 * moment_errors(S, W) + penalty * W.abs().sum((1, 2))


def _descend(S: Tensor, penalty: Tensor, allowed: Tensor, with_momentum: bool) -> tuple[Tensor, Tensor]:
    b, p = S.shape[:2]
    eye = torch.eye(p, dtype=S.dtype, device=S.device)
    curvature = _curvature(S)
    W = S.new_zeros(b, p, p)
    inverse = (eye / S_DOMAIN).repeat(b, 1, 1)
    iterations = torch.zeros(b, dtype=torch.int64, device=S.device)
    for mu in path_of_mu(MU, DECAY, STEPS):
        rows = torch.arange(b, device=S.device)
        ahead, momentum = W.clone(), torch.ones(b, 1, 1, dtype=S.dtype, device=S.device)
        for _ in range(max_iterations(p, with_momentum)):
            w, y, g = W[rows], ahead[rows], inverse[rows]
            gradient = mu * moment_product(S[rows], y - eye) + 2 * g * y
            step = 1 / (mu * curvature[rows] + 2 * g)
            shift = step * mu * penalty[rows, None, None]
            new = y - step * gradient
            new = torch.where(allowed, new - new.clamp(-shift, shift), 0)
            new, found = _step_inside(w, new, g)
            moved = new - w
            if with_momentum:
                uphill = ((y - new) * moved).sum((1, 2), keepdim=True) > 0  # then begin anew
                before = torch.where(uphill, 1.0, momentum[rows])
                momentum[rows] = (1 + (1 + 4 * before**2).sqrt()) / 2
                further = new + ((before - 1) / momentum[rows]).clamp_max(MOST_MOMENTUM) * moved
                ahead[rows], inverse[rows] = _step_inside(new, further, found)
            else:
                ahead[rows], inverse[rows] = new, found
            W[rows] = new
            iterations[rows] += 1
            rows = rows[moved.abs().amax((1, 2)) > TOLERANCE]
            if len(rows) == 0:
                break
        inverse, _ = _inverse(W)
    return torch.where(allowed, W, 0), iterations


def _curvature(S: Tensor) -> Tensor:
    """A bound of S by a diagonal matrix, (b, p, 1): the variances times the largest eigenvalue of the correlations.

    Variables of very different variance then move at their own pace. (b, p, p) where every response k has a matrix: the
    bound of that is at [:, :, k].
    """
    if S.ndim == 4:
        return _curvature(S.flatten(0, 1)).view(S.shape[:3]).mT
    variance = S.diagonal(dim1=1, dim2=2).clamp_min(SMALLEST)
    scale = variance.rsqrt()
    correlation = S * scale[:, :, None] * scale[:, None, :]
    bound: Tensor = variance * torch.linalg.eigvalsh(correlation)[:, -1:].clamp_min(1)
    return bound[:, :, None]


def _step_inside(W: Tensor, new: Tensor, inverse: Tensor) -> tuple[Tensor, Tensor]:
    """Go from W to `new`, or half as far as often as it takes to stay in the domain, and invert there."""
    result, result_inverse = W.clone(), inverse.clone()
    outside = torch.arange(len(W), device=W.device)
    trial = new
    for _ in range(MAX_HALVINGS):
        found, inside = _inverse(trial)
        result[outside[inside]], result_inverse[outside[inside]] = trial[inside], found[inside]
        outside, trial = outside[~inside], trial[~inside]
        if len(outside) == 0:
            break
        trial = (trial + W[outside]) / 2
    return result, result_inverse


def _inverse(W: Tensor) -> tuple[Tensor, Tensor]:
    """(s I - W o W)^-T, and whether W lies in the domain: only there has it no negative entries (it is an M-matrix)."""
    eye = torch.eye(W.shape[1], dtype=W.dtype, device=W.device)
    found = torch.linalg.inv_ex((S_DOMAIN * eye - W * W).mT).inverse
    inside = (found.isfinite() & (found > -1e-9)).all(2).all(1)
    return found.clamp_min(0), inside


def lasso_on_order(S: Tensor, penalty: Tensor, forward: Tensor) -> Tensor:
    """Weights on the edges `forward` (b, p, p) that minimise 1/2 tr((I - W)^T S (I - W)) + penalty ||W||_1.

    Accelerated proximal steps, restarted whenever they go uphill.
    """
    eye = torch.eye(S.shape[1], dtype=S.dtype, device=S.device)
    step = 1 / _curvature(S)
    shift = step * penalty[:, None, None]
    W, ahead, momentum = torch.zeros_like(cross_moments(S)), torch.zeros_like(cross_moments(S)), 1.0
    for _ in range(LASSO_ITERATIONS):
        new = ahead - step * moment_product(S, ahead - eye)
        new = torch.where(forward, new - new.clamp(-shift, shift), 0)
        moved = new - W
        if float(((ahead - new) * moved).sum()) > 0:
            momentum = 1.0
        following = (1 + (1 + 4 * momentum**2) ** 0.5) / 2
        ahead = new + (momentum - 1) / following * moved
        W, momentum = new, following
        if float(moved.abs().amax()) <= LASSO_TOLERANCE:
            break
    return W


def least_squares_on_support(S: Tensor, support: Tensor) -> Tensor:
    """Weights (b, p, p) that minimise tr((I - W)^T S (I - W)) on given supports, every node by itself."""
    p = S.shape[1]
    weights = S.new_zeros(support.shape)
    eye = torch.eye(p, dtype=S.dtype, device=S.device)
    for k in range(p):
        own = response_moments(S, k)
        ridge = (1e-10 * own.diagonal(dim1=1, dim2=2).amax(1)).clamp_min(SMALLEST)
        parents = support[:, :, k]
        both = parents[:, :, None] & parents[:, None, :]
        # What is no parent gets an equation of its own, w = 0. The ridge lets collinear parents share a weight.
        system = torch.where(both, own, 0) + torch.where(parents, ridge[:, None], 1.0)[:, :, None] * eye
        weights[:, :, k] = torch.linalg.solve(system, torch.where(parents, own[:, :, k], 0))
    return weights
