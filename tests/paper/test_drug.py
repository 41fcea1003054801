"""The drug study: its mechanics on a made-up file with tiny models, its contexts on the real one."""

import hashlib
import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from contextualdag.datasets import drug_consumption, load_drug_consumption
from contextualdag.datasets.drug_consumption import PUBLISHED_HIGH, PUBLISHED_LOW
from contextualdag.errors import InvalidParameterError, PersistenceError
from contextualdag.metrics import shd
from contextualdag.paper import drug
from contextualdag.paper.drug import DrugFit, read_study, run_drug
from contextualdag.paper.drug_report import compare_edges, comparison, describe, write_drug_report

pytestmark = pytest.mark.long

REAL = Path(__file__).parents[3] / "shared" / "datasets" / "drug_consumption.data"
PUBLISHED_SHA256 = drug_consumption._SHA256
TINY = {"n_members": 1, "hidden_layers": (4,), "n_budgets": 4, "max_epochs": 3, "patience": 1}
TABLES = ["graphs.csv", "paths.csv", "people.csv", "sparsity.csv"]


@pytest.fixture(scope="module")
def small():
    """A made-up file that counts as the published one, and tiny models."""
    rng = np.random.default_rng(0)
    ids = [i for i in range(1, 1889) if i not in (294, 299, 742)]
    scores = rng.normal(size=(1885, 12)).round(1)
    levels = 3 + 2 * rng.normal(size=(1885, 19))
    levels[:, 1:] += 0.9 * levels[:, :1] * (scores[:, -1:] > 0)
    classes = levels.clip(0, 6).astype(int)
    rows = [[i, *score, *(f"CL{c}" for c in used)] for i, score, used in zip(ids, scores, classes, strict=True)]
    content = "\n".join(",".join(str(cell) for cell in row) for row in rows).encode()
    values = drug_consumption._parse(content, "made up", 1885)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(drug_consumption, "_SHA256", hashlib.sha256(values.astype("<f8").tobytes()).hexdigest())
        patch.setattr(drug, "SETTINGS", dict.fromkeys(drug.SETTINGS, TINY))
        patch.setattr(drug, "GRID_POINTS", 5)
        yield content


@pytest.fixture(scope="module")
def finished(small, tmp_path_factory):
    """A folder with a whole study, the path of its data, and what was said."""
    folder = tmp_path_factory.mktemp("study")
    data = folder / "drug_consumption.data"
    data.write_bytes(small)
    said = []
    run_drug(folder, data=data, device="cpu", say=said.append)
    return folder, data, said


@pytest.fixture
def never_fit(monkeypatch):
    def refuse(*_):
        raise AssertionError("a finished model was fitted again")

    monkeypatch.setattr(DrugFit, "fit", refuse)


def test_a_run_leaves_models_and_tables_and_nothing_else(finished):
    folder, _, said = finished
    assert set(TABLES) | {"summary.json", "models"} <= {path.name for path in (folder / "drug").iterdir()}
    models = list((folder / "drug" / "models").iterdir())
    assert len(models) == 8  # four folders and their records, no checkpoint
    assert {path.suffix for path in models} == {"", ".json"}
    assert [path for path in folder.rglob(".*") if path.name != ".lock"] == []
    assert [line[:10] for line in said] == ["Fit 1 of 4", "Fit 2 of 4", "Fit 3 of 4", "Fit 4 of 4", "Writing th"]


def test_tables_describe_all_graphs(finished):
    study = read_study(finished[0] / "drug")
    assert len(study.summary["graphs"]) == 6
    assert len(study.sparsity) == 6 * 5**2
    assert study.people["people"].sum() == 1885
    assert set(study.graphs["context"]) <= {"low", "high"}
    assert set(study.variants()) == {("paper", "given"), ("default", "given"), ("default", "own")}
    for graph in study.summary["graphs"]:
        assert 0 <= graph["mean_edges"] <= 153


def test_finished_fits_are_found_again(finished, never_fit):
    folder, data, _ = finished
    files = [folder / "drug" / name for name in [*TABLES, "summary.json"]]
    before = [file.read_bytes() for file in files]
    said = []
    run_drug(folder, data=data, device="cpu", quick=True, say=said.append)
    assert sum("already finished" in line for line in said) == 4  # quick throws nothing away
    assert [file.read_bytes() for file in files] == before


@pytest.mark.parametrize("change", ["seed", "settings", "study", "library", "record"])
def test_other_fits_are_not_mistaken_for_these(finished, never_fit, monkeypatch, change, tmp_path):
    folder, data, _ = finished
    if change == "settings":
        monkeypatch.setattr(drug, "SETTINGS", dict.fromkeys(drug.SETTINGS, TINY | {"n_budgets": 5}))
    elif change == "study":
        monkeypatch.setattr(drug, "VERSION", drug.VERSION + 1)
    elif change == "library":
        monkeypatch.setattr(drug, "__version__", "another")
    elif change == "record":  # a model that was saved by a run which died before it said so
        hidden = next((folder / "drug" / "models").glob("default-constant-*.json"))
        hidden.rename(tmp_path / hidden.name)
    try:
        with pytest.raises(AssertionError, match="fitted again"):
            run_drug(folder, data=data, device="cpu", random_state=int(change == "seed"))
    finally:
        if change == "record":
            (tmp_path / hidden.name).rename(hidden)


def test_one_graph_for_all_is_said_to_be_selected(finished):
    study = read_study(finished[0] / "drug")
    for fit in study.summary["fits"]:
        fit["varies"] = fit["intercept"] == "contextual" or fit["settings"] == "paper"
    page = "\n".join(describe(study, comparison(study)))
    assert page.count("do not predict clearly better than one for all people") == 1
    assert "which is selected: one mean for all." in page


