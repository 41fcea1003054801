"""The drug study: fits to the paper's real data, with and without an intercept that follows the context, and their tables.

`contextualdag.paper.drug_report` compares the tables with the published graphs and draws them.
"""

import hashlib
import io
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
from contextualdag.checks import find_device, is_integer, require
from contextualdag.datasets import load_drug_consumption
from contextualdag.errors import PersistenceError
from contextualdag.estimators import ContextualDAG
from contextualdag.files import write_file
from contextualdag.paper.outputs import write_table
from contextualdag.paper.recovery import influential_settings, within_path
from contextualdag.sweeps.store import Cell, cell_key, locked

if TYPE_CHECKING:
    import pandas

    from contextualdag.datasets.drug_consumption import DrugConsumption

VERSION = 2  # raise it when earlier fits or tables can no longer be used
FOLDER, SUMMARY = "drug", "summary.json"
GIVEN_EDGES = 5.0  # on average over contexts, which is how the paper chose its budget
QUANTILES = {"low": 0.1, "high": 0.9}  # of both scores: the two contexts that the paper draws
GRID_POINTS = 41  # along each score, from the smallest to the largest
KEY = ["settings", "intercept", "choice"]

# "constant" is the paper's centring of every variable.
INTERCEPTS = ("constant", "contextual")
SETTINGS: dict[str, dict[str, Any]] = {
    "default": {},
    "paper": ContextualDAG.paper(hidden_layers=(32, 32), n_budgets=100).get_params(deep=False),
}
# "paper" is only given the number of edges: the budget of least validation loss has far too many.
CHOICES = {"default": ("given", "own"), "paper": ("given",)}
SLOW = ("paper",)  # the log-det projection takes most of the time of the study, so the quick version leaves it out


@dataclass(frozen=True)
class DrugFit:
    """One model of the study and the files it is kept in."""

    settings: str
    intercept: str
    random_state: int
    data_sha256: str
    models: Path

    @property
    def parameters(self) -> dict[str, Any]:
        """The parameters of the estimator that change its graphs."""
        return influential_settings(self.estimator())

    @property
    def folder(self) -> Path:
        """Folder of the saved model: another one for other data, parameters or versions."""
        identity: Cell = {
            "study": VERSION,
            "contextualdag": __version__,
            "data": self.data_sha256,
            "parameters": json.dumps(self.parameters, sort_keys=True, default=repr),
        }
        return self.models / f"{self.settings}-{self.intercept}-{cell_key(identity)}"

    @property
    def record(self) -> Path:
        """File that is written once the model is saved, and so marks it as finished."""
        return self.folder.with_suffix(".json")

    @property
    def is_finished(self) -> bool:
        """Whether the model is fitted and saved."""
        return self.record.is_file() and self.folder.is_dir()

    def estimator(self, device: str = "auto") -> ContextualDAG:
        """The model before it is fitted."""
        chosen = {"intercept": self.intercept, "random_state": self.random_state, "device": device}
        return ContextualDAG(**(SETTINGS[self.settings] | chosen))

    def fit(self, data: "DrugConsumption", device: str) -> None:
        """Fit and save the model. A fit that was killed resumes from its last budget."""
        checkpoint = self.folder.with_suffix(".checkpoint")
        resumed = checkpoint.exists()
        start = time.perf_counter()
        model = self.estimator(device).fit(data.X, data.Z, checkpoint=checkpoint)
        seconds = time.perf_counter() - start
        model.save(self.folder)
        # The time of a fit that was interrupted is not known.
        record = {"seconds": None if resumed else round(seconds, 1), "device": str(find_device(device))}
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

    Models are fitted with the library's defaults and with the paper's settings, each with the mean of every substance as a
    function of the scores and with one mean for all. Finished fits are kept in ``drug/models`` and reused by the next run;
    fits of other data, settings or versions stay beside them.

    Parameters
    ----------
    folder : path
        Folder in which the folder ``drug`` is created.
    data : path, optional
        Data file. By default it is taken from the cache or downloaded, as `load_drug_consumption` does.
    quick : bool, default=False
        Whether to leave out the paper's settings, unless they are fitted already.
    device : str, default="auto"
        Device to fit on.
    random_state : int, default=0
        Seed of the splits and of the fits.
    say : callable, optional
        Function called with a line of text at each step.

    Examples
    --------
    >>> from contextualdag.paper.drug import run_drug
    >>> from contextualdag.paper.drug_report import write_drug_report
    >>> run_drug("results", quick=True)  # doctest: +SKIP
    >>> files = write_drug_report("results")  # doctest: +SKIP
    """
    known = is_integer(random_state) and random_state >= 0
    require(known, "random_state", "run_drug", "an integer of at least 0", random_state)
    say = say or (lambda line: None)
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
            say(f"{what}: already finished." if fit.is_finished else f"{what} …")
            if not fit.is_finished:
                fit.fit(table, device)
        say("Writing the tables …")
        _write_tables(home, wanted, table, device, random_state)


@dataclass(frozen=True)
class DrugStudy:
    """The tables that `run_drug` has written."""

    summary: dict[str, Any]
    graphs: "pandas.DataFrame"
    sparsity: "pandas.DataFrame"
    people: "pandas.DataFrame"

    def edges(self, settings: str, intercept: str, choice: str, context: str) -> dict[tuple[str, str], float]:
        """Edges and weights of one graph."""
        wanted = [settings, intercept, choice, context]
        mine = self.graphs[(self.graphs[[*KEY, "context"]] == wanted).all(axis=1)]
        return dict(zip(zip(mine["source"], mine["target"], strict=True), mine["weight"], strict=True))

    def variants(self) -> list[tuple[str, str]]:
        """Pairs of settings and choice that were run, the paper's first."""
        found = dict.fromkeys((graph["settings"], graph["choice"]) for graph in self.summary["graphs"])
        return sorted(found, key=lambda variant: (variant[0] != "paper", variant[1] != "given"))

    def mean_edges(self, settings: str, intercept: str, choice: str) -> float:
        """Mean number of edges over the people of the survey."""
        wanted = (settings, intercept, choice)
        return next(float(g["mean_edges"]) for g in self.summary["graphs"] if tuple(g[name] for name in KEY) == wanted)

    def fit(self, settings: str, intercept: str) -> dict[str, Any]:
        """The record of one fit."""
        fits: list[dict[str, Any]] = self.summary["fits"]
        return next(fit for fit in fits if (fit["settings"], fit["intercept"]) == (settings, intercept))


