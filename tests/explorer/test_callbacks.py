"""What the page is answered, without a browser."""

import math
import time
from dataclasses import replace
from types import SimpleNamespace

import networkx as nx
import numpy as np
import pandas as pd
import pytest
from dash import no_update

from contextualdag import ContextualDAG, FixedDAG
from contextualdag.datasets import make_varying_dag
from contextualdag.effects import total_effects
from contextualdag.errors import InvalidInputError
from contextualdag.estimators.rows_of_fit import RowsOfFit
from contextualdag.explorer.callbacks import DRAWN, Answers
from contextualdag.explorer.elements import signed
from contextualdag.explorer.graphs import FittedGraphs
from contextualdag.explorer.layout import page
from contextualdag.explorer.view import Picked
from contextualdag.transforms import Transforms

pytestmark = pytest.mark.slow

SCREEN = {"width": 700, "height": 500, "dark": False}


def sent(answers, view):
    return answers._controls(view)


def link(answers, view):
    return answers.links.write(view), SCREEN


def draw(answers, view):
    return dict(zip(DRAWN, answers.draw(*sent(answers, view), SCREEN), strict=True))


def text_of(component):
    if component is None or isinstance(component, str):
        return component or ""
    if isinstance(component, list | tuple):
        return " ".join(text_of(one) for one in component)
    return text_of(getattr(component, "children", None))


def a_varying_edge(graphs):
    """An edge of some context that is not in another, and the two contexts."""
    W = graphs.along(graphs.default.level, graphs.default.a)[0][1]
    varies = (W != 0).any(0) & ~(W != 0).all(0)
    return tuple(int(i) for i in np.argwhere(varies)[0])


def test_graph_is_that_of_the_model(model, graphs, answers):
    view = graphs.default
    found = draw(answers, view)["graph-a", "elements"]
    Z = pd.DataFrame([dict(zip(["age", "income", "site"], view.a, strict=True))])
    W = model.adjacency(Z)[0]
    edges = {one["data"]["id"] for one in found if one["group"] == "edges"}
    assert edges == {f"edge-{j}-{k}" for j, k in np.argwhere(W)}


def test_sparsity_slider(graphs, answers):
    counts = [np.count_nonzero(graphs._graphs(i, [graphs.default.a, graphs.default.b])) for i in range(len(graphs.levels))]
    assert counts[0] == 0
    assert max(counts) == counts[-1] > 0
    assert draw(answers, replace(graphs.default, level=0))["edges", "children"].children == "This graph has no edges."
    assert "selected by the fit" in draw(answers, graphs.default)["level-label", "children"]


def test_comparing_shows_both(graphs, answers):
    alone, both = draw(answers, graphs.default), draw(answers, replace(graphs.default, comparing=True))
    assert alone["graph-b", "elements"] is no_update
    assert alone["page", "className"] == ""
    assert both["page", "className"] == "comparing"
    ghosts = [one for side in "ab" for one in both[f"graph-{side}", "elements"] if "ghost" in one["classes"]]
    assert ghosts
    assert "only in" in text_of(both["edges", "children"])


def test_outside_is_marked(graphs, answers):
    inside, outside = (draw(answers, replace(graphs.default, a=(age, *graphs.default.a[1:]))) for age in (40.0, 70.0))
    assert "Outside" not in text_of(inside["caption-a", "children"])
    assert "age = 70 is above the training data" in text_of(outside["caption-a", "children"])


def test_a_picked_edge_has_a_curve_for_each_feature(graphs, answers):
    j, k = a_varying_edge(graphs)
    words, figure, _, hidden = answers.describe(*link(answers, replace(graphs.default, picked=Picked(j, k))))
    assert hidden == ""
    assert f"{graphs.names[j]} → {graphs.names[k]}" in text_of(words)
    axes = {trace["xaxis"] for trace in figure["data"]}
    assert len(axes) == 3
    first = figure["data"][0]
    W = graphs.graph(graphs.default.level, (first["x"][7], *graphs.default.a[1:]))
    assert first["y"][7] == pytest.approx(W[j, k], abs=1e-4)


def test_a_picked_node_has_its_neighbours_and_effects(graphs, answers):
    words, figure, _, hidden = answers.describe(*link(answers, replace(graphs.default, picked=Picked(0))))
    assert (figure, hidden) == (no_update, "hidden")
    for title in ("Parents", "Children", "Total effect on", "Total effect of"):
        assert title in text_of(words)


def a_cause(graphs):
    """The variable that reaches most in the default context."""
    reaches = total_effects(graphs.graph(graphs.default.level, graphs.default.a)[None])[0] != 0
    cause = int(reaches.sum(1).argmax())
    assert 0 < reaches[cause].sum() < len(graphs.names) - 1
    return cause


