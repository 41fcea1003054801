"""ContextualDAG: a graph for every context."""

import os
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from contextualdag.checks import is_one_of
from contextualdag.estimators.base import GraphEstimator
from contextualdag.estimators.fitting import fit_together
from contextualdag.estimators.knowledge import Edges, Node
from contextualdag.estimators.parameters import (
    ACYCLICITIES,
    PAPER_NETWORK,
    Selection,
    check,
    check_network_parameters,
    network_settings,
)
from contextualdag.projection import LogDet, Order
from contextualdag.training.problem import NetworkSettings
from contextualdag.training.structure import STRUCTURES


class ContextualDAG(GraphEstimator):
    r"""Learn a sparse directed acyclic graph for every context.

    The model is :math:`x - \mu(z) = W(z)^\top (x - \mu(z)) + \varepsilon` with :math:`W(z)` acyclic for every z. A network
    maps z to a matrix and a projection makes it a sparse DAG. The network is trained for a falling sequence of budgets of
    the l1 norm, and one of them is selected.

    Parameters
    ----------
    acyclicity : {"order", "logdet"} or Order or LogDet, default="order"
        Projection that makes matrices acyclic, see `contextualdag.projection`. Here "order" searches from one start
        (``Order(starts=1)``), which recovers graphs as well as the three of the layer and takes half the time.
    selection : {"relaxed", "min", "1se", "explained"}, float or tuple, default="relaxed"
        How the point of the path is selected. "relaxed": by the least validation loss after a refit without shrinkage, whose
        weak edges are pruned and whose weights the model reports; "1se": the sparsest graphs within one standard error of
        that; "explained": the strongest edges of "relaxed", as few as explain nine tenths of what all of them explain;
        ``("explained", 0.8)``: as few as explain that share of it; "min": by the least validation loss with shrinkage, which
        keeps too many edges; a number: graphs with that many edges on average.
    n_members : int or "auto", default="auto"
        Number of networks in the ensemble. They are fitted side by side from different initial weights and their graphs are
        averaged, which recovers graphs better; the time grows in proportion. "auto" is three, and five with fewer than 1000
        rows, unless `fit` is told that rows come in groups.
    cross_fit : bool, default=True
        Whether every member holds out different rows, drawn at random, so that together they learn from all. The rows of a
        validation set that is given to `fit` join the others. With False all members hold out the same rows, which is
        better where rows depend on one another, such as several of one person, and the validation set is chosen with care.
    structure : {"auto", "constant", "common-order", "varying"}, default="auto"
        How much varies with the context: nothing; weights and presence of edges, along one order of the variables; or the
        order as well, so that edges are reversed. "auto" fits all three and takes the simplest that predicts rows held out
        as well, but for a little; one graph, where `context_test_` sees no sign that the context matters, unless others are
        clearly better. It is "varying" with ``selection="min"``. In graphs whose order varies, a pair is only reversed
        where that predicts better.
    hidden_layers : sequence of int, default=(128, 128)
        Widths of the hidden layers.
    activation : {"elu", "gelu", "relu", "silu", "tanh"}, default="silu"
        Hidden-layer activation.
    dropout : float or "auto", default="auto"
        Fraction of hidden units dropped in training. "auto" drops more where there are fewer rows to train on: 0.8 with
        three for each variable and context feature, 0.5 with thirty, 0.2 with three hundred, and never more or less.
    intercept : {"contextual", "constant", "none"}, default="contextual"
        Mean :math:`\mu`: a function of z, the same for all contexts, or zero.
    noise : {"auto", "equal", "unequal"}, default="auto"
        Noise scales: the same for all variables in the units given, or unknown and learned, so that units do not matter.
        "auto" is "equal" unless residuals speak against it.
    robust : bool, default=True
        Whether rows that lie far from all others count less, so that a few bad ones do little harm.
    forbidden_edges : list of (source, target), optional
        Edges that no graph may have, by name or position of the variables.
    required_edges : list of (source, target), optional
        Edges that every graph has. Where one does not help to predict it is added with the weight that fits best.
    tiers : list of lists of variables, optional
        Every variable once, from the earliest tier on; no variable causes one of an earlier tier.
    cyclic : dict of str to float, optional
        Context features that come back, and their periods: ``{"hour": 24, "angle": 360}``. Networks see their sine and
        cosine, so that 23 and 0 are neighbours. Values beyond one period are wrapped: 25 h is 1 h. Columns of an array are
        named z1, z2 and so on.
    missing : {"error", "impute"}, default="error"
        What to do about missing values of X (NaN): refuse them, or fill them in by what a quick fit expects of them given
        the rest of the row. Filled values explain others but are never themselves scored. Contexts must be complete.
    transform : "auto", "none" or dict of str to str, default="auto"
        What is done to variables before all else: "log", "log1p" (of one more; of counts, of one more step), "normal-scores"
        (normal quantiles of their ranks) or "none". "auto" takes logarithms of counts beyond ten and of positive variables
        if their upper tail is clearly longer, and leaves all others as they are, to the bit; a dict says otherwise for those
        it names.
        Weights, effects, scores and noise are then in transformed units; `sample`, `means` and `do` are in those of X.
    budgets : {"geometric", "equispaced"}, default="geometric"
        Grid of budgets: falling by three tenths until graphs are empty, or in equal steps to zero as in the paper.
    n_budgets : int, default=50
        Maximum number of budgets; the geometric grid usually ends earlier.
    learning_rate : float, default=4e-3
        Adam learning rate.
    max_epochs : int, default=10_000
        Maximum number of epochs per budget.
    patience : int, default=10
        Number of epochs without a better validation loss after which a training stops; half as many for the budgets of a
        geometric grid, four times as many for the last refit.
    batch_size : int, "auto" or None, default="auto"
        Number of samples in one step of descent; None for all of them. "auto" is all of them on a GPU. On the CPU it makes
        up to twelve steps an epoch, of about 333 samples or more, and divides `patience` by up to 2.5 where they are many.
    validation_fraction : float, default=0.2
        Fraction of rows held out, unless `fit` is given a validation set.
    device : str, default="auto"
        Device to use; "auto" is CUDA if it is available, else the CPU.
    random_state : int, optional
        Seed of the split, the initial weights and dropout.
    verbose : bool, default=True
        Whether to show a progress bar on a terminal, or a line every thirty seconds anywhere else.

    Attributes
    ----------
    path_ : DataFrame
        One row for each budget: l1_budget, threshold, n_edges, train_loss, validation_loss, refit_loss, epochs, selected,
        refit_edges. The refit columns describe refits once they are pruned, NaN where no refit was needed; the others
        describe the shrunken graphs.
    structure_ : {"constant", "common-order", "varying"}
        How much varies with the context.
    structure_scores_ : dict of str to StructureScore
        The structures that were compared: `log_likelihood` of a row held out, how far it is `behind` that of the best, and
        the `standard_error` of that. Empty where there was nothing to choose.
    varies_ : bool
        Whether graphs differ from context to context; False where one graph for all was selected.
    names_ : list of str
        Names of the variables.
    kinds_ : dict of str to str
        What each variable seems to be: "binary", "ordinal", "count", "skewed" or "continuous".
    transforms_ : dict of str to str
        How each variable was transformed.
    noise_ : {"equal", "unequal"}
        Whether graphs were learned under equal noise.
    context_test_ : ContextTest or None
        Whether the context matters to the dependence of the variables: `p_value` of a permutation test on `n_rows` rows,
        which deals out contexts to rows, and in `features` that of each feature given the others. It uses no graphs.
        `gain` is the share of the squared error of rows held out that graphs of their own contexts save against those of
        other contexts, `gain_interval` an interval of 95 % for it, and `feature_gains` the share that each feature saves.
        If `fit` is given `groups`, these swap their contexts as wholes, with rows in their order but for a rotation;
        `n_groups` is their number if contexts are the same within each, else zero. `context_matters` and `has_low_power` say
        whether the test rejects at the level .05, and whether there was too little to permute. None with the paper's
        budgets and where no context varies.
    explained_ : DataFrame
        Shares of the variance of each variable, in rows held out, that means, edges common to all contexts and the change of
        edges explain.
    undirected_edges_ : list of (str, str)
        Edges whose direction the data do not tell, under unequal noise only. Of one graph for all contexts the data tell the
        Markov equivalence class. In graphs that vary, edges whose weights vary have a direction, and those that follow.
    outliers_ : list of int
        Rows of X, counted from 0, that lie far from all others and were given little weight.
    noise_scale_ : array of shape (p,)
        Standard deviation of the noise.
    held_out_score_ : float
        The `score` of rows held out, each predicted by members that did not see it. They also selected the sparsity, so new
        rows may do a little worse; the average of the members may do a little better. NaN if there are none.
    n_held_out_ : int
        Number of these rows: at most those held out of the fit of the means.

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
        self.acyclicity = acyclicity
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
    def paper(cls, **overrides: Any) -> "ContextualDAG":
        """The settings of the paper: one network, log-det, ReLU, no dropout, no intercept, twenty equispaced budgets.

        Parameters
        ----------
        **overrides
            Any parameter of the constructor.
        """
        return cls(**({"acyclicity": "logdet"} | PAPER_NETWORK | overrides))

    def fit(
        self,
        X: Any,
        Z: Any,
        X_val: Any = None,
        Z_val: Any = None,
        *,
        interventions: Any = None,
        interventions_val: Any = None,
        sample_weight: Any = None,
        sample_weight_val: Any = None,
        groups: Any = None,
        checkpoint: str | os.PathLike[str] | None = None,
    ) -> "ContextualDAG":
        """Learn the graphs.

        Parameters
        ----------
        X : array or DataFrame of shape (n, p)
            Variables; rows are samples.
        Z : array or DataFrame of shape (n, m)
            Contexts of the same samples. Categorical columns are one-hot encoded; those of pandas whose categories are
            ordered become 0, 1, 2 and so on. Dates become days since the first of them.
        X_val, Z_val : optional
            A validation set; by default `validation_fraction` of the rows is held out. See `cross_fit` for how members
            use it.
        interventions : array, DataFrame or sequence, optional
            Which variables were set or disturbed from outside in which rows, so that their equations do not hold there. A
            boolean table of the shape of X, or a DataFrame of some of its columns; or, for each of the n rows, the names of
            the targets: None, NaN or an empty text for none, one name, a list of names, or several names in one text with
            ";" between them. The variables still explain others in these rows.
        sample_weight : sequence of length n, optional
            How much each row counts: a row of weight 2 as much as two such rows. Only the relative size matters. A row of
            weight zero has no influence.
        interventions_val, sample_weight_val : optional
            The same for the validation set; by default none, and one for every row.
        groups : sequence of length n, optional
            What each row belongs to, such as a person. Rows of one group are all trained on or all held out, by every
            member. Not with a validation set.
        checkpoint : path, optional
            A folder to keep the path in after every budget. A fit that was killed goes on from there when it is started
            again with the same data and settings, and ends with the same model.

        Returns
        -------
        ContextualDAG
            The estimator itself.
        """
        tables = {"X": X, "Z": Z, "X_val": X_val, "Z_val": Z_val, "checkpoint": checkpoint}
        tables |= {"interventions": interventions, "interventions_val": interventions_val}
        tables |= {"sample_weight": sample_weight, "sample_weight_val": sample_weight_val, "groups": groups}
        fit_together([self], [tables])
        return self

    def _check_parameters(self) -> None:
        known = isinstance(self.acyclicity, Order | LogDet) or is_one_of(self.acyclicity, ACYCLICITIES)
        check_network_parameters(self, ("auto", *STRUCTURES))
        check(self, known, "acyclicity", "'order', 'logdet', an Order or a LogDet", list(ACYCLICITIES))

    def _settings(self, x_scale: float, n_rows: int | None = None) -> NetworkSettings:
        acyclicity = ACYCLICITIES[self.acyclicity] if isinstance(self.acyclicity, str) else self.acyclicity
        return network_settings(self, acyclicity, n_rows)
