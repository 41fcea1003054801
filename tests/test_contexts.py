"""How contexts become numbers, and what a model remembers of them."""

import datetime

import numpy as np
import pandas as pd
import pytest

from contextualdag import ClusteredDAG, ContextualDAG, FixedDAG, SortedDAG
from contextualdag.categories import find_category
from contextualdag.contexts import ContextEncoder, ContextSummary
from contextualdag.errors import InvalidInputError, InvalidParameterError, NotFittedError
from contextualdag.explorer.graphs import FittedGraphs
from contextualdag.report.model import write_model_report


@pytest.fixture(scope="module")
def model():
    rng = np.random.default_rng(0)
    Z = pd.DataFrame({"age": np.linspace(20, 60, 201), "site": ["a"] * 60 + ["b"] * 101 + ["c"] * 40})
    X = pd.DataFrame(rng.standard_normal((201, 3)), columns=list("uvw"))
    return ContextualDAG(hidden_layers=(8,), max_epochs=5, random_state=0).fit(X, Z)


@pytest.mark.slow
def test_summary_covers_all_rows_and_no_more(model):
    table = model.context_summary_.set_index("feature")
    numbers = table.loc["age", ["low", "q25", "median", "q75", "high"]].to_numpy(float)
    np.testing.assert_allclose(numbers, [20, 30, 40, 50, 60])
    assert table.loc["site", "shares"] == pytest.approx({"a": 60 / 201, "b": 101 / 201, "c": 40 / 201})
    assert table["kind"].tolist() == ["number", "category"]


@pytest.mark.slow
def test_typical_contexts_are_contexts(model):
    assert model.typical_context().to_dict("records") == [{"age": pytest.approx(40), "site": "b"}]
    assert float(model.typical_context(0.1)["age"].iloc[0]) == pytest.approx(24)
    assert model.adjacency(model.typical_context(1)).shape == (1, 3, 3)
    with pytest.raises(InvalidParameterError, match="quantile must be a number from 0 to 1"):
        model.typical_context(2)


@pytest.mark.slow
def test_outside(model):
    Z = pd.DataFrame({"age": [19.9, 20, 60, 60.1], "site": ["a"] * 4})
    assert model.is_outside(Z).tolist() == [True, False, False, True]


@pytest.mark.slow
def test_saved_with_the_model(model, tmp_path):
    model.save(tmp_path / "model")
    loaded = ContextualDAG.load(tmp_path / "model")
    pd.testing.assert_frame_equal(loaded.context_summary_, model.context_summary_)
    pd.testing.assert_frame_equal(loaded.typical_context(0.9), model.typical_context(0.9))


def test_unfitted():
    for ask in (lambda m: m.context_summary_, lambda m: m.typical_context(), lambda m: m.is_outside([[0.0]])):
        with pytest.raises(NotFittedError):
            ask(FixedDAG())


def summary_of(values, name="z", period=None):
    encoder = ContextEncoder.learn(pd.DataFrame({name: values}), {} if period is None else {name: period})
    return ContextSummary.learn(encoder, encoder.encode(pd.DataFrame({name: values})))


@pytest.mark.filterwarnings("ignore:Context column 'z1' goes from 0 to 30, beyond one period")
def test_cyclic_features_are_sines_and_cosines():
    encoder = ContextEncoder.learn(np.array([[0.0, 5], [6, 5], [12, 5], [30, 5]]), {"z1": 24})
    np.testing.assert_array_equal(
        encoder.encode([[0, 5], [6, 5], [12, 5], [30, 5]])[:, :2], [[0, 1], [1, 0], [0, -1], [1, 0]]
    )
    assert encoder.feature_names == ["sine of z1", "cosine of z1", "z2"]
    assert encoder.columns_of_features == {"z1": (0, 1), "z2": (2,)}
    # Neighbours across the end are as near as any others.
    encoded = encoder.encode(np.array([[hour, 0] for hour in range(25)]))
    np.testing.assert_allclose(np.linalg.norm(np.diff(encoded, axis=0), axis=1), 2 * np.sin(np.pi / 24), atol=1e-11)


@pytest.mark.filterwarnings("ignore:Context column 'z' goes from .* beyond one period")
@pytest.mark.parametrize(
    ("values", "period", "seen"),
    [
        ([0, 23, 24, 25, -1, 49.5], 24, [0, 23, 0, 1, 23, 1.5]),
        ([1, 6, 12], 12, [1, 6, 12]),  # months stay 1 to 12
        ([-180, 0, 90, 180], 360, [-180, 0, 90, -180]),
        ([0.0, 0.1, 0.9], 1.0, [0, 0.1, 0.9]),
    ],
)
def test_people_see_cyclic_features_as_in_their_table(values, period, seen):
    encoder = ContextEncoder.learn(pd.DataFrame({"z": values}), {"z": period})
    assert encoder.as_seen(encoder.encode(pd.DataFrame({"z": values})))[:, 0].tolist() == seen


