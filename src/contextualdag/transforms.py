"""Kinds of variables, told from their values, and transforms that bring them nearer to normal ones.

A graph is learned from linear equations with noise of one size. A concentration that is multiplied rather than added to, or
a count whose spread grows with its mean, fits that better as a logarithm. Columns that are near enough are left as they are,
to the bit. What has two values or a few ordered ones is a number as well: the weight of an edge into it is a difference of
probabilities, or of levels.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr, ndtri

from contextualdag.checks import did_you_mean, is_one_of, listed, require, shown, two_meanings
from contextualdag.errors import InvalidInputError, InvalidParameterError

Array = NDArray[np.float64]

BINARY, ORDINAL, COUNT, SKEWED, CONTINUOUS = KINDS = ("binary", "ordinal", "count", "skewed", "continuous")
NONE, LOG, LOG1P, NORMAL_SCORES = TRANSFORMS = ("none", "log", "log1p", "normal-scores")
AUTO = "auto"
MOST_LEVELS, RARE = 11, 0.01  # of ordered levels, such as 0 to 10; share of the largest up to which it is no level
CLEAR_SKEW, CLEAR_MOMENT, FEWEST_VALUES = 0.3, 0.5, 50
TAIL = 0.05  # beyond the quantiles whose distances from the median are compared
MOST_TIED = 0.1  # share of one value up to which ranks tell values apart
MOST_KNOTS = 1000
MOST_STEPS, WHOLE = 1000, 1e-3  # up to which numbers that are not whole are told to be multiples, and how nearly they are
ROUNDING = 1e-9  # share of themselves by which levels differ that are one
LARGEST_LOG = 700.0  # whose exponential is finite


@dataclass(frozen=True, eq=False)
class Column:
    """A variable: its kind, its transform and what belongs to that.

    `unit` is what log1p divides by: the step of counts; `values` and their `scores` are those of normal scores.
    """

    kind: str
    transform: str = NONE
    values: Array | None = None
    scores: Array | None = None
    unit: float = 1.0


@dataclass(frozen=True)
class Transforms:
    """How the columns of a table are transformed, and back.

    Examples
    --------
    >>> import numpy as np
    >>> from contextualdag.transforms import Transforms
    >>> X = np.random.default_rng(0).lognormal(size=(200, 2))
    >>> X[:, 1] = X[:, 1] > 1
    >>> learned = Transforms.learn(X, ["crp", "smokes"], "auto")
    >>> learned.kinds, learned.names_of_transforms
    (('skewed', 'binary'), ('log', 'none'))
    >>> bool(np.allclose(learned.back(learned.forward(X, "X")), X))
    True
    """

    names: tuple[str, ...]
    columns: tuple[Column, ...]

    @classmethod
    def learn(cls, X: Array, names: Sequence[str], wanted: str | Mapping[Any, str]) -> "Transforms":
        """From a table (n, p), which may have holes (NaN), and the parameter of an estimator."""
        given = _by_position(wanted, names)
        columns = []
        for position, values in enumerate(X.T):
            values = values[~np.isnan(values)]
            kind, step = _kind_and_step(values)
            transform = given.get(position, _fitting(values, kind, step) if wanted != NONE else NONE)
            transform = transform if len(values) else NONE
            knots, scores = _normal_scores(values) if transform == NORMAL_SCORES else (None, None)
            columns.append(Column(kind, transform, knots, scores, step if transform == LOG1P else 1.0))
        return cls(tuple(names), tuple(columns))

    @classmethod
    def of(cls, names: Sequence[str], packed: Sequence[Sequence[str]], arrays: Mapping[str, Array]) -> "Transforms":
        """From what was saved: kinds and transforms, and `arrays`."""

        def column(k: int, kind: str, transform: str) -> Column:
            unit = arrays.get(f"unit/{k}", np.array(1.0))
            return Column(kind, transform, arrays.get(f"values/{k}"), arrays.get(f"scores/{k}"), unit.item())

        return cls(tuple(names), tuple(column(k, *described) for k, described in enumerate(packed)))

    def arrays(self) -> dict[str, Array]:
        """Values and scores of columns with normal scores, and units of log1p, by name."""
        found: dict[str, Array] = {}
        for k, column in enumerate(self.columns):
            if column.transform == LOG1P:
                found[f"unit/{k}"] = np.array(column.unit)
            if column.values is not None and column.scores is not None:
                found |= {f"values/{k}": column.values, f"scores/{k}": column.scores}
        return found

    @property
    def kinds(self) -> tuple[str, ...]:
        """What the columns are."""
        return tuple(column.kind for column in self.columns)

    @property
    def names_of_transforms(self) -> tuple[str, ...]:
        """How the columns are transformed."""
        return tuple(column.transform for column in self.columns)

    @property
    def change(self) -> bool:
        """Whether any column is transformed."""
        return any(column.transform != NONE for column in self.columns)

    def forward(self, X: Array, what: str) -> Array:
        """A table (n, p) in transformed units; errors call it `what`. The same array where no column is transformed."""
        return self._each(X, lambda position, values: self._forward(position, values, what))

    def back(self, X: Array) -> Array:
        """From transformed units (n, p) to those of the table."""
        return self._each(X, self._back)

    def value(self, position: int, values: Array, what: str) -> Array:
        """Values of one column in transformed units."""
        return self._forward(position, values, what)

    def in_words(self) -> str:
        """Kinds that were found and what is done about them, such as "3 binary, 1 skewed: log"; empty if there are none."""
        said = []
        for kind in (BINARY, ORDINAL, COUNT, SKEWED, CONTINUOUS):
            by_transform: dict[str, list[str]] = {}
            for name, column in zip(self.names, self.columns, strict=True):
                if column.kind == kind and (kind != CONTINUOUS or column.transform != NONE):
                    by_transform.setdefault(column.transform, []).append(name)
            noun = "counts" if kind == COUNT else kind
            for transform, names in by_transform.items():
                how = "" if transform == NONE else f": {transform}"
                said.append(f"{len(names)} {'count' if noun == 'counts' and len(names) == 1 else noun}{how}")
        return ", ".join(said)

    def _each(self, X: Array, change: Any) -> Array:
        if not self.change:
            return X
        changed = [
            values if column.transform == NONE else change(position, values)
            for position, (column, values) in enumerate(zip(self.columns, X.T, strict=True))
        ]
        return np.stack(changed, axis=1)

    def _forward(self, position: int, values: Array, what: str) -> Array:
        column = self.columns[position]
        if column.transform == NORMAL_SCORES:
            if column.values is None or column.scores is None:
                raise TypeError(f"Column {position} has normal scores without values.")
            found: Array = np.interp(values, column.values, column.scores)
            return np.where(np.isnan(values), np.nan, found)
        if column.transform == NONE:
            return values
        is_log = column.transform == LOG
        too_small = values <= (0 if is_log else -column.unit)
        if too_small.any():
            raise InvalidInputError(_no_logarithm(self.names[position], what, values, column))
        return np.log(values) if is_log else np.log1p(values / column.unit)

    def _back(self, position: int, values: Array) -> Array:
        column = self.columns[position]
        if column.transform == NORMAL_SCORES and column.values is not None and column.scores is not None:
            inside: Array = np.interp(values, column.scores, column.values)
            return np.where(np.isnan(values), np.nan, inside)
        bounded = np.clip(values, -LARGEST_LOG, LARGEST_LOG)
        return np.exp(bounded) if column.transform == LOG else np.expm1(bounded) * column.unit


def kind_of(values: Array) -> str:
    """What a column without missing values seems to be.

    Two values are binary. Whole numbers of steps that start at 0 or 1 are counts if they go up by more than ten, or by less
    but become ever rarer; others no more than ten steps apart are ordinal. Numbers that are not negative and whose upper
    tail is clearly longer are skewed; all others continuous. The step is the column's own, so that units do not matter.

    Examples
    --------
    >>> import numpy as np
    >>> from contextualdag.transforms import kind_of
    >>> kind_of(np.array([0.0, 1.0, 1.0])), kind_of(np.array([1.0, 2.0, 5.0])), kind_of(np.array([0.0, 3.0, 17.0]))
    ('binary', 'ordinal', 'count')
    >>> kind_of(np.array([100.0, 200.0, 500.0]))
    'ordinal'
    """
    return _kind_and_step(values)[0]


def _kind_and_step(values: Array) -> tuple[str, float]:
    """The kind of a column, and the step of counts; 1 for others."""
    levels = np.unique(values)
    if len(levels) == 2:
        return BINARY, 1.0
    step = common_step(levels) if len(levels) > 2 else None
    if step is not None:
        first, last = np.round(levels[[0, -1]] / step)
        is_short = last - first < MOST_LEVELS
        runs_out = _has_upper_tail(values) and (values == levels[-1]).sum() <= max(2, RARE * len(values))
        if first in (0, 1) and (runs_out or not is_short):
            return COUNT, step
        if is_short:
            return ORDINAL, 1.0
    if len(values) and values.min() >= 0 and is_skewed(values):
        return SKEWED, 1.0
    return CONTINUOUS, 1.0


def common_step(levels: Array) -> float | None:
    """The largest number of which rising levels are multiples, or None; if they are not whole, one that is not too small.

    Examples
    --------
    >>> import numpy as np
    >>> from contextualdag.transforms import common_step
    >>> common_step(np.array([0.0, 2000.0, 3000.0])), common_step(np.array([0.0, 1.0, 2**0.5]))
    (1000.0, None)
    >>> print(f"{common_step(np.array([0.0, 0.2, 0.3])):.3g}")
    0.1
    """
    largest = float(np.abs(levels).max())
    if largest < 2**53 and (levels == np.round(levels)).all():
        return float(np.gcd.reduce(levels.astype(np.int64))) or None
    shares = levels / largest
    shares = shares[np.append(True, np.diff(shares) > ROUNDING * np.abs(shares[1:]))]
    if len(shares) > 2 * MOST_STEPS + 1:
        return None
    step = 1.0
    for share in np.abs(shares):  # Euclid's algorithm, where a rest below half of the smallest step is zero
        larger, rest = step, float(share)
        while rest > 0.5 / MOST_STEPS:
            larger, rest = rest, abs(larger - rest * round(larger / rest))
        step = larger
        if step * MOST_STEPS < 1 - WHOLE:
            return None
    steps = np.round(shares / step)
    step = float(shares @ steps / (steps @ steps))
    is_common = (np.abs(shares / step - steps) < WHOLE).all() and (np.diff(steps) > 0).all()
    return step * largest if is_common else None


def is_skewed(values: Array) -> bool:
    """Whether the upper tail of a column is clearly longer than the lower."""
    return len(values) >= FEWEST_VALUES and skewness(values) > CLEAR_SKEW


def _has_upper_tail(values: Array) -> bool:
    """The same for whole numbers, of which quantiles are few, by the third moment; Poisson's has it up to a mean of four."""
    return len(values) >= FEWEST_VALUES and _third_moment(values) > CLEAR_MOMENT


