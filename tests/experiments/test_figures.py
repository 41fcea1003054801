"""From cells to rows to figures."""

import pandas as pd
import pytest
from matplotlib.figure import Figure as Canvas

from contextualdag.errors import InvalidInputError, InvalidParameterError
from contextualdag.experiments.designs import DATA_SETS, FIGURES, METHODS, Figure, cells_of, figure
from contextualdag.experiments.figures import draw, published, summarise, with_published, write_figure
from contextualdag.experiments.run import run_cell, simulate

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
    assert set(results["choice"]) == {"default", "told"}
    assert len(results) == 2 * 2 * 4 * 2
    assert (results["acyclic"] == 1).all()
    assert results["f1"].between(0, 1).all()
    told = results[results["choice"] == "told"]
    assert told["n_edges"].between(0.5, 10).all()


@pytest.mark.parametrize("method", ["ours", "contextual"])
def test_contextual_methods_are_methods_too(method):
    cell = {"design": "varying", "graph": "scale-free", "n": 60, "p": 5, "m": 2, "data_set": 0, "method": method}
    assert [row["choice"] for row in run_cell(cell, device="cpu")] == ["default", "told"]


def test_summary_has_means_and_errors(results):
    table = summarise(results, SMALL)
    one = table[(table["n"] == 60) & (table["method"] == "fixed") & (table["choice"] == "told")].iloc[0]
    mine = results[(results["n"] == 60) & (results["method"] == "fixed") & (results["choice"] == "told")]["f1"]
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
