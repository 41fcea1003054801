"""From cells to rows to figures."""

import numpy as np
import pandas as pd
import pytest
from matplotlib.figure import Figure as Canvas

from contextualdag import ContextualDAG, FixedDAG
from contextualdag.errors import InvalidInputError, InvalidParameterError
from contextualdag.paper import recovery
from contextualdag.paper.recovery import (
    DATA_SETS,
    ESTIMATORS,
    FIGURES,
    METHODS,
    Figure,
    cell_version,
    cells_of,
    figure,
    group_by_size,
    method_version,
    run_cell,
    run_cells,
    score_graphs,
    simulate,
)
from contextualdag.paper.recovery_figures import draw, published, summarise, with_published, write_figure

pytestmark = pytest.mark.slow

SMALL = Figure("varying", "erdos-renyi", "n", "Small", (60, 90), (5,), (2,))


def test_the_paper_has_fifty_cells():
    sizes = [
        (cell["design"], cell["graph"], cell["n"], cell["p"], cell["m"])
        for name in FIGURES
        for cell in cells_of(figure(name), ["fixed"], 1)
    ]
    assert len(sizes) == 50
    assert len(cells_of(figure("er-n"), list(METHODS), DATA_SETS)) == 10 * len(METHODS) * DATA_SETS
    table = published()
    known = set(table[["design", "graph", "n", "p", "m"]].itertuples(index=False, name=None))
    assert set(sizes) == known


def test_published_means_are_those_of_the_paper():
    table = published().set_index(["design", "graph", "n", "p", "m", "method"])
    assert table.loc[("varying", "erdos-renyi", 1000, 20, 2, "contextual"), "f1"] == pytest.approx(0.803, abs=5e-4)
    assert table.loc[("varying", "scale-free", 10_000, 20, 5, "sorted-truth"), "f1"] == pytest.approx(0.887, abs=5e-4)
    assert table.loc[("fixed", "erdos-renyi", 1000, 20, 2, "fixed"), "f1"] == pytest.approx(0.860, abs=5e-4)


def test_methods_see_the_same_data():
    first, second = cells_of(SMALL, ["fixed", "clustered"], 1)[:2]
    (data, seed), (other, other_seed) = simulate(first), simulate(second)
    assert seed == other_seed
    assert (data.X == other.X).all()
    assert simulate(first | {"data_set": 1})[1] != seed
    graphs = simulate(first | {"design": "fixed"})[0].W
    assert (graphs == graphs[0]).all()


@pytest.fixture(scope="module")
def results():
    cells = cells_of(SMALL, ["fixed", "clustered", "sorted-fixed", "sorted-truth"], 2)
    return pd.DataFrame([cell | row for cell in cells for row in run_cell(cell, device="cpu")])


def test_rows_of_a_cell(results):
    assert set(results["choice"]) == {"default", "given"}
    assert len(results) == 2 * 2 * 4 * 2
    assert (results["acyclic"] == 1).all()
    assert results["f1"].between(0, 1).all()
    given = results[results["choice"] == "given"]
    assert given["n_edges"].between(0.5, 10).all()


@pytest.mark.long
@pytest.mark.parametrize("method", ["ours", "contextual"])
def test_contextual_methods_are_methods_too(method):
    cell = {"design": "varying", "graph": "scale-free", "n": 60, "p": 5, "m": 2, "data_set": 0, "method": method}
    assert [row["choice"] for row in run_cell(cell, device="cpu")] == ["default", "given"]


def test_summary_has_means_and_errors(results):
    table = summarise(results, SMALL)
    one = table[(table["n"] == 60) & (table["method"] == "fixed") & (table["choice"] == "given")].iloc[0]
    mine = results[(results["n"] == 60) & (results["method"] == "fixed") & (results["choice"] == "given")]["f1"]
    assert one["f1"] == pytest.approx(mine.mean())
    assert one["f1_se"] == pytest.approx(mine.std(ddof=1) / 2**0.5)
    assert one["data_sets"] == 2
    with pytest.raises(InvalidInputError, match="no results for this figure"):
        summarise(results, figure("sf-n"))


