import numpy as np
import pandas as pd
import pytest
from matplotlib import pyplot as plt

from contextualdag import ContextualDAG
from contextualdag.errors import ContextualDAGError, InvalidInputError
from contextualdag.plotting import edge_changes, order_flips
from tests.plotting.conftest import assert_all_inside, edges_of


def edges_at(model, z):
    return sorted(zip(*(index.tolist() for index in np.nonzero(model.adjacency(z)[0])), strict=True))


def test_graph_of_a_context(model):
    z = model.typical_context(0.2)
    ax = model.plot_graph(z)
    assert edges_of(ax) == edges_at(model, z)
    assert "age" in ax.get_title()
    assert "guess" not in ax.get_title()
    assert_all_inside(ax.figure)


@pytest.mark.parametrize(
    "z", [{"age": 90}, [90, 0.0, "Leeds"], pd.DataFrame({"age": [90.0], "neuroticism": 0.0, "site": "Leeds"})]
)
def test_a_context_outside_the_range_says_so(model, z):
    assert "outside the range of the data" in model.plot_graph(z).get_title()
    assert "outside the range of the data" in model.plot_difference(None, z).get_title()


def test_several_graphs_share_their_places(model):
    Z = pd.concat([model.typical_context(q) for q in (0.1, 0.5, 0.9)])
    axes = model.plot_graphs(Z)
    assert axes.shape == (3,)
    places = [np.array([text.xy for text in ax.texts]) for ax in axes]
    np.testing.assert_array_equal(places[0], places[2])
    assert [edges_of(ax) for ax in axes] == [edges_at(model, Z.iloc[[i]]) for i in range(3)]
    assert_all_inside(axes[0].figure)
    with pytest.raises(InvalidInputError, match=r"one Axes for each of the 3 contexts. Got 1"):
        model.plot_graphs(Z, ax=[axes[0]])


def test_changes_of_edges():
    before, after = np.zeros((4, 4)), np.zeros((4, 4))
    before[0, 1], after[0, 1] = 1.0, 1.02
    before[0, 2], after[0, 2] = 1.0, -1.0
    before[1, 2], after[2, 1] = 0.5, 0.5
    before[0, 3], after[1, 3] = 0.3, 0.3
    found = {kind: np.argwhere(edges).tolist() for kind, edges in edge_changes(before, after).items()}
    assert found == {"gained": [[1, 3]], "lost": [[0, 3]], "turned": [[2, 1]], "changed": [[0, 2]], "same": [[0, 1]]}


def test_difference_draws_every_edge_of_both_once(model):
    z1, z2 = model.typical_context(0.05), model.typical_context(0.95)
    ax = model.plot_difference(z1, z2)
    changes = edge_changes(model.adjacency(z1)[0], model.adjacency(z2)[0])
    assert len(edges_of(ax)) == sum(int(edges.sum()) for edges in changes.values())
    labels = [text.get_text() for text in ax.get_legend().get_texts()]
    assert f"gained ({int(changes['gained'].sum())})" in labels
    assert_all_inside(ax.figure)


def test_pictures_leave_out_weak_edges_and_say_so(model):
    dense = model.select(n_edges=float(model.path_["n_edges"].max()))
    z1, z2 = dense.typical_context(0.1), dense.typical_context(0.9)
    W = dense.adjacency(pd.concat([z1, z2]))
    n_edges = (W != 0).sum((1, 2))
    assert n_edges.min() > 3
    ax = dense.plot_graph(z1, max_edges=3)
    assert edges_of(ax) == sorted(map(tuple, np.argwhere(np.abs(W[0]) >= np.sort(np.abs(W[0]).ravel())[-3]).tolist()))
    assert [text.get_text() for text in ax.get_legend().get_texts()][-1] == f"{n_edges[0] - 3} weaker not drawn"
    assert_all_inside(ax.figure)
    for ax, one in zip(dense.plot_graphs(pd.concat([z1, z2]), max_edges=3), W, strict=True):
        left_out = int((one != 0).sum()) - len(edges_of(ax))
        assert 3 <= len(edges_of(ax)) <= 6
        assert [text.get_text() for text in ax.get_legend().get_texts()][-1] == f"{left_out} weaker not drawn"
    changed = sum(int(edges.sum()) for edges in edge_changes(*W).values())
    ax = dense.plot_difference(z1, z2, max_edges=3)
    assert len(edges_of(ax)) == 3
    assert [text.get_text() for text in ax.get_legend().get_texts()][-1] == f"{changed - 3} weaker not drawn"
    assert len(edges_of(dense.plot_difference(z1, z2))) == changed
    # A node whose edges are left out is not as pale as one without any.
    assert len({text.get_color() for text in dense.plot_graph(z1, max_edges=1).texts}) == 1 + int(
        (~((W[0] != 0).any(0) | (W[0] != 0).any(1))).any()
    )


def test_path_marks_the_chosen_point(model):
    ax = model.plot_path()
    star = next(line for line in ax.lines if line.get_marker() == "*")
    row = model.path_[model.path_["selected"]].iloc[0]
    assert star.get_xydata().tolist() == [pytest.approx([row["refit_edges"], model.chosen_["loss"]])]
    assert model.chosen_["loss"] == pytest.approx(row["refit_loss"], rel=0.01)  # the cut is not quite that of least loss
    assert_all_inside(ax.figure)


