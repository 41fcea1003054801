"""How sure edges are, on the page: what a model with probabilities is answered, and that others are not."""

import copy
import time
from dataclasses import replace

import networkx as nx
import numpy as np
import pandas as pd
import pytest
from dash import html

from contextualdag import BootstrapDAG, ContextualDAG
from contextualdag.datasets import make_fixed_dag, make_varying_dag
from contextualdag.errors import InvalidInputError
from contextualdag.estimators import FixedDAG
from contextualdag.estimators.remarks import remarks
from contextualdag.estimators.summary import EXPLAINED, in_words
from contextualdag.explorer.callbacks import Answers
from contextualdag.explorer.elements import signed, sure_enough
from contextualdag.explorer.graphs import FittedGraphs
from contextualdag.explorer.layout import page
from contextualdag.explorer.view import Picked
from tests.explorer.test_callbacks import draw, link, sent, text_of

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def sure(bootstrap_model):
    return Answers(FittedGraphs(bootstrap_model))


def told(model, view, values=None):
    """Graph and probabilities of a context, as the model itself gives them."""
    Z = np.array([view.a if values is None else values], dtype=float)
    return model.adjacency(Z)[0], model.edge_probabilities(Z)[0]


def edges_of(found):
    return {one["data"]["id"]: one for one in found if one["group"] == "edges"}


def dense(answers):
    """The densest level, where some edges are sure and others are not."""
    return replace(answers.graphs.default, level=len(answers.graphs.levels) - 1)


def test_edges_have_the_probabilities_of_the_model(bootstrap_model, sure):
    view = sure.graphs.default
    W, P = told(bootstrap_model, view)
    drawn = draw(sure, view)
    found = edges_of(drawn["graph-a", "elements"])
    assert found.keys() == {f"edge-{j}-{k}" for j, k in np.argwhere(W)} != set()
    rows = text_of(drawn["edges", "children"])
    for j, k in np.argwhere(W):
        words = f"x{j + 1} → x{k + 1}: weight {signed(W[j, k])}, probability {P[j, k]:.2f}"
        assert found[f"edge-{j}-{k}"]["data"]["hint"] == words
        assert f"x{j + 1} → x{k + 1} {signed(W[j, k])} {P[j, k]:.2f}" in rows


def test_edges_that_are_less_likely_than_not_are_dashed(bootstrap_model, sure):
    view = dense(sure)
    P = told(bootstrap_model, view)[1]  # those of the model itself, not of a fit that is made to have more edges
    W = sure.graphs.graph(view.level, view.a)
    found = edges_of(draw(sure, view)["graph-a", "elements"])
    unsure = {key for key, one in found.items() if "unsure" in one["classes"].split()}
    assert unsure == {f"edge-{j}-{k}" for j, k in np.argwhere((W != 0) & (P < 0.5))}
    assert 0 < len(unsure) < len(found)


def test_the_slider_hides_what_is_less_sure(bootstrap_model, sure):
    P = told(bootstrap_model, sure.graphs.default)[1]
    view = replace(dense(sure), least=0.4)
    W = sure.graphs.graph(view.level, view.a)
    drawn = draw(sure, view)
    kept = (W != 0) & (P >= 0.4)
    assert 0 < kept.sum() < (W != 0).sum()
    assert edges_of(drawn["graph-a", "elements"]).keys() == {f"edge-{j}-{k}" for j, k in np.argwhere(kept)}
    hidden = int((W != 0).sum() - kept.sum())
    assert f"{int((W != 0).sum())} edges, {hidden} less sure hidden" in text_of(drawn["caption-a", "children"])
    assert drawn["least-label", "children"] == "edges of at least 0.40"
    assert text_of(drawn["edges", "children"]).count("→") == kept.sum()
    nothing = draw(sure, replace(view, least=1.0))
    assert text_of(nothing["edges", "children"]) == "No edge is so sure."
    # The file has all edges, whatever is hidden.
    read = nx.parse_graphml(sure.save("GraphML", "a", *sent(sure, view))["content"])
    assert {tuple(edge): p for *edge, p in read.edges(data="probability")} == {
        (f"x{j + 1}", f"x{k + 1}"): P[j, k] for j, k in np.argwhere(W)
    }