def test_a_cause_colours_what_it_reaches_and_fades_the_rest(model, graphs, answers):
    cause = a_cause(graphs)
    view = replace(graphs.default, cause=cause)
    found = {one["data"]["id"]: one for one in draw(answers, view)["graph-a", "elements"]}
    Z = pd.DataFrame([dict(zip(["age", "income", "site"], view.a, strict=True))])
    effects = model.total_effects(Z)[0, cause]
    for position, name in enumerate(graphs.names):
        node = found[f"node-{position}"]
        label, *number = node["data"]["label"].split("\n")
        assert label.rstrip("…") == name[: len(label.rstrip("…"))]
        if effects[position]:
            assert {"reached", "raised" if effects[position] > 0 else "lowered"} <= set(node["classes"].split())
            assert number == [signed(effects[position])]
            assert 0.1 < node["data"]["strength"] <= 0.5
        else:
            assert node["classes"] == ("cause" if position == cause else "unreached")
            assert number == []
    for j, k in np.argwhere(model.adjacency(Z)[0]):
        on_a_path = j == cause or effects[j] != 0
        assert ("faded" in found[f"edge-{j}-{k}"]["classes"].split()) != on_a_path


@pytest.mark.parametrize("shift", [-3.0, 1.25])
def test_moving_a_cause_moves_means_as_the_model_says(model, graphs, answers, shift):
    cause = a_cause(graphs)
    view = replace(graphs.default, cause=cause, shift=shift)
    Z = pd.DataFrame([dict(zip(["age", "income", "site"], view.a, strict=True))])
    # The spread is that of samples of the model in this context.
    spread = model.sample(pd.concat([Z] * 40_000), random_state=0)[:, cause].std()
    response = graphs.response(view, view.a)
    assert response.spreads[cause] == pytest.approx(spread, rel=0.02)
    before = model.means(Z).iloc[0]
    done = model.do(Z, {cause: before.iloc[cause] + shift * response.spreads[cause]}).means.iloc[0]
    np.testing.assert_allclose(response.after, done, atol=1e-9)
    table, label, hidden = answers.respond(*link(answers, view))
    assert (label, hidden) == (("3 spreads below its mean", "1.25 spreads above its mean")[shift > 0], "feature")
    rows = [[cell.children for cell in row.children] for row in table.children[0].children[0].children[1].children]
    assert rows[0] == [graphs.names[cause], "", signed(before.iloc[cause]), signed(done.iloc[cause])]
    effects = model.total_effects(Z)[0, cause]
    expected = {
        name: [signed(effects[k]), signed(before.iloc[k]), signed(done.iloc[k])]
        for k, name in enumerate(graphs.names)
        if effects[k]
    }
    assert {name: numbers for name, *numbers in rows[1:]} == expected
    nodes = {one["data"]["id"]: one["data"]["label"] for one in draw(answers, view)["graph-a", "elements"]}
    for k in np.flatnonzero(effects):
        change = done.iloc[k] - before.iloc[k]
        assert nodes[f"node-{k}"].endswith(f"\n{'+' if change > 0 else ''}{signed(change)}")
    assert nodes[f"node-{cause}"].endswith(f"\n= {signed(done.iloc[cause])}")


def test_effects_of_both_contexts_and_of_none(graphs, answers):
    words, _, hidden = answers.respond(*link(answers, graphs.default))
    assert "Choose a cause" in text_of(words)
    assert hidden == "feature hidden"
    both = replace(graphs.default, comparing=True, cause=a_cause(graphs))
    words, label, _ = answers.respond(*link(answers, both))
    titles = [one.children for one in words.children if type(one).__name__ == "H4"]
    assert (titles, label) == (["A", "B"], "at its mean")
    nothing = replace(graphs.default, cause=0, level=0)
    assert f"{graphs.names[0]} affects nothing here." in text_of(answers.respond(*link(answers, nothing))[0])


def test_effects_of_one_possible_graph_say_so(one_graph):
    answers = Answers(one_graph)
    words = answers.respond(*link(answers, replace(one_graph.default, cause=0)))[0]
    assert "one of the possible graphs" in text_of(words)


def test_map_counts_edges_and_a_click_goes_there(graphs, answers):
    figure = answers.map(*link(answers, graphs.default))
    heat = figure["data"][0]
    x, y = heat["x"][3], heat["y"][20]
    W = graphs.graph(graphs.default.level, (x, y, graphs.default.a[2]))
    assert heat["z"][20][3] == np.count_nonzero(W)
    moved, still = answers.go_to({"points": [{"x": x, "y": y}]}, "a", 0, 1)
    assert moved[:2] == [pytest.approx(x, abs=0.5), pytest.approx(y, abs=0.01)]
    assert moved[2] is no_update
    assert all(value is no_update for value in still)
    categories = answers.map(*link(answers, replace(graphs.default, axes=(0, 2))))["data"][0]
    assert categories["y"] == ["Lisbon", "Oslo & environs"]


