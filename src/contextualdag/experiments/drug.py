"""The drug study: fits to the paper's real data, with and without an intercept that follows the context, and their tables.

`contextualdag.experiments.drug_figures` draws from what is written here.
"""

import hashlib
import json
import os
import shutil
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from contextualdag import __version__
from contextualdag.datasets import load_drug_consumption
from contextualdag.errors import InvalidParameterError, PersistenceError
from contextualdag.estimators import ContextualDAG
from contextualdag.estimators.parameters import PAPER, check_device
from contextualdag.experiments.cells import Cell, cell_key
from contextualdag.experiments.figure_files import write_table
from contextualdag.experiments.finished import locked
from contextualdag.files import write_file

if TYPE_CHECKING:
    import pandas

    from contextualdag.datasets.drug_consumption import DrugConsumption

VERSION = 1  # raise it whenever fits or tables of before no longer serve
FOLDER, SUMMARY = "drug", "summary.json"
TOLD_EDGES = 5.0  # on average over contexts, which is how the paper chose its budget
QUANTILES = {"low": 0.1, "high": 0.9}  # of both scores: the two contexts that the paper draws
GRID_POINTS = 41  # along each score, from the smallest to the largest

# "constant" is the paper's centring of every variable.
INTERCEPTS = ("constant", "contextual")
SETTINGS: dict[str, dict[str, Any]] = {
    "default": {},
    "paper": PAPER | {"hidden_layers": (32, 32), "n_budgets": 100},
}
# The choice of "paper" is the number of edges alone: what its path keeps by validation loss is far too much.
CHOICES = {"default": ("told", "own"), "paper": ("told",)}
SLOW = ("paper",)  # the log-det projection takes most of the time of the study, so a quick one does without
WITHOUT_INFLUENCE = ("device", "verbose")


@dataclass(frozen=True)
class DrugFit:
    """One model of the study and where it is kept."""

    settings: str
    intercept: str
    random_state: int
    data_sha256: str
    models: Path

    @property
    def parameters(self) -> dict[str, Any]:
        """All parameters of the estimator that change its graphs."""
        parameters = self.estimator().get_params(deep=False)
        return {name: value for name, value in parameters.items() if name not in WITHOUT_INFLUENCE}

    @property
    def folder(self) -> Path:
        """Of the saved model: another one for other data, parameters or versions."""
        identity: Cell = {
            "study": VERSION,
            "contextualdag": __version__,
            "data": self.data_sha256,
            "parameters": json.dumps(self.parameters, sort_keys=True, default=repr),
        }
        return self.models / f"{self.settings}-{self.intercept}-{cell_key(identity)}"

    @property
    def record(self) -> Path:
        """Written once the model is saved, and so the sign that it is finished."""
        return self.folder.with_suffix(".json")

    @property
    def is_finished(self) -> bool:
        """Whether there is nothing left to fit."""
        return self.record.is_file() and self.folder.is_dir()

    def estimator(self, device: str = "auto") -> ContextualDAG:
        """The model before it is fitted."""
        settings = SETTINGS[self.settings] | {"intercept": self.intercept}
        return ContextualDAG(**settings, random_state=self.random_state, device=device)

    def fit(self, data: "DrugConsumption", device: str) -> None:
        """Fit and keep the model. A fit that was killed goes on from its last budget."""
        checkpoint = self.folder.with_suffix(".checkpoint")
        resumed = checkpoint.exists()
        start = time.perf_counter()
        model = self.estimator(device).fit(data.X, data.Z, checkpoint=checkpoint)
        seconds = time.perf_counter() - start
        model.save(self.folder)
        # The time of a fit that was interrupted is not known.
        record = {"seconds": None if resumed else round(seconds, 1), "device": str(check_device(model))}
        write_file(self.record, json.dumps(record).encode())
        shutil.rmtree(checkpoint, ignore_errors=True)


