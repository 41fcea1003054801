"""Sentences that must not contradict one another, nor say more than the rows tell."""

import copy

import numpy as np
import pytest

from contextualdag import ContextualDAG, FixedDAG
from contextualdag.datasets import make_varying_dag
from contextualdag.estimators.remarks import one_graph, remarks
from contextualdag.estimators.summary import structure_and_noise
from contextualdag.training.context_test import ContextTest
from contextualdag.training.structure import StructureScore, simplest

N_NODES = 4
NO_SIGN, SIGN = ContextTest(0.07, 300, {}), ContextTest(0.005, 300, {})
COMPARED = {"constant": StructureScore(-3, 0.0, 0.0), "varying": StructureScore(-3.1, 0.1, 0.05)}


@pytest.fixture(scope="module")
def model():
    data = make_varying_dag(200, N_NODES, 1, n_edges=3, random_state=0)
    quick = {"hidden_layers": (8,), "n_budgets": 3, "max_epochs": 5, "n_members": 1, "structure": "varying"}
    return ContextualDAG(**quick, random_state=0, verbose=False).fit(data.X, data.Z)


def chosen(model, behind, test, error=0.05):
    """The model as if the structures had been so far behind the best."""
    scores = {name: StructureScore(-3 - far, far, error * (far > 0)) for name, far in behind.items()}
    changed = copy.copy(model)
    changed.structure_ = simplest(scores, N_NODES, test.context_matters)
    changed.structure_scores_, changed.context_test_ = scores, test
    return changed


def about(model, words):
    (remark,) = [text for text in remarks(model) if words in text]
    return remark


def test_structure_and_noise_in_one_sentence(model):
    changed = copy.copy(model)
    said = []
    for changed.structure_, changed.noise_ in (("constant", "equal"), ("common-order", "unequal"), ("varying", "equal")):
        said.append(structure_and_noise(changed))
        assert said[-1].count(".") == 1
        assert ("units do not matter" in said[-1]) == (changed.noise_ == "unequal")
    assert [text.partition(", and the noise")[0] for text in said] == [
        "One graph serves all contexts",
        "Edges change with the context along one order of the variables",
        "Edges and their directions change with the context",
    ]


def test_graphs_that_vary_although_a_test_sees_no_sign(model):
    found = chosen(model, {"constant": 0.4, "common-order": 0.3, "varying": 0}, NO_SIGN)
    assert found.structure_ == "varying"
    assert not any(text.startswith("There is no sign") for text in remarks(found))
    said = about(found, "no sign")
    assert said == (
        "Graphs that vary predict held-out rows better than one graph, by 0.4 of log likelihood for a row, but a test of "
        "the covariances sees no sign that dependence between the variables changes with the context (p = 0.07, "
        'permutation test on 300 rows). Treat what varies with care; structure="constant", --structure constant, gives '
        "one graph."
    )
    alike = chosen(model, {"constant": 0, "common-order": 0.1, "varying": 0.2}, NO_SIGN)
    assert about(alike, "no sign").startswith("There is no sign that dependence between the variables changes")


@pytest.mark.parametrize(
    ("behind", "test", "structure", "why"),
    [
        (
            {"constant": 0.02, "common-order": 0.0, "varying": 0.2},
            NO_SIGN,
            "constant",
            "One graph is not clearly worse and there is no sign that the context matters, so it was chosen.",
        ),
        (
            {"constant": 0.0, "common-order": 0.02, "varying": 0.2},
            SIGN,
            "common-order",
            "One graph is not clearly better and a test says the context matters, so one order was chosen.",
        ),
        (
            {"constant": 0.0, "common-order": 0.2, "varying": 0.02},
            SIGN,
            "varying",
            "One graph is not clearly better and a test says the context matters, so an order that varies was chosen.",
        ),
        (
            {"constant": 0.5, "common-order": 0.003, "varying": 0.0},
            SIGN,
            "common-order",
            "One order predicts about as well and is simpler, so it was chosen.",
        ),
    ],
)
def test_why_another_structure_than_the_best_was_chosen(model, behind, test, structure, why):
    found = chosen(model, behind, test)
    assert found.structure_ == structure
    assert about(found, "predicts best").endswith(f".) {why}")