def test_path_marks_a_point_selected_later(model):
    chosen = model.select(n_edges=2)
    assert chosen.chosen_["n_edges"] == pytest.approx(2, abs=0.7)
    star = next(line for line in chosen.plot_path().lines if line.get_marker() == "*")
    assert star.get_xdata()[0] == pytest.approx(chosen.chosen_["n_edges"])


@pytest.mark.parametrize("features", [("age", "neuroticism"), ("age", "site"), (None, None)])
def test_sparsity(model, features):
    ax = model.plot_sparsity(*features, resolution=12)
    counts = ax.collections[0].get_array()
    assert counts.shape == ((3, 12) if features[1] == "site" else (12, 12))
    assert counts.max() <= 15
    assert "outside" in ax.get_title()
    assert_all_inside(ax.figure)


def test_sparsity_counts_edges(model):
    ax = model.plot_sparsity("age", "neuroticism", resolution=5)
    low, high = model.context_summary_["low"][0], model.context_summary_["high"][0]
    middle = model.typical_context().assign(age=(low + high) / 2)
    low, high = model.context_summary_["low"][1], model.context_summary_["high"][1]
    W = model.adjacency(middle.assign(neuroticism=(low + high) / 2))
    assert ax.collections[0].get_array()[2, 2] == (W != 0).sum()


def test_edge_along_features(model):
    ax = model.plot_edge("anxiety", "sleep", "age")
    solid = next(line for line in ax.lines if line.get_label() == "anxiety → sleep")
    inside = solid.get_xdata()[~np.isnan(solid.get_ydata())]
    if len(inside):
        assert inside.min() >= model.context_summary_["low"][0]
    assert "dotted: outside" in ax.get_title()
    assert_all_inside(ax.figure)
    assert len(model.plot_edge("anxiety", "sleep", "site").patches) == 6
    assert model.plot_edge("anxiety", "sleep").get_xlabel() in ("age", "neuroticism", "site")


def test_order_flips_are_shares_of_contexts(model):
    Z = pd.concat([model.typical_context(q) for q in np.linspace(0, 1, 21)], ignore_index=True)
    table = order_flips(model, Z)
    share = (model.adjacency(Z) != 0).mean(0)
    assert len(table) == int(np.triu((share > 0) & (share.T > 0)).sum())
    np.testing.assert_allclose(table[["forward", "backward", "neither"]].sum(axis=1), 1)
    names = model.names_
    for _, row in table.iterrows():
        assert row["forward"] == share[names.index(row["first"]), names.index(row["second"])] >= row["backward"] > 0
    ax = model.plot_order_flips()
    assert_all_inside(ax.figure)


def test_models_without_a_context(fixed):
    assert fixed.plot_graph().get_title() == ""
    assert fixed.plot_order_flips().texts[0].get_text() == "No edge turns round."
    with pytest.raises(InvalidInputError, match="two context features that vary"):
        fixed.plot_sparsity()
    with pytest.raises(InvalidInputError, match="No context feature varies"):
        fixed.plot_edge("x1", "x3")


@pytest.mark.parametrize(
    ("draw", "message"),
    [
        (lambda m: m.plot_edge("anxeity", "sleep"), "There is no variable 'anxeity'; did you mean 'anxiety'?"),
        (lambda m: m.plot_edge("sleep", "sleep"), "two variables. Got 'sleep' twice"),
        (lambda m: m.plot_edge("sleep", "alcohol", "aeg"), "There is no context feature 'aeg'; did you mean 'age'?"),
        (lambda m: m.plot_sparsity("age", "age"), "two different features"),
        (lambda m: m.plot_sparsity(resolution=1), "resolution must be an integer of at least 2"),
        (lambda m: m.plot_graph({"agge": 3}), "did you mean 'age'"),
        (lambda m: m.plot_graph(max_edges=0), "max_edges must be an integer of at least 1. Got 0 instead."),
        (lambda m: m.plot_graph([1.0, 2.0]), "A context has 3 values"),
        (lambda m: m.plot_graph(pd.concat([m.typical_context()] * 2)), "z must be one context. Got 2"),
        (lambda m: ContextualDAG().plot_graph(), "not fitted yet"),
        (lambda m: ContextualDAG().plot_path(), "not fitted yet"),
    ],
)
def test_bad_input_is_said(model, draw, message):
    with pytest.raises(ContextualDAGError) as caught:
        draw(model)
    assert message in str(caught.value)


def test_all_pictures_draw_on_the_axes_they_are_given_and_on_dark(model):
    with plt.style.context("dark_background"):
        for draw in (
            model.plot_graph,
            model.plot_path,
            model.plot_order_flips,
            lambda ax: model.plot_difference(None, {"age": 30}, ax=ax),
            lambda ax: model.plot_sparsity(ax=ax, resolution=5),
            lambda ax: model.plot_edge("anxiety", "sleep", ax=ax),
        ):
            figure, ax = plt.subplots(figsize=(3.2, 3.2), layout="constrained")
            assert draw(ax=ax) is ax
            assert_all_inside(figure)
            texts = [*ax.texts, ax.title]
            assert "#1a1a1a" not in {text.get_color() for text in texts}


def test_notebooks_show_what_was_learned(model, fixed):
    for shown in (model._repr_html_(), model._repr_mimebundle_()["text/html"]):
        assert "depressed mood" in shown
        assert "on average" in shown
    assert "contextualdag-summary" in fixed._repr_html_()
    assert "contextualdag-summary" not in ContextualDAG()._repr_html_()
