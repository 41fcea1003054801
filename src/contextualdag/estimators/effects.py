"""Effects of interventions as methods of the estimators; `contextualdag.effects` has the arithmetic."""

import warnings
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from contextualdag.checks import (
    did_you_mean,
    generator,
    is_count,
    is_finite,
    is_flag,
    is_integer,
    listed,
    require,
    two_meanings,
)
from contextualdag.effects import effects_of, means_under, sample_under, total_effects
from contextualdag.errors import ContextualDAGWarning, InvalidInputError
from contextualdag.tables import Array, Flags, check_aligned

if TYPE_CHECKING:
    import pandas

    from contextualdag.estimators.scaling import Preparation

ROWS_AT_ONCE = 4096


@dataclass(frozen=True, eq=False)
class Intervened:
    """A model in given contexts where some variables are set to values; `do` of an estimator makes it.

    Attributes
    ----------
    variables : tuple of str
        The variables that are set.
    means : DataFrame of shape (n, p)
        Means of all variables under the intervention, one row for each context; of transformed ones the medians.

    Examples
    --------
    >>> import numpy as np
    >>> from contextualdag import FixedDAG
    >>> rng = np.random.default_rng(0)
    >>> cause = rng.standard_normal((1000, 1))
    >>> X = np.hstack([cause, 2 * cause + rng.standard_normal((1000, 1))])
    >>> model = FixedDAG(noise="equal", random_state=0).fit(X)
    >>> set_to_three = model.do(model.typical_context(), {"x1": 3})
    >>> set_to_three.means.round()
        x1   x2
    0  3.0  6.0
    >>> set_to_three.sample(random_state=0).shape
    (1, 2)
    """

    variables: tuple[str, ...]
    means: "pandas.DataFrame" = field(repr=False)
    _draw: Callable[[np.random.Generator], Array] = field(repr=False)

    def sample(self, random_state: int | np.random.Generator | None = None) -> Array:
        """Draw the variables under the intervention, with normal noise.

        Parameters
        ----------
        random_state : int or numpy.random.Generator, optional
            Source of randomness. With the seed of the model's own `sample` the noise is the same, so that rows of both are
            pairs without and with the intervention.

        Returns
        -------
        array of shape (n, p)
            One row for each context; repeat a context for more draws of it.
        """
        return self._draw(generator(random_state, "sample"))


