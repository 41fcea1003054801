"""What the estimators share that fit a path over sparsity levels and choose a point of it."""

import copy
import math
import os
import secrets
from abc import abstractmethod
from collections.abc import Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import torch

from contextualdag.contexts import ContextEncoder, ContextSummary
from contextualdag.errors import InvalidInputError, InvalidParameterError, NotFittedError
from contextualdag.estimators.base import GraphEstimator, explained_variance
from contextualdag.estimators.parameters import check_device, check_n_edges
from contextualdag.estimators.preparation import Scaling, hold_out, varying_columns
from contextualdag.estimators.saved import load_model, save_model
from contextualdag.network import MeanNetwork, initialise
from contextualdag.tables import Array, check_same_samples, read_variables
from contextualdag.training import selection as selections
from contextualdag.training.checkpoint import Checkpoint
from contextualdag.training.mean import HIDDEN_LAYERS, fit_means
from contextualdag.training.trainer import Split

if TYPE_CHECKING:
    import pandas


@dataclass(frozen=True)
class Prepared:
    """What a fit begins with: the data as networks see them, and as they came; `values` to `mask` are the training rows."""

    split: Split
    seed: int
    checkpoint: Checkpoint | None
    entropy: int
    values: Array
    contexts: Array
    mask: Array | None


@dataclass(frozen=True)
class HeldOut:
    """Samples that were held out, X without its mean given the context, and the graphs of those who did not see them.

    `rows` counts through the training set and on through the validation set.
    """

    rows: torch.Tensor
    X: torch.Tensor
    Z: torch.Tensor
    W: torch.Tensor

    @property
    def errors(self) -> torch.Tensor:
        """What the graphs leave of X, (n, p)."""
        return self.X - torch.bmm(self.X[:, None], self.W)[:, 0]