def _third_moment(values: Array) -> float:
    z = (values - values.mean()) / values.std()
    return float((z**3).mean())


def _gains_by_log1p(counts: Array) -> bool:
    """Whether counts of steps go beyond ten, a few of them aside, and are much less skewed as logarithms.

    Where most are 0, 1 or 2, graphs of the counts themselves are better than those of logarithms.
    """
    is_large = np.quantile(counts, 1 - TAIL) >= MOST_LEVELS
    return bool(is_large) and abs(_third_moment(np.log1p(counts))) < _third_moment(counts) / 2


def skewness(values: Array) -> float:
    """How much longer the upper tail is than the lower, from -1 to 1, by quantiles; heavy tails alone do not move it."""
    low, middle, high = np.quantile(values, (TAIL, 0.5, 1 - TAIL))
    return float((high + low - 2 * middle) / (high - low)) if high > low else 0.0


def _fitting(values: Array, kind: str, step: float) -> str:
    """The transform of "auto"."""
    if kind == COUNT:
        return LOG1P if _has_upper_tail(values) and _gains_by_log1p(values / step) else NONE
    if kind == SKEWED:
        if values.min() > 0:
            return LOG if abs(skewness(np.log(values))) < skewness(values) else NONE
        _, shares = np.unique(values, return_counts=True)
        return NORMAL_SCORES if shares.max() <= MOST_TIED * len(values) else NONE
    return NONE


