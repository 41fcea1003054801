"""ClusteredDAG: contexts in clusters, one graph for each."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from contextualdag.checks import is_count
from contextualdag.estimators.base import GraphEstimator
from contextualdag.estimators.fitting import fit_together
from contextualdag.estimators.knowledge import Edges, Node
from contextualdag.estimators.parameters import PAPER_GROUPS, Selection, check, check_group_parameters, group_settings
from contextualdag.training.problem import GroupSettings


class ClusteredDAG(GraphEstimator):
    """Group the contexts by k-means and learn one graph for each group, all with the same penalty.

    Parameters
    ----------
    n_clusters : int, optional
        Number of clusters; by default one for every hundred training samples, as in the paper.
    selection, penalties, n_penalties, cut, intercept, noise, robust, forbidden_edges, required_edges, tiers, missing, \
transform, cyclic, validation_fraction, device, random_state
        As for `FixedDAG`; `random_state` also seeds k-means.

    Attributes
    ----------
    path_, names_, kinds_, transforms_, noise_, outliers_, noise_scale_, held_out_score_, n_held_out_
        As for `FixedDAG`; numbers of edges are means over samples.
    structure_ : str
        "varying". Nothing was compared with that, and `context_test_` is None.
    undirected_edges_ : list of (str, str)
        Edges whose direction the data do not tell, as for `ContextualDAG`.

    Examples
    --------
    >>> from contextualdag import ClusteredDAG
    >>> from contextualdag.datasets import make_varying_dag
    >>> data = make_varying_dag(400, n_nodes=4, n_edges=3, random_state=0)
    >>> model = ClusteredDAG(n_clusters=4, random_state=0).fit(data.X, data.Z)
    >>> model.adjacency(data.Z[:2]).shape
    (2, 4, 4)
    """

    def __init__(
        self,
        *,
        n_clusters: int | None = None,
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
        self.n_clusters = n_clusters
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
    def paper(cls, **overrides: Any) -> "ClusteredDAG":
        """The settings of the paper, as for `FixedDAG`.

        Parameters
        ----------
        **overrides
            Any parameter of the constructor.
        """
        return cls(**(PAPER_GROUPS | overrides))

    def fit(
        self,
        X: Any,
        Z: Any,
        X_val: Any = None,
        Z_val: Any = None,
        *,
        interventions: Any = None,
        interventions_val: Any = None,
        sample_weight: Any = None,
        sample_weight_val: Any = None,
        groups: Any = None,
    ) -> "ClusteredDAG":
        """Learn the clusters and their graphs.

        Parameters
        ----------
        X : array or DataFrame of shape (n, p)
            Variables; rows are samples.
        Z : array or DataFrame of shape (n, m)
            Contexts of the same samples. Categorical columns are one-hot encoded.
        X_val, Z_val : optional
            Validation set; by default `validation_fraction` of the rows is held out.
        interventions, interventions_val, sample_weight, sample_weight_val, groups
            As for `ContextualDAG`.

        Returns
        -------
        ClusteredDAG
            The estimator itself.
        """
        tables = {"X": X, "Z": Z, "X_val": X_val, "Z_val": Z_val}
        tables |= {"interventions": interventions, "interventions_val": interventions_val}
        tables |= {"sample_weight": sample_weight, "sample_weight_val": sample_weight_val, "groups": groups}
        fit_together([self], [tables])
        return self

    def _check_parameters(self) -> None:
        check_group_parameters(self)
        known = self.n_clusters is None or is_count(self.n_clusters)
        check(self, known, "n_clusters", "None or an integer of at least 1")

    def _settings(self, x_scale: float, n_rows: int | None = None) -> GroupSettings:
        return group_settings(self, x_scale, clustered=True, n_clusters=self.n_clusters)
