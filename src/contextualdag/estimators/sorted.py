"""SortedDAG: the order of the nodes is given, the edges are learned."""

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import torch

from contextualdag.checks import is_integer, listed, shown, two_meanings
from contextualdag.columns import as_array
from contextualdag.errors import InvalidInputError, InvalidParameterError
from contextualdag.estimators.base import GraphEstimator
from contextualdag.estimators.fitting import Tables, fit_together
from contextualdag.estimators.knowledge import Edges, Knowledge, Node
from contextualdag.estimators.parameters import (
    PAPER_CUT,
    PAPER_NETWORK,
    Selection,
    check_cut,
    check_network_parameters,
    network_settings,
)
from contextualdag.graphs import is_acyclic
from contextualdag.projection import Order
from contextualdag.projection.ordering import TRAINING_STARTS
from contextualdag.tables import Array, n_rows
from contextualdag.training.problem import NetworkSettings
from contextualdag.training.structure import COMMON_ORDER, CONSTANT

NEEDS_MASK = (
    "This SortedDAG was fitted with a mask for each sample, so it needs one for new samples too: adjacency(Z, mask=...)."
)


class SortedDAG(GraphEstimator):
    """Learn a graph for every context where the allowed edges are known: from an order, or from a mask for each sample.

    Parameters
    ----------
    order : sequence of str or int, optional
        Variables by name or by position, parents before children. Without it `fit` needs a mask for each sample.
    cut : float, default=0.0
        Size up to which weights are dropped before the budget shrinks the others. The paper has 0.1.
    structure : {"auto", "constant", "common-order"}, default="auto"
        One graph for all contexts, edges that change along the order, or the simpler of them that predicts as well. With a
        mask for each sample graphs keep to the masks, and may have no other structure.
    selection, n_members, cross_fit, hidden_layers, activation, dropout, intercept, noise, robust, forbidden_edges, \
required_edges, tiers, missing, transform, cyclic, budgets, n_budgets, learning_rate, max_epochs, patience, \
batch_size, validation_fraction, device, random_state, verbose
        As for `ContextualDAG`.

    Attributes
    ----------
    path_, names_, kinds_, transforms_, noise_, outliers_, noise_scale_, held_out_score_, n_held_out_
        As for `ContextualDAG`.
    structure_, structure_scores_, context_test_
        As for `ContextualDAG`. With a mask for each sample nothing is compared and there is no test.

    Examples
    --------
    >>> from contextualdag import SortedDAG
    >>> from contextualdag.datasets import make_varying_dag
    >>> data = make_varying_dag(300, n_nodes=4, n_edges=3, random_state=0)
    >>> model = SortedDAG(order=[2, 0, 1, 3], hidden_layers=(16,), random_state=0).fit(data.X, data.Z)
    >>> bool((model.adjacency(data.Z)[:, 3, :] == 0).all())  # the last has no children
    True
    """

    def __init__(
        self,
        *,
        order: Sequence[str | int] | None = None,
        cut: float = 0.0,
        selection: Selection = "relaxed",
        n_members: int | str = "auto",
        cross_fit: bool = True,
        structure: str = "auto",
        hidden_layers: Sequence[int] = (128, 128),
        activation: str = "silu",
        dropout: float | str = "auto",
        intercept: str = "contextual",
        noise: str = "auto",
        robust: bool = True,
        forbidden_edges: Edges | None = None,
        required_edges: Edges | None = None,
        tiers: Iterable[Iterable[Node]] | None = None,
        cyclic: Mapping[str, float] | None = None,
        missing: str = "error",
        transform: str | Mapping[str, str] = "auto",
        budgets: str = "geometric",
        n_budgets: int = 50,
        learning_rate: float = 4e-3,
        max_epochs: int = 10_000,
        patience: int = 10,
        batch_size: int | str | None = "auto",
        validation_fraction: float = 0.2,
        device: str = "auto",
        random_state: int | None = None,
        verbose: bool = True,
    ) -> None:
        self.order = order
        self.cut = cut
        self.selection = selection
        self.n_members = n_members
        self.cross_fit = cross_fit
        self.structure = structure
        self.hidden_layers = hidden_layers
        self.activation = activation
        self.dropout = dropout
        self.intercept = intercept
        self.noise = noise
        self.robust = robust
        self.forbidden_edges = forbidden_edges
        self.required_edges = required_edges
        self.tiers = tiers
        self.cyclic = cyclic
        self.missing = missing
        self.transform = transform
        self.budgets = budgets
        self.n_budgets = n_budgets
        self.learning_rate = learning_rate
        self.max_epochs = max_epochs
        self.patience = patience
        self.batch_size = batch_size
        self.validation_fraction = validation_fraction
        self.device = device
        self.random_state = random_state
        self.verbose = verbose

    @classmethod
    def paper(cls, **overrides: Any) -> "SortedDAG":
        """The settings of the paper, as for `ContextualDAG`; of its projection only the cut is needed here.

        Parameters
        ----------
        **overrides
            Any parameter of the constructor.
        """
        return cls(**(PAPER_NETWORK | {"cut": PAPER_CUT, "structure": COMMON_ORDER} | overrides))

    def fit(
        self,
        X: Any,
        Z: Any,
        X_val: Any = None,
        Z_val: Any = None,
        *,
        mask: Any = None,
        mask_val: Any = None,
        interventions: Any = None,
        interventions_val: Any = None,
        sample_weight: Any = None,
        sample_weight_val: Any = None,
        groups: Any = None,
        checkpoint: str | os.PathLike[str] | None = None,
    ) -> "SortedDAG":
        """Learn the graphs.

        Parameters
        ----------
        X, Z, X_val, Z_val, interventions, interventions_val, sample_weight, sample_weight_val, groups, checkpoint
            As for `ContextualDAG`.
        mask : array of bool, shape (n, p, p), optional
            ``mask[i, j, k]`` is true where sample i may have the edge j -> k; acyclic for every sample. Not with `order`.
        mask_val : array of bool, optional
            The same for the validation set, if there is one.

        Returns
        -------
        SortedDAG
            The estimator itself.
        """
        tables = {"X": X, "Z": Z, "X_val": X_val, "Z_val": Z_val, "mask": mask, "mask_val": mask_val}
        tables |= {"interventions": interventions, "interventions_val": interventions_val}
        tables |= {"sample_weight": sample_weight, "sample_weight_val": sample_weight_val, "groups": groups}
        fit_together([self], [{**tables, "checkpoint": checkpoint}])
        return self

    def adjacency(  # type: ignore[override]  # the mask was first
        self, Z: Any, mask: Any = None, standardised: bool = False
    ) -> Array:
        """Graphs of given contexts.

        Parameters
        ----------
        Z : array or DataFrame of shape (n, m)
            Contexts.
        mask : array of bool, shape (n, p, p), optional
            As in `fit`, and needed if there was one.
        standardised : bool, default=False
            Whether weights are in standard deviations, as of `ContextualDAG`.

        Returns
        -------
        array of shape (n, p, p)
            ``W[i, j, k]`` is the effect of variable j on k in context i. Every ``W[i]`` is acyclic.
        """
        if mask is None:
            return super().adjacency(Z, standardised)
        encoded = self._encode(Z)
        return self._weights(encoded, self._mask(mask, len(encoded))) * self._unit(standardised)

    def _mask(self, mask: Any, n: int) -> Array | None:
        if mask is not None and self.order is not None:
            raise InvalidInputError("This SortedDAG has an order, so it takes no mask.")
        if mask is None and self.order is None:
            raise InvalidInputError(NEEDS_MASK)
        found = _read_mask(mask, n, "mask")
        p = len(self.names_)
        if found is not None and found.shape[1] != p:
            raise InvalidInputError(f"mask must have the shape ({n}, {p}, {p}). Got {found.shape} instead.")
        return found

    def _weights(self, Z: Array, mask: Array | None = None) -> Array:
        if self.order is None and mask is None:
            raise InvalidInputError(NEEDS_MASK)
        return super()._weights(Z, mask)

    def _check_parameters(self) -> None:
        check_network_parameters(self, ("auto", CONSTANT, COMMON_ORDER))
        check_cut(self)

    def _check_tables(self, tables: Tables) -> Tables:
        mask, mask_val, X_val = tables.mask, tables.mask_val, tables.X_val
        if (self.order is None) == (mask is None):
            raise InvalidParameterError("SortedDAG takes either the 'order' parameter or a mask for each sample in fit.")
        if mask is None and mask_val is not None:
            raise InvalidInputError("mask_val was given without a mask.")
        if mask is not None and (mask_val is None) != (X_val is None):
            raise InvalidInputError("mask_val belongs to X_val: pass both or neither.")
        if mask is not None and self.structure == CONSTANT:
            raise InvalidParameterError(
                "The 'structure' parameter of SortedDAG must not be 'constant' with a mask for each sample, which one graph "
                "for all cannot follow. Leave it at 'auto', or give an 'order'."
            )
        super()._check_tables(replace(tables, mask=None, mask_val=None))
        mask = _read_mask(mask, n_rows(tables.X), "mask")
        return replace(tables, mask=mask, mask_val=_read_mask(mask_val, 0 if X_val is None else n_rows(X_val), "mask_val"))

    def _settings(self, x_scale: float, n_rows: int | None = None) -> NetworkSettings:
        # The allowed edges are acyclic already; what is left to do is to drop what the cut says.
        return network_settings(self, Order(starts=TRAINING_STARTS, cut=float(self.cut)), n_rows)

    def _knowledge(self, names: list[str]) -> Knowledge:
        given = self.forbidden_edges, self.required_edges, self.tiers
        if self.order is None:
            return Knowledge.read(names, "SortedDAG", *given)
        rank = _ranks(self.order, names)
        return Knowledge.read(names, "SortedDAG", *given, allowed=rank[:, None] < rank[None, :])


