"""What the graphs of half-samples say of edges, weights and effects."""

from collections.abc import Callable, Iterable, Iterator
from itertools import repeat
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from contextualdag.checks import is_flag, is_number, shown
from contextualdag.cpdag import cpdag
from contextualdag.effects import effects_of, total_effects
from contextualdag.errors import InvalidParameterError
from contextualdag.estimators.base import GraphEstimator, parts
from contextualdag.estimators.calibration import calibrated, interval
from contextualdag.projection import Order
from contextualdag.tables import Array
from contextualdag.training.noise import EQUAL, UNEQUAL
from contextualdag.training.required import with_required
from contextualdag.training.solution import Solution
from contextualdag.training.structure import VARYING

if TYPE_CHECKING:
    import pandas

EFFECT_LEVEL = 0.9
NUMBERS_AT_ONCE = 20_000_000  # of weights of all resamples
ACYCLIC = Order()


class Votes(GraphEstimator):
    """A fit to all rows and fits to halves of them, which vote on every edge; `BootstrapDAG` fits them."""

    estimator_: GraphEstimator
    selection: str
    threshold: float
    _resamples: tuple[Solution, ...]
    _voting: Solution  # of the fit to all rows as it was selected first: its members vote together with the halves

    def edge_probabilities(self, Z: Any, calibrate: bool = True, mask: Any = None) -> Array:
        """How sure each edge is in given contexts.

        Parameters
        ----------
        Z : array or DataFrame of shape (n, m)
            Contexts.
        calibrate : bool, default=True
            Whether to correct the shares of fits that have an edge, by formulas learned on simulated data, so that of
            edges with a probability of 0.8 about four in five are there. False gives the shares among the halves.
        mask : array of bool, shape (n, p, p), optional
            As for `adjacency`.

        Returns
        -------
        array of shape (n, p, p)
            ``P[i, j, k]`` is the probability of j -> k in context i, so that ``P[i, j, k] + P[i, k, j]`` is that of an edge
            between the two.
        """
        if not is_flag(calibrate):
            raise InvalidParameterError(
                "calibrate must be True, for calibrated probabilities, or False, for the shares of the halves that have an "
                f"edge. Got {shown(calibrate)} instead."
            )
        return np.concatenate([self._probabilities(*part, calibrate) for part in self._parts(Z, mask)])

    def weight_intervals(self, Z: Any, level: float = 0.9, mask: Any = None) -> tuple[Array, Array]:
        """Intervals for the weights of given contexts.

        Parameters
        ----------
        Z : array or DataFrame of shape (n, m)
            Contexts.
        level : float, default=0.9
            Share of the intervals that should hold the true weight, between 0 and 1.
        mask : array of bool, shape (n, p, p), optional
            As for `adjacency`.

        Returns
        -------
        low, high : arrays of shape (n, p, p)
        """
        _check_level(level)
        return self._intervals(self._parts(Z, mask), level)

    def effect_intervals(self, Z: Any, level: float = 0.9, mask: Any = None) -> tuple[Array, Array]:
        """Intervals for the total effects of given contexts.

        Parameters
        ----------
        Z : array or DataFrame of shape (n, m)
            Contexts.
        level : float, default=0.9
            Share of the intervals that should hold the true effect, between 0 and 1.
        mask : array of bool, shape (n, p, p), optional
            As for `adjacency`.

        Returns
        -------
        low, high : arrays of shape (n, p, p)
            Bounds of what `total_effects` gives. The tables of `effect` and `effect_along` have those of 90 %.
        """
        _check_level(level)
        return self._intervals(self._parts(Z, mask), level, total_effects)

    def consensus(self, Z: Any, threshold: float | None = None, mask: Any = None) -> Array:
        """Graphs of the edges that are sure enough.

        Parameters
        ----------
        Z : array or DataFrame of shape (n, m)
            Contexts.
        threshold : float, optional
            Smallest probability that two variables are joined; by default the parameter of the model.
        mask : array of bool, shape (n, p, p), optional
            As for `adjacency`.

        Returns
        -------
        array of shape (n, p, p)
            Weights, as of `adjacency`; those of edges that the fit to all rows does not have are means over the halves that
            have them. Every graph is acyclic: an edge that would close a cycle of more probable ones is left out.
        """
        threshold = self.threshold if threshold is None else threshold
        if not is_number(threshold, 0, 1):
            raise InvalidParameterError(f"threshold must be a number from 0 to 1. Got {threshold!r} instead.")
        return np.concatenate([self._consensus(*part, threshold) for part in self._parts(Z, mask)])

    def edges(self, Z: Any, standardised: bool = False) -> "pandas.DataFrame":
        """Edges of given contexts as a table, with the probability of each.

        Parameters
        ----------
        Z : array or DataFrame of shape (n, m)
            Contexts.
        standardised : bool, default=False
            Whether weights are in standard deviations, as of the estimator.

        Returns
        -------
        DataFrame
            As of the estimator, and the column probability: that of the edge in this direction, or of an edge between the
            two where its direction is not told.
        """
        table = super().edges(Z, standardised)
        P = self.edge_probabilities(Z)
        place = {name: index for index, name in enumerate(self.names_)}
        at = table["sample"].to_numpy(), table["source"].map(place).to_numpy(int), table["target"].map(place).to_numpy(int)
        other = np.where(table["directed"], 0.0, P[at[0], at[2], at[1]])
        return table.assign(probability=P[at] + other)

    def _weights(self, Z: Array, mask: Array | None = None) -> Array:
        if self.selection == "stability":
            return np.concatenate([self._consensus(*part, self.threshold) for part in self._in_parts(Z, mask)])
        return self.estimator_._weights(Z, mask)

    def _rows_at_once(self) -> int:
        return max(1, NUMBERS_AT_ONCE // (len(self._resamples) * len(self.names_) ** 2))

    def _parts(self, Z: Any, mask: Any) -> list[tuple[Array, Array | None]]:
        """Contexts, encoded, and their masks if there are any, as many at once as memory allows."""
        encoded = self._encode(Z)
        return self._in_parts(encoded, self.estimator_._mask(mask, len(encoded)))

    def _in_parts(self, Z: Array, mask: Array | None) -> list[tuple[Array, Array | None]]:
        size = self._rows_at_once()
        masks = repeat(None) if mask is None else parts(mask, size)
        return list(zip(parts(Z, size), masks, strict=False))

    def _graphs(self, Z: Array, mask: Array | None = None) -> Iterator[Array]:
        """Graphs (n, p, p) of each half for encoded contexts."""
        scaling = self._preparation.scaling
        contexts, allowed = scaling.contexts(Z), None if mask is None else scaling.tensor(mask)
        for solution in self._resamples:
            yield scaling.weights(solution.graphs(contexts, allowed).double().cpu().numpy()) + 0.0

    def _intervals(
        self, given: Iterable[tuple[Array, Array | None]], level: float, of: Callable[[Array], Array] = lambda W: W
    ) -> tuple[Array, Array]:
        """Bounds for what is computed of graphs (n, p, p): by default their weights."""
        bounds = [
            interval(of(self.estimator_._weights(*part)), np.stack([of(W) for W in self._graphs(*part)]), level)
            for part in given
        ]
        return np.concatenate([low for low, _ in bounds]), np.concatenate([high for _, high in bounds])

    def _effect(self, source: int, target: int, encoded: Array, Z: Any) -> "pandas.DataFrame":
        given = self._in_parts(encoded, None)
        low, high = self._intervals(given, EFFECT_LEVEL, lambda W: effects_of(W, source)[:, target])
        return super()._effect(source, target, encoded, Z).assign(low=low, high=high)

    def _votes(self, W: Array) -> Array:
        """Whether graphs have each edge; half for each direction where the data do not tell it."""
        if self._solution.varies or self.noise_ == EQUAL:
            return np.asarray(W != 0, dtype=np.float64)
        allowed = self._knowledge(self.names_).allowed
        edges = cpdag(W[:1], ~allowed.T)  # the same graph in all contexts
        votes: Array = np.where(edges & edges.transpose(0, 2, 1), 0.5, edges.astype(np.float64))
        return np.broadcast_to(votes, W.shape)

    def _edge_probabilities(self, Z: Array) -> Array:
        P: Array = self._probabilities(Z, None, True)[0]
        return P + P.T * self._undirected()

    def _probabilities(self, Z: Array, mask: Array | None, calibrate: bool) -> Array:
        shares = self._shares(self._graphs(Z, mask))
        return self._calibrated(shares, Z, mask) if calibrate else shares

    def _shares(self, graphs: Iterable[Array]) -> Array:
        votes = [self._votes(W) for W in graphs]
        shares: Array = sum(votes[1:], start=votes[0]) / len(votes)
        return shares

    def _calibrated(self, shares: Array, Z: Array, mask: Array | None) -> Array:
        """Probabilities (n, p, p), from the shares of the halves."""
        scaling = self._preparation.scaling
        contexts, voting = scaling.contexts(Z), self._voting
        within = None if mask is None else scaling.tensor(mask)
        members = (voting.member_graphs(k, contexts, within) for k in range(voting.n_members))
        of_members = self._shares(scaling.weights(W.double().cpu().numpy()) for W in members)
        own = scaling.weights(voting.graphs(contexts, within).double().cpu().numpy()) * self._unit(True)
        known = self._knowledge(self.names_)
        allowed = known.allowed & ~np.eye(len(self.names_), dtype=bool)
        allowed = allowed if mask is None else allowed & (mask != 0)
        P = calibrated(shares, of_members, own, allowed, self.noise_ == UNEQUAL, self.structure_ != VARYING)
        return np.where(known.required, 1.0, P)

    def _consensus(self, Z: Array, mask: Array | None, threshold: float) -> Array:
        own, halves = self.estimator_._weights(Z, mask), np.stack(list(self._graphs(Z, mask)))
        P = self._calibrated(self._shares(halves), Z, mask)
        joined = P + P.transpose(0, 2, 1)
        n_votes = (halves != 0).sum(0)
        keeps = (joined >= threshold) & ((own != 0) | (n_votes > 0))
        # Where both directions are as probable, the one of the fit to all rows goes first.
        kept = np.where(keeps, P + 1e-9 * (own != 0), 0)
        kept = np.where(kept > kept.transpose(0, 2, 1), kept, 0)
        support = ACYCLIC(torch.from_numpy(kept)).numpy() != 0
        means = halves.sum(0) / np.maximum(n_votes, 1)
        graphs: Array = np.where(support, np.where(own != 0, own, means), 0)
        required = self._solution.required
        if required is None:
            return graphs
        weights = self._preparation.scaling.weights(required[None].double().cpu().numpy())[0]
        return with_required(torch.from_numpy(graphs), torch.from_numpy(weights)).numpy()


def _check_level(level: float) -> None:
    if not is_number(level, 0, 1, low_open=True, high_open=True):
        raise InvalidParameterError(f"level must be a number between 0 and 1. Got {level!r} instead.")
