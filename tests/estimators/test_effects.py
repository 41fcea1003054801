"""Effects and interventions of fitted models."""

import warnings

import numpy as np
import pandas as pd
import pytest

from contextualdag import ClusteredDAG, ContextualDAG, FixedDAG, SortedDAG
from contextualdag.datasets import make_fixed_dag, make_varying_dag
from contextualdag.errors import InvalidInputError, InvalidParameterError, NotFittedError
from contextualdag.estimators import Intervened, load_model

pytestmark = pytest.mark.slow

NAMES = ["sleep", "mood", "stress", "pain"]


@pytest.fixture(scope="module")
def contexts():
    rng = np.random.default_rng(0)
    columns = {"age": rng.uniform(20, 60, 300), "site": rng.choice(["a", "b"], 300), "effect": rng.uniform(size=300)}
    return pd.DataFrame(columns, index=[f"row {i}" for i in range(300)])


@pytest.fixture(scope="module")
def model(contexts):
    """A chain whose first edge grows with age, with means that depend on the age as well."""
    noise = np.random.default_rng(1).standard_normal((300, 4))
    grown = (contexts["age"].to_numpy() - 20) / 40
    sleep = noise[:, 0]
    mood = 2 * grown * sleep + noise[:, 1]
    stress = 1.5 * mood + noise[:, 2]
    X = np.stack([sleep, mood, stress, noise[:, 3]], axis=1) + 3 * grown[:, None]
    fit = SortedDAG(
        order=NAMES, hidden_layers=(16,), n_members=1, n_budgets=8, max_epochs=60, structure="common-order", noise="equal",
        random_state=0, verbose=False,
    )  # fmt: skip
    return fit.fit(pd.DataFrame(X, columns=NAMES), contexts)


@pytest.fixture(scope="module")
def one_graph():
    """One graph for all contexts, in which some edges have no direction."""
    data = make_fixed_dag(800, n_nodes=6, random_state=1, noise_scale=(0.3, 3))
    return FixedDAG(random_state=0).fit(data.X, data.Z)


def test_total_effects_are_the_inverse(model, contexts):
    W = model.adjacency(contexts)
    T = model.total_effects(contexts)
    np.testing.assert_allclose(T, np.linalg.inv(np.eye(4) - W) - np.eye(4), atol=1e-9)
    assert (np.abs(T[:, 0, 2]) > 0).any()
    assert not W[:, 0, 2].any() or (T[:, 0, 2] != W[:, 0, 2]).any()


def test_effect_of_one_variable_on_another(model, contexts):
    table = model.effect("sleep", "stress", contexts)
    assert list(table.columns) == ["effect", "direct"]
    assert list(table.index) == list(contexts.index)
    np.testing.assert_allclose(table["effect"], model.total_effects(contexts)[:, 0, 2], atol=1e-9)
    np.testing.assert_array_equal(table["direct"], model.adjacency(contexts)[:, 0, 2])
    pd.testing.assert_frame_equal(model.effect(0, np.int64(2), contexts), table)
    assert not model.effect("stress", "sleep", contexts).to_numpy().any()


def test_the_truth_is_found(model, contexts):
    grown = (contexts["age"].to_numpy() - 20) / 40
    error = model.effect("sleep", "stress", contexts)["effect"] - 3 * grown
    assert np.sqrt((error**2).mean()) < 0.6  # .41 measured; the best effect that does not vary is off by .87


def test_effect_along_a_number_and_along_categories(model):
    table = model.effect_along("sleep", "stress", "age", {"site": "b"}, n_points=7)
    assert list(table.columns) == ["age", "effect", "direct"]
    ages = model.context_features_[0]
    np.testing.assert_allclose(table["age"], np.linspace(ages.low, ages.high, 7))
    Z = model.typical_context().loc[[0] * 7].assign(age=table["age"].to_numpy(), site="b")
    np.testing.assert_array_equal(table["effect"], model.effect("sleep", "stress", Z)["effect"])
    assert table["effect"].iloc[-1] > table["effect"].iloc[0] + 1
    assert len(model.effect_along("sleep", "stress", "age")) == 50
    of_sites = model.effect_along("sleep", "stress", "site", n_points=7)
    assert list(of_sites["site"]) == ["a", "b"]
    Z = pd.concat([model.typical_context()] * 2).assign(site=["a", "b"])
    np.testing.assert_array_equal(of_sites["effect"], model.effect("sleep", "stress", Z)["effect"])


def test_a_feature_may_be_named_effect(model):
    table = model.effect_along("sleep", "stress", "effect", n_points=3)
    assert list(table.columns) == ["effect", "effect", "direct"]
    feature = model.context_features_[2]
    np.testing.assert_allclose(table.iloc[:, 0], np.linspace(feature.low, feature.high, 3))


