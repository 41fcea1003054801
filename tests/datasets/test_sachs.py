"""The real file where it is at hand, and a made-up one of the same shape that takes its place."""

import hashlib
import subprocess
import sys
from dataclasses import FrozenInstanceError
from importlib.machinery import ModuleSpec
from importlib.util import find_spec
from pathlib import Path

import networkx as nx
import numpy as np
import pandas as pd
import pytest

from contextualdag.datasets import load_sachs, sachs
from contextualdag.errors import InvalidInputError, InvalidParameterError, MissingPackageError, PersistenceError

PROTEINS = ["praf", "pmek", "plcg", "PIP2", "PIP3", "p44/42", "pakts473", "PKA", "PKC", "P38", "pjnk"]
SIZES = {"cd3cd28": 853, "icam2": 902, "aktinhib": 911, "g0076": 723, "psitect": 810}
SIZES |= {"u0126": 799, "ly": 848, "pma": 913, "b2camp": 707}
TARGETS = {"aktinhib": {"pakts473"}, "g0076": {"PKC"}, "psitect": {"PIP2"}, "u0126": {"pmek"}}
TARGETS |= {"ly": {"PIP3", "pakts473"}, "pma": {"PKC"}, "b2camp": {"PKA"}}


def folder_of_cdt():
    """Where the real file may be: in an installed cdt, or in a copy beside the checkout."""
    spec = find_spec("cdt")
    places = [] if spec is None else [Path(place) for place in spec.submodule_search_locations or []]
    places.append(Path(__file__).parents[3] / "cdt" / "cdt")
    found = [place / "data" / "resources" for place in places if (place / "data" / "resources" / sachs._FILE).exists()]
    return found[0] if found else None


REAL = folder_of_cdt()
real_file = pytest.mark.skipif(
    REAL is None, reason="cyto_full_data.csv of cdt is not here: pip install --no-deps cdt==0.6.0"
)


def made_up():
    values = np.exp(np.random.default_rng(0).normal(4, 1, size=(7466, 11))).round(2) + 1
    return pd.DataFrame(values, columns=PROTEINS)


@pytest.fixture
def published(monkeypatch, tmp_path):
    """A made-up file that counts as the published one, in a folder of its own."""
    table = made_up()
    monkeypatch.setattr(sachs, "_SHA256", hashlib.sha256(table.to_numpy().astype("<f8").tobytes()).hexdigest())
    file = tmp_path / "cyto_full_data.csv"
    table.to_csv(file, index=False)
    return file


def install(monkeypatch, folder):
    """Let a package cdt be found in `folder`; None: nowhere."""
    spec = None
    if folder is not None:
        spec = ModuleSpec("cdt", None, is_package=True)
        spec.submodule_search_locations = [str(folder)]
    monkeypatch.setattr("importlib.util.find_spec", lambda name: spec if name == "cdt" else None)


def test_a_file_or_its_folder(published):
    raw = load_sachs(published, log=False)
    assert raw.X.equals(made_up())
    assert load_sachs(str(published.parent), log=False).X.equals(raw.X)
    np.testing.assert_array_equal(load_sachs(published).X, np.log(raw.X))


def test_conditions_and_interventions(published):
    data = load_sachs(published)
    column = data.condition["condition"]
    assert column.cat.categories.tolist() == list(SIZES)
    assert column.tolist() == [name for name, size in SIZES.items() for _ in range(size)]
    assert list(data.interventions) == PROTEINS
    for name in SIZES:
        rows = data.interventions[column == name].drop_duplicates()
        assert len(rows) == 1
        assert {protein for protein in PROTEINS if rows[protein].item()} == TARGETS.get(name, set())
    with pytest.raises(FrozenInstanceError):
        data.X = None


def test_consensus(published):
    data = load_sachs(published)
    graph = nx.DiGraph(data.consensus)
    assert set(graph) == set(PROTEINS)
    assert graph.number_of_edges() == len(data.consensus) == 18
    assert [sorted(cycle) for cycle in nx.simple_cycles(graph)] == [["PIP2", "PIP3", "plcg"]]
    data.consensus.clear()
    assert len(load_sachs(published).consensus) == 18


