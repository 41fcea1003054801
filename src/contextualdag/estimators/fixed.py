"""FixedDAG: one graph for all contexts."""

import functools
import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import torch

from contextualdag.errors import InvalidInputError
from contextualdag.estimators.parameters import (
    PAPER_CUT,
    PAPER_PENALTIES,
    check_cut,
    check_shared_parameters,
    is_count,
    require,
)
from contextualdag.estimators.path_estimator import PathEstimator, Prepared
from contextualdag.estimators.tables import Array
from contextualdag.training import penalised
from contextualdag.training import selection as selections
from contextualdag.training.path import Path, PathPoint, Refit, cuts_of
from contextualdag.training.trainer import Fit

NO_CONTEXT = "no context"
SMALLEST_PENALTY = 1e-3  # as a share of the largest
PROBLEMS_AT_ONCE = 2000


class FixedDAG(PathEstimator):
    r"""Learn one sparse directed acyclic graph for all contexts, by the paper's path of DAGMA problems.

    The model is :math:`x - \mu(z) = W^\top (x - \mu(z)) + \varepsilon` with :math:`W` acyclic. For a falling sequence of
    l1 penalties a log-det path finds an order of the nodes and the lasso the weights on it; one penalty is chosen.

    Parameters
    ----------
    selection : {"relaxed", "min", "1se"} or float, default="relaxed"
        Which penalty to believe, as for `ContextualDAG`.
    penalties : sequence of float, optional
        The penalties, in squared units of X. By default `n_penalties` values that fall in equal ratios from the one that
        leaves no edge to a thousandth of it.
    n_penalties : int, default=20
        How many, if `penalties` are not given.
    cut : float, default=0.0
        Weights up to this size are dropped, all along the path. It is absolute; the paper's 0.1 suits weights of order one.
    intercept : {"contextual", "constant", "none"}, default="contextual"
        The mean :math:`\mu`: a function of z, the same for all, or zero. Without a context, "contextual" is "constant".
    validation_fraction : float, default=0.2
        Share of rows held out, unless `fit` is given a validation set.
    device : str, default="auto"
        "auto" is CUDA where there is a device, else the CPU.
    random_state : int, optional
        Seed of the split.

    Attributes
    ----------
    path_ : DataFrame
        One row for each penalty, with the columns of `ContextualDAG`: `threshold` is the penalty, `l1_budget` the l1 norm
        that it leaves, `epochs` the steps of the descent.
    names_ : list of str
        Names of the variables.
    noise_scale_ : array of shape (p,)
        Standard deviation of the noise.

    Examples
    --------
    >>> import numpy as np
    >>> from contextualdag import FixedDAG
    >>> rng = np.random.default_rng(0)
    >>> X = rng.standard_normal((500, 3))
    >>> X[:, 2] += X[:, 0]
    >>> FixedDAG(random_state=0).fit(X).graph_.round(1)
    array([[0., 0., 1.],
           [0., 0., 0.],
           [0., 0., 0.]])
    """

    def __init__(
        self,
        *,
        selection: str | float = "relaxed",
        penalties: Sequence[float] | None = None,
        n_penalties: int = 20,
        cut: float = 0.0,
        intercept: str = "contextual",
        validation_fraction: float = 0.2,
        device: str = "auto",
        random_state: int | None = None,
    ) -> None:
        self.selection = selection
        self.penalties = penalties
        self.n_penalties = n_penalties
        self.cut = cut
        self.intercept = intercept
        self.validation_fraction = validation_fraction
        self.device = device
        self.random_state = random_state

    @classmethod
    def paper(cls, **overrides: Any) -> "FixedDAG":
        """The settings of the paper: no intercept, twenty penalties from 1 to 0.001, weights up to 0.1 dropped.

        Parameters
        ----------
        **overrides
            Any parameter of the constructor.
        """
        settings: dict[str, Any] = {"selection": "min", "intercept": "none", "penalties": PAPER_PENALTIES, "cut": PAPER_CUT}
        return cls(**(settings | overrides))

    def fit(self, X: Any, Z: Any = None, X_val: Any = None, Z_val: Any = None) -> "FixedDAG":
        """Learn the graph.

        Parameters
        ----------
        X : array or DataFrame of shape (n, p)
            Variables; rows are samples.
        Z : array or DataFrame of shape (n, m), optional
            Contexts, for means that move with them; the graph does not.
        X_val, Z_val : optional
            A validation set; by default `validation_fraction` of the rows is held out.

        Returns
        -------
        FixedDAG
            The estimator itself.
        """
        if Z is None:
            if Z_val is not None:
                raise InvalidInputError("Z_val was given without Z: pass both or neither.")
            Z, Z_val = _no_context(X), None if X_val is None else _no_context(X_val)
        return self._fit_anew(X, Z, X_val, Z_val)

    @property
    def graph_(self) -> Array:
        """The graph, shape (p, p)."""
        self._require_fit()
        W: Array = self._weights(np.zeros((1, len(self._scaling.z_mean))))[0]
        return W

    def _check_parameters(self) -> None:
        check_shared_parameters(self)
        require(self, is_count(self.n_penalties), "n_penalties", "an integer of at least 1")
        check_cut(self)
        known = self.penalties is None or (
            isinstance(self.penalties, Sequence | np.ndarray)
            and len(self.penalties) > 0
            and all(isinstance(value, int | float | np.number) and 0 <= value < math.inf for value in self.penalties)
        )
        require(self, known, "penalties", "None or a sequence of numbers of at least 0")

    def _build(self, n_features: int) -> None:
        self._n_groups = 1

    def _groups(self, Z: torch.Tensor) -> torch.Tensor:
        """To which graph each sample belongs."""
        return torch.zeros(len(Z), dtype=torch.int64, device=Z.device)

    def _learn_groups(self, Z: torch.Tensor, seed: int) -> None:
        """Find the groups, where there is something to find."""

    def _fit_path(self, data: Prepared) -> None:
        split = data.split
        self._learn_groups(split.Z, data.seed)
        group, group_val = self._groups(split.Z), self._groups(split.Z_val)
        moments = penalised.second_moments(split.X.double(), group, self._n_groups)
        moments_val = penalised.second_moments(split.X_val.double(), group_val, self._n_groups)
        penalties = self._penalty_grid(moments[0])
        graphs, steps = self._solve(moments[0], penalties)
        graphs = torch.where(graphs.abs() > self.cut, graphs, 0)
        points = [_point(W, its, lam, moments, moments_val) for W, its, lam in zip(graphs, steps, penalties, strict=True)]
        points.sort(key=lambda point: -point.l1_budget)
        if self.selection != "min":
            points = [_refitted(point, moments, moments_val) for point in points]
        self._path = Path(points=points)
        if self.selection == "min":
            self._choice = selections.by_validation_loss(points)
        elif not isinstance(self.selection, str):
            self._choice = selections.by_n_edges(points, self.selection)
        elif self.selection == "1se":
            losses_of = functools.partial(self._sample_losses, split=split)
            self._choice = selections.within_one_standard_error(points, losses_of)
        else:
            self._choice = selections.least_refit_loss(points)

    def _penalty_grid(self, S: torch.Tensor) -> list[float]:
        if self.penalties is not None:
            return [float(value) / self._scaling.x_scale**2 for value in sorted(self.penalties, reverse=True)]
        eye = torch.eye(S.shape[1], dtype=torch.bool, device=S.device)
        largest = float(torch.where(eye, 0, S).abs().amax())
        steps = max(self.n_penalties - 1, 1)
        return [largest * SMALLEST_PENALTY ** (step / steps) for step in range(self.n_penalties)]

    def _solve(self, S: torch.Tensor, penalties: list[float]) -> tuple[torch.Tensor, list[int]]:
        """Graphs (penalties, groups, p, p), all problems at once, and the most steps for each penalty."""
        n_groups, p, _ = S.shape
        problems = S.repeat(len(penalties), 1, 1)
        penalty = torch.tensor(penalties, dtype=S.dtype, device=S.device).repeat_interleave(n_groups)
        allowed = self._allowed.to(S.device) & ~torch.eye(p, dtype=torch.bool, device=S.device)
        found, steps = [], []
        for part in torch.arange(len(problems), device=S.device).tensor_split(math.ceil(len(problems) / PROBLEMS_AT_ONCE)):
            W, its = penalised.penalised_dags(problems[part], penalty[part], allowed)
            found.append(W)
            steps += its
        most = [max(steps[i * n_groups : (i + 1) * n_groups]) for i in range(len(penalties))]
        return torch.cat(found).view(len(penalties), n_groups, p, p), most

    def _graphs(self, choice: selections.Choice, Z: torch.Tensor, mask: torch.Tensor | None) -> torch.Tensor:
        point = self._path.points[choice.index]
        W = point.fits[0].state["W"]
        if point.refit is not None and choice.cut is not None:
            W = point.refit.fits[0].state["W"]
            W = torch.where(W.abs() > choice.cut, W, 0)
        return W.to(Z.device, torch.float32)[self._groups(Z)]

    def _encode(self, Z: Any) -> Array:
        if hasattr(self, "encoder_") and self.encoder_.names == (NO_CONTEXT,):
            return np.zeros((len(Z), 1))
        return super()._encode(Z)

    def _without_context(self, X: Any) -> Any:
        if hasattr(self, "encoder_") and self.encoder_.names != (NO_CONTEXT,):
            super()._without_context(X)
        return _no_context(X)


