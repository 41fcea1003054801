"""BootstrapDAG: how sure is each edge."""

import copy
import os
from contextlib import nullcontext
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import torch
from sklearn.base import clone

from contextualdag.checks import is_count, is_flag, is_integer, is_number, listed
from contextualdag.cluster import require_distributed
from contextualdag.errors import PersistenceError
from contextualdag.estimators.base import GraphEstimator
from contextualdag.estimators.clustered import ClusteredDAG
from contextualdag.estimators.contextual import ContextualDAG
from contextualdag.estimators.fitting import Tables, fit_prepared, prepare, problem_of_fit, with_holes
from contextualdag.estimators.fixed import FixedDAG
from contextualdag.estimators.groups import check_enough, warn_if_lopsided
from contextualdag.estimators.knowledge import Knowledge
from contextualdag.estimators.parameters import check, check_name
from contextualdag.estimators.resamples import solve_resamples
from contextualdag.estimators.saving import METADATA
from contextualdag.estimators.sorted import SortedDAG
from contextualdag.estimators.summary import find_untold, learn_variation
from contextualdag.estimators.votes import Votes
from contextualdag.export import edge_text
from contextualdag.files import in_use
from contextualdag.progress import ProgressDisplay
from contextualdag.tables import Array
from contextualdag.training.packing import Tensors, under
from contextualdag.training.problem import GroupSettings, NetworkSettings
from contextualdag.training.resampling import half_problem, half_samples
from contextualdag.training.solution import unpack_selected, unpack_solution
from contextualdag.training.stored import check_selected, expect

if TYPE_CHECKING:
    pass

WRAPPED: dict[str, type[GraphEstimator]] = {cls.__name__: cls for cls in (ContextualDAG, FixedDAG, ClusteredDAG, SortedDAG)}
SELECTIONS = ("estimator", "stability")
LEARNED = ("_preparation", "_solution", "_explained", "names_", "n_samples_", "n_held_out_", "noise_", "noise_scale_")
LEARNED_TOO = (
    "structure_",
    "structure_scores_",
    "context_test_",
    "outliers_",
    "rows_",
    "_noise_changes",
    "_variation",
    "_untold",
)


def _of_estimator(name: str) -> Any:
    """A parameter that is the estimator's."""
    return property(lambda self: getattr(self.estimator, name), doc=f"The parameter `{name}` of the estimator.")


