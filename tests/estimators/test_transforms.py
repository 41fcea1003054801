from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone

from contextualdag import BootstrapDAG, ClusteredDAG, ContextualDAG, FixedDAG, SortedDAG
from contextualdag.datasets import make_fixed_dag, make_varying_dag
from contextualdag.diagnostics import check_model
from contextualdag.errors import InvalidInputError, InvalidParameterError, PersistenceError
from contextualdag.estimators.remarks import remarks

SLOPE = 0.8


def skewed_table(n=400, seed=0):
    """Dose raises response, on a logarithmic scale; who has a high response visits more often."""
    rng = np.random.default_rng(seed)
    dose = rng.standard_normal(n)
    response = SLOPE * dose + 0.6 * rng.standard_normal(n)
    visits = rng.poisson(np.exp(2 + 0.5 * response))
    return pd.DataFrame({"dose": np.exp(dose), "response": np.exp(response), "visits": visits, "arm": rng.integers(0, 2, n)})


def model_of(table, **options):
    backward = [("response", "dose"), ("visits", "dose"), ("visits", "response")]
    return FixedDAG(random_state=0, forbidden_edges=backward, **options).fit(table)


@pytest.fixture(scope="module")
def table():
    return skewed_table()


@pytest.fixture(scope="module")
def model(table):
    return model_of(table)


def test_kinds_are_found_and_said(model):
    assert model.kinds_ == {"dose": "skewed", "response": "skewed", "visits": "count", "arm": "binary"}
    assert model.transforms_ == {"dose": "log", "response": "log", "visits": "log1p", "arm": "none"}
    assert remarks(model)[0] == (
        "Variables: 1 binary, 1 count: log1p, 2 skewed: log. Weights and effects are in transformed units of dose, "
        "response, visits. The weight of an edge into a binary variable is a difference of probability."
    )


def test_directions_between_binary_variables_are_in_doubt(table):
    (said, *_) = remarks(FixedDAG(random_state=0).fit(table.assign(sex=np.arange(400) % 2)[["dose", "arm", "sex"]]))
    assert said.endswith("The data hardly tell directions between two binary variables.")


def test_weights_are_in_transformed_units(model, table):
    weights = model.edges(np.zeros((1, 0))).set_index(["source", "target"])["weight"]
    assert weights["dose", "response"] == pytest.approx(SLOPE, abs=0.1)
    logs = table.assign(dose=np.log(table["dose"]), response=np.log(table["response"]), visits=np.log1p(table["visits"]))
    by_hand = model_of(logs, transform="none")
    assert by_hand.transforms_ == dict.fromkeys(table, "none")
    assert (by_hand.adjacency(np.zeros((1, 0))) == model.adjacency(np.zeros((1, 0)))).all()
    assert by_hand.score(logs) == model.score(table)
    assert by_hand.held_out_score_ == model.held_out_score_


def test_what_is_drawn_is_in_the_units_of_the_table(model, table):
    drawn = model.sample(np.zeros((4000, 0)), random_state=0)
    assert (drawn[:, :2] > 0).all()
    assert (drawn[:, 2] > -1).all()
    assert np.median(drawn, axis=0)[:3] == pytest.approx(table.median()[:3], rel=0.25)
    assert model.means(np.zeros((1, 0))).to_numpy()[0] == pytest.approx(np.median(drawn, axis=0), rel=0.1)


def test_a_variable_is_set_to_a_value_in_the_units_of_the_table(model):
    Z = np.zeros((1, 0))
    weight = model.adjacency(Z)[0, 0, 1]
    low, high = (model.do(Z, {"dose": value}) for value in (1.0, 4.0))
    assert (low.means["dose"].item(), high.means["dose"].item()) == pytest.approx((1, 4))
    assert (high.means["response"] / low.means["response"]).item() == pytest.approx(4**weight)
    assert high.sample(random_state=0)[0, 0] == pytest.approx(4)
    with pytest.raises(InvalidInputError, match="'dose' of interventions has 1 zero, which has no logarithm"):
        model.do(Z, {"dose": 0.0})


def test_new_rows_are_transformed_as_those_of_the_fit(model, table):
    with pytest.raises(InvalidInputError, match="'response' of X has 2 zeros"):
        model.score(table.assign(response=[0, 0, *table["response"][2:]]))
    assert model.score(table[["visits", "arm", "response", "dose"]]) == model.score(table)
    assert check_model(model, table) is not None


def test_standardised_weights(model, table):
    Z = np.zeros((1, 0))
    W, standardised = model.adjacency(Z)[0], model.adjacency(Z, standardised=True)[0]
    scale = model._preparation.scaling.x_scale
    assert standardised == pytest.approx(W * scale[:, None] / scale)
    sd = np.log(table["dose"]).std() / np.log(table["response"]).std()
    assert standardised[0, 1] == pytest.approx(W[0, 1] * sd, rel=0.05)
    edges = model.edges(Z, standardised=True)
    assert edges["weight"].tolist() == standardised[np.nonzero(standardised)].tolist()
    assert (edges["source"] == model.edges(Z)["source"]).all()