def test_hidden_edges_are_no_differences():
    A = np.array([[0, 0.5, 0.3], [0, 0, 0], [0, 0, 0]])
    B = np.array([[0, 0.5, 0], [0, 0, 0.2], [0, 0, 0]])
    P = np.array([[0, 0.9, 0.2], [0, 0, 0.9], [0, 0, 0]])
    Q = np.array([[0, 0.3, 0.9], [0, 0, 0.3], [0, 0, 0]])
    a, b = sure_enough([A, B], [P, Q], 0.5)
    assert (a[0, 1], b[0, 1]) == (True, False)  # in both graphs, sure in one
    assert (a[0, 2], b[0, 2]) == (False, False)  # in the first only, where it is unsure: no ghost in the other
    assert (a[1, 2], b[1, 2]) == (False, False)
    assert all(own.all() for own in sure_enough([A, B], [P, Q], 0.0))


def test_comparing_shows_both_probabilities(bootstrap_model, sure):
    view = replace(sure.graphs.default, comparing=True)
    drawn = draw(sure, view)
    rows = text_of(drawn["edges", "children"])
    assert rows.startswith("edge A probability B probability")
    for side, values in (("a", view.a), ("b", view.b)):
        W, P = told(bootstrap_model, view, values)
        found = edges_of(drawn[f"graph-{side}", "elements"])
        for j, k in np.argwhere(W):
            assert found[f"edge-{j}-{k}"]["data"]["hint"].endswith(f"probability {P[j, k]:.2f}")


def test_a_picked_edge_tells_probability_and_interval(bootstrap_model, sure):
    view = sure.graphs.default
    W, P = told(bootstrap_model, view)
    j, k = (int(i) for i in np.argwhere(W)[0])
    low, high = (bound[0, j, k] for bound in bootstrap_model.weight_intervals(np.array([view.a]), 0.9))
    words = text_of(sure.describe(*link(sure, replace(view, picked=Picked(j, k))))[0])
    assert f"weight {signed(W[j, k])}, probability {P[j, k]:.2f}." in words
    assert f"90 % interval of the weight: {signed(low)} to {signed(high)}." in words
    reverse = text_of(sure.describe(*link(sure, replace(view, picked=Picked(k, j))))[0])
    assert f"reversed, with weight {signed(W[j, k])}, probability {P[j, k]:.2f}." in reverse
    j, k = next((int(j), int(k)) for j, k in np.argwhere((W == 0) & (W.T == 0)) if j != k)
    absent = text_of(sure.describe(*link(sure, replace(view, picked=Picked(j, k))))[0])
    assert f"no such edge in this context, probability {P[j, k]:.2f}." in absent
    assert "interval" not in absent


def test_links_hold_the_smallest_probability(sure, answers):
    view = replace(sure.graphs.default, least=0.35)
    text = sure.links.write(view)
    assert "least=0.35" in text
    assert sure.links.read(text) == (replace(view, b=sure.graphs.default.b), None)
    for bad in ("2", "-0.1", "nan", "much"):
        assert "A probability must be a number from 0 to 1." in sure.links.read(f"?least={bad}")[1]
    with pytest.raises(InvalidInputError, match="A probability must be a number"):
        sure.draw(*sent(sure, view)[:-1], 7, {"width": 700, "height": 500, "dark": False})
    assert "There is no parameter 'least'." in answers.links.read("?least=0.5")[1]


def test_an_edge_without_a_direction_has_the_probability_of_either():
    data = make_fixed_dag(300, n_nodes=4, n_edges=3, random_state=1, noise_scale=(0.3, 3))
    model = BootstrapDAG(FixedDAG(random_state=0), n_resamples=4, n_jobs=1, verbose=False).fit(data.X)
    graphs = FittedGraphs(model)
    assert model.undirected_edges_
    P = graphs.probabilities(graphs.default.level, graphs.default.a)
    place = {name: position for position, name in enumerate(model.names_)}
    table = model.edges(model.typical_context())
    assert [P[place[one.source], place[one.target]] for one in table.itertuples()] == table["probability"].tolist()


