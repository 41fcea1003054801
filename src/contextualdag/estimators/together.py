"""Many models fitted at once."""

import copy
from collections.abc import Mapping, Sequence
from typing import Any

import torch

from contextualdag.errors import InvalidInputError
from contextualdag.estimators.contextual import ContextualDAG
from contextualdag.estimators.path_estimator import Prepared, take_means_out
from contextualdag.training.side_by_side import SideBySide


def fit_together(models: Sequence[ContextualDAG], tables: Sequence[Mapping[str, Any]]) -> None:
    """Fit several models, each to data of its own, as their `fit` would.

    On a GPU those whose data and networks have the same sizes are trained side by side, which takes little longer than one
    of them alone. Elsewhere they are fitted one after another.

    Parameters
    ----------
    models : sequence of ContextualDAG
        Also `SortedDAG`. If one fails, none is changed.
    tables : sequence of dict
        What each model's `fit` is to be given: ``{"X": X, "Z": Z}`` at least.

    Examples
    --------
    >>> from contextualdag import ContextualDAG
    >>> from contextualdag.datasets import make_varying_dag
    >>> from contextualdag.estimators import fit_together
    >>> models = [ContextualDAG(hidden_layers=(32,), random_state=seed) for seed in range(2)]
    >>> data = [make_varying_dag(200, n_nodes=3, n_edges=2, random_state=seed) for seed in range(2)]
    >>> fit_together(models, [{"X": one.X, "Z": one.Z} for one in data])
    >>> [model.adjacency(one.Z).shape for model, one in zip(models, data)]
    [(200, 3, 3), (200, 3, 3)]
    """
    if len(models) != len(tables):
        raise InvalidInputError(f"Every model needs a dict of tables. Got {len(models)} models and {len(tables)} dicts.")
    for model in models:
        if not isinstance(model, ContextualDAG):
            raise InvalidInputError(f"fit_together takes models of ContextualDAG and SortedDAG. Got {model!r}.")
    fitted = [copy.copy(model) for model in models]
    prepared: list[Prepared] = []
    groups: dict[object, list[int]] = {}
    for index, (model, given) in enumerate(zip(fitted, tables, strict=True)):
        with model._own_random_numbers():
            prepared.append(model._prepare(**given))
        groups.setdefault(_alike(model, prepared[-1]), []).append(index)
    for group in groups.values():
        first, members = fitted[group[0]], [fitted[index] for index in group]
        with first._own_random_numbers():
            data = take_means_out(members, [prepared[index] for index in group])
            for index, one in zip(group, data, strict=True):
                prepared[index] = one
            folds = [model._folds(one) for model, one in zip(members, data, strict=True)]
            splits = [split for one in folds for split in one.splits]
            trainer = SideBySide(first._network, first._layer, splits, first._settings())
            # A terminal holds one progress bar.
            rows = zip(members, data, folds, strict=True)
            trainer.run([m._path_steps(one, its, m.verbose and m is first) for m, one, its in rows])
    for model, new, given_data in zip(models, fitted, prepared, strict=True):
        new._look_back(given_data)
        model.__dict__.update(new.__dict__)


def _alike(model: ContextualDAG, data: Prepared) -> object:
    """What models must have in common to be trained side by side."""
    shapes = tuple(None if tensor is None else tuple(tensor.shape) for tensor in vars(data.split).values())
    network = (tuple(model.hidden_layers), model.activation, model.dropout, tuple(model._network.places.tolist()))
    return (
        model.n_members,
        model.cross_fit,
        shapes,
        network,
        model._layer.acyclicity,
        model._settings(),
        torch.device(model._device),
    )
