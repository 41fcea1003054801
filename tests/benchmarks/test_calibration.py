"""The benchmark of edge probabilities: its formulas, bins and table, on results that are made up."""

import numpy as np
import pytest

from benchmarks.calibration import (
    Result,
    bins,
    calibration_error,
    directions,
    joins,
    learn,
    load,
    main,
    random_design,
    worst,
)
from contextualdag.datasets import make_varying_dag


@pytest.fixture
def results():
    rng = np.random.default_rng(0)
    truth = np.triu(rng.random((400, 5, 5)) < 0.3, 1) * 0.5
    noise = np.triu(rng.random((400, 5, 5)), 1)
    shares = np.where(truth != 0, 1 - 0.5 * noise, 0.5 * noise) * np.triu(np.ones((5, 5)), 1)
    own = truth * (rng.random((400, 5, 5)) < 0.9)
    found = Result(
        shares,
        (own != 0).astype(float),
        own,
        truth,
        truth[None, :100].repeat(4, 0),
        np.ones(5),
        np.array(0.0),
        np.array(0.0),
    )
    return {"n1000": [found]}


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
    rest = truth[None], np.ones(2), np.array(0.0), np.array(0.0)
    claimed, right = directions(Result(shares, shares, truth, truth, *rest))
    assert claimed.tolist() == [claimed[0]] * 2
    assert 0.8 < claimed[0] < 1
    assert right.tolist() == [1, 0]
    nothing = Result(shares, shares, truth, np.zeros((2, 2, 2)), *rest)
    assert len(directions(nothing)[0]) == 0
    assert np.isnan(worst(np.zeros(5), np.zeros(5)))


def test_more_shares_make_edges_and_directions_more_probable(results):
    learned = learn(results)
    of_evidence = learned["OF_HALVES, OF_MEMBERS, OF_SIZE, OF_UNEQUAL_NOISE, CONSTANT"]
    assert min(of_evidence[:2]) > 0
    assert min(learned["FORWARD_OF_HALVES, FORWARD_OF_MEMBERS, IN_ONE_ORDER"][:2]) > 0


def test_random_designs_can_be_drawn():
    designs = [random_design(seed) for seed in range(50)]
    assert designs[3] == random_design(3)
    assert min(n for n, _ in designs) < 350 < 1800 < max(n for n, _ in designs)
    for seed, (n, design) in enumerate(designs[:12]):
        assert make_varying_dag(n, random_state=seed, **design).X.shape == (n, design["n_nodes"])


def test_report_and_picture(results, tmp_path, capsys):
    (one,) = results["n1000"]
    for name in ("n1000-0", "random-7"):
        np.savez_compressed(tmp_path / f"{name}.npz", **vars(one))
    assert list(load(tmp_path)) == ["n1000", "random"]
    main(["report", str(tmp_path), "--figure", str(tmp_path / "curves.png")])
    shown = capsys.readouterr().out
    assert "| n1000 | 1 |" in shown
    assert "random" not in shown
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
    assert "IN_ONE_ORDER = (" in capsys.readouterr().out