def test_the_installed_cdt_is_not_imported(published, monkeypatch, tmp_path):
    package = tmp_path / "cdt"
    (package / "data" / "resources").mkdir(parents=True)
    (package / "__init__.py").write_text("raise ImportError('too slow')")
    install(monkeypatch, package)
    with pytest.raises(
        PersistenceError, match=r"cdt at .*/cdt has no data/resources/cyto_full_data\.csv\. Try: pip install"
    ):
        load_sachs()
    published.rename(package / "data" / "resources" / "cyto_full_data.csv")
    assert load_sachs().X.shape == (7466, 11)
    assert "cdt" not in sys.modules


def test_without_cdt(monkeypatch):
    install(monkeypatch, None)
    with pytest.raises(MissingPackageError, match=r"pip install --no-deps cdt==0\.6\.0 .* or give the place .* as 'path'"):
        load_sachs()


def test_missing_file(tmp_path):
    with pytest.raises(PersistenceError, match=r"There is no file .*/cyto_full_data\.csv; 'path' must be"):
        load_sachs(tmp_path)
    with pytest.raises(PersistenceError, match=r"There is no file .*/other\.csv"):
        load_sachs(tmp_path / "other.csv")
    with pytest.raises(PersistenceError, match="There is no home folder for ~nobody-of-this-name/a"):
        load_sachs("~nobody-of-this-name/a")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda table: table[PROTEINS[::-1]], r"must have the columns praf, .*in this order\. Got pjnk, P38"),
        (lambda table: table[:-1], r"has 7465 rows, 7466 were expected\. It seems to be truncated"),
        (lambda table: pd.concat([table, table[:1]]), r"has 7467 rows, 7466 were expected\.$"),
        (lambda table: table.replace({"PKA": {table["PKA"][0]: "much"}}), "must hold numbers only .*much"),
        (lambda table: table.assign(PKC=[*table["PKC"][:-1], 0]), r"Row 7466, column PKC of .* Got 0 instead"),
        (lambda table: table.assign(P38=[np.nan, *table["P38"][1:]]), r"Row 1, column P38 of .* Got nan instead"),
        (lambda table: table[::-1], r"another order of rows .* must be \w{64}\. Got \w{64} instead"),
    ],
)
def test_another_file(published, change, message):
    change(made_up()).to_csv(published, index=False)
    with pytest.raises(InvalidInputError, match=message):
        load_sachs(published)


@pytest.mark.parametrize("content", [b"", b"\xff\xfe\x00\x81", b'a,b\n1,2,3\n"'])
def test_not_a_table(tmp_path, content):
    file = tmp_path / "cyto_full_data.csv"
    file.write_bytes(content)
    with pytest.raises(InvalidInputError, match=r"is not a table in CSV format|must have the columns"):
        load_sachs(file)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"path": 3}, "The 'path' parameter of load_sachs must be a str or a path. Got 3 instead"),
        ({"log": "yes"}, "The 'log' parameter of load_sachs must be a bool. Got 'yes' instead"),
    ],
)
def test_bad_arguments(arguments, message):
    with pytest.raises(InvalidParameterError, match=message):
        load_sachs(**arguments)


@real_file
def test_the_real_file():
    data = load_sachs(REAL, log=False)
    assert data.X.shape == (7466, 11)
    assert data.X.iloc[0].tolist() == [26.4, 13.2, 8.82, 18.3, 58.8, 6.61, 17.0, 414.0, 17.0, 44.9, 40.0]
    target = pd.read_csv(REAL / "cyto_full_target.csv")
    assert sorted(data.consensus) == sorted(zip(target["Cause"], target["Effect"], strict=True))


@real_file
def test_blocks_of_the_real_file_are_the_conditions():
    data = load_sachs(REAL)
    # Psitectorigenin lowers PIP2 below its mean in every other condition.
    means = data.X["PIP2"].groupby(data.condition["condition"], observed=True).mean()
    assert means.idxmin() == "psitect"
    # Where a block begins, the cells jump: a boundary moved by 40 rows fits worse.
    ends = np.cumsum(list(SIZES.values()))[:-1]
    for end in ends:

        def spread(cut, end=end):
            rows = data.X.to_numpy()[end - 400 : end + 400]
            parts = np.split(rows, [cut - end + 400])
            return sum(np.square(part - part.mean(0)).sum() for part in parts)

        assert spread(end) < min(spread(end - 40), spread(end + 40))


def test_import_without_pandas():
    code = "import sys, contextualdag.datasets; sys.exit('pandas' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0  # noqa: S603 - our own code