def test_map_marks_the_contexts_above_the_shade(graphs, answers):
    figure = answers.map(*link(answers, replace(graphs.default, comparing=True)))
    marks = [(one["text"], one["x"], one["y"]) for one in figure["layout"]["annotations"]]
    assert marks == [("A", *graphs.default.a[:2]), ("B", *graphs.default.b[:2])]


def test_the_sparsest_level_is_empty_also_outside(graphs):
    outside = (graphs.features[0].bounds[1], graphs.features[1].bounds[1], graphs.default.a[2])
    assert not graphs.graph(0, outside).any()


def test_files(graphs, answers):
    view = replace(graphs.default, comparing=True)
    csv = answers.save("CSV", "b", *sent(answers, view))
    assert csv["filename"] == "edges-b.csv"
    W = graphs.graph(view.level, view.b)
    assert len(csv["content"].splitlines()) == 1 + np.count_nonzero(W)
    graphml = answers.save("GraphML", "b", *sent(answers, view))
    read = nx.parse_graphml(graphml["content"])
    assert sorted(read) == sorted(graphs.names)
    assert read.number_of_edges() == np.count_nonzero(W)
    assert read.graph["context site"] == view.b[2]
    assert read.graph["outside"] is False
    low = (graphs.features[0].bounds[0], *view.b[1:])
    outside = answers.save("GraphML", "b", *sent(answers, replace(view, b=low)))
    assert nx.parse_graphml(outside["content"]).graph["outside"] is True


@pytest.mark.parametrize(
    "change",
    [
        {0: "no list"},
        {0: [1.0]},
        {0: ["40", 1.0, "Lisbon"]},
        {0: [40, 1.0, "../../etc/passwd"]},
        {2: 1e9},
        {2: None},
        {2: True},
        {3: ["on", "on"]},
        {4: "node-99"},
        {4: "edge-1-1"},
        {4: "node-__import__"},
        {4: {"id": 1}},
        {5: 77},
        {7: 99},
        {7: "mood"},
        {7: 0, 8: None},
        {7: 0, 8: 3.5},
        {7: 0, 8: float("nan")},
        {10: None},
        {10: {"width": 10**9, "height": 5, "dark": False}},
        {10: {"width": "700", "height": 500, "dark": False}},
        {10: []},
    ],
)
def test_wrong_input_is_refused_in_a_sentence(answers, change):
    given = [*sent(answers, answers.graphs.default), SCREEN]
    for position, value in change.items():
        given[position] = value
    if given[-1] is None:
        assert set(answers.draw(*given)) == {no_update}  # the page has not measured itself yet
        return
    with pytest.raises(InvalidInputError):
        answers.draw(*given)


def test_wrong_clicks_are_refused(answers):
    for point in ({"x": "a", "y": 1.0}, {"x": float("nan"), "y": 1.0}, {"x": None, "y": 1.0}):
        with pytest.raises(InvalidInputError):
            answers.go_to({"points": [point]}, "a", 0, 1)
    with pytest.raises(InvalidInputError):
        answers.pick({"id": "node-1-2-3"})


def test_a_model_without_context():
    X = np.random.default_rng(0).standard_normal((200, 3))
    X[:, 2] += X[:, 0]
    answers = Answers(FittedGraphs(FixedDAG(random_state=0).fit(X)))
    view = replace(answers.graphs.default, picked=Picked(0, 2))
    assert view.axes == ()
    assert not answers.graphs.vary
    assert "one graph for all contexts" in text_of(page(answers.graphs))
    assert "edge-0-2" in {one["data"]["id"] for one in draw(answers, view)["graph-a", "elements"]}
    assert answers.map(*link(answers, view)) is no_update
    assert answers.describe(*link(answers, view))[3] == "hidden"
    assert answers.follow(draw(answers, view)["link", "href"])[4] == "edge-0-2"