def _no_context(X: Any) -> Any:
    import pandas as pd

    return pd.DataFrame({NO_CONTEXT: np.zeros(len(X))})


Moments = tuple[torch.Tensor, torch.Tensor]


def _point(W: torch.Tensor, steps: int, penalty: float, moments: Moments, moments_val: Moments) -> PathPoint:
    """One point of the path from its graphs (groups, p, p)."""
    fit = Fit({"W": W}, penalised.moment_loss(*moments, W), penalised.moment_loss(*moments_val, W), steps)
    l1 = float((moments[1] * W.abs().sum((1, 2))).sum())
    return PathPoint(l1, (penalty,), _mean_edges(W, moments_val[1]), (fit,))


def _refitted(point: PathPoint, moments: Moments, moments_val: Moments) -> PathPoint:
    """The point with its refit, least squares on the supports."""
    W = penalised.least_squares_on_support(moments[0], point.fits[0].state["W"] != 0)
    cuts = cuts_of(W)
    kept = [torch.where(W.abs() > cut, W, 0) for cut in cuts]
    losses = [penalised.moment_loss(*moments_val, w) for w in kept]
    fit = Fit({"W": W}, penalised.moment_loss(*moments, W), losses[0], 0)
    best = min(range(len(cuts)), key=lambda i: (losses[i], -i))  # the larger on ties
    return replace(point, refit=Refit((fit,), (0.0,), cuts, [_mean_edges(w, moments_val[1]) for w in kept], losses, best))


def _mean_edges(W: torch.Tensor, share: torch.Tensor) -> float:
    return float((share * (W != 0).sum((1, 2))).sum())
