"""ContextualDAG: a graph for every context."""

import functools
import os
from collections.abc import Callable, Sequence
from typing import Any

import torch

from contextualdag.estimators.parameters import ACYCLICITIES, BUDGETS, PAPER, check_parameters
from contextualdag.estimators.path_estimator import HeldOut, PathEstimator, Prepared
from contextualdag.estimators.progress import FitProgress
from contextualdag.network import ContextNetwork, auto_dropout, initialise
from contextualdag.projection import DAGProjection, LogDet, Order
from contextualdag.training import selection as selections
from contextualdag.training.checkpoint import fingerprint
from contextualdag.training.constant import constant_graphs, one_graph
from contextualdag.training.folds import Folds, make_folds, n_held_out
from contextualdag.training.path import Path, PathFitter, PathPoint, Steps, shrunken_graphs, weights_of
from contextualdag.training.refit import average, strongest
from contextualdag.training.side_by_side import SideBySide
from contextualdag.training.trainer import Split, TrainingSettings, copy_state

N_PENALTIES = 20  # for the constant graph
NO_INFLUENCE = ("device", "verbose")  # parameters that do not change the path


class ContextualDAG(PathEstimator):
    r"""Learn a sparse directed acyclic graph for every context.

    The model is :math:`x - \mu(z) = W(z)^\top (x - \mu(z)) + \varepsilon` with :math:`W(z)` acyclic for every z. A network
    maps z to a matrix and a projection makes it a sparse DAG. The network is trained for a falling sequence of budgets of
    sparsity, and one of them is chosen.

    Parameters
    ----------
    acyclicity : {"order", "logdet"} or Order or LogDet, default="order"
        How matrices are made acyclic, see `contextualdag.projection`.
    selection : {"relaxed", "min", "1se"} or float, default="relaxed"
        Which budget to believe. "relaxed": the least validation loss after a refit without shrinkage, whose small weights
        are cut off and whose others the model then reports; "1se": the sparsest graphs within one standard error of it;
        "min": the least validation loss with shrinkage, which keeps too many edges; a number: that many edges on average.
    n_members : int, default=3
        Networks that are fitted side by side from different initial weights and whose graphs are averaged, which recovers
        graphs better; the time grows in proportion. 1 is a single network.
    cross_fit : bool, default=True
        Let every member hold out other rows, chosen at random, so that together they learn from all. The rows of a
        validation set that is given to `fit` join the others. With False all members hold out the same rows, which is
        better where rows depend on one another, such as several of one person, and the validation set is chosen with care.
    consider_constant : bool, default=True
        Also fit one graph for all contexts, and believe it where single networks predict the validation set no better.
        Not with ``selection="min"``.
    hidden_layers : sequence of int, default=(128, 128)
        Widths of the hidden layers.
    activation : {"elu", "gelu", "relu", "silu", "tanh"}, default="silu"
        Between them.
    dropout : float or "auto", default="auto"
        Share of hidden units dropped in training. "auto" drops more where there are fewer rows to train on: 0.8 with
        three for each variable and context feature, 0.5 with thirty, 0.2 with three hundred, and never more or less.
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
        A progress bar on a terminal, a line every thirty seconds anywhere else.

    Attributes
    ----------
    path_ : DataFrame
        One row for each budget: l1_budget, threshold, n_edges, train_loss, validation_loss, refit_loss, epochs, selected,
        refit_edges. The refit columns are what a refit reaches once its small weights are cut off, NaN where no refit was
        needed; the others describe the shrunken graphs.
    varies_ : bool
        False where one graph for all contexts was believed.
    names_ : list of str
        Names of the variables.
    noise_scale_ : array of shape (p,)
        Standard deviation of the noise.
    held_out_score_ : float
        What `score` is for rows held out, each told by members that did not see it. They also chose the sparsity, so new
        rows may do a little worse; the members' mean may do a little better. NaN if there are none.
    n_held_out_ : int
        How many rows these are: no more than were held out of the fit of the means.

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
        n_members: int = 3,
        cross_fit: bool = True,
        consider_constant: bool = True,
        hidden_layers: Sequence[int] = (128, 128),
        activation: str = "silu",
        dropout: float | str = "auto",
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
        self.n_members = n_members
        self.cross_fit = cross_fit
        self.consider_constant = consider_constant
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
        """The settings of the paper: one network, log-det, ReLU, no dropout, no intercept, twenty equispaced budgets.

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
            A validation set; by default `validation_fraction` of the rows is held out. See `cross_fit` for how members
            use it.
        checkpoint : path, optional
            A folder to keep the path in after every budget. A fit that was killed goes on from there when it is started
            again with the same data and settings, and ends with the same model.

        Returns
        -------
        ContextualDAG
            The estimator itself.
        """
        return self._fit_anew(X, Z, X_val, Z_val, checkpoint=checkpoint)

    @property
    def varies_(self) -> bool:
        """Whether graphs differ from context to context; False where one graph for all was believed."""
        self._require_fit()
        return not self._path.is_constant

    def _check_parameters(self) -> None:
        check_parameters(self)

    def _build(self, n_features: int, n_samples: int | None = None) -> None:
        p = len(self.names_)
        dropout = 0.0 if n_samples is None else self._dropout(n_samples, n_features)
        network = ContextNetwork(n_features, p, tuple(self.hidden_layers), self.activation, dropout, self._allowed)
        self._network = network.to(self._device)
        self._layer = DAGProjection(acyclicity=self._acyclicity()).to(self._device)

    def _n_to_train_on(self, split: Split) -> int:
        n, n_val = len(split.X), len(split.X_val)
        return n + n_val - n_held_out(n, n_val, self._n_folds)

    def _dropout(self, n_samples: int, n_features: int) -> float:
        return auto_dropout(n_samples, len(self.names_), n_features) if isinstance(self.dropout, str) else self.dropout

    def _acyclicity(self) -> Order | LogDet:
        return ACYCLICITIES[self.acyclicity] if isinstance(self.acyclicity, str) else self.acyclicity

    def _initialise(self, generator: torch.Generator) -> None:
        self._starts = []
        for _ in range(self.n_members):
            initialise(self._network, generator)
            self._starts.append(copy_state(self._network))

    def _fit_path(self, data: Prepared) -> None:
        folds = self._folds(data)
        trainer = SideBySide(self._network, self._layer, folds.splits, self._settings())
        trainer.run([self._path_steps(data, folds, self.verbose)])

    @property
    def _n_folds(self) -> int:
        return self.n_members if self.cross_fit else 1

    def _folds(self, data: Prepared) -> Folds:
        return make_folds(data.split, self._n_folds, data.seed).repeated(self.n_members // self._n_folds)

    def _settings(self) -> TrainingSettings:
        return TrainingSettings(self.learning_rate, self.max_epochs, self.patience, self.batch_size)

    def _path_steps(self, data: Prepared, folds: Folds, verbose: bool) -> Steps[None]:
        """All trainings of the path and of the choice on it, for someone to carry out."""
        checkpoint = data.checkpoint
        fitter = PathFitter(self._network, self._layer, folds, self._starts, data.seed)
        self._path = Path()
        if checkpoint is not None:
            parameters = {name: value for name, value in self.get_params(deep=False).items() if name not in NO_INFLUENCE}
            tensors = [tensor for tensor in vars(data.split).values() if tensor is not None]
            self._path = checkpoint.begin(fingerprint(parameters, tensors), data.entropy)
        save = (lambda path: None) if checkpoint is None else checkpoint.save
        with FitProgress(verbose, self.n_budgets, self.budgets == "geometric", self.selection != "min") as progress:
            yield from fitter.fit(self._path, BUDGETS[self.budgets](self.n_budgets), save, progress.step)
            self._choice = yield from self._choose(fitter, data, save, progress)

    def _choose(
        self, fitter: PathFitter, data: Prepared, save: Callable[[Path], None], progress: FitProgress
    ) -> Steps[selections.Choice]:
        points = self._path.points

        def refit(index: int, polish: bool = False) -> Steps[PathPoint]:
            what = "last refit" if polish else "refit"
            points[index] = yield from fitter.refit(self._path, index, progress.step(what, [points[index]]), polish)
            save(self._path)
            return points[index]

        if self.selection == "min":
            return selections.by_validation_loss(points)
        best = yield from selections.relaxed(points, refit)
        if self.consider_constant and data.split.mask is None:
            constant = one_graph(fitter.splits[: self._n_folds], self._allowed, N_PENALTIES)
            if selections.is_constant_as_good(constant, points, best):
                self._path = Path(points=constant, is_constant=True)
                points, best = constant, selections.least_refit_loss(constant)
        if not isinstance(self.selection, str):
            if not self._path.is_constant:
                for index in selections.worth_refitting(points, self.selection):
                    yield from refit(index)
            best = selections.by_n_edges(points, self.selection)
        chosen = points[best.index].refit
        if not self._path.is_constant and chosen is not None and not chosen.polished:
            yield from refit(best.index, polish=True)
        if self.selection == "relaxed":
            return selections.at_its_best_cut(points, best.index)
        if not isinstance(self.selection, str):
            return selections.by_n_edges(points, self.selection)
        return selections.within_one_standard_error(points, functools.partial(self._sample_losses, data))

    def _graphs(self, choice: selections.Choice, Z: torch.Tensor, mask: torch.Tensor | None) -> torch.Tensor:
        """Supports from the networks of the path; weights from their refits, those above the cut, where there are any."""
        point = self._path.points[choice.index]
        if self._path.is_constant:
            return constant_graphs(point, choice.cut, torch.zeros(len(Z), dtype=torch.int64, device=Z.device))
        members = self._weights_of_members(choice, Z, mask)
        if point.refit is None or choice.cut is None:
            return average(members)
        return point.refit.mean_graphs(members, choice.cut)

    @torch.no_grad()
    def _weights_of_members(
        self, choice: selections.Choice, Z: torch.Tensor, mask: torch.Tensor | None
    ) -> list[torch.Tensor]:
        """Weights of each member on its support, before any cut."""
        point = self._path.points[choice.index]
        if self._path.is_constant:
            fits = point.fits if point.refit is None or choice.cut is None else point.refit.fits
            return [fit.state["W"].to(Z).expand(len(Z), -1, -1) for fit in fits]
        graphs = shrunken_graphs(self._network, self._layer, point, Z, mask)
        if point.refit is None or choice.cut is None:
            return graphs
        networks = zip(graphs, point.refit.fits, strict=True)
        return [weights_of(self._network, fit, Z) * (support != 0) for support, fit in networks]

    def _held_out(self, data: Prepared, choice: selections.Choice) -> HeldOut:
        """With cross-fitting each member tells of the rows that it held out, by as many edges as the choice has."""
        if self._n_folds == 1:
            return super()._held_out(data, choice)
        folds = self._folds(data)
        members = self._weights_of_members(choice, folds.Z, folds.mask)
        refit = self._path.points[choice.index].refit
        if refit is not None and choice.cut is not None:
            n_edges = float(self._described(choice)["n_edges"])
            members = [strongest(W, n_edges) for W in refit.own_graphs(members)]
        rows = torch.cat(folds.held_out)
        W = torch.cat([own[held_out] for own, held_out in zip(members, folds.held_out, strict=True)])
        return HeldOut(rows, folds.X[rows], folds.Z[rows], W)