def test_means_under_interventions_solve_the_equations(model, contexts):
    stress = np.linspace(-1, 1, len(contexts))
    done = model.do(contexts, {"mood": 4, 2: stress})
    assert isinstance(done, Intervened)
    assert done.variables == ("mood", "stress")
    assert list(done.means.columns) == NAMES
    assert list(done.means.index) == list(contexts.index)
    mu, W = model.means(contexts).to_numpy(), model.adjacency(contexts)
    x = done.means.to_numpy()
    np.testing.assert_array_equal(x[:, 1], 4.0)
    np.testing.assert_array_equal(x[:, 2], stress)
    residuals = (x - mu) - np.einsum("nj,njk->nk", x - mu, W)
    np.testing.assert_allclose(residuals[:, [0, 3]], 0, atol=1e-9)
    np.testing.assert_array_equal(x[:, 0], mu[:, 0])  # what comes before stays as it is


def test_one_unit_more_is_the_total_effect(model, contexts):
    means = model.means(contexts)
    change = model.do(contexts, {"sleep": means["sleep"] + 1}).means - means
    expected = model.total_effects(contexts)[:, 0] + np.eye(4)[0]
    np.testing.assert_allclose(change, expected, atol=1e-9)


def test_samples_under_interventions(model, contexts):
    done = model.do(contexts, {"mood": 4.0})
    before, after = model.sample(contexts, random_state=5), done.sample(random_state=5)
    # The same noise: what mood does not reach is unchanged, what it reaches moves by its total effect.
    np.testing.assert_allclose(after[:, [0]], before[:, [0]], atol=1e-9)
    moved = (4 - before[:, 1])[:, None] * model.total_effects(contexts)[:, 1]
    np.testing.assert_allclose((after - before)[:, 2:], moved[:, 2:], atol=1e-9)
    np.testing.assert_array_equal(done.sample(random_state=5), after)
    one = pd.concat([contexts.iloc[:1]] * 20_000)
    done = model.do(one, {"mood": 4.0})
    drawn = done.sample(random_state=0)
    np.testing.assert_allclose(drawn.mean(0), done.means.iloc[0], atol=4 * drawn.std(0).max() / np.sqrt(20_000))
    assert drawn[:, 1].std() == 0


def test_means_are_those_of_samples(model, contexts):
    one = pd.concat([contexts.iloc[7:8]] * 20_000)
    drawn = model.sample(one, random_state=0)
    np.testing.assert_allclose(drawn.mean(0), model.means(one).iloc[0], atol=4 * drawn.std(0).max() / np.sqrt(20_000))


@pytest.mark.parametrize("estimator", [ClusteredDAG(n_clusters=2, random_state=0), None])
def test_other_estimators(estimator, tmp_path):
    data = make_varying_dag(300, n_nodes=4, n_edges=4, random_state=0)
    fit = estimator or ContextualDAG(
        hidden_layers=(16,), n_members=1, n_budgets=6, max_epochs=30, structure="varying", random_state=0, verbose=False
    )
    model = fit.fit(data.X, data.Z)
    Z = data.Z[:50]
    with warnings.catch_warnings():
        if not model.undirected_edges_:
            warnings.simplefilter("error")
        T = model.total_effects(Z)
        np.testing.assert_allclose(T, np.linalg.inv(np.eye(4) - model.adjacency(Z)) - np.eye(4), atol=1e-9)
        assert list(model.effect("x1", "x2", Z).index) == list(range(50))
        model.save(tmp_path / "model")
        np.testing.assert_allclose(load_model(tmp_path / "model").total_effects(Z), T, atol=1e-6)


def test_edges_without_a_direction_are_warned_of(one_graph):
    count, Z = len(one_graph.undirected_edges_), np.zeros((3, 2))
    assert count > 1
    said = rf"The data do not tell the direction of {count} edges \(undirected_edges_\); effects are those of one possible"
    for call in (
        lambda: one_graph.total_effects(Z),
        lambda: one_graph.effect(0, 1, Z),
        lambda: one_graph.effect_along(0, 1, "z1"),
        lambda: one_graph.do(Z, {0: 1.0}),
    ):
        with pytest.warns(UserWarning, match=said) as caught:
            call()
        assert len(caught) == 1
        assert caught[0].filename == __file__
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        one_graph.means(Z)


