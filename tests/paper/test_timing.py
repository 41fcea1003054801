"""Times: measured once, kept in a table, and drawn from it alone."""

import pandas as pd
import pytest
import torch
from matplotlib.figure import Figure

from contextualdag.errors import InvalidParameterError, PersistenceError
from contextualdag.paper import timing
from contextualdag.paper.timing import COLUMNS, measure, read_table, sizes
from contextualdag.paper.timing_figures import draw_times, write_timing_figure

pytestmark = pytest.mark.slow


@pytest.fixture
def small(monkeypatch):
    """Sizes that take no time."""
    cells = ((20, 20), (40, 20))
    monkeypatch.setattr(timing, "QUICK_CELLS", {"n": cells, "p": ()})
    monkeypatch.setattr(timing, "CPU_CELLS", cells)


def test_grids():
    assert sizes("n", "cpu") == tuple((n, 20) for n in (1000, 3250, 5500, 7750, 10_000))
    assert sizes("p", "cpu") == tuple((1000, p) for p in (10, 20, 30, 40, 50, 100))
    for along in ("n", "p"):
        assert len(sizes(along, "cpu", quick=True)) == 2
        assert all(cell in timing.PUBLISHED for cell in sizes(along, "cpu", quick=True))


def test_measured_sizes_are_kept(small, tmp_path, monkeypatch):
    file, calls = tmp_path / "new" / "timings.csv", []
    measure(file, "n", "cpu", quick=True, begin=lambda *call: calls.append(call))
    assert calls == [(0, "n = 20, p = 20"), (1, "n = 40, p = 20")]
    table = read_table(file)
    assert table["n"].tolist() == [20, 40]
    assert (table[["order", "logdet"]] > 0).all(axis=None)
    assert table[["baseline", "published"]].isna().all(axis=None)
    assert set(table["device"]) == {timing.device_name(torch.device("cpu"))}

    # One size is missing, as after Ctrl-C: it alone is measured.
    table[1:].to_csv(file, index=False)
    calls.clear()
    measure(file, "n", "cpu", quick=True, begin=lambda *call: calls.append(call))
    assert calls == [(1, "n = 20, p = 20")]
    again = read_table(file)
    assert again["n"].tolist() == [20, 40]
    assert again["order"][1] == table["order"][1]


def test_times_of_two_devices_are_not_mixed(small, tmp_path):
    file = tmp_path / "timings.csv"
    row = {"n": 20, "p": 20, "order": 0.1, "logdet": 0.2, "baseline": None, "published": None}
    pd.DataFrame([row | {"device": "Another", "torch": "2"}], columns=COLUMNS).to_csv(file, index=False)
    with pytest.raises(PersistenceError, match=r"has times of Another, and this is .* use another folder"):
        measure(file, "n", "cpu", quick=True)


@pytest.mark.parametrize("content", ["", "n,p\n1,2\n", f"{','.join(COLUMNS)}\n1,2,x,4,5,6,d,t\n", b"\xff\xfe\x00"])
def test_damaged_tables_are_named(content, tmp_path):
    file = tmp_path / "timings.csv"
    file.write_bytes(content.encode() if isinstance(content, str) else content)
    with pytest.raises(PersistenceError, match=r"timings\.csv .* delete it to measure again"):
        read_table(file)


def test_devices_that_are_not_there():
    with pytest.raises(InvalidParameterError, match="no device 'tpu'"):
        sizes("n", "tpu")
    with pytest.raises(InvalidParameterError, match="PyTorch cannot compute on the device 'meta' here"):
        sizes("n", "meta")
    if not torch.cuda.is_available():
        with pytest.raises(InvalidParameterError, match="no CUDA device"):
            sizes("n", "cuda")


def test_the_figure_comes_from_the_table(tmp_path):
    rows = [
        {"n": 1000, "p": 20, "order": 0.1, "logdet": 0.2, "baseline": 9.0, "published": 6.3},
        {"n": 3250, "p": 20, "order": 0.2, "logdet": 0.4, "baseline": None, "published": 10.2},
        {"n": 1000, "p": 50, "order": 0.3, "logdet": 0.6, "baseline": None, "published": None},
    ]
    table = pd.DataFrame([row | {"device": "This one", "torch": "2"} for row in rows], columns=COLUMNS)
    table.to_csv(tmp_path / "timings-n.csv", index=False)
    paths = write_timing_figure(tmp_path / "timings-n.csv", "n")
    assert [path.name for path in paths] == ["timings-n.csv", "timings-n.png", "timings-n.svg"]
    lines = {line.get_label(): line for line in draw_times(table, "n", Figure().subplots()).get_lines()}
    assert lines["order"].get_xydata().tolist() == [[1000, 0.1], [3250, 0.2]]
    assert lines["Algorithm 1 as batched inverses"].get_xydata().tolist() == [[1000, 9.0]]
