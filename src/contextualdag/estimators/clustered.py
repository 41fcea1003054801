"""ClusteredDAG: contexts in clusters, one graph for each."""

import math
from collections.abc import Sequence

import torch

from contextualdag.estimators.fixed import FixedDAG
from contextualdag.estimators.parameters import is_count, require

SAMPLES_IN_A_CLUSTER = 100


class ClusteredDAG(FixedDAG):
    """Group the contexts by k-means and learn one graph for each group, all with the same penalty.

    Parameters
    ----------
    n_clusters : int, optional
        By default one for every hundred training samples, as in the paper.
    selection, penalties, n_penalties, cut, intercept, validation_fraction, device, random_state
        As for `FixedDAG`; `random_state` also seeds k-means.

    Attributes
    ----------
    path_, names_, noise_scale_, held_out_score_, n_held_out_
        As for `FixedDAG`; numbers of edges are means over samples.

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
        selection: str | float = "relaxed",
        penalties: Sequence[float] | None = None,
        n_penalties: int = 20,
        cut: float = 0.0,
        intercept: str = "contextual",
        validation_fraction: float = 0.2,
        device: str = "auto",
        random_state: int | None = None,
    ) -> None:
        super().__init__(
            selection=selection,
            penalties=penalties,
            n_penalties=n_penalties,
            cut=cut,
            intercept=intercept,
            validation_fraction=validation_fraction,
            device=device,
            random_state=random_state,
        )
        self.n_clusters = n_clusters

    def _check_parameters(self) -> None:
        super()._check_parameters()
        known = self.n_clusters is None or is_count(self.n_clusters)
        require(self, known, "n_clusters", "None or an integer of at least 1")

    def _build(self, n_features: int, n_samples: int | None = None) -> None:
        """The centres are learned or restored."""

    def _learn_groups(self, Z: torch.Tensor, seed: int) -> None:
        from sklearn.cluster import KMeans

        distinct = len(torch.unique(Z, dim=0))
        wanted = self.n_clusters or math.ceil(len(Z) / SAMPLES_IN_A_CLUSTER)
        self._n_groups = min(wanted, distinct)
        found = KMeans(self._n_groups, n_init=10, random_state=seed).fit(Z.cpu().numpy())
        self._centres = torch.tensor(found.cluster_centers_, dtype=torch.float32, device=Z.device)

    def _groups(self, Z: torch.Tensor) -> torch.Tensor:
        return torch.cdist(Z, self._centres.to(Z.device)).argmin(1)

    def _state(self) -> dict[str, torch.Tensor]:
        return super()._state() | {"centres": self._centres}

    def _restore(self, state: dict[str, torch.Tensor]) -> None:
        super()._restore(state)
        self._centres = state["centres"]
        self._n_groups = len(self._centres)