def test_other_models_show_nothing_of_it(graphs, answers):
    view = graphs.default
    drawn = draw(answers, view)
    assert all("hint" not in one["data"] for one in drawn["graph-a", "elements"])
    assert not any("unsure" in one["classes"] for one in drawn["graph-a", "elements"])
    j, k = (int(i) for i in np.argwhere(graphs.graph(view.level, view.a))[0])
    words = text_of(answers.describe(*link(answers, replace(view, picked=Picked(j, k))))[0])
    assert "probability" not in words + text_of(drawn["edges", "children"]) + text_of(drawn["caption-a", "children"])
    assert "probability" not in answers.save("CSV", "a", *sent(answers, view))["content"]
    assert "probability below" not in text_of(page(graphs))
    # The slider is part of every page, since callbacks need it, but not to be seen.
    assert answers.draw(*sent(answers, view)[:-1], 0.9, {"width": 700, "height": 500, "dark": False})[0]
    assert _box_of_slider(page(graphs)).className == "feature hidden"


def test_the_page_says_what_the_model_is(bootstrap_model, sure):
    whole = page(sure.graphs)
    about = next(one for one in whole.children if getattr(one, "id", "") == "about")
    summary, *sentences = about.children
    assert summary.children == "About this model"
    assert [one.children for one in sentences] == remarks(bootstrap_model)
    assert any("are sure (probability at least 0.9)" in one.children for one in sentences)
    assert "probability below 0.5" in text_of(whole)
    assert _box_of_slider(whole).className == "feature"


def test_effects_have_intervals(bootstrap_model, sure, answers):
    W = bootstrap_model.adjacency(np.array([sure.graphs.default.a]))[0]
    j, k = np.argwhere(W)[0]
    view = replace(sure.graphs.default, cause=int(j), shift=1.0)
    words = text_of(sure.respond(*link(sure, view))[0])
    low, high = bootstrap_model.effect_intervals(np.array([view.a], dtype=float))
    assert f"({signed(low[0, j, k])} to {signed(high[0, j, k])})" in words
    assert "In brackets its 90 % interval" in words
    assert "interval" not in text_of(answers.respond(*link(answers, replace(answers.graphs.default, cause=0)))[0])


def test_what_changes_comes_first(bootstrap_model, sure):
    words = text_of(page(sure.graphs))
    assert words.index(in_words(bootstrap_model)) < words.index("About this model")
    for source, target in bootstrap_model.summary()[["source", "target"]].itertuples(index=False):
        assert f"{source} → {target}" in words
    assert EXPLAINED in words
    assert "⚠" not in words


def test_a_fit_that_is_worse_than_no_model_is_said_first(bootstrap_model):
    bad = copy.copy(bootstrap_model)
    bad.noise_scale_ = bad.scale_ * [0.9, 2, 0.9, 0.9]
    words = text_of(page(FittedGraphs(bad)))
    assert "⚠ The noise of 'x2' (4.00) is larger" in words
    assert words.index("⚠") < words.index(in_words(bad))


def _box_of_slider(component):
    """The part of a page that is named Probability."""
    inside = getattr(component, "children", None)
    inside = inside if isinstance(inside, list | tuple) else [inside]
    if isinstance(component, html.Fieldset) and text_of(inside[0]) == "Probability":
        return component
    return next((found for one in inside if hasattr(one, "children") if (found := _box_of_slider(one)) is not None), None)


def test_redrawing_is_quick_and_done_once():
    data = make_varying_dag(200, n_nodes=20, n_edges=25, n_features=2, random_state=0)
    fit = ContextualDAG(
        hidden_layers=(16,), max_epochs=2, n_budgets=2, n_members=1, structure="varying", random_state=0, verbose=False
    )
    model = BootstrapDAG(fit, n_resamples=4, n_jobs=1, verbose=False).fit(data.X, pd.DataFrame(data.Z))
    model._resamples = model._resamples * 12
    answers = Answers(FittedGraphs(model))
    draw(answers, answers.graphs.default)
    took = []
    for z in np.linspace(-0.9, 0.9, 12).round(2):
        begin = time.perf_counter()
        draw(answers, replace(answers.graphs.default, a=(float(z), 0.1)))
        took.append(time.perf_counter() - begin)
    assert np.median(took) < 0.5  # far above what it takes, since other work may be going on
    model._resamples = None  # no network is asked again
    draw(answers, replace(answers.graphs.default, a=(-0.9, 0.1), level=0, least=0.5))