def test_saved_and_loaded(table, tmp_path):
    table = table.assign(visits=1000 * table["visits"])
    model = model_of(table, transform={"dose": "normal-scores"})
    model.save(tmp_path / "model")
    loaded = FixedDAG.load(tmp_path / "model")
    assert loaded.get_params()["transform"] == {"dose": "normal-scores"}
    assert (loaded.kinds_, loaded.transforms_) == (model.kinds_, model.transforms_)
    Z = np.zeros((5, 0))
    assert (loaded.sample(Z, random_state=0) == model.sample(Z, random_state=0)).all()
    assert loaded.score(table) == model.score(table)
    assert [column.unit for column in loaded._preparation.transforms.columns] == [1, 1, 1000, 1]


def test_a_unit_that_was_saved_badly(model, tmp_path, monkeypatch):
    columns = [replace(column, unit=-1.0) for column in model._preparation.transforms.columns]
    bad = replace(model._preparation, transforms=replace(model._preparation.transforms, columns=tuple(columns)))
    monkeypatch.setattr(model, "_preparation", bad)
    model.save(tmp_path / "model")
    with pytest.raises(PersistenceError, match=r"unit/2.* a positive number"):
        FixedDAG.load(tmp_path / "model")


def test_missing_values_and_a_validation_set(table):
    holes = table.mask(np.random.default_rng(1).random(table.shape) < 0.1)
    model = FixedDAG(random_state=0, missing="impute").fit(holes[:300], X_val=holes[300:])
    assert model.transforms_["dose"] == "log"
    with pytest.raises(InvalidInputError, match=r"'dose' of X_val has 1 zero, which has no"):
        FixedDAG(missing="impute").fit(holes[:300], X_val=holes[300:].assign(dose=0.0)[:1])


def test_ordinary_columns_give_the_same_model_to_the_bit():
    data = make_fixed_dag(300, 5, 2, 4, random_state=0)
    auto, none = (FixedDAG(random_state=0, transform=one).fit(data.X, data.Z) for one in ("auto", "none"))
    assert (auto.graph_ == none.graph_).all()
    assert (auto.sample(data.Z, random_state=0) == none.sample(data.Z, random_state=0)).all()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"arm": "log"}, r"'arm' of X has \d+ zeros, which have no logarithm. Use 'log1p' or 'normal-scores'"),
        ({"dosis": "log"}, r"names 'dosis', which is not a variable. Did you mean 'dose'\?"),
        ({"dose": "ln"}, r"must be one of \['none', 'log', 'log1p', 'normal-scores'\] for 'dose'. Got 'ln'"),
        ("log", "must be 'auto', 'none' or a dict"),
    ],
)
def test_bad_transforms(table, options, message):
    with pytest.raises((InvalidInputError, InvalidParameterError), match=message):
        FixedDAG(transform=options).fit(table)


def test_columns_of_arrays_are_named_by_number(table):
    model = FixedDAG(random_state=0, transform={"x1": "none"}).fit(table.to_numpy(float))
    assert model.transforms_ == {"x1": "none", "x2": "log", "x3": "log1p", "x4": "none"}


def test_all_estimators_take_transforms_and_the_paper_has_none():
    for kind in (ContextualDAG, FixedDAG, ClusteredDAG, SortedDAG):
        assert kind().get_params()["transform"] == "auto"
        assert kind.paper().get_params()["transform"] == "none"
    assert BootstrapDAG(FixedDAG(transform="none")).get_params()["estimator__transform"] == "none"


def test_no_estimator_is_taken_for_a_transformer_of_scikit_learn():
    model = clone(FixedDAG(transform={"a": "log"})).set_params(transform="none")
    assert model.get_params()["transform"] == "none"
    for one in (model, BootstrapDAG(model)):
        assert not hasattr(one, "transform")


@pytest.mark.slow
def test_graphs_that_vary_on_counts():
    data = make_varying_dag(200, 4, 2, n_edges=3, counts=0.5, random_state=0)
    told = {int(place): "log1p" for place in np.flatnonzero((np.round(data.X) == data.X).all(0))}
    model = ContextualDAG(hidden_layers=(16,), n_members=1, max_epochs=30, transform=told, random_state=0, verbose=False)
    model.fit(data.X, data.Z)
    assert sorted(model.transforms_.values()) == ["log1p", "log1p", "none", "none"]
    assert (model.sample(data.Z, random_state=0) >= -1)[:, data.X.min(0) == 0].all()