class Effects:
    """Methods of all estimators that say what follows if variables are set by intervention.

    They are causal if the graph is: there are no hidden common causes and the directions are right. Where the data do not
    tell some directions, they are those of one DAG of the equivalence class, with a warning. Effects are in the units of the
    weights, those of X as transformed (see `transforms_`); values and means are in those of X.
    """

    names_: list[str]
    noise_scale_: Array
    _preparation: "Preparation"

    if TYPE_CHECKING:

        def _weights(self, Z: Array, mask: Array | None = None) -> Array: ...
        def _means(self, Z: Array) -> Array: ...
        def _encode(self, Z: Any) -> Array: ...
        def _undirected(self) -> Flags: ...
        def _require_fit(self) -> None: ...

    def means(self, Z: Any) -> "pandas.DataFrame":
        """Means of the variables in given contexts, without intervention, in the units of X.

        Of a variable that was transformed (see `transforms_`) it is the median: the mean in transformed units, taken back.

        Parameters
        ----------
        Z : array or DataFrame of shape (n, m)
            Contexts.

        Returns
        -------
        DataFrame of shape (n, p)
        """
        encoded = self._encode(Z)
        means = np.concatenate([self._means(encoded[rows]) for rows in _parts(len(encoded))])
        return self._table(self._preparation.transforms.back(means), Z)

    def total_effects(self, Z: Any) -> Array:
        """Total effects of all variables on all others in given contexts.

        Parameters
        ----------
        Z : array or DataFrame of shape (n, m)
            Contexts.

        Returns
        -------
        array of shape (n, p, p)
            Entry [i, j, k] is the change of the mean of variable k for one unit more of j, set by intervention in context
            i. It is the sum over all directed paths from j to k of the products of their weights, (I - W)^-1 - I. Units
            are those of the weights, as transformed (see `transforms_`).

        Warns
        -----
        ContextualDAGWarning
            Where the data do not tell the direction of some edges.
        """
        encoded = self._encode(Z)
        self._warn_of_directions()
        return np.concatenate([total_effects(self._weights(encoded[rows])) for rows in _parts(len(encoded))])

    def effect(self, source: str | int, target: str | int, Z: Any) -> "pandas.DataFrame":
        """Effect of one variable on another in given contexts.

        Parameters
        ----------
        source, target : str or int
            Variables, by name or position.
        Z : array or DataFrame of shape (n, m)
            Contexts.

        Returns
        -------
        DataFrame
            One row for each context. `effect` is the total effect: the change of the mean of the target for one unit more of
            the source, set by intervention. `direct` is the weight of the edge; the difference goes through other variables.

        Warns
        -----
        ContextualDAGWarning
            Where the data do not tell the direction of some edges.
        """
        encoded = self._encode(Z)
        pair = self._pair(source, target)
        self._warn_of_directions()
        return self._effect(*pair, encoded, Z)

    def effect_along(
        self, source: str | int, target: str | int, feature: str, context: Any = None, n_points: int = 50
    ) -> "pandas.DataFrame":
        """Effect of one variable on another along one context feature, with the others held.

        Parameters
        ----------
        source, target : str or int
            Variables, by name or position.
        feature : str
            Context feature.
        context : array, DataFrame of one row or mapping, optional
            Values of the other features. A mapping may give some of them; the rest are typical, as all are by default. The
            value of `feature` in an array or DataFrame has no part in the result.
        n_points : int, default=50
            Number of values of a numeric feature, from the smallest to the largest in the data. Of a category, each is one.

        Returns
        -------
        DataFrame
            Columns: the feature, and `effect` and `direct` as in `effect`.

        Warns
        -----
        ContextualDAGWarning
            Where the data do not tell the direction of some edges.
        """
        from contextualdag.plotting.contexts import contexts_along, find_feature, read_context, values_along

        self._require_fit()
        model: Any = self
        pair = self._pair(source, target)
        require(is_count(n_points), "n_points", "effect_along", "an integer of at least 1", n_points)
        along = find_feature(model, feature)
        if isinstance(context, Mapping) and along.name in context:
            raise InvalidInputError(
                f"'{along.name}' is the feature along which the effect is asked for. Leave it out of context."
            )
        values = values_along(along, n_points, beyond=0)
        held = read_context(model, context, "context", "effect")
        contexts = contexts_along(model, {along.name: values}, held)
        self._warn_of_directions()
        table = self._effect(*pair, self._encode(contexts), contexts)
        table.insert(0, along.name, values, allow_duplicates=True)  # a feature may be named effect
        return table

    def do(self, Z: Any, interventions: Mapping[str | int, Any]) -> Intervened:
        """The variables in given contexts where some of them are set to values.

        A variable that is set no longer follows its own equation: edges into it are cut. All others follow theirs, so
        whatever it reaches along directed paths changes with it.

        Parameters
        ----------
        Z : array or DataFrame of shape (n, m)
            Contexts.
        interventions : mapping
            Variables by name or position, and the value that each is set to: a number, or an array of one for each context.
            In the units of X, also where a variable was transformed.

        Returns
        -------
        Intervened
            With `means` and a method `sample`. The means without intervention are ``model.means(Z)``.

        Warns
        -----
        ContextualDAGWarning
            Where the data do not tell the direction of some edges.
        """
        encoded = self._encode(Z)
        values = self._values(interventions, len(encoded))
        for variable, given in interventions.items():
            check_aligned({"Z": Z, f"interventions[{variable!r}]": given}, depth=3)
        self._warn_of_directions()

        def over(arithmetic: Callable[..., Array], rng: np.random.Generator | None = None) -> Array:
            found = []
            for rows in _parts(len(encoded)):
                context = encoded[rows]
                noise = [] if rng is None else [rng.standard_normal((len(context), len(self.names_))) * self.noise_scale_]
                given = {position: value[rows] for position, value in values.items()}
                found.append(arithmetic(self._weights(context), self._means(context), *noise, given))
            return self._preparation.transforms.back(np.concatenate(found))

        names = tuple(self.names_[position] for position in values)
        return Intervened(names, self._table(over(means_under), Z), lambda rng: over(sample_under, rng))

    def _effect(self, source: int, target: int, encoded: Array, Z: Any) -> "pandas.DataFrame":
        import pandas as pd

        found = []
        for rows in _parts(len(encoded)):
            W = self._weights(encoded[rows])
            found.append(np.stack([effects_of(W, source)[:, target], W[:, source, target]], axis=1))
        return pd.DataFrame(np.concatenate(found), index=_index(Z, len(encoded)), columns=["effect", "direct"])

    def _table(self, values: Array, Z: Any) -> "pandas.DataFrame":
        import pandas as pd

        return pd.DataFrame(values, index=_index(Z, len(values)), columns=self.names_)

    def _pair(self, source: str | int, target: str | int) -> tuple[int, int]:
        j, k = self._position(source, "source"), self._position(target, "target")
        if j == k:
            raise InvalidInputError(f"source and target must be two variables. Got '{self.names_[j]}' twice.")
        return j, k

    def _position(self, variable: Any, what: str) -> int:
        """Position of a variable that is given by name or by position."""
        known = f"The variables are: {listed(self.names_)}."
        if isinstance(variable, str):
            if variable not in self.names_:
                raise InvalidInputError(
                    f"{what}: there is no variable '{variable}'.{did_you_mean(variable, self.names_)} {known}"
                )
            return self.names_.index(variable)
        if not is_integer(variable) or not 0 <= variable < len(self.names_):
            raise InvalidInputError(
                f"{what} must be the name of a variable, or a position from 0 to {len(self.names_) - 1}. Got {variable!r} "
                f"instead. {known}"
            )
        if unclear := two_meanings(int(variable), self.names_):
            raise InvalidInputError(f"{what}: {unclear}")
        return int(variable)

    def _values(self, interventions: Any, n: int) -> dict[int, Array]:
        """The values (n,) of each variable that is set, by position."""
        if not isinstance(interventions, Mapping) or not interventions:
            raise InvalidInputError(
                f"interventions must map variables to values, such as {{'{self.names_[0]}': 1.0}}. Got "
                f"{interventions!r} instead."
            )
        found: dict[int, Array] = {}
        for variable, given in interventions.items():
            position = self._position(variable, "interventions")
            name = self.names_[position]
            if position in found:
                raise InvalidInputError(f"interventions set '{name}' twice, by name and by position.")
            values = _one_for_each(given, name, n)
            found[position] = self._preparation.transforms.value(position, values, "interventions")
        return found

    def _warn_of_directions(self) -> None:
        count = int(self._undirected().sum()) // 2
        if count:
            edges = "1 edge" if count == 1 else f"{count} edges"
            warnings.warn(
                f"The data do not tell the direction of {edges} (undirected_edges_); effects are those of one "
                "possible graph.",
                ContextualDAGWarning,
                stacklevel=3,
            )


