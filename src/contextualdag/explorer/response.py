"""How the variables of one context respond when one of them, the cause, is set to a value."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from contextualdag.effects import effects_of, spreads
from contextualdag.tables import Array, Flags


@dataclass(frozen=True, eq=False)
class Response:
    """The effects of a cause on all variables in one context.

    Attributes
    ----------
    cause : int
        Position of the variable that is set.
    shift : float
        How far from its mean it is set, in its own spreads.
    effects : array of shape (p,)
        Total effects of the cause; zero for itself and for all that it does not reach.
    means, spreads : array of shape (p,)
        Means and standard deviations without intervention, in the units of the graphs.
    back : callable
        From these units to those of the table, where variables were transformed.
    """

    cause: int
    shift: float
    effects: Array
    means: Array
    spreads: Array
    back: Callable[[Array], Array] = np.asarray

    @classmethod
    def of(
        cls,
        cause: int,
        shift: float,
        W: Array,
        means: Array,
        noise_scale: Array,
        back: Callable[[Array], Array] = np.asarray,
    ) -> "Response":
        """The response of the variables of a graph W (p, p).

        Examples
        --------
        >>> import numpy as np
        >>> from contextualdag.explorer.response import Response
        >>> W = np.array([[0.0, 2.0, 0.0], [0.0, 0.0, 0.0], [0.0, 0.0, 0.0]])
        >>> one = Response.of(0, 1.5, W, np.zeros(3), np.array([2.0, 3.0, 1.0]))
        >>> one.spreads, one.after, one.reached
        (array([2., 5., 1.]), array([3., 6., 0.]), array([False,  True, False]))
        """
        return cls(cause, shift, effects_of(W[None], cause)[0], means, spreads(W[None], noise_scale)[0], back)

    @property
    def reached(self) -> Flags:
        """Variables that the cause has an effect on."""
        there: Flags = self.effects != 0
        return there

    @property
    def before(self) -> Array:
        """Means without intervention, in the units of the table."""
        return self.back(self.means)

    @property
    def after(self) -> Array:
        """Means under the intervention, in the units of the table."""
        unit = np.zeros(len(self.effects))
        unit[self.cause] = 1
        return self.back(self.means + (self.effects + unit) * self.shift * self.spreads[self.cause])

    @property
    def changes(self) -> Array:
        """Changes of the means, that of the cause included."""
        return self.after - self.before

    @property
    def strengths(self) -> Array:
        """Changes in spreads of the variables that change; for one spread of the cause where it is not moved."""
        moved = self.effects * (self.shift or 1.0) * self.spreads[self.cause]
        strengths: Array = np.divide(moved, self.spreads, out=np.zeros_like(moved), where=self.spreads > 0)
        return strengths

    def number(self, node: int) -> float:
        """What is written at a node that is reached: the total effect, or the change of its mean if the cause is moved."""
        return float(self.changes[node] if self.shift else self.effects[node])
