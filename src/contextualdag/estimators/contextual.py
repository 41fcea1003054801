"""ContextualDAG: a graph for every context."""

import copy
import math
import os
import secrets
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from contextualdag.errors import InvalidInputError, InvalidParameterError, NotFittedError
from contextualdag.estimators.base import GraphEstimator, check_same_samples
from contextualdag.estimators.parameters import ACYCLICITIES, BUDGETS, PAPER, check_n_edges, check_parameters
from contextualdag.estimators.preparation import Scaling, hold_out, varying_columns
from contextualdag.estimators.progress import FitProgress
from contextualdag.estimators.saved import load_model, save_model
from contextualdag.estimators.tables import Array, ContextEncoder, read_variables
from contextualdag.network import ContextNetwork, MeanNetwork, initialise
from contextualdag.projection import DAGProjection, LogDet, Order
from contextualdag.training import selection as selections
from contextualdag.training.checkpoint import Checkpoint, fingerprint
from contextualdag.training.mean import HIDDEN_LAYERS, fit_mean
from contextualdag.training.path import Path, PathFitter, PathPoint, shrunken_graphs
from contextualdag.training.trainer import Split, TrainingSettings

if TYPE_CHECKING:
    import pandas


class ContextualDAG(GraphEstimator):
    r"""Learn a sparse directed acyclic graph for every context.

    The model is :math:`x - \mu(z) = W(z)^\top (x - \mu(z)) + \varepsilon` with :math:`W(z)` acyclic for every z. A network
    maps z to a matrix and a projection makes it a sparse DAG. The network is trained for a falling sequence of budgets of
    sparsity, and one of them is chosen.

    Parameters
    ----------
    acyclicity : {"order", "logdet"} or Order or LogDet, default="order"
        How matrices are made acyclic, see `contextualdag.projection`.
    selection : {"relaxed", "min", "1se"} or float, default="relaxed"
        Which budget to believe. "relaxed": the least validation loss after a refit without shrinkage, whose weights the
        model then reports; "1se": the sparsest within one standard error of it; "min": the least validation loss with
        shrinkage, which keeps too many edges; a number: that many edges on average.
    hidden_layers : sequence of int, default=(128, 128)
        Widths of the hidden layers.
    activation : {"elu", "gelu", "relu", "silu", "tanh"}, default="silu"
        Between them.
    dropout : float, default=0.3
        Share of hidden units dropped in training.
    intercept : {"contextual", "constant", "none"}, default="contextual"
        The mean :math:`\mu`: a function of z, the same for all, or zero.
    budgets : {"geometric", "equispaced"}, default="geometric"
        The grid of budgets: falling by three tenths until graphs are empty, or in equal steps to zero as in the paper.
    n_budgets : int, default=50
        Largest number of budgets; the geometric grid usually ends earlier.
    learning_rate : float, default=1e-3
        Of Adam.
    max_epochs : int, default=10_000
        For each budget.
    patience : int, default=10
        Epochs without a better validation loss before a budget is done.
    batch_size : int, optional
        Samples in one step of descent; all of them by default.
    validation_fraction : float, default=0.2
        Share of rows held out, unless `fit` is given a validation set.
    device : str, default="auto"
        "auto" is CUDA where there is a device, else the CPU.
    random_state : int, optional
        Seed of the split, the initial weights and dropout.
    verbose : bool, default=True
        A progress bar on a terminal; nothing is shown anywhere else.

    Attributes
    ----------
    path_ : DataFrame
        One row for each budget: l1_budget, threshold, n_edges, train_loss, validation_loss, refit_loss, epochs, selected,
        refit_edges. The refit columns are what a refit reaches once its small weights are cut off, NaN where no refit was
        needed; the others describe the shrunken graphs.
    names_ : list of str
        Names of the variables.
    noise_scale_ : array of shape (p,)
        Standard deviation of the noise.

    Examples
    --------
    >>> from contextualdag import ContextualDAG
    >>> from contextualdag.datasets import make_varying_dag
    >>> data = make_varying_dag(300, n_nodes=4, n_edges=3, random_state=0)
    >>> model = ContextualDAG(hidden_layers=(32,), random_state=0).fit(data.X, data.Z)
    >>> model.adjacency(data.Z[:2]).shape
    (2, 4, 4)
    """

    def __init__(
        self,
        *,
        acyclicity: str | Order | LogDet = "order",
        selection: str | float = "relaxed",
        hidden_layers: Sequence[int] = (128, 128),
        activation: str = "silu",
        dropout: float = 0.3,
        intercept: str = "contextual",
        budgets: str = "geometric",
        n_budgets: int = 50,
        learning_rate: float = 1e-3,
        max_epochs: int = 10_000,
        patience: int = 10,
        batch_size: int | None = None,
        validation_fraction: float = 0.2,
        device: str = "auto",
        random_state: int | None = None,
        verbose: bool = True,
    ) -> None:
        self.acyclicity = acyclicity
        self.selection = selection
        self.hidden_layers = hidden_layers
        self.activation = activation
        self.dropout = dropout
        self.intercept = intercept
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
    def paper(cls, **overrides: Any) -> "ContextualDAG":
        """The settings of the paper: log-det projection, ReLU, no dropout, no intercept, twenty equispaced budgets.

        Parameters
        ----------
        **overrides
            Any parameter of the constructor.
        """
        return cls(**(PAPER | overrides))

    def fit(
        self,
        X: Any,
        Z: Any,
        X_val: Any = None,
        Z_val: Any = None,
        *,
        checkpoint: str | os.PathLike[str] | None = None,
    ) -> "ContextualDAG":
        """Learn the graphs.

        Parameters
        ----------
        X : array or DataFrame of shape (n, p)
            Variables; rows are samples.
        Z : array or DataFrame of shape (n, m)
            Contexts of the same samples. Categorical columns are one-hot encoded.
        X_val, Z_val : optional
            A validation set; by default `validation_fraction` of the rows is held out.
        checkpoint : path, optional
            A folder to keep the path in after every budget. A fit that was killed goes on from there when it is started
            again with the same data and settings, and ends with the same model.

        Returns
        -------
        ContextualDAG
            The estimator itself.
        """
        fitted = copy.copy(self)
        fitted._fit_tables(X, Z, X_val, Z_val, checkpoint)
        self.__dict__.update(fitted.__dict__)  # only now, so that a fit that fails leaves an earlier one whole
        return self

    def _fit_tables(self, X: Any, Z: Any, X_val: Any, Z_val: Any, checkpoint: str | os.PathLike[str] | None) -> None:
        check_parameters(self)
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
        check_n_edges(self, len(names))
        if (X_val is None) != (Z_val is None):
            raise InvalidInputError("X_val and Z_val belong together: pass both or neither.")
        if X_val is None:
            train, held_out = hold_out(len(values), self.validation_fraction, rng)
            values_val, contexts_val = values[held_out], contexts[held_out]
            values, contexts = values[train], contexts[train]
        else:
            values_val, contexts_val = self._variables(X_val, "X_val"), encoder.encode(Z_val)
            check_same_samples(values_val, contexts_val)
            if len(values) < 2 or len(values_val) < 1:
                raise InvalidInputError(f"X needs two rows and X_val one at least. Got {len(values)} and {len(values_val)}.")

        self._device = torch.device(self._choose_device())
        varies = varying_columns(values, names)
        self._scaling = Scaling.learn(values, contexts, varies, centre=self.intercept != "none")
        scaled = [self._scaling.variables(X, self._device) for X in (values, values_val)]
        split = Split(scaled[0], self._contexts(contexts), scaled[1], self._contexts(contexts_val))
        seed = int(rng.integers(2**31))
        with torch.random.fork_rng(devices=[self._device] if self._device.type == "cuda" else []):
            allowed = torch.from_numpy(np.outer(varies, varies))
            self._build(contexts.shape[1], allowed, with_mean=self.intercept == "contextual")
            self._fit(split, seed, kept, entropy)
        residuals = self._residuals(values, contexts)
        self.noise_scale_ = np.sqrt((residuals**2).mean(0))

    def select(self, n_edges: float | None = None, l1_budget: float | None = None) -> "ContextualDAG":
        """Another point of the fitted path; nothing is refitted.

        Where a refit was made on the way to the default choice its weights are reported, else the shrunken ones. The noise
        of `sample` stays that of the first choice.

        Parameters
        ----------
        n_edges : float, optional
            Graphs with this many edges on average: the strongest of a refit that has as many, else the nearest point.
        l1_budget : float, optional
            Take the point with the nearest budget.

        Returns
        -------
        ContextualDAG
            A model of its own; this one does not change.
        """
        if not hasattr(self, "encoder_"):
            raise NotFittedError("This ContextualDAG is not fitted yet. Call fit(X, Z) first.")
        if (n_edges is None) == (l1_budget is None):
            raise InvalidParameterError("select takes either n_edges or l1_budget.")
        points = self._path.points
        model = copy.copy(self)
        if n_edges is not None:
            most = max(point.n_edges for point in points[1:])
            if not 0 <= n_edges <= most:
                raise InvalidParameterError(f"n_edges must be from 0 to {most:.1f}, the densest point. Got {n_edges!r}.")
            model._choice = selections.by_n_edges(points, n_edges)
        elif l1_budget is not None:
            if not l1_budget >= 0:
                raise InvalidParameterError(f"l1_budget must be 0 or more. Got {l1_budget!r} instead.")
            model._choice = selections.by_budget(points, l1_budget)
        return model

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the fitted model to a folder, as safetensors and JSON, all of it or nothing.

        Parameters
        ----------
        path : path
            The folder. One of ours is replaced, any other is left alone with an error.
        """
        save_model(self, path)

    @classmethod
    def load(cls, path: str | os.PathLike[str], device: str = "auto") -> "ContextualDAG":
        """Read a model that `save` wrote.

        Parameters
        ----------
        path : path
            The folder.
        device : str, default="auto"
            Where the model shall live; it need not be where it was fitted.
        """
        return load_model(cls, path, device)

    @property
    def path_(self) -> "pandas.DataFrame":
        """The path as a table, one row for each budget."""
        import pandas as pd

        if not hasattr(self, "_path"):
            raise NotFittedError("This ContextualDAG is not fitted yet. Call fit(X, Z) first.")
        rows = [
            {
                "l1_budget": point.l1_budget,
                "threshold": point.threshold,
                "n_edges": point.n_edges,
                "train_loss": point.fit.train_loss,
                "validation_loss": point.fit.validation_loss,
                "refit_loss": math.nan if point.refit is None else point.refit.losses[point.refit.best],
                "epochs": point.fit.epochs,
                "selected": index == self._choice.index,
                "refit_edges": math.nan if point.refit is None else point.refit.n_edges[point.refit.best],
            }
            for index, point in enumerate(self._path.points)
        ]
        return pd.DataFrame(rows[1:])

    def _build(self, n_features: int, allowed: torch.Tensor, with_mean: bool) -> None:
        """Networks and layer on the device, not yet initialised."""
        p = len(self.names_)
        self._allowed = allowed
        mean = MeanNetwork(n_features, p, HIDDEN_LAYERS, "silu") if with_mean else None
        self._mean_network = None if mean is None else mean.to(self._device)
        network = ContextNetwork(n_features, p, tuple(self.hidden_layers), self.activation, self.dropout, allowed)
        self._network = network.to(self._device)
        acyclicity = ACYCLICITIES[self.acyclicity] if isinstance(self.acyclicity, str) else self.acyclicity
        self._layer = DAGProjection(acyclicity=acyclicity).to(self._device)

    def _fit(self, split: Split, seed: int, checkpoint: Checkpoint | None, entropy: int) -> None:
        generator = torch.Generator().manual_seed(seed)
        initialise(self._network, generator)
        if self._mean_network is not None:
            initialise(self._mean_network, generator)
            fit_mean(self._mean_network, split)
            self._mean_network.eval().requires_grad_(False)
            X, X_val = split.X - self._mean_network(split.Z), split.X_val - self._mean_network(split.Z_val)
            split = Split(X, split.Z, X_val, split.Z_val)
        settings = TrainingSettings(self.learning_rate, self.max_epochs, self.patience, self.batch_size)
        fitter = PathFitter(self._network, self._layer, split, settings, seed)
        self._path = Path()
        if checkpoint is not None:
            parameters = {
                name: value for name, value in self.get_params(deep=False).items() if name not in ("device", "verbose")
            }
            data = (split.X, split.Z, split.X_val, split.Z_val)
            self._path = checkpoint.begin(fingerprint(parameters, data), entropy)
        save = (lambda path: None) if checkpoint is None else checkpoint.save
        with FitProgress(self.verbose, self.n_budgets, self.budgets == "geometric", self.selection != "min") as progress:
            fitter.fit(self._path, BUDGETS[self.budgets](self.n_budgets), save, progress.step)
            self._choice = self._choose(fitter, split, save, progress)

    def _choose(
        self, fitter: PathFitter, split: Split, save: Callable[[Path], None], progress: FitProgress
    ) -> selections.Choice:
        points = self._path.points

        def refit(index: int) -> PathPoint:
            points[index] = fitter.refit(self._path, index, progress.step("refit", [points[index]]))
            save(self._path)
            return points[index]

        if self.selection == "min":
            return selections.by_validation_loss(points)
        best = selections.relaxed(points, refit)
        if self.selection == "relaxed":
            return best
        if not isinstance(self.selection, str):
            for index in selections.worth_refitting(points, self.selection):
                refit(index)
            return selections.by_n_edges(points, self.selection)

        def losses_of(choice: selections.Choice) -> list[float]:
            W = self._graphs(choice, split.Z_val)
            losses = ((split.X_val - torch.bmm(split.X_val[:, None], W)[:, 0]) ** 2).mean(1)
            return [float(loss) for loss in losses]

        return selections.within_one_standard_error(points, losses_of)

    @torch.no_grad()
    def _graphs(self, choice: selections.Choice, Z: torch.Tensor) -> torch.Tensor:
        """Support from the network of the path; weights from the refit, those above the cut, where there is one."""
        point = self._path.points[choice.index]
        W = shrunken_graphs(self._network, self._layer, point, Z)
        if point.refit is not None and choice.cut is not None:
            self._network.load_state_dict(point.refit.fit.state)
            W = self._network(Z) * (W != 0)
            W = torch.where(W.abs() > choice.cut, W, 0)
        return W

    def _weights(self, Z: Array) -> Array:
        graphs = self._graphs(self._choice, self._contexts(Z))
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

    def _choose_device(self) -> str:
        return ("cuda" if torch.cuda.is_available() else "cpu") if self.device == "auto" else self.device