def test_nothing_more_is_said_where_the_best_was_chosen(model):
    found = chosen(model, {"constant": 0.5, "common-order": 0.3, "varying": 0.0}, SIGN)
    assert about(found, "predicts best").endswith(".)")


@pytest.mark.parametrize("shares", [(-0.9, 1.7), (0.2, -0.3), (0.7, 0.6)])
def test_impossible_shares_of_variance_are_not_told(model, shares):
    found = copy.copy(model)
    found.structure_, found._explained = "constant", np.tile([*shares, 0.0], (N_NODES, 1))
    found.structure_scores_, found.context_test_ = COMPARED, NO_SIGN
    (said,) = one_graph(found)
    assert said == (
        "One graph serves all contexts: the variables depend on one another in the same way in all. "
        f"The {model.n_held_out_} held-out rows are too few to tell how much of their variance means and edges "
        "explain."
    )
    found.set_params(intercept="constant")
    found._explained = np.tile([0.0, -0.3, 0.0], (N_NODES, 1))
    assert "too few to tell how much of their variance its edges explain." in one_graph(found)[0]
    found.set_params(intercept="contextual")


def test_shares_near_the_ends_have_no_exponents_and_no_signs(model):
    found = copy.copy(model)
    found.structure_, found._explained = "constant", np.tile([-0.004, 0.997, 0.0], (N_NODES, 1))
    found.structure_scores_, found.context_test_ = COMPARED, NO_SIGN
    (said,) = one_graph(found)
    assert said == (
        "One graph serves all contexts: the variables depend on one another in the same way in all. The edges explain "
        "100 % of the variance of held-out rows."
    )
    found._explained = np.tile([0.2, 0.004, 0.0], (N_NODES, 1))
    (said,) = one_graph(found)
    assert "the context moves the means of the variables, which explains 20 % of the variance" in said
    assert said.endswith("explain 0.4 % more.")
    found._explained = np.tile([-0.004, 0.997, 0.0], (N_NODES, 1))
    # What was not compared, or where the test sees a change, is not said.
    found.structure_scores_ = {}
    (said,) = one_graph(found)
    assert said.startswith("One graph serves all contexts; none that vary were fitted. Means given the context explain 0 %")
    found.structure_scores_, found.context_test_ = COMPARED, SIGN
    assert "depend" not in one_graph(found)[0]


def test_units_matter_where_a_variable_was_transformed():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((300, 3)) * [1, 5, 0.2]
    X[:, 2] = np.exp(X[:, 2] + X[:, 0])
    noise = about(FixedDAG(noise="unequal", transform={2: "log"}, random_state=0).fit(X), "Noise:")
    assert "in transformed units of x3)" in noise
    assert noise.endswith("Units of variables that were not transformed do not matter.")
    equal = about(FixedDAG(noise="equal", transform={2: "log"}, random_state=0).fit(X), "Noise:")
    assert "in the units given, and transformed units of x3, which is part of what tells directions" in equal
    assert about(FixedDAG(noise="unequal", random_state=0, transform="none").fit(X), "Noise:").endswith(
        "Units do not matter."
    )


def test_structures_that_predict_alike_and_few_rows_held_out(model):
    found = chosen(model, {"constant": 0.0, "common-order": 0.0, "varying": 0.0}, SIGN)
    assert about(found, "predict held").endswith("(All structures predict held-out rows alike.)")
    found = chosen(model, {"constant": 0.5, "common-order": 0.3, "varying": 0.0}, SIGN)
    found.n_held_out_ = 12
    assert about(found, "predicts best").endswith(" With only 12 rows held out this is uncertain.")