def test_edges_without_a_direction(one_graph):
    answers, view = Answers(one_graph), one_graph.default
    W, undirected = one_graph.graph(view.level, view.a), one_graph.undirected(view.level)
    lines = np.argwhere(undirected & (W != 0))
    assert 0 < len(lines) < np.count_nonzero(W)
    drawn = draw(answers, view)
    classes = {one["data"]["id"]: one["classes"].split() for one in drawn["graph-a", "elements"]}
    assert {key for key in classes if "undirected" in classes[key]} == {f"edge-{j}-{k}" for j, k in lines}
    (sentence,) = drawn["directions", "children"]
    assert f"do not tell the direction of {len(lines)} edge" in sentence
    labels = [one["label"] for one in drawn["picked", "options"]]
    both = draw(answers, replace(view, comparing=True))
    for j, k in lines:
        words = f"{one_graph.names[j]} — {one_graph.names[k]}"
        assert words in labels
        assert all(words in text_of(one["edges", "children"]) for one in (drawn, both))
        assert answers.offer(f"edge-{j}-{k}")[-1]["label"] == words
    rows = answers.save("CSV", "a", *sent(answers, view))["content"].splitlines()
    assert rows[0] == "source,target,weight,directed"
    assert sum(row.endswith(",False") for row in rows) == len(lines)
    read = nx.parse_graphml(answers.save("GraphML", "a", *sent(answers, view))["content"])
    assert sum(not directed for *_, directed in read.edges(data="directed")) == len(lines)
    assert draw(answers, replace(view, level=0))["directions", "children"] == []


def test_graphs_that_vary_have_arrows_only(graphs, answers):
    drawn = draw(answers, graphs.default)
    assert drawn["directions", "children"] == []
    assert "—" not in text_of(drawn["edges", "children"])
    assert not any("undirected" in one["classes"] for one in drawn["graph-a", "elements"])


class WithoutFeatures:
    """A model that was fitted without a context and has no features at all."""

    def __init__(self):
        self.names_, self.context_features_ = ["x1", "x2", "x3"], ()
        self.path_, self.chosen_ = pd.DataFrame({"n_edges": [0.0, 2.0]}), {"n_edges": 2.0}
        self.undirected_edges_, self.structure_scores_, self.context_test_ = [], {}, None
        self.noise_, self.outliers_, self.noise_changes_ = "equal", [], {}
        self.rows_, self.n_held_out_, self._explained, self._variation = RowsOfFit(1), 0, np.full((3, 3), math.nan), None
        self.noise_scale_ = self.scale_ = np.ones(3)
        self.structure_, self.selection = "varying", "min"
        self.explained_ = pd.DataFrame({name: [math.nan] for name in ("means", "common edges", "change of edges")})
        self._solution = SimpleNamespace(n_required=0)
        self._preparation = SimpleNamespace(transforms=Transforms.learn(np.zeros((0, 3)), self.names_, "none"))

    def adjacency(self, Z):
        assert Z.shape[1] == 0
        W = np.zeros((len(Z), 3, 3))
        W[:, 0, 1], W[:, 1, 2] = 1.0, -0.5
        return W


def test_a_model_without_any_features():
    answers = Answers(FittedGraphs(WithoutFeatures()))
    view = replace(answers.graphs.default, picked=Picked(0, 1))
    assert view.a == view.b == view.axes == ()
    assert "one graph for all contexts" in text_of(page(answers.graphs))
    drawn = draw(answers, view)
    assert {"edge-0-1", "edge-1-2"} <= {one["data"]["id"] for one in drawn["graph-a", "elements"]}
    assert answers.map(*link(answers, view)) is no_update
    assert answers.describe(*link(answers, view))[3] == "hidden"
    assert answers.follow(drawn["link", "href"])[4] == "edge-0-1"
    assert "x1,x2,1.0" in answers.save("CSV", "a", *sent(answers, view))["content"]


def test_one_feature_has_a_curve_for_a_map():
    data = make_varying_dag(200, n_nodes=3, n_edges=2, n_features=1, random_state=0)
    model = ContextualDAG(hidden_layers=(8,), max_epochs=20, random_state=0, verbose=False).fit(data.X, data.Z)
    answers = Answers(FittedGraphs(model))
    figure = answers.map(*link(answers, answers.graphs.default))
    assert figure["data"][0]["mode"] == "lines+markers"
    moved, _ = answers.go_to({"points": [{"x": 0.25, "y": 3}]}, "a", None, None)
    assert moved == [0.25]


@pytest.mark.long
def test_redrawing_twenty_nodes_is_quick():
    data = make_varying_dag(200, n_nodes=20, n_edges=25, n_features=2, random_state=0)
    model = ContextualDAG(hidden_layers=(16,), max_epochs=3, n_budgets=3, random_state=0, verbose=False).fit(data.X, data.Z)
    answers = Answers(FittedGraphs(model))
    draw(answers, answers.graphs.default)
    took = []
    for z in np.linspace(-0.9, 0.9, 20).round(2):
        view = replace(answers.graphs.default, a=(float(z), 0.1), picked=Picked(0, 1))
        begin = time.perf_counter()
        draw(answers, view)
        answers.describe(*link(answers, view))
        answers.map(*link(answers, view))
        took.append(time.perf_counter() - begin)
    assert np.median(took) < 0.15
