"""What holds for all pictures of models."""

import re

import pandas as pd
import pytest
from matplotlib import pyplot as plt

from contextualdag import ContextualDAG
from contextualdag.errors import ContextualDAGError, InvalidInputError
from contextualdag.estimators.summary import structure_and_noise
from tests.plotting.conftest import assert_all_inside

pytestmark = pytest.mark.slow


def test_models_without_a_context(fixed):
    assert fixed.plot_graph().get_title() == ""
    assert fixed.plot_order_flips().texts[0].get_text() == "No edge is reversed."
    with pytest.raises(InvalidInputError, match="two context features that vary"):
        fixed.plot_sparsity()
    with pytest.raises(InvalidInputError, match="No context feature varies"):
        fixed.plot_edge("x1", "x3")


@pytest.mark.parametrize(
    ("draw", "message"),
    [
        (lambda m: m.plot_edge("anxeity", "sleep"), "There is no variable 'anxeity'. Did you mean 'anxiety'?"),
        (lambda m: m.plot_edge("sleep", "sleep"), "two variables. Got 'sleep' twice"),
        (lambda m: m.plot_edge("sleep", "alcohol", "aeg"), "There is no context feature 'aeg'. Did you mean 'age'?"),
        (lambda m: m.plot_sparsity("age", "age"), "two different features"),
        (
            lambda m: m.plot_sparsity(resolution=1),
            "The 'resolution' parameter of plot_sparsity must be an integer of at least 2. Got 1",
        ),
        (lambda m: m.plot_graph({"agge": 3}), "Did you mean 'age'?"),
        (
            lambda m: m.plot_graph(max_edges=0),
            "The 'max_edges' parameter of plot_graph must be an integer of at least 1. Got 0",
        ),
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
        assert re.search(r"<th [^>]*>changes</th><td [^>]*>Of \d+ edges [^<]*\(summary\(\)\)</td>", shown)
        assert structure_and_noise(model) in shown
    assert "There is one graph, and the noise has" in fixed._repr_html_()
    assert "contextualdag-summary" not in ContextualDAG()._repr_html_()
