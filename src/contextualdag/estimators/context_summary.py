"""What a model remembers of the contexts it was fitted on: quantiles of every feature, and no row of the data."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from contextualdag.estimators.tables import Array, ContextEncoder

if TYPE_CHECKING:
    import pandas

N_QUANTILES = 101


@dataclass(frozen=True)
class ContextSummary:
    """Quantiles (101, m) of the encoded training contexts, from the smallest value to the largest, and their means (m,)."""

    encoder: ContextEncoder
    quantiles: Array
    means: Array

    @classmethod
    def learn(cls, encoder: ContextEncoder, Z: Array) -> "ContextSummary":
        """From encoded contexts."""
        return cls(encoder, np.quantile(Z, np.linspace(0, 1, N_QUANTILES), axis=0), Z.mean(0))

    def outside(self, Z: Array) -> Array:
        """Which encoded contexts lie outside the training range in some feature, (n,)."""
        beyond: Array = (np.clip(Z, self.quantiles[0], self.quantiles[-1]) != Z).any(1)
        return beyond

    def typical(self, quantile: float) -> "pandas.DataFrame":
        """One context in the user's columns: this quantile of every number, the most frequent of categories."""
        import pandas as pd

        row: dict[str, object] = {}
        for name, columns, categories in self._features():
            if categories is None:
                row[name] = float(np.interp(quantile, np.linspace(0, 1, N_QUANTILES), self.quantiles[:, columns[0]]))
            else:
                row[name] = categories[int(self.means[columns].argmax())]
        return pd.DataFrame([row])

    def table(self) -> "pandas.DataFrame":
        """One row for each feature: its name, for numbers five quantiles, for categories their shares."""
        import pandas as pd

        rows: list[dict[str, object]] = []
        for name, columns, categories in self._features():
            if categories is None:
                at = dict(zip(("low", "q25", "median", "q75", "high"), self.quantiles[::25, columns[0]], strict=True))
                rows.append({"feature": name, "kind": "number", **{key: float(value) for key, value in at.items()}})
            else:
                shares = {category: float(self.means[column]) for category, column in zip(categories, columns, strict=True)}
                rows.append({"feature": name, "kind": "category", "shares": shares})
        return pd.DataFrame(rows, columns=["feature", "kind", "low", "q25", "median", "q75", "high", "shares"])

    def _features(self) -> list[tuple[str, list[int], tuple[str, ...] | None]]:
        """Name, encoded columns and categories of every feature."""
        found, first = [], 0
        for name, categories in zip(self.encoder.names, self.encoder.categories, strict=True):
            count = 1 if categories is None else len(categories)
            found.append((name, list(range(first, first + count)), categories))
            first += count
        return found