def run_drug(
    folder: str | os.PathLike[str],
    *,
    data: str | os.PathLike[str] | None = None,
    quick: bool = False,
    device: str = "auto",
    random_state: int = 0,
    say: Callable[[str], None] | None = None,
) -> None:
    """Fit the drug consumption data with and without a contextual intercept, and write the tables of the study.

    Models are fitted by the library's defaults and by the paper's settings, each with the mean of every substance as a
    function of the scores and with one mean for all. Finished fits are kept in ``drug/models`` and found again by the next
    run; fits of other data, settings or versions are left alone beside them.

    Parameters
    ----------
    folder : path
        Where to put the folder ``drug``.
    data : path, optional
        The data file. By default it is taken from the cache or downloaded, as `load_drug_consumption` does.
    quick : bool, default=False
        Leave out the paper's settings, unless they are fitted already.
    device : str, default="auto"
        Where to fit.
    random_state : int, default=0
        Seed of the splits and of the fits.
    say : callable, optional
        Told in one line what is going on.

    Examples
    --------
    >>> from contextualdag.experiments.drug import run_drug
    >>> from contextualdag.experiments.drug_figures import write_drug_figures
    >>> run_drug("results", quick=True)  # doctest: +SKIP
    >>> files = write_drug_figures("results")  # doctest: +SKIP
    """
    if not isinstance(random_state, int) or isinstance(random_state, bool) or random_state < 0:
        raise InvalidParameterError(
            f"The 'random_state' parameter of run_drug must be an integer of at least 0. Got {random_state!r} instead."
        )
    tell = say or (lambda line: None)
    table = load_drug_consumption(data)
    home = Path(folder) / FOLDER
    models = home / "models"
    models.mkdir(parents=True, exist_ok=True)
    digest = hashlib.sha256(table.frame.to_numpy(np.float64).tobytes()).hexdigest()
    fits = [DrugFit(settings, intercept, random_state, digest, models) for settings in SETTINGS for intercept in INTERCEPTS]
    wanted = [fit for fit in fits if fit.is_finished or not (quick and fit.settings in SLOW)]
    with locked(home):
        for number, fit in enumerate(wanted, start=1):
            what = f"Fit {number} of {len(wanted)}, {fit.settings} settings, {fit.intercept} intercept"
            tell(f"{what}: found finished." if fit.is_finished else f"{what} …")
            if not fit.is_finished:
                fit.fit(table, device)
        tell("Writing the tables …")
        _write_tables(home, wanted, table, device, random_state)


def _write_tables(home: Path, fits: list[DrugFit], data: "DrugConsumption", device: str, random_state: int) -> None:
    """Tables first, then the summary, which says what they must hold: a reader notices if a run died in between."""
    import pandas as pd

    scores = list(data.Z)
    contexts = data.Z.quantile(list(QUANTILES.values())).set_axis(list(QUANTILES))
    axes = [np.linspace(data.Z[score].min(), data.Z[score].max(), GRID_POINTS) for score in scores]
    grid = pd.DataFrame(np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(-1, len(scores)), columns=scores)
    edges, sparsity, paths, graphs, records = [], [], [], [], []
    for fit in fits:
        model = ContextualDAG.load(fit.folder, device)
        of_fit = {"settings": fit.settings, "intercept": fit.intercept}
        paths.append(_marked(model.path_, of_fit))
        about = {"loss_without_edges": _loss_without_edges(model), "varies": model.varies_}
        records.append(of_fit | _read_record(fit) | about)
        records[-1]["parameters"] = fit.parameters
        for choice in CHOICES[fit.settings]:
            chosen = model if choice == "own" else model.select(n_edges=_within(model))
            key = of_fit | {"choice": choice}
            found = chosen.edges(contexts)
            found.insert(0, "context", contexts.index[found.pop("sample")])
            edges.append(_marked(found, key))
            sparsity.append(_marked(grid.assign(n_edges=_count_edges(chosen, grid)), key))
            graphs.append(key | {"mean_edges": float(_count_edges(chosen, data.Z).mean())})
    people = data.Z.value_counts().rename("people").reset_index().sort_values(scores)
    tables = {"graphs": pd.concat(edges), "sparsity": pd.concat(sparsity), "paths": pd.concat(paths), "people": people}
    files = [write_table(home / f"{name}.csv", table) for name, table in tables.items()]
    summary = {
        "version": VERSION,
        "contextualdag": __version__,
        "random_state": random_state,
        "n_people": len(data.X),
        "names": list(data.X),
        "scores": scores,
        "contexts": contexts.to_dict("index"),
        "told_edges": TOLD_EDGES,
        "fits": records,
        "graphs": graphs,
        "tables": {file.name: hashlib.sha256(file.read_bytes()).hexdigest() for file in files},
    }
    write_file(home / SUMMARY, json.dumps(summary, indent=2, default=repr).encode())


def _marked(table: "pandas.DataFrame", key: dict[str, str]) -> "pandas.DataFrame":
    """The table with the names of its model in front."""
    return table.assign(**key)[[*key, *table]]


def _within(model: ContextualDAG) -> float:
    """As many edges as the paper has, or as the densest point of the path."""
    return min(TOLD_EDGES, float(model.path_["n_edges"].max()))


def _count_edges(model: ContextualDAG, Z: "pandas.DataFrame") -> np.ndarray:
    counts: np.ndarray = np.bincount(model.edges(Z)["sample"], minlength=len(Z))
    return counts


def _loss_without_edges(model: ContextualDAG) -> float:
    """Validation loss of the last point of the path, whose budget is zero: what the intercept alone reaches."""
    return float(model.path_["validation_loss"].iloc[-1])


def _read_record(fit: DrugFit) -> dict[str, Any]:
    try:
        record = json.loads(fit.record.read_bytes())
        return {"seconds": record["seconds"], "device": record["device"]}
    except (OSError, ValueError, TypeError, KeyError) as error:
        raise PersistenceError(f"{fit.record} cannot be read ({error!r}); delete it to fit its model again.") from error