def _normal_scores(values: Array) -> tuple[Array, Array]:
    """Values of a column, rising, and the normal quantiles of their mean ranks; at most a thousand of them."""
    levels, counts = np.unique(values, return_counts=True)
    rank = (np.cumsum(counts) - counts / 2) / max(len(values), 1)
    if len(levels) > MOST_KNOTS:
        # Evenly spread over the scores, so that tails are kept.
        wanted = ndtr(np.linspace(ndtri(rank[0]), ndtri(rank[-1]), MOST_KNOTS))
        kept = np.unique(np.clip(np.searchsorted(rank, wanted), 0, len(rank) - 1))
        levels, rank = levels[kept], rank[kept]
    return levels, ndtri(rank)


def _by_position(wanted: str | Mapping[Any, str], names: Sequence[str]) -> dict[int, str]:
    """The transforms that a parameter gives, by position of the column."""
    if isinstance(wanted, str):
        return {}
    found: dict[int, str] = {}
    for name, transform in wanted.items():
        if name in names:
            position = list(names).index(name)
        elif str(name).isdecimal() and int(name) < len(names):  # text in models that were saved, as JSON has no other keys
            position = int(name)
            if unclear := two_meanings(position, names):
                raise InvalidParameterError(f"The 'transform' parameter is unclear: {unclear}")
        else:
            raise InvalidParameterError(
                f"The 'transform' parameter names {shown(name)}, which is not a variable.{did_you_mean(name, names)} The "
                f"variables are {listed(names)}; positions from 0 to {len(names) - 1} will do too."
            )
        if position in found:
            raise InvalidParameterError(f"The 'transform' parameter holds '{names[position]}' twice.")
        found[position] = transform
    return found