def _ranks(order: Sequence[str | int], names: list[str]) -> Array:
    """Position of every variable in the order."""
    nodes = list(order) if isinstance(order, Iterable) else []
    for node in nodes:
        if is_integer(node) and (unclear := two_meanings(int(node), names)):
            raise InvalidParameterError(f"The 'order' parameter of SortedDAG is unclear: {unclear}")
    positions = [names.index(node) if isinstance(node, str) and node in names else node for node in nodes]
    if not all(map(is_integer, positions)) or sorted(map(int, positions)) != list(range(len(names))):
        raise InvalidParameterError(
            f"The 'order' parameter of SortedDAG must hold every variable once, by name or position. Got {shown(order)}; "
            f"the variables are {listed(names)}."
        )
    rank = np.empty(len(names))
    rank[[int(position) for position in positions]] = np.arange(len(names))
    return rank


def _read_mask(mask: Any, n: int, name: str) -> Array | None:
    if mask is None:
        return None
    values = as_array(mask, name, "an array of shape (n, p, p)")
    if values.ndim != 3 or values.shape[1] != values.shape[2] or len(values) != n:
        raise InvalidInputError(f"{name} must have the shape (n, p, p) with n = {n}. Got {values.shape} instead.")
    if not np.isin(values, (0, 1)).all():
        raise InvalidInputError(f"{name} must be boolean, or hold only zeros and ones.")
    cyclic = ~is_acyclic(torch.from_numpy(values.astype(np.float64))).numpy()
    if cyclic.any():
        raise InvalidInputError(f"{name} must be acyclic for every sample. Sample {int(cyclic.argmax())} has a cycle.")
    return values.astype(np.float64)