def test_the_range_of_a_cyclic_feature():
    hours = summary_of(np.arange(24), "hour", 24)
    (feature,) = hours.features
    assert (feature.low, feature.high, feature.beyond(0.15)) == (0, 24, (0, 24))
    assert not hours.outside(hours.encoder.encode([[23.5], [-1], [47]])).any()
    assert hours.table()[["kind", "low", "high"]].to_numpy().tolist() == [["cyclic", 0, 23]]
    day = summary_of(np.arange(8, 19), "hour", 24)
    (feature,) = day.features
    assert (feature.low, feature.high, feature.beyond(0.15)) == (8, 18, (6.5, 19.5))
    assert day.outside(day.encoder.encode([[12], [36], [3], [20]])).tolist() == [False, False, True, True]
    assert [feature.contains(hour) for hour in (12, 36, 3)] == [True, True, False]


@pytest.mark.parametrize(
    ("cyclic", "sentence"),
    [
        ({"huor": 24}, r"'cyclic' parameter names 'huor', which is no context feature\. Did you mean 'hour'\?"),
        ({"site": 2}, r"Context column 'site' is cyclic, so it must hold numbers"),
        ({"hour": 0}, r"'cyclic' parameter of FixedDAG must be None or a dict .* positive periods"),
        ({"week": 52, "hour": None}, r"'cyclic' parameter .* with a positive number for 'hour'. Got None instead"),
        (["hour"], r"'cyclic' parameter of FixedDAG must be None or a dict"),
        ({0: 24}, r"'cyclic' parameter of FixedDAG must name context features by text, not by position. Got 0 as a name"),
    ],
)
def test_bad_periods(cyclic, sentence):
    Z = pd.DataFrame({"hour": np.arange(40) % 24, "site": ["a", "b"] * 20})
    with pytest.raises((InvalidInputError, InvalidParameterError), match=sentence):
        FixedDAG(cyclic=cyclic).fit(np.random.default_rng(0).standard_normal((40, 2)), Z)


@pytest.mark.parametrize("period", [12, 22])
def test_values_beyond_one_period_are_a_warning(period):
    X, hour = np.random.default_rng(0).standard_normal((72, 2)), pd.DataFrame({"hour": np.arange(72) % 24})
    sentence = rf"'hour' goes from 0 to 23, beyond one period of {period}, .*: 0 and {period} count as the same"
    with pytest.warns(UserWarning, match=sentence) as said:
        FixedDAG(cyclic={"hour": period}, random_state=0).fit(X, hour)
    assert said[0].filename == __file__


def test_one_period_and_dates_over_several_are_no_warning():
    X = np.random.default_rng(0).standard_normal((72, 2))
    days = pd.Series(pd.date_range("2020-01-01", periods=72, freq="30D"))
    Z = pd.DataFrame({"hour": np.arange(72) % 24, "month": days.dt.month, "visit": days})
    FixedDAG(cyclic={"hour": 24, "month": 12, "visit": 365.25}, random_state=0).fit(X, Z)


def test_a_period_without_a_context():
    with pytest.raises(InvalidParameterError, match="names 'hour', but there is no context"):
        FixedDAG(cyclic={"hour": 24}).fit(np.random.default_rng(0).standard_normal((40, 2)))


@pytest.fixture(scope="module")
def by_hour():
    """An edge from a to b whose weight is the cosine of the hour."""
    rng = np.random.default_rng(0)
    X, hour = rng.standard_normal((800, 2)), rng.uniform(0, 24, 800)
    X[:, 1] += 1.5 * np.cos(2 * np.pi * hour / 24) * X[:, 0]
    Z = pd.DataFrame(
        {"hour": hour, "grade": pd.Categorical(rng.choice(["low", "high"], 800), ["low", "high"], ordered=True)}
    )
    settings = {"hidden_layers": (16,), "n_members": 1, "n_budgets": 8, "learning_rate": 0.02, "structure": "varying"}
    return ContextualDAG(**settings, cyclic={"hour": np.int64(24)}, max_epochs=60, random_state=0).fit(
        pd.DataFrame(X, columns=["a", "b"]), Z
    )


def graph(model, hour):
    return model.adjacency(pd.DataFrame({"hour": [hour], "grade": ["low"]}))[0]


