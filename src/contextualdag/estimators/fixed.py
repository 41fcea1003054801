"""FixedDAG: one graph for all contexts."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from contextualdag.errors import InvalidInputError
from contextualdag.estimators.base import GraphEstimator
from contextualdag.estimators.fitting import Tables, fit_together
from contextualdag.estimators.knowledge import Edges, Node
from contextualdag.estimators.parameters import PAPER_GROUPS, Selection, check_group_parameters, group_settings
from contextualdag.tables import Array
from contextualdag.training.problem import GroupSettings


class FixedDAG(GraphEstimator):
    r"""Learn one sparse directed acyclic graph for all contexts, by the paper's path of DAGMA problems.

    The model is :math:`x - \mu(z) = W^\top (x - \mu(z)) + \varepsilon` with :math:`W` acyclic. For a falling sequence of
    l1 penalties a log-det path finds an order of the nodes and the lasso the weights on it; one penalty is selected. The
    search for an order is bounded: a fit to 1000 rows takes some ten seconds with 200 variables on one core.

    Parameters
    ----------
    selection : {"relaxed", "min", "1se", "explained"}, float or tuple, default="relaxed"
        How the penalty is selected, as for `ContextualDAG`.
    penalties : sequence of float, optional
        Penalties in squared units of X. By default `n_penalties` values that fall in equal ratios from the one that
        leaves no edge to a thousandth of it.
    n_penalties : int, default=20
        Number of penalties, if `penalties` are not given.
    cut : float, default=0.0
        Size up to which weights are dropped, all along the path. It is absolute; the paper's 0.1 suits weights of order one.
    intercept : {"contextual", "constant", "none"}, default="contextual"
        Mean :math:`\mu`: a function of z, the same for all, or zero. Without a context, "contextual" is "constant".
    noise : {"auto", "equal", "unequal"}, default="auto"
        Noise scales: the same for all variables in the units given, or unknown and learned, so that units do not matter.
        "auto" is "equal" unless residuals speak against it.
    robust : bool, default=True
        Whether rows that lie far from all others count less, so that a few bad ones do little harm.
    forbidden_edges, required_edges, tiers : optional
        What is known of the graph, as for `ContextualDAG`.
    cyclic : dict of str to float, optional
        Context features that come back, and their periods, as for `ContextualDAG`.
    missing : {"error", "impute"}, default="error"
        Missing values of X, as for `ContextualDAG`.
    transform : "auto", "none" or dict of str to str, default="auto"
        What is done to variables before all else, as for `ContextualDAG`.
    validation_fraction : float, default=0.2
        Fraction of rows held out, unless `fit` is given a validation set.
    device : str, default="auto"
        Device to use; "auto" is CUDA if it is available, else the CPU.
    random_state : int, optional
        Seed of the split.

    Attributes
    ----------
    path_ : DataFrame
        One row for each penalty, with the columns of `ContextualDAG`: `threshold` is the penalty, `l1_budget` the l1 norm
        that it leaves, `epochs` the steps of the descent.
    names_ : list of str
        Names of the variables.
    kinds_, transforms_ : dict of str to str
        What each variable seems to be, and how it was transformed.
    structure_ : str
        "constant". Nothing was compared with that, and `context_test_` is None.
    noise_ : {"equal", "unequal"}
        Whether the graph was learned under equal noise. Under unequal noise data do not tell all directions.
    undirected_edges_ : list of (str, str)
        Edges whose direction the data do not tell; empty under equal noise.
    outliers_ : list of int
        Rows of X, counted from 0, that lie far from all others and were given little weight.
    noise_scale_ : array of shape (p,)
        Standard deviation of the noise.
    held_out_score_, n_held_out_ : float, int
        The `score` of the rows held out, which also selected the sparsity, and the number of these rows.

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
        selection: Selection = "relaxed",
        penalties: Sequence[float] | None = None,
        n_penalties: int = 20,
        cut: float = 0.0,
        intercept: str = "contextual",
        noise: str = "auto",
        robust: bool = True,
        forbidden_edges: Edges | None = None,
        required_edges: Edges | None = None,
        tiers: Iterable[Iterable[Node]] | None = None,
        cyclic: Mapping[str, float] | None = None,
        missing: str = "error",
        transform: str | Mapping[str, str] = "auto",
        validation_fraction: float = 0.2,
        device: str = "auto",
        random_state: int | None = None,
    ) -> None:
        self.selection = selection
        self.penalties = penalties
        self.n_penalties = n_penalties
        self.cut = cut
        self.intercept = intercept
        self.noise = noise
        self.robust = robust
        self.forbidden_edges = forbidden_edges
        self.required_edges = required_edges
        self.tiers = tiers
        self.cyclic = cyclic
        self.missing = missing
        self.transform = transform
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
        return cls(**(PAPER_GROUPS | overrides))

    def fit(
        self,
        X: Any,
        Z: Any = None,
        X_val: Any = None,
        Z_val: Any = None,
        *,
        interventions: Any = None,
        interventions_val: Any = None,
        sample_weight: Any = None,
        sample_weight_val: Any = None,
        groups: Any = None,
    ) -> "FixedDAG":
        """Learn the graph.

        Parameters
        ----------
        X : array or DataFrame of shape (n, p)
            Variables; rows are samples.
        Z : array or DataFrame of shape (n, m), optional
            Contexts, for means that move with them; the graph does not.
        X_val, Z_val : optional
            A validation set; by default `validation_fraction` of the rows is held out.
        interventions, interventions_val, sample_weight, sample_weight_val, groups
            As for `ContextualDAG`.

        Returns
        -------
        FixedDAG
            The estimator itself.
        """
        tables = {"X": X, "Z": Z, "X_val": X_val, "Z_val": Z_val}
        tables |= {"interventions": interventions, "interventions_val": interventions_val}
        tables |= {"sample_weight": sample_weight, "sample_weight_val": sample_weight_val, "groups": groups}
        fit_together([self], [tables])
        return self

    @property
    def graph_(self) -> Array:
        """The graph, shape (p, p)."""
        self._require_fit()
        W: Array = self._weights(np.zeros((1, len(self._preparation.scaling.z_mean))))[0]
        return W

    def _check_parameters(self) -> None:
        check_group_parameters(self)

    def _check_tables(self, tables: Tables) -> Tables:
        if tables.Z is None and tables.Z_val is not None:
            raise InvalidInputError("Z_val was given without Z: pass both or neither.")
        return tables if tables.Z is None else super()._check_tables(tables)

    def _settings(self, x_scale: float, n_rows: int | None = None) -> GroupSettings:
        return group_settings(self, x_scale)
