"""FixedDAG: one graph for all contexts."""

import functools
import math
from collections.abc import Sequence
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
from contextualdag.tables import Array
from contextualdag.training import penalised
from contextualdag.training import selection as selections
from contextualdag.training.constant import constant_graphs, constant_path, penalty_grid
from contextualdag.training.path import Path

NO_CONTEXT = "no context"


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
    held_out_score_, n_held_out_ : float, int
        What `score` is for the rows held out, which also chose the sparsity, and how many these are.

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

    def _build(self, n_features: int, n_samples: int | None = None) -> None:
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
        if self.penalties is None:
            penalties = penalty_grid(moments[0], self.n_penalties)
        else:
            penalties = [float(value) / self._scaling.x_scale**2 for value in sorted(self.penalties, reverse=True)]
        points = constant_path(moments, moments_val, penalties, self._allowed, self.cut, self.selection != "min")
        self._path = Path(points=points)
        if self.selection == "min":
            self._choice = selections.by_validation_loss(points)
        elif not isinstance(self.selection, str):
            self._choice = selections.by_n_edges(points, self.selection)
        elif self.selection == "1se":
            losses_of = functools.partial(self._sample_losses, data)
            self._choice = selections.within_one_standard_error(points, losses_of)
        else:
            self._choice = selections.least_refit_loss(points)

    def _graphs(self, choice: selections.Choice, Z: torch.Tensor, mask: torch.Tensor | None) -> torch.Tensor:
        return constant_graphs(self._path.points[choice.index], choice.cut, self._groups(Z))

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