@pytest.mark.slow
def test_the_graph_goes_around_the_clock(by_hour):
    np.testing.assert_array_equal(graph(by_hour, 24), graph(by_hour, 0))
    np.testing.assert_array_equal(graph(by_hour, 25), graph(by_hour, 1))
    np.testing.assert_allclose(graph(by_hour, 23.99), graph(by_hour, 0.01), atol=0.05)
    assert graph(by_hour, 0)[0, 1] == pytest.approx(1.5, abs=0.3)
    assert graph(by_hour, 12)[0, 1] == pytest.approx(-1.5, abs=0.3)
    assert set(by_hour.context_test_.features) == {"hour", "grade"}


@pytest.mark.slow
def test_everything_along_a_feature_sees_the_hour(by_hour, tmp_path):
    assert list(by_hour.typical_context().columns) == ["hour", "grade"]
    assert 0 <= by_hour.typical_context(1)["hour"].iloc[0] < 24
    by_hour.save(tmp_path / "model")
    loaded = ContextualDAG.load(tmp_path / "model")
    assert loaded.cyclic == {"hour": 24}
    assert loaded._preparation.contexts.encoder == by_hour._preparation.contexts.encoder
    np.testing.assert_array_equal(graph(loaded, 25), graph(by_hour, 1))
    hours = FittedGraphs(loaded).features[0]
    assert (hours.name, hours.bounds) == ("hour", (0, 24))
    write_model_report(loaded, tmp_path / "report.html")
    assert "sine" not in (tmp_path / "report.html").read_text()
    axes = loaded.plot_edge("a", "b", "hour")
    assert axes.get_xlim()[0] > -2
    assert axes.get_xlim()[1] < 26


@pytest.mark.slow
@pytest.mark.parametrize(
    "model",
    [
        FixedDAG(cyclic={"z1": 24}, random_state=0),
        ClusteredDAG(cyclic={"z1": 24}, n_clusters=2, random_state=0),
        SortedDAG(cyclic={"z1": 24}, order=[0, 1], hidden_layers=(8,), n_members=1, max_epochs=5, random_state=0),
    ],
    ids=lambda model: type(model).__name__,
)
def test_the_other_estimators_go_around_the_clock(model):
    rng = np.random.default_rng(0)
    hour = rng.choice([23.0, 0, 11, 12], 200)
    X = rng.standard_normal((200, 2))
    X[:, 1] += np.where(np.isin(hour, [23, 0]), 1.5, -1.5) * X[:, 0]
    model.fit(X, hour)
    W = model.adjacency(np.array([[0.0], [24], [23], [11], [12]]))
    np.testing.assert_array_equal(W[0], W[1])
    if isinstance(model, ClusteredDAG):  # as numbers, 23 and 0 would be in different clusters
        np.testing.assert_array_equal(W[0], W[2])
        np.testing.assert_array_equal(W[3], W[4])
        assert (W[0] != W[3]).any()


def test_ordered_categories_are_numbers():
    levels = ["low", "middle", "high"]
    Z = pd.DataFrame({"grade": pd.Categorical(["high", "low", "low", "high", "low"], levels, ordered=True)})
    encoder = ContextEncoder.learn(Z)
    assert encoder.encode(Z)[:, 0].tolist() == [2, 0, 0, 2, 0]
    assert encoder.encode(pd.DataFrame({"grade": ["middle"]})).tolist() == [[1]]
    summary = ContextSummary.learn(encoder, encoder.encode(Z))
    assert summary.features[0].shares == {"low": 0.6, "middle": 0, "high": 0.4}
    assert summary.typical(0.5).to_dict("records") == [{"grade": "low"}]
    unordered = ContextEncoder.learn(pd.DataFrame({"grade": pd.Categorical(Z["grade"], levels, ordered=False)}))
    assert unordered.feature_names == ["grade=high", "grade=low"]


def test_numbers_and_truth_values_that_are_categories():
    Z = pd.DataFrame({"sex": pd.Categorical([0.0, 1, 1, 0, 1]), "flag": [True, False, True, True, False]})
    encoder = ContextEncoder.learn(Z)
    assert encoder.categories == (("0.0", "1.0"), ("False", "True"))
    again = pd.DataFrame({"sex": [1, 0], "flag": ["TRUE", "false"]})
    np.testing.assert_array_equal(encoder.encode(again), [[0, 1, 0, 1], [1, 0, 1, 0]])
    assert find_category("1", ["01", "1"]) == "1"
    assert find_category("a", ["A"]) is None


