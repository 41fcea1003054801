"""How graphs are compared with the consensus, against a count by hand, and the page."""

from types import SimpleNamespace

import networkx as nx
import numpy as np
import pandas as pd
import pytest

from benchmarks import real


def by_hand(consensus, graph):
    """The same scores of one graph, pair by pair."""
    true, found = nx.DiGraph(consensus.astype(int)), nx.DiGraph(graph.astype(int))
    counts = dict.fromkeys(("known", "pairs", "shared", "right", "distance"), 0)
    for j in range(len(graph)):
        for k in range(j):
            ways = [{way for way in ((j, k), (k, j)) if one.has_edge(*way)} for one in (true, found)]
            counts["known"] += bool(ways[0])
            counts["pairs"] += bool(ways[1])
            counts["shared"] += bool(ways[0]) and bool(ways[1])
            counts["right"] += bool(ways[0]) and ways[0] == ways[1]
            counts["distance"] += ways[0] != ways[1]
    return counts


def test_scores_against_the_consensus():
    rng = np.random.default_rng(0)
    one_way = np.triu(rng.random((6, 6)) < 0.5, 1)
    order = rng.permutation(6)
    consensus = one_way[order][:, order]
    consensus[0], consensus[:, 0] = consensus[:, 0].copy(), consensus[0].copy()  # the directions at a node; makes cycles
    graphs = np.triu(rng.random((20, 6, 6)) < 0.4, 1)
    scores = real.against(consensus, graphs)
    expected = [by_hand(consensus, graph) for graph in graphs]
    for name in ("pairs", "shared", "right", "distance"):
        assert scores[name] == pytest.approx(np.mean([one[name] for one in expected]))
    assert scores["precision"] == pytest.approx(np.mean([one["shared"] / one["pairs"] for one in expected]))
    assert scores["recall"] == pytest.approx(np.mean([one["shared"] / one["known"] for one in expected]))


def test_the_consensus_against_itself_and_nothing():
    graph = real.as_graph([("a", "b"), ("c", "b")], ["a", "b", "c"])
    assert graph.tolist() == [[False, True, False], [False, False, False], [False, True, False]]
    same = real.against(graph, graph[None])
    assert (same["precision"], same["recall"], same["distance"], same["right"]) == (1, 1, 0, 2)
    nothing = real.against(graph, np.zeros((1, 3, 3), dtype=bool))
    assert (nothing["precision"], nothing["recall"], nothing["distance"]) == (0, 0, 2)


def test_reversed_pairs_are_counted_once():
    graphs = np.zeros((3, 3, 3), dtype=bool)
    graphs[0, 0, 1] = graphs[1, 1, 0] = graphs[:, 1, 2] = True
    assert real.against(graphs[0], graphs)["reversed"] == 1


def test_pairs_of_any_graph_in_their_more_frequent_direction():
    graphs = np.zeros((3, 4, 4), dtype=bool)
    graphs[:2, 1, 0] = graphs[2, 0, 1] = graphs[0, 2, 3] = graphs[1, 3, 2] = True
    (found,) = real.merged(graphs)
    assert np.argwhere(found).tolist() == [[1, 0], [2, 3]]


def runs_of(seed):
    numbers = dict.fromkeys(("pairs", "precision", "recall", "distance", "right", "shared", "reversed", "seconds"), seed)
    ours = {"structure": "varying", "open": 0, "held_out": 0.5, "behind, constant": 0.1, "behind, common-order": None}
    ours["behind, varying"] = 0.0
    return pd.DataFrame(
        [{"seed": seed, "method": "ContextualDAG", **numbers, **ours}, {"seed": seed, "method": "dagma", **numbers}]
    )


def test_the_page_keeps_its_words_and_the_csv_its_runs(tmp_path, monkeypatch):
    monkeypatch.setattr(real, "run_sachs", lambda path, n_rows, seed: runs_of(seed))
    monkeypatch.setattr(real, "other_rows", lambda *_: [["weather"]])
    page, runs = tmp_path / "real.md", tmp_path / "sachs.csv"
    real.main([str(page), str(runs), "--seeds", "2"])
    assert page.read_text().startswith("# Real data\n\n## Protein signalling\n\n| method |")
    page.write_text("# Ours\n\nOur words.\n\n## Protein signalling\n\nold\n")
    monkeypatch.setattr(real, "run_sachs", lambda path, n_rows, seed: runs_of(seed).iloc[:0] if seed < 2 else runs_of(seed))
    real.main([str(page), str(runs), "--seeds", "3"])
    text = page.read_text()
    assert text.startswith("# Ours\n\nOur words.\n\n## Protein signalling\n\n| method |")
    assert "| ContextualDAG | 3 | 1.00 ± 0.58 |" in text
    assert "| ContextualDAG | 0 | 0 | 3 | 0.100 |  | 0.000 |" in text
    assert "| weather |" in text
    assert "old" not in text
    assert text.index("| NOTEARS | 7466 | 20 | 16 | 22 | Zheng") > text.index("### Published figures")
    assert text.index("### Published figures") < text.index("## Other data sets")


def test_the_weather_is_cyclic_and_days_are_held_out(monkeypatch):
    seen = []

    def fit(model, X, Z, **options):
        seen.append((model.get_params()["cyclic"], list(Z), options))
        fitted = SimpleNamespace(structure_="constant", context_test_=None, held_out_score_=0.5)
        fitted.adjacency = lambda Z: np.ones((len(Z), 2, 2))
        return fitted, 1.0

    monkeypatch.setattr(real, "fit", fit)
    rows = real.other_rows(500)
    assert [len(row) for row in rows] == [len(real.OTHER_COLUMNS)] * 3
    cyclic, context, options = seen[0]
    assert cyclic == {"month": 12, "hour": 24}
    assert context == ["origin", "month", "hour"]
    assert len(options["groups"]) == 500
    assert 200 < options["groups"].nunique() <= 365