def test_what_substances_are_divided_by_is_that_of_the_fits(finished):
    study = read_study(finished[0] / "drug")
    for fit in study.summary["fits"]:
        fit["noise"] = "equal" if fit["settings"] == "paper" or fit["intercept"] == "constant" else "unequal"
        fit["explained_by_means"] = 0.123
    page = "\n".join(describe(study, comparison(study)))
    one, each = "by one common number, their root mean square", "each by the scale of its noise"
    assert f"with our defaults {one} or {each}; with the paper's settings {one}." in page
    assert "explains 12 % of the variance of held-out rows before any edge" in page


def test_quick_leaves_the_papers_settings_out(small, tmp_path):
    data = tmp_path / "drug_consumption.data"
    data.write_bytes(small)
    run_drug(tmp_path, data=data, device="cpu", quick=True)
    study = read_study(tmp_path / "drug")
    assert study.variants() == [("default", "given"), ("default", "own")]
    assert "the paper's own settings were not fitted" in describe(study, comparison(study))[-1]


def test_figures_are_drawn_from_the_tables_alone(finished, never_fit):
    folder = finished[0]
    hidden = (folder / "drug" / "models").rename(folder / "elsewhere")
    try:
        files = write_drug_report(folder)
    finally:
        hidden.rename(folder / "drug" / "models")
    assert {path.name for path in files} >= {"sparsity.png", "sparsity.svg", "graphs-paper.png", "graphs-default.svg"}
    assert (folder / "drug" / "graphs-paper.png").read_bytes().startswith(b"\x89PNG")
    table = pd.read_csv(folder / "drug" / "comparison.csv")
    published = table[table["published"]].groupby(["settings", "intercept", "choice", "context"]).size()
    assert published.unstack()[["low", "high"]].to_numpy().tolist() == [[3, 11]] * 6
    page = (folder / "drug" / "drug.md").read_text()
    assert page.count("a mean that follows the scores explains") == 2
    for picture in ("sparsity.png", "graphs-paper.png", "graphs-default.png"):
        assert f"]({picture})" in page


def test_no_results_say_so(tmp_path):
    with pytest.raises(PersistenceError, match="no results of the drug study"):
        write_drug_report(tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_tables_of_two_runs_are_not_mixed(finished, tmp_path):
    home = tmp_path / "drug"
    home.mkdir()
    for name in [*TABLES, "summary.json"]:
        (home / name).write_bytes((finished[0] / "drug" / name).read_bytes())
    table = home / "graphs.csv"
    table.write_bytes(table.read_bytes() + b"paper,constant,given,low,LSD,VSA,1.0\n")
    with pytest.raises(PersistenceError, match=r"graphs\.csv is not the table that summary\.json was written with"):
        write_drug_report(tmp_path)
    table.unlink()
    with pytest.raises(PersistenceError, match="cannot be read"):
        write_drug_report(tmp_path)
    summary = json.loads((home / "summary.json").read_bytes())
    (home / "summary.json").write_text(json.dumps(summary | {"contextualdag": "0.0.1"}))
    with pytest.raises(PersistenceError, match=r"by contextualdag 0\.0\.1; this is"):
        write_drug_report(tmp_path)
    (home / "summary.json").write_text("{")
    with pytest.raises(PersistenceError, match=r"summary\.json cannot be read"):
        write_drug_report(tmp_path)
    assert {path.name for path in home.iterdir()} == {*TABLES, "summary.json"} - {"graphs.csv"}


@pytest.mark.parametrize("seed", [None, -1, 1.0, True])
def test_seeds_must_be_whole_numbers(tmp_path, seed):
    with pytest.raises(InvalidParameterError, match="'random_state' parameter of run_drug"):
        run_drug(tmp_path, random_state=seed)
    assert list(tmp_path.iterdir()) == []


def test_comparison_by_hand():
    published = [("a", "b"), ("b", "c"), ("c", "d")]
    ours = {("a", "b"): 0.5, ("c", "b"): -0.2, ("a", "d"): 0.1}
    rows = compare_edges(published, ours)
    found = [(row["source"], row["target"], row["published"], row["weight"], row["verdict"]) for row in rows]
    assert found == [
        ("a", "b", True, 0.5, "same"),
        ("b", "c", True, -0.2, "reversed"),
        ("c", "d", True, None, "missing"),
        ("a", "d", False, 0.1, "extra"),
    ]
    graphs = np.zeros((2, 1, 4, 4))
    for graph, edges in zip(graphs[:, 0], (published, ours), strict=True):
        for source, target in edges:
            graph["abcd".index(source), "abcd".index(target)] = 1
    assert shd(*graphs) == sum(row["verdict"] != "same" for row in rows) == 3
    assert compare_edges([], {}) == []


@pytest.mark.skipif(not REAL.exists(), reason=f"the published file is not at {REAL}")
def test_contexts_of_the_published_file(monkeypatch):
    monkeypatch.setattr(drug_consumption, "_SHA256", PUBLISHED_SHA256)  # not the made-up file of the tests above
    data = load_drug_consumption(REAL)
    contexts = data.Z.quantile(list(drug.QUANTILES.values()))
    assert contexts.to_numpy().tolist() == [[-1.32828, -1.18084], [1.23461, 1.2247]]
    assert {name for edge in PUBLISHED_LOW + PUBLISHED_HIGH for name in edge} <= set(data.X)