@pytest.mark.parametrize(
    ("column", "sentence"),
    [
        (
            pd.to_timedelta(np.arange(9), unit="h"),
            r"'z' holds times of day or spans of time\. Code it as a number: a span as",
        ),
        ([datetime.time(hour) for hour in range(9)], r"'z' holds times of day or spans .* cyclic={'hour': 24}"),
        (
            [f"2020-01-0{k}" for k in range(1, 10)],
            "has 9 different values in 9 rows.* too many .* a date one, with pandas.to_",
        ),
        ([pd.Timestamp("2020-01-01"), pd.NaT], r"how many: 'z' \(1\)\. 1 of 2 rows lack a context"),
        ([f"person {k}" for k in range(9)], r"has 9 different values in 9 rows.* code it as a number\.$"),
        (["a", pd.NA, "b"], r"how many: 'z' \(1\)\. 1 of 3 rows lack a context"),
        (["a", pd.NA, "b", None], r"how many: 'z' \(2\)\. 2 of 4 rows lack a context"),
    ],
)
def test_columns_that_are_no_context(column, sentence):
    with pytest.raises(InvalidInputError, match=sentence):
        ContextEncoder.learn(pd.DataFrame({"z": column}))


def test_a_context_that_does_not_vary_but_for_rounding():
    (feature,) = summary_of(np.full(7, 0.1) * [1, 1, 1, 1 + 1e-15, 1, 1, 1]).features
    assert not feature.varies


@pytest.fixture(scope="module")
def visits():
    rng = np.random.default_rng(0)
    Z = pd.DataFrame({"visit": pd.Timestamp("2024-02-28 12:00") + pd.to_timedelta(rng.permutation(300), unit="D")})
    X = pd.DataFrame(rng.standard_normal((300, 2)), columns=["mood", "sleep"])
    X["sleep"] += (Z["visit"] - Z["visit"].min()).dt.days / 100
    return X, Z


def test_dates_are_days_since_the_first(visits, tmp_path):
    X, Z = visits
    days = (Z["visit"] - pd.Timestamp("2024-02-28")) / pd.Timedelta(days=1)
    model = FixedDAG(random_state=0).fit(X, Z)
    same = FixedDAG(random_state=0).fit(X, days.to_frame())
    assert model.score(X, Z) == same.score(X, days.to_frame()) == model.score(X, days.to_frame())
    assert model.score(X, Z) > 0.15  # .20 measured; all of it is the mean of sleep
    (feature,) = model.context_features_
    assert (feature.origin, feature.low, feature.high) == ("2024-02-28", 0.5, 299.5)
    assert model.context_summary_["kind"].tolist() == ["days since 2024-02-28"]
    assert model.is_outside(pd.DataFrame({"visit": pd.to_datetime(["2024-03-01", "2023-03-01"])})).tolist() == [False, True]
    model.save(tmp_path / "model")
    again = FixedDAG.load(tmp_path / "model")
    assert again.context_features_ == model.context_features_
    assert again.score(X, Z) == model.score(X, Z)
    with pytest.raises(
        InvalidInputError, match=r"'visit' held dates when .* Got text such as '2024-03-01' instead\. Pass dates"
    ):
        model.adjacency(pd.DataFrame({"visit": ["2024-03-01"]}))
    with pytest.raises(InvalidInputError, match="'visit' was numeric when the model was fitted"):
        same.adjacency(Z)


def test_dates_that_come_back(visits):
    _, Z = visits
    encoder = ContextEncoder.learn(Z, {"visit": 365.25})
    assert encoder.feature_names == ["sine of visit", "cosine of visit"]
    turned = pd.DataFrame({"visit": [pd.Timestamp("2030-03-01"), pd.Timestamp("2034-03-01")]})
    first, second = encoder.encode(turned)
    np.testing.assert_allclose(first, second, atol=1e-9)


def test_dates_one_a_day_are_no_identifier(visits):
    X, Z = visits
    FixedDAG(random_state=0).fit(X, Z.sort_values("visit", ignore_index=True))  # without a warning


def test_dates_reach_reports_effects_and_other_libraries(visits, tmp_path):
    X, Z = visits
    model = FixedDAG(random_state=0).fit(X, Z)
    one = pd.DataFrame({"visit": [pd.Timestamp("2024-03-01 06:00", tz="UTC")]})
    assert model.to_networkx(one).graph["context visit"] == 2.25
    assert len(model.do(Z, {"mood": 1.0}).means) == len(model.means(Z)) == 300
    assert model.effect_along("mood", "sleep", "visit")["visit"].iloc[-1] == 299.5
    write_model_report(model, tmp_path / "report.html")
    assert "days since 2024-02-28" in (tmp_path / "report.html").read_text()


def test_a_fit_with_many_categories():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((600, 3))
    X[:, 1] += X[:, 0]
    site = pd.DataFrame({"site": [f"site {k % 60}" for k in range(600)]})
    model = ContextualDAG(n_members=1, max_epochs=20, random_state=0, verbose=False).fit(X, site)
    assert len(model.context_features_[0].shares) == 60
    assert model.adjacency(site)[:, 0, 1].min() > 0.5