def check_transform(value: Any, owner: str) -> None:
    """Raise unless a value may be the parameter `transform` of an estimator."""
    if isinstance(value, Mapping):
        for name, transform in value.items():
            is_name = isinstance(name, str) or type(name) is int  # others cannot be saved
            require(is_name, "transform", owner, "a dict of names or positions (int) of variables and transforms", name)
            expected = f"one of {list(TRANSFORMS)} for {shown(name)}"
            require(is_one_of(transform, TRANSFORMS), "transform", owner, expected, transform, TRANSFORMS)
    else:
        expected = "'auto', 'none' or a dict of variables and transforms, such as {'crp': 'log'}"
        require(is_one_of(value, (AUTO, NONE)), "transform", owner, expected, value, (AUTO, NONE))


def _no_logarithm(name: str, what: str, values: Array, column: Column) -> str:
    zeros, negative = int((values == 0).sum()), int((values < 0).sum())
    too_small = int((values <= -column.unit).sum())

    def some(count: int, kind: str) -> str:
        return f"{count} {kind}{'' if count == 1 else 's'}"

    if column.transform == LOG1P:
        have = "has" if too_small == 1 else "have"
        return (
            f"Column '{name}' of {what} has {some(too_small, 'value')} of {-column.unit:.6g} or less, which {have} no "
            "log1p. Use 'normal-scores' or 'none' for it."
        )
    both = " and ".join(some(count, kind) for count, kind in ((zeros, "zero"), (negative, "negative value")) if count)
    better = "'log1p' or 'normal-scores'" if not negative else "'normal-scores' or 'none'"
    have = "has" if zeros + negative == 1 else "have"
    return f"Column '{name}' of {what} has {both}, which {have} no logarithm. Use {better} for it."