class BootstrapDAG(Votes):
    """Learn graphs, and how sure each of their edges is, with any of the other estimators.

    The estimator is fitted to all rows, and then to random halves of them, two complementary halves at a time. How often an
    edge is found tells its probability. Halves are fitted with one network each, given the means, the noise scales and the
    structure that all rows told; how many edges there are is selected anew in each, and missing values are filled in anew.
    Everything an estimator can be asked, such as `adjacency`, is answered by the fit to all rows.

    Parameters
    ----------
    estimator : ContextualDAG, FixedDAG, ClusteredDAG or SortedDAG
        The estimator. It is copied; the one that was fitted is `estimator_`.
    n_resamples : int, default=50
        Number of halves, two or more.
    selection : {"estimator", "stability"}, default="estimator"
        Which graphs `adjacency` and all other methods give: those that the estimator selects, or the `consensus`, with the
        edges whose probability is at least `threshold`.
    threshold : float, default=0.5
        Smallest probability that an edge of the consensus has, from 0 to 1.
    n_jobs : int, optional
        Number of processes; by default as many as there are cores. On a GPU all halves are fitted side by side instead.
    scheduler : str, optional
        Address of a running Dask scheduler, such as "tcp://10.0.0.5:8786", whose workers fit the halves instead.
    random_state : int, optional
        Seed of the halves; by default it follows from that of the estimator.
    verbose : bool, default=True
        Whether to show progress.

    Attributes
    ----------
    estimator_ : estimator
        The fit to all rows.
    n_resamples_ : int
        Number of halves.
    structure_, structure_scores_, context_test_, noise_, noise_scale_, outliers_
        Those of `estimator_`.

    Examples
    --------
    >>> from contextualdag import BootstrapDAG, FixedDAG
    >>> from contextualdag.datasets import make_fixed_dag
    >>> data = make_fixed_dag(400, n_nodes=3, n_edges=1, weight=0.9, random_state=0)
    >>> model = BootstrapDAG(FixedDAG(random_state=0), n_resamples=10, n_jobs=1).fit(data.X, data.Z)
    >>> model.edge_probabilities(data.Z[:1]).shape
    (1, 3, 3)
    """

    selection: str

    def __init__(
        self,
        estimator: GraphEstimator,
        *,
        n_resamples: int = 50,
        selection: str = "estimator",
        threshold: float = 0.5,
        n_jobs: int | None = None,
        scheduler: str | None = None,
        random_state: int | None = None,
        verbose: bool = True,
    ) -> None:
        self.estimator = estimator
        self.n_resamples = n_resamples
        self.selection = selection
        self.threshold = threshold
        self.n_jobs = n_jobs
        self.scheduler = scheduler
        self.random_state = random_state
        self.verbose = verbose

    _wraps = WRAPPED
    intercept, noise, robust = _of_estimator("intercept"), _of_estimator("noise"), _of_estimator("robust")
    validation_fraction, device = _of_estimator("validation_fraction"), _of_estimator("device")
    missing = _of_estimator("missing")

    @property
    def n_resamples_(self) -> int:
        """Number of halves that were fitted."""
        self._require_fit()
        return len(self._resamples)

    def fit(
        self,
        X: Any,
        Z: Any = None,
        X_val: Any = None,
        Z_val: Any = None,
        *,
        groups: Any = None,
        mask: Any = None,
        mask_val: Any = None,
        interventions: Any = None,
        interventions_val: Any = None,
        sample_weight: Any = None,
        sample_weight_val: Any = None,
        checkpoint: str | os.PathLike[str] | None = None,
    ) -> "BootstrapDAG":
        """Learn the graphs from all rows, and from halves of them.

        Parameters
        ----------
        X, Z, X_val, Z_val, mask, mask_val, interventions, interventions_val, sample_weight, sample_weight_val
            As for the estimator. The rows of a validation set join the others in the halves.
        groups : sequence of length n, optional
            What each row belongs to, such as a person. Rows of one group stay in one half, and in every fit they are all
            trained on or all held out.
        checkpoint : path, optional
            A folder to keep the fit and every half in as they are finished. A fit that was killed goes on from there when
            it is started again with the same data and settings, and ends with the same model.

        Returns
        -------
        BootstrapDAG
            The estimator itself.
        """
        self._check_parameters()
        if self.scheduler is not None:
            require_distributed("Half-samples on a cluster")
        folder = None if checkpoint is None else Path(checkpoint)
        if folder is not None and (folder / METADATA).exists():
            raise PersistenceError(
                f"{folder} holds something else than the checkpoint of a BootstrapDAG; use another folder."
            )
        tables = Tables(
            X,
            Z,
            X_val,
            Z_val,
            mask,
            mask_val,
            checkpoint=None if folder is None else folder / "fit",
            interventions=interventions,
            interventions_val=interventions_val,
            sample_weight=sample_weight,
            sample_weight_val=sample_weight_val,
            groups=groups,
        )
        with nullcontext() if folder is None else in_use(folder):
            return self._fit(tables, folder)

    def _fit(self, tables: Tables, folder: Path | None) -> "BootstrapDAG":
        """Fit, and keep what is finished in a folder that is ours alone."""
        model = clone(self.estimator)
        prepared = prepare(model, tables)
        rows = prepared.problem.rows
        together = None if rows.group is None else rows.group.cpu()
        check_enough(len(rows))

        outcome = fit_prepared(model, prepared)
        problem = problem_of_fit(prepared, outcome)
        seed = problem.seed if self.random_state is None else int(self.random_state)
        halves = half_samples(len(rows), self.n_resamples, seed, together)
        warn_if_lopsided(halves, together)
        seeds = np.random.default_rng(seed).integers(2**31, size=len(halves)).tolist()
        structure, holed = outcome.choice.structure, with_holes(problem, prepared)
        problems = [half_problem(holed, half, structure, own, together) for half, own in zip(halves, seeds, strict=True)]
        with ProgressDisplay(bool(self.verbose)) as display:
            display.start("half-samples", total=len(problems))

            def report(done: int) -> None:
                display.update(completed=done)
                display.report(f"{done} of {len(problems)}")

            resamples = solve_resamples(problems, self.n_jobs, self.scheduler, folder, report)
        self.estimator_, self._resamples, self._voting = model, tuple(resamples), model._solution
        self._adopt()
        if self.selection == "stability":
            self._variation = learn_variation(self, problem)
            self._untold = find_untold(self, problem)
        return self

    @property
    def graph_(self) -> Array:
        """The graph, shape (p, p); only around a `FixedDAG`."""
        if not isinstance(self.estimator, FixedDAG):
            name = type(self.estimator).__name__
            raise AttributeError(f"This BootstrapDAG has no graph_, for it is around a {name}; use adjacency(Z).")
        self._require_fit()
        W: Array = self._weights(self._no_context())[0]
        return W

    def adjacency(self, Z: Any, standardised: bool = False, *, mask: Any = None) -> Array:
        """Graphs of given contexts.

        Parameters
        ----------
        Z : array or DataFrame of shape (n, m)
            Contexts.
        standardised : bool, default=False
            Whether weights are in standard deviations, as of the estimator.
        mask : array of bool, shape (n, p, p), optional
            As for `SortedDAG.adjacency`: needed if `fit` was given one.

        Returns
        -------
        array of shape (n, p, p)
            Those of the fit to all rows, or of the consensus if the model selects it.
        """
        if mask is None:
            return super().adjacency(Z, standardised)
        given = self._parts(Z, mask)
        return np.concatenate([self._weights(*part) for part in given]) * self._unit(standardised)

    def select(self, n_edges: float | None = None, l1_budget: float | None = None, explained: float | None = None) -> Self:
        """Another point of the path of the fit to all rows; the halves, and so the probabilities, stay as they are.

        Parameters
        ----------
        n_edges, l1_budget, explained
            As for the estimator.

        Returns
        -------
        BootstrapDAG
            A model of its own, whose graphs are those of the fit to all rows; this one does not change.
        """
        self._require_fit()
        model = copy.copy(self)
        model.estimator_, model.selection = self.estimator_.select(n_edges, l1_budget, explained), "estimator"
        model._adopt()
        return model

    def _adopt(self) -> None:
        """Take over what the fit to all rows has learned."""
        for name in (*LEARNED, *LEARNED_TOO):
            setattr(self, name, getattr(self.estimator_, name))

    def _check_parameters(self) -> None:
        known = isinstance(self.estimator, tuple(WRAPPED.values()))
        check(self, known, "estimator", f"an estimator of contextualdag: {listed(list(WRAPPED))}, made with its parameters")
        check(self, is_integer(self.n_resamples) and self.n_resamples >= 2, "n_resamples", "an integer of at least 2")
        check_name(self, "selection", SELECTIONS)
        check(self, is_number(self.threshold, 0, 1), "threshold", "a number from 0 to 1")
        check(self, self.n_jobs is None or is_count(self.n_jobs), "n_jobs", "None or an integer of at least 1")
        check(
            self,
            self.scheduler is None or isinstance(self.scheduler, str),
            "scheduler",
            "None or the address of a scheduler",
        )
        seed = self.random_state
        check(self, seed is None or (is_integer(seed) and seed >= 0), "random_state", "None or an integer of at least 0")
        check(self, is_flag(self.verbose), "verbose", "True or False")

    def _settings(self, x_scale: float, n_rows: int | None = None) -> NetworkSettings | GroupSettings:
        return self.estimator._settings(x_scale, n_rows)

    def _knowledge(self, names: list[str]) -> Knowledge:
        return self.estimator._knowledge(names)

    def _surest_edges(self) -> list[str]:
        """The edges of a typical context with their probabilities, the surest first; none where a mask would be needed."""
        if isinstance(self.estimator, SortedDAG) and self.estimator.order is None:
            return []
        table = self.edges(self.typical_context()).sort_values("probability", ascending=False, kind="stable")
        rows = table[["source", "target", "directed", "probability"]].itertuples(index=False)
        return [f"{edge_text(*edge)} ({probability:.2f})" for *edge, probability in rows]

    def _pack_more(self) -> tuple[dict[str, Any], Tensors]:
        packed: list[dict[str, Any]] = []
        tensors: Tensors = {}
        for index, solution in enumerate(self._resamples):
            one, its = solution.pack()
            packed.append(one)
            tensors |= {f"resample/{index}/{name}": value for name, value in its.items()}
        return {"resamples": packed, "voting": asdict(self._voting.selected)}, tensors

    def _unpack_more(self, metadata: dict[str, Any], tensors: Tensors, device: torch.device) -> None:
        sizes = len(self._preparation.scaling.z_mean), len(self.names_)
        self._resamples = tuple(
            unpack_solution(one, under(tensors, f"resample/{index}"), device, *sizes)
            for index, one in enumerate(metadata["resamples"])
        )
        expect(len(self._resamples) > 0, "resamples", "one at least", self._resamples)
        voting = unpack_selected(metadata["voting"])
        check_selected(voting, self._solution.points)
        self._voting = self._solution.at(voting)
        self.estimator_ = clone(self.estimator)
        for name in (*LEARNED, *LEARNED_TOO):
            setattr(self.estimator_, name, getattr(self, name))
        if self.selection == "stability":
            self.estimator_._variation = None  # what was saved is that of the consensus
