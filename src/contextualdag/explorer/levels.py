"""Levels of sparsity: the points along the path that the page offers."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from contextualdag.explorer.features import number

if TYPE_CHECKING:
    from contextualdag.estimators.path_estimator import PathEstimator

FEW, COARSER = 20, 1.15  # whole numbers up to the first, then steps by at least this factor
ALIKE = 0.25  # levels that differ by fewer edges can hardly be told apart


@dataclass(frozen=True)
class Level:
    """So many edges on average; `chosen` is what the fit settled on."""

    n_edges: float
    chosen: bool = False

    @property
    def key(self) -> str:
        """As links name it."""
        return "chosen" if self.chosen else number(self.n_edges)

    @property
    def label(self) -> str:
        """As the page names it."""
        count = number(round(self.n_edges, 1))
        return f"{count} edge{'' if count == '1' else 's'} on average" + (", the choice of the fit" if self.chosen else "")


def levels_of(model: "PathEstimator") -> list[Level]:
    """From the empty graph to the densest of the path, with the choice of the fit among them.

    Examples
    --------
    >>> import numpy as np
    >>> from contextualdag import FixedDAG
    >>> from contextualdag.explorer.levels import levels_of
    >>> X = np.random.default_rng(0).standard_normal((200, 3))
    >>> X[:, 2] += X[:, 0]
    >>> levels = levels_of(FixedDAG(random_state=0).fit(X))
    >>> levels[0].label, [level.chosen for level in levels].count(True)
    ('0 edges on average', 1)
    """
    most = float(model.path_["n_edges"].max())
    counts, count = [0.0], 1.0
    while count <= most:
        counts.append(count)
        count = count + 1 if count < FEW else float(round(max(count + 1, count * COARSER)))
    counts += [most] if most - counts[-1] >= ALIKE else []
    chosen = _chosen(model, most)
    # The choice takes the place of a neighbour that it can hardly be told from.
    return sorted(
        [Level(count) for count in counts if abs(count - chosen) >= ALIKE] + [Level(chosen, True)], key=lambda at: at.n_edges
    )


def _chosen(model: "PathEstimator", most: float) -> float:
    """Average number of edges of what the fit settled on."""
    point, cut = model._path.points[model._choice.index], model._choice.cut
    n_edges = point.n_edges if point.refit is None or cut is None else np.interp(cut, point.refit.cuts, point.refit.n_edges)
    return min(float(n_edges), most)