def test_published_numbers_stand_beside_ours():
    row = {"design": "varying", "graph": "erdos-renyi", "n": 1000, "p": 20, "m": 2, "method": "contextual"}
    row |= {"f1": 0.5, "f1_se": 0.03}
    beside = with_published(pd.DataFrame([row, row | {"method": "ours"}]))
    assert beside["paper_f1"].tolist() == [pytest.approx(0.803, abs=5e-4), pytest.approx(float("nan"), nan_ok=True)]
    together = (0.03**2 + beside["paper_f1_se"][0] ** 2) ** 0.5
    assert beside["paper_gap"][0] == pytest.approx((0.5 - beside["paper_f1"][0]) / together)


def test_figure_and_table_are_written(results, tmp_path):
    paths = write_figure("small", results, SMALL, tmp_path / "new")
    assert [path.name for path in paths] == ["small.csv", "small.png", "small.svg"]
    assert len(pd.read_csv(paths[0])) == 2 * 4 * 2
    assert paths[1].read_bytes().startswith(b"\x89PNG")
    canvas = draw(summarise(results, SMALL), SMALL)
    assert isinstance(canvas, Canvas)
    assert len(canvas.axes) == 3


def test_unknown_names_are_listed():
    with pytest.raises(InvalidParameterError, match=r"no figure 'er'. There are: er-n, er-p, sf-n, sf-p, fixed-n"):
        figure("er")
    with pytest.raises(InvalidParameterError, match=r"no method \['best'\]"):
        cells_of(SMALL, ["best"], 1)


def test_groups_have_one_method_and_one_size_and_fit_the_memory(monkeypatch):
    cells = cells_of(Figure("varying", "erdos-renyi", "n", "Small", (60, 90), (4,), (2,)), ["fixed", "contextual"], 5)
    groups = group_by_size(cells)
    assert [len(group) for group in groups] == [5, 5, 5, 5]
    assert all(len({(cell["method"], cell["n"]) for cell in group}) == 1 for group in groups)
    monkeypatch.setattr(recovery, "MOST_ENTRIES", 3 * 60 * 16)
    assert [len(group) for group in group_by_size(cells)] == [3, 2, 3, 2, 2, 2, 1, 2, 2, 1]


def test_side_by_side_gives_the_rows_of_one_by_one():
    cells = cells_of(Figure("varying", "erdos-renyi", "n", "Small", (60,), (5,), (2,)), ["sorted-truth", "clustered"], 2)
    alone = [run_cell(cell, device="cpu") for cell in cells]
    for found, expected in zip(run_cells(cells, device="cpu"), alone, strict=True):
        for row, other in zip(found, expected, strict=True):
            assert {k: v for k, v in row.items() if k != "fit_seconds"} == {
                k: v for k, v in other.items() if k != "fit_seconds"
            }


def test_graphs_with_cycles_are_scored_too():
    two = np.array([[[0, 1.0], [1.0, 0]]])
    scores = score_graphs(np.triu(two), two)
    assert scores["acyclic"] == 0
    assert scores["cpdag_shd"] is None
    assert scores["shd"] == 1


def test_the_version_of_a_result_follows_the_settings_of_its_method(monkeypatch):
    assert list(ESTIMATORS) == list(METHODS)
    before = {method: method_version(method) for method in METHODS}
    assert len({version.rsplit(" ", 1)[1] for version in before.values()}) == len(METHODS)
    assert cell_version({"method": "fixed", "n": 60}) == before["fixed"]
    changes = {
        "contextual": (lambda: ContextualDAG.paper(n_budgets=21),),
        "sorted-fixed": (ESTIMATORS["sorted-fixed"][0], lambda: FixedDAG.paper(cut=0.2)),
    }
    for method, changed in changes.items():
        monkeypatch.setitem(ESTIMATORS, method, changed)
    method_version.cache_clear()
    try:
        after = {method: method_version(method) for method in METHODS}
    finally:
        monkeypatch.undo()
        method_version.cache_clear()
    assert {method for method in METHODS if after[method] != before[method]} == set(changes)


def test_device_and_progress_bars_do_not_change_the_version(monkeypatch):
    before = method_version("ours")
    monkeypatch.setitem(ESTIMATORS, "ours", (lambda: ContextualDAG(device="cpu", verbose=False, random_state=3),))
    method_version.cache_clear()
    try:
        assert method_version("ours") == before
    finally:
        method_version.cache_clear()