def read_study(home: Path) -> DrugStudy:
    """Read the tables, and check that a single run wrote them all."""
    import pandas as pd

    again = "Run `run_drug` again; finished fits are kept."
    try:
        summary = json.loads((home / SUMMARY).read_bytes())
        versions = (summary["version"], summary["contextualdag"])
        digests = summary["tables"]
    except FileNotFoundError:
        raise PersistenceError(f"There are no results of the drug study in {home}. Run `run_drug` first.") from None
    except (OSError, ValueError, TypeError, KeyError) as error:
        raise PersistenceError(f"{home / SUMMARY} cannot be read ({error!r}). {again}") from error
    if versions != (VERSION, __version__):
        raise PersistenceError(
            f"The results in {home} are of version {versions[0]} of the study by contextualdag {versions[1]}; this is "
            f"version {VERSION} by {__version__}. {again}"
        )
    tables = {}
    for name, digest in digests.items():
        try:
            content = (home / name).read_bytes()
        except OSError as error:
            raise PersistenceError(f"{home / name} cannot be read ({error}). {again}") from error
        if hashlib.sha256(content).hexdigest() != digest:
            raise PersistenceError(f"{home / name} is not the table that {SUMMARY} was written with. {again}")
        tables[Path(name).stem] = pd.read_csv(io.BytesIO(content))
    return DrugStudy(summary, tables["graphs"], tables["sparsity"], tables["people"])


def _write_tables(home: Path, fits: list[DrugFit], data: "DrugConsumption", device: str, random_state: int) -> None:
    """Write the tables, then the summary with their digests, so that a reader notices if a run died in between."""
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
        explained = float(model.explained_.loc["mean", "means"])
        about = {"explained_by_means": explained, "varies": model.varies_, "noise": model.noise_}
        records.append(of_fit | _read_record(fit) | about)
        records[-1]["parameters"] = fit.parameters
        for choice in CHOICES[fit.settings]:
            chosen = model if choice == "own" else model.select(n_edges=within_path(model, GIVEN_EDGES))
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
        "given_edges": GIVEN_EDGES,
        "fits": records,
        "graphs": graphs,
        "tables": {file.name: hashlib.sha256(file.read_bytes()).hexdigest() for file in files},
    }
    write_file(home / SUMMARY, json.dumps(summary, indent=2, default=repr).encode())


def _marked(table: "pandas.DataFrame", key: dict[str, str]) -> "pandas.DataFrame":
    """The table with the columns that identify its model in front."""
    return table.assign(**key)[[*key, *table]]


def _count_edges(model: ContextualDAG, Z: "pandas.DataFrame") -> np.ndarray:
    counts: np.ndarray = np.bincount(model.edges(Z)["sample"], minlength=len(Z))
    return counts


def _read_record(fit: DrugFit) -> dict[str, Any]:
    try:
        record = json.loads(fit.record.read_bytes())
        return {"seconds": record["seconds"], "device": record["device"]}
    except (OSError, ValueError, TypeError, KeyError) as error:
        raise PersistenceError(f"{fit.record} cannot be read ({error!r}); delete it to fit its model again.") from error