@pytest.mark.parametrize(
    ("source", "target", "said"),
    [
        ("slep", "mood", "source: there is no variable 'slep'. Did you mean 'sleep'? The variables are: 'sleep', 'mood',"),
        ("sleep", "zzz", "target: there is no variable 'zzz'. The variables are: 'sleep', 'mood', 'stress', 'pain'."),
        ("sleep", 0, "source and target must be two variables. Got 'sleep' twice."),
        (4, "mood", "source must be the name of a variable, or a position from 0 to 3. Got 4 instead. The variables"),
        (-1, "mood", "from 0 to 3. Got -1"),
        (True, "mood", "from 0 to 3. Got True"),
        (None, "mood", "from 0 to 3. Got None"),
    ],
)
def test_wrong_variables(model, contexts, source, target, said):
    for call in (
        lambda: model.effect(source, target, contexts),
        lambda: model.effect_along(source, target, "age"),
    ):
        with pytest.raises(InvalidInputError) as caught:
            call()
        assert said in str(caught.value)


@pytest.mark.parametrize(
    ("interventions", "said"),
    [
        ({}, "interventions must map variables to values, such as {'sleep': 1.0}. Got {} instead."),
        ([("sleep", 1)], "interventions must map variables to values"),
        ({"slep": 1}, "interventions: there is no variable 'slep'. Did you mean 'sleep'?"),
        ({"sleep": 1, 0: 2}, "interventions set 'sleep' twice, by name and by position."),
        ({"sleep": np.nan}, "'sleep' must be set to a finite number, or to an array of 300. Got nan instead."),
        ({"sleep": "high"}, "'sleep' must be set to a finite number, or to an array of 300. Got 'high' instead."),
        ({"sleep": [1.0, 2.0]}, "to one for each of the 300 contexts. Got an array of shape (2,)."),
        ({"sleep": np.zeros((300, 1))}, "Got an array of shape (300, 1)."),
        ({"sleep": np.where(np.arange(300) == 7, np.inf, 0)}, "must be set to finite numbers. Got inf for context 7."),
        ({"sleep": ["a"] * 300}, "'sleep' must be set to a finite number"),
    ],
)
def test_wrong_interventions(model, contexts, interventions, said):
    with pytest.raises(InvalidInputError) as caught:
        model.do(contexts, interventions)
    assert said in str(caught.value)


def test_values_of_an_intervention_belong_to_contexts_by_label(model, contexts):
    named = contexts.set_axis([f"person {k}" for k in range(300)])
    values = pd.Series(np.arange(300.0), index=named.index)
    assert model.do(named, {"sleep": values}).means["sleep"].equals(values.rename("sleep"))
    with pytest.raises(InvalidInputError, match=r"The indexes of Z and interventions\['sleep'\] hold the same labels in an"):
        model.do(named, {"sleep": values[::-1]})


def test_true_and_false_are_one_and_zero(model, contexts):
    flags = np.arange(300) % 2 == 0
    pairs = [(True, 1), (np.True_, 1), (False, 0), (flags, flags.astype(int)), (flags.tolist(), flags.astype(float))]
    for given, meant in pairs:
        pd.testing.assert_frame_equal(model.do(contexts, {"sleep": given}).means, model.do(contexts, {"sleep": meant}).means)


def test_other_wrong_input(model, contexts):
    with pytest.raises(InvalidInputError, match="Z lacks the context columns"):
        model.effect("sleep", "mood", contexts[["age"]])
    with pytest.raises(InvalidInputError, match="There is no context feature 'agee'"):
        model.effect_along("sleep", "mood", "agee")
    with pytest.raises(InvalidInputError, match="context must be one context"):
        model.effect_along("sleep", "mood", "age", contexts)
    with pytest.raises(InvalidInputError, match="'age' is the feature along which the effect is asked for"):
        model.effect_along("sleep", "mood", "age", {"age": 30})
    with pytest.raises(InvalidParameterError, match="'n_points' parameter of effect_along must be an integer of at least 1"):
        model.effect_along("sleep", "mood", "age", n_points=0)
    for call in (
        lambda one: one.total_effects(contexts),
        lambda one: one.effect("a", "b", contexts),
        lambda one: one.effect_along("a", "b", "age"),
        lambda one: one.do(contexts, {}),
        lambda one: one.means(contexts),
    ):
        with pytest.raises(NotFittedError):
            call(FixedDAG())


def test_a_model_without_context_has_one_effect():
    X = np.random.default_rng(0).standard_normal((400, 2))
    X[:, 1] += 2 * X[:, 0]
    model = FixedDAG(noise="equal", random_state=0).fit(X)
    Z = model.typical_context()
    assert model.effect("x1", "x2", Z)["effect"].item() == model.adjacency(Z)[0, 0, 1] == pytest.approx(2, abs=0.2)
    with pytest.raises(InvalidInputError, match="There is no context feature 'age'"):
        model.effect_along("x1", "x2", "age")
