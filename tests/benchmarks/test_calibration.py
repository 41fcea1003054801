"""The benchmark of edge probabilities: its curves, bins and table, on results that are made up."""

import numpy as np
import pytest

from benchmarks.calibration import Result, bins, calibration_error, curve, directions, joins, learn, load, main, worst


@pytest.fixture
def results():
    rng = np.random.default_rng(0)
    truth = np.triu(rng.random((400, 5, 5)) < 0.3, 1) * 0.5
    noise = np.triu(rng.random((400, 5, 5)), 1)
    shares = np.where(truth != 0, 1 - 0.5 * noise, 0.5 * noise) * np.triu(np.ones((5, 5)), 1)
    own = truth * (rng.random((400, 5, 5)) < 0.9)
    return {"n1000": [Result(shares, (own != 0).astype(float), own, truth, truth[None, :100].repeat(4, 0))]}


def test_a_curve_is_that_of_its_points():
    x = np.linspace(0, 1, 1001)
    assert curve(x, x**2, [0, 0.5, 1]) == pytest.approx([-0.04, 0.21, 0.96], abs=0.06)
    assert curve(x, 1 - x, [0, 0.5, 1]) == pytest.approx([0.5] * 3, abs=0.01)  # never falls


def test_bins_compare_what_is_claimed_with_what_is_true():
    rng = np.random.default_rng(0)
    claimed = rng.random(20_000)
    honest, boastful = (rng.random(20_000) < claimed).astype(float), (rng.random(20_000) < claimed / 2).astype(float)
    assert calibration_error(claimed, honest) < 0.02 < 0.2 < calibration_error(claimed, boastful)
    assert [round(p, 2) for p, _, _ in bins(claimed, honest)] == pytest.approx(np.arange(0.05, 1, 0.1), abs=0.01)
    assert bins(claimed[:50], honest[:50]) == []


def test_directions_are_those_of_edges_that_are_there():
    truth = np.zeros((2, 2, 2))
    truth[0, 0, 1], truth[1, 1, 0] = 0.5, -0.5
    shares = np.tile([[0.0, 0.8], [0.2, 0.0]], (2, 1, 1))
    claimed, right = directions(Result(shares, shares, truth, truth, truth[None]))
    assert claimed.tolist() == pytest.approx([0.963] * 2)
    assert right.tolist() == [1, 0]
    nothing = Result(shares, shares, truth, np.zeros((2, 2, 2)), truth[None])
    assert len(directions(nothing)[0]) == 0
    assert np.isnan(worst(np.zeros(5), np.zeros(5)))


def test_curves_rise_and_directions_are_even(results):
    learned = learn(results)
    assert (np.diff(learned["JOINED"]) >= 0).all()
    assert learned["JOINED"][-1] > 0.9 > 0.1 > learned["JOINED"][0]
    assert learned["FORWARD"][5] == 0.5


def test_report_and_picture(results, tmp_path, capsys):
    (one,) = results["n1000"]
    np.savez_compressed(tmp_path / "n1000-0.npz", **vars(one))
    assert list(load(tmp_path)) == ["n1000"]
    main(["report", str(tmp_path), "--figure", str(tmp_path / "curves.png")])
    shown = capsys.readouterr().out
    assert "| n1000 | 1 |" in shown
    head, _, row = ([cell.strip() for cell in line.strip("| ").split(" | ")] for line in shown.splitlines()[:3])
    told = dict(zip(head, row, strict=True))
    claimed, true = joins(one.probabilities), joins((one.truth != 0).astype(float))
    possible = claimed > 0.1
    assert told["of pairs above 0.1"] == f"{calibration_error(claimed[possible], true[possible]):.4f}"
    direction, right = directions(one)
    assert told["Brier score of directions"] == f"{((direction - right) ** 2).mean():.4f}"
    assert told["calibration error of directions"] == f"{calibration_error(direction, right):.4f}"
    assert (tmp_path / "curves.png").stat().st_size > 5000
    main(["learn", str(tmp_path)])
    assert "JOINED = (" in capsys.readouterr().out
