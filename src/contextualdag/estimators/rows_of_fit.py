"""What a fit was told of its rows, as numbers and as a sentence: missing values, interventions, weights and groups."""

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from contextualdag.estimators.experiments import Known
from contextualdag.tables import Flags

MOST_NAMED = 10  # variables in a sentence


@dataclass(frozen=True)
class RowsOfFit:
    """How many rows a fit used, those of a validation set included, and what else it was told of them.

    Attributes
    ----------
    n_rows : int
        Number of rows, without those of weight zero.
    n_missing : dict of str to int
        Values that were missing and filled in, by variable.
    n_intervened : int
        Rows with an intervention.
    n_interventions : dict of str to int
        Rows with an intervention on a variable, by variable.
    weighted : bool
        Whether rows have weights.
    n_groups : int
        Number of groups that were kept together; zero where rows have none.

    Examples
    --------
    >>> from contextualdag.estimators.rows_of_fit import RowsOfFit
    >>> RowsOfFit(300, n_missing={"b": 20, "c": 14}, n_groups=30).in_words()
    '34 missing values were filled in (b 20, c 14). 30 groups of rows were kept together.'
    """

    n_rows: int
    n_missing: dict[str, int] = field(default_factory=dict)
    n_intervened: int = 0
    n_interventions: dict[str, int] = field(default_factory=dict)
    weighted: bool = False
    n_groups: int = 0

    @classmethod
    def count(cls, parts: Sequence[Known], sizes: Sequence[int], names: Sequence[str], n_groups: int) -> "RowsOfFit":
        """Of the training rows and those held out, what is known of them, and how many there are."""
        missing = [part.missing for part in parts if part.missing is not None]
        intervened = [part.intervened for part in parts if part.intervened is not None]
        return cls(
            n_rows=sum(sizes),
            n_missing=_by_name(missing, names),
            n_intervened=sum(int(flags.any(1).sum()) for flags in intervened),
            n_interventions=_by_name(intervened, names),
            weighted=any(part.weight is not None for part in parts),
            n_groups=n_groups,
        )

    def in_words(self) -> str:
        """What was done with missing values, interventions, weights and groups; empty where there are none."""
        said = []
        n = sum(self.n_missing.values())
        if n:
            values = "value was" if n == 1 else "values were"
            said.append(f"{n} missing {values} filled in ({_counted(self.n_missing)}).")
        if self.n_intervened:
            rows = "rows is an intervention" if self.n_intervened == 1 else "rows are interventions"
            on = _counted({f"on {name}": count for name, count in self.n_interventions.items()})
            said.append(f"{self.n_intervened} of {self.n_rows} {rows} ({on}); those values are not scored.")
        if self.weighted:
            said.append("Rows have weights.")
        if self.n_groups:
            said.append(f"{self.n_groups} groups of rows were kept together.")
        return " ".join(said)


def _by_name(flags: Sequence[Flags], names: Sequence[str]) -> dict[str, int]:
    """How often each variable is marked, of those that are."""
    counts = sum((part.sum(0) for part in flags), start=np.zeros(len(names), dtype=np.int64))
    return {name: int(count) for name, count in zip(names, counts, strict=True) if count}


def _counted(counts: dict[str, int]) -> str:
    shown = [f"{name} {count}" for name, count in counts.items()]
    more = f" and {len(shown) - MOST_NAMED} more" if len(shown) > MOST_NAMED else ""
    return ", ".join(shown[:MOST_NAMED]) + more