def _one_for_each(given: Any, name: str, n: int) -> Array:
    """The value of an intervention in each of n contexts; true and false are 1 and 0, as in X."""
    if is_finite(given) or is_flag(given):
        return np.full(n, float(given))
    values = np.asarray(given)
    if values.ndim == 0 or values.dtype.kind not in "iufb":
        raise InvalidInputError(f"'{name}' must be set to a finite number, or to an array of {n}. Got {given!r} instead.")
    if values.shape != (n,):
        raise InvalidInputError(
            f"'{name}' must be set to a number, or to one for each of the {n} contexts. Got an array of shape "
            f"{values.shape}."
        )
    if not np.isfinite(values).all():
        bad = int((~np.isfinite(values)).argmax())
        raise InvalidInputError(f"'{name}' must be set to finite numbers. Got {values[bad]} for context {bad}.")
    return values.astype(np.float64)


def _index(Z: Any, n: int) -> Any:
    """The labels of the rows of a pandas DataFrame, else 0, 1, 2 and so on."""
    import pandas as pd

    return Z.index if isinstance(Z, pd.DataFrame) else pd.RangeIndex(n)


def _parts(n: int) -> Iterator[slice]:
    """Rows, a few thousand at a time."""
    return (slice(first, first + ROWS_AT_ONCE) for first in range(0, max(n, 1), ROWS_AT_ONCE))