class PathEstimator(GraphEstimator):
    """Reads tables, takes the mean out, and keeps a fitted path with one point of it chosen.

    A subclass fits the path and tells the graphs of its points. It has the constructor parameters named below.
    """

    selection: str | float
    intercept: str
    validation_fraction: float
    device: str
    random_state: int | None
    n_samples_: int  # rows that fit was given, those held out included
    held_out_score_: float
    n_held_out_: int

    @abstractmethod
    def _check_parameters(self) -> None:
        """Raise, with one sentence, at the first parameter that is not as it should be."""

    @abstractmethod
    def _build(self, n_features: int, n_samples: int | None = None) -> None:
        """Make what the path needs on `_device`, before it is trained on so many samples, or loaded."""

    @abstractmethod
    def _fit_path(self, data: "Prepared") -> None:
        """Set `_path` and `_choice`."""

    @abstractmethod
    def _graphs(self, choice: selections.Choice, Z: torch.Tensor, mask: torch.Tensor | None) -> torch.Tensor:
        """Graphs (n, p, p) of a point of the path for contexts as the networks see them."""

    def _allowed_edges(self, varies: Array) -> torch.Tensor:
        """Edges that may be, (p, p): those between variables that vary."""
        return torch.from_numpy(np.outer(varies, varies))

    def _n_to_train_on(self, split: Split) -> int:
        """How many samples networks see."""
        return len(split.X)

    def _initialise(self, generator: torch.Generator) -> None:
        """Draw initial weights, where there are any."""

    def _state(self) -> dict[str, torch.Tensor]:
        """Tensors to save besides the path."""
        return {"allowed": self._allowed}

    def _restore(self, state: dict[str, torch.Tensor]) -> None:
        """Take back what `_state` gave, before `_build`."""
        self._allowed = state["allowed"]

    def select(self, n_edges: float | None = None, l1_budget: float | None = None) -> Self:
        """Another point of the fitted path; nothing is refitted.

        Where a refit was made on the way to the default choice its weights are reported, else the shrunken ones. The noise
        of `sample` and `held_out_score_` stay those of the first choice.

        Parameters
        ----------
        n_edges : float, optional
            Graphs with this many edges on average: the strongest of a refit that has as many, else the nearest point. All
            edges of the model's own choice if these are up to a tenth fewer.
        l1_budget : float, optional
            Take the point with the nearest budget.

        Returns
        -------
        estimator
            A model of its own; this one does not change.
        """
        self._require_fit()
        if (n_edges is None) == (l1_budget is None):
            raise InvalidParameterError("select takes either n_edges or l1_budget.")
        points = self._path.points
        model = copy.copy(self)
        if n_edges is not None:
            most = max(point.n_edges for point in points if point.l1_budget < math.inf)
            if not 0 <= n_edges <= most:
                raise InvalidParameterError(f"n_edges must be from 0 to {most:.1f}, the densest point. Got {n_edges!r}.")
            model._choice = selections.by_n_edges(points, n_edges)
        elif l1_budget is not None:
            if not l1_budget >= 0:
                raise InvalidParameterError(f"l1_budget must be 0 or more. Got {l1_budget!r} instead.")
            model._choice = selections.by_budget(points, l1_budget)
        return model

    @property
    def path_(self) -> "pandas.DataFrame":
        """The path as a table, one row for each sparsity level."""
        import pandas as pd

        self._require_fit()
        rows = [
            {
                "l1_budget": point.l1_budget,
                "threshold": sum(point.thresholds) / len(point.thresholds),
                "n_edges": point.n_edges,
                "train_loss": point.train_loss,
                "validation_loss": point.validation_loss,
                "refit_loss": math.nan if point.refit is None else point.refit.loss,
                "epochs": point.epochs,
                "selected": index == self._choice.index,
                "refit_edges": math.nan if point.refit is None else point.refit.n_edges[point.refit.best],
            }
            for index, point in enumerate(self._path.points)
            if point.l1_budget < math.inf
        ]
        return pd.DataFrame(rows)

    @property
    def chosen_(self) -> dict[str, float | bool]:
        """The chosen point: n_edges on average, its validation loss, l1_budget, and refitted, whether its weights are."""
        self._require_fit()
        return self._described(self._choice)

    def _described(self, choice: selections.Choice) -> dict[str, float | bool]:
        point, cut = self._path.points[choice.index], choice.cut
        n_edges, loss, refit = point.n_edges, point.validation_loss, point.refit
        refitted = refit is not None and cut is not None
        if refit is not None and cut is not None:
            # A cut for a given number of edges lies between two that were tried.
            n_edges, loss = (float(np.interp(cut, refit.cuts, values)) for values in (refit.n_edges, refit.losses))
        return {"n_edges": n_edges, "loss": loss, "l1_budget": point.l1_budget, "refitted": refitted}

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the fitted model to a folder, as safetensors and JSON, all of it or nothing.

        Parameters
        ----------
        path : path
            The folder. One of ours is replaced, any other is left alone with an error.
        """
        save_model(self, path)

    @classmethod
    def load(cls, path: str | os.PathLike[str], device: str = "auto") -> Self:
        """Read a model that `save` wrote.

        Parameters
        ----------
        path : path
            The folder.
        device : str, default="auto"
            Where the model shall live; it need not be where it was fitted.
        """
        return load_model(cls, path, device)

    def _fit_anew(self, X: Any, Z: Any, X_val: Any, Z_val: Any, **options: Any) -> Self:
        fitted = copy.copy(self)
        with fitted._own_random_numbers():
            (data,) = take_means_out([fitted], [fitted._prepare(X, Z, X_val, Z_val, **options)])
            fitted._fit_path(data)
        fitted._look_back(data)
        self.__dict__.update(fitted.__dict__)  # only now, so that a fit that fails leaves an earlier one whole
        return self

    def _own_random_numbers(self) -> AbstractContextManager[None]:
        """Check the parameters, and leave the global random numbers as they were."""
        self._check_parameters()
        self._device = check_device(self)
        forked: AbstractContextManager[None] = torch.random.fork_rng([self._device] if self._device.type == "cuda" else [])
        return forked

    def _prepare(
        self,
        X: Any,
        Z: Any,
        X_val: Any = None,
        Z_val: Any = None,
        checkpoint: str | os.PathLike[str] | None = None,
        mask: Array | None = None,
        mask_val: Array | None = None,
    ) -> "Prepared":
        """Read and check tables and make networks: all that comes before anything is trained."""
        kept = None if checkpoint is None else Checkpoint(checkpoint)
        entropy = self.random_state
        if entropy is None:
            entropy = secrets.randbits(63) if kept is None or kept.seed is None else kept.seed
        rng = np.random.default_rng(entropy)
        values, names = read_variables(X)
        encoder = ContextEncoder.learn(Z)
        contexts = encoder.encode(Z)
        check_same_samples(values, contexts)
        self.names_, self.encoder_ = names, encoder
        all_contexts = contexts
        check_n_edges(self, len(names))
        if (X_val is None) != (Z_val is None):
            raise InvalidInputError("X_val and Z_val belong together: pass both or neither.")
        if X_val is None:
            train, held_out = hold_out(len(values), self.validation_fraction, rng)
            values_val, contexts_val = values[held_out], contexts[held_out]
            values, contexts = values[train], contexts[train]
            mask, mask_val = (None, None) if mask is None else (mask[train], mask[held_out])
        else:
            values_val, contexts_val = self._variables(X_val, "X_val"), encoder.encode(Z_val)
            check_same_samples(values_val, contexts_val)
            if len(values) < 2 or len(values_val) < 1:
                raise InvalidInputError(f"X needs two rows and X_val one at least. Got {len(values)} and {len(values_val)}.")

        self.n_samples_, self._summary = len(all_contexts), ContextSummary.learn(encoder, all_contexts)
        varies = varying_columns(values, names)
        self._allowed = self._allowed_edges(varies)
        self._scaling = Scaling.learn(values, contexts, varies, centre=self.intercept != "none")
        X_train, X_held_out = (self._scaling.variables(table, self._device) for table in (values, values_val))
        masks = (None if m is None else torch.tensor(m, dtype=torch.float32, device=self._device) for m in (mask, mask_val))
        split = Split(X_train, self._contexts(contexts), X_held_out, self._contexts(contexts_val), *masks)
        seed = int(rng.integers(2**31))
        self._build(contexts.shape[1], self._n_to_train_on(split))
        generator = torch.Generator().manual_seed(seed)
        self._initialise(generator)
        self._mean_network = None
        if self.intercept == "contextual" and bool(split.Z.any()):  # standardised contexts of zero do not vary
            self._mean_network = self._new_mean_network(contexts.shape[1])
            initialise(self._mean_network.cpu(), generator)
            self._mean_network.to(self._device)
        return Prepared(split, seed, kept, entropy, values, contexts, mask)

    def _look_back(self, data: "Prepared") -> None:
        """Estimate the noise, and how well rows are predicted that were held out."""
        residuals = self._residuals(data.values, data.contexts, data.mask)
        self.noise_scale_ = np.sqrt((residuals**2).mean(0))
        held_out = self._held_out(data, self._choice)
        given = held_out.X if self._mean_network is None else held_out.X + self._mean_network(held_out.Z)
        unseen = held_out.rows >= len(data.split.X)  # the means are fitted to all training rows
        self.n_held_out_ = len(set(held_out.rows[unseen].tolist()))
        tables = (table[unseen].double().cpu().numpy() for table in (held_out.errors, given))
        self.held_out_score_ = explained_variance(*tables) if self.n_held_out_ else math.nan

    def _held_out(self, data: "Prepared", choice: selections.Choice) -> HeldOut:
        """What was held out of data without their means."""
        X, Z, mask = data.split.X_val, data.split.Z_val, data.split.mask_val
        n = len(data.split.X)
        return HeldOut(torch.arange(n, n + len(X), device=X.device), X, Z, self._graphs(choice, Z, mask))

    def _sample_losses(self, data: "Prepared", choice: selections.Choice) -> list[float]:
        """The loss of each sample held out by the graphs of a choice."""
        losses: list[float] = (self._held_out(data, choice).errors ** 2).mean(1).tolist()
        return losses

    def _new_mean_network(self, n_features: int) -> MeanNetwork:
        return MeanNetwork(n_features, len(self.names_), HIDDEN_LAYERS, "silu").to(self._device)

    def _weights(self, Z: Array, mask: Array | None = None) -> Array:
        given = None if mask is None else torch.tensor(mask, dtype=torch.float32, device=self._device)
        graphs = self._graphs(self._choice, self._contexts(Z), given)
        weights: Array = graphs.double().cpu().numpy()
        return weights + 0.0  # no negative zeros

    def _means(self, Z: Array) -> Array:
        means = np.broadcast_to(self._scaling.x_mean, (len(Z), len(self.names_)))
        if self._mean_network is None:
            return means
        shift = self._mean_network(self._contexts(Z))
        shifted: Array = means + self._scaling.x_scale * shift.double().cpu().numpy()
        return shifted

    def _contexts(self, Z: Array) -> torch.Tensor:
        return self._scaling.contexts(Z, self._device)

    def _require_fit(self) -> None:
        if not hasattr(self, "_path"):
            raise NotFittedError(f"This {type(self).__name__} is not fitted yet. Call fit(X, Z) first.")


def take_means_out(models: Sequence[PathEstimator], prepared: Sequence[Prepared]) -> list[Prepared]:
    """Fit the mean networks of models with data of one size, where they have one, and take the means out of the data."""
    fitted: dict[int, MeanNetwork] = {i: m._mean_network for i, m in enumerate(models) if m._mean_network is not None}
    splits = fit_means(list(fitted.values()), [prepared[i].split for i in fitted])
    without = list(prepared)
    for i, split in zip(fitted, splits, strict=True):
        without[i] = replace(prepared[i], split=split)
    return without
