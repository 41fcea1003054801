import numpy as np
import pytest

from contextualdag.datasets import make_varying_dag
from contextualdag.errors import InvalidInputError, InvalidParameterError
from contextualdag.transforms import Transforms, check_transform, common_step, kind_of, skewness

RNG = np.random.default_rng(0)
COLUMNS = {
    "smokes": ("binary", "none", RNG.integers(0, 2, 400)),
    "two_levels": ("binary", "none", RNG.choice([-3.5, 2.0], 400)),
    "answer": ("ordinal", "none", RNG.integers(1, 6, 400)),
    "seldom": ("ordinal", "none", RNG.choice(7, 400, p=[0.6, 0.12, 0.1, 0.08, 0.04, 0.03, 0.03])),
    "pain": ("ordinal", "none", RNG.integers(0, 11, 400)),
    "visits": ("count", "log1p", RNG.poisson(np.exp(2 + RNG.standard_normal(400)))),
    "some_visits": ("count", "none", RNG.poisson(np.exp(RNG.standard_normal(400)))),
    "few_visits": ("count", "none", np.minimum(RNG.poisson(np.exp(0.7 * RNG.standard_normal(400))), 9)),
    "days": ("count", "none", RNG.integers(0, 366, 400)),
    "age": ("continuous", "none", RNG.integers(18, 90, 400)),
    "crp": ("skewed", "log", RNG.lognormal(size=400)),
    "crp_with_zeros": ("skewed", "normal-scores", np.append(RNG.lognormal(size=395), np.zeros(5))),
    "rain": ("continuous", "none", RNG.lognormal(size=400) * (RNG.random(400) < 0.04)),
    "normal": ("continuous", "none", RNG.standard_normal(400)),
    "heavy_tails": ("continuous", "none", RNG.standard_t(1.5, 400)),
    "positive": ("continuous", "none", RNG.normal(20, 2, 400)),
    "one_value": ("continuous", "none", np.full(400, 3.0)),
}


@pytest.mark.parametrize("name", COLUMNS)
def test_kinds_and_what_is_done_about_them(name):
    kind, transform, values = COLUMNS[name]
    learned = Transforms.learn(values[:, None].astype(float), [name], "auto")
    assert (*learned.kinds, *learned.names_of_transforms) == (kind, transform)


@pytest.mark.parametrize("factor", [1000, 2**-7, 0.1, 1.15078, 1 / 3])
@pytest.mark.parametrize("name", COLUMNS)
def test_units_do_not_matter(name, factor):
    values = COLUMNS[name][2][:, None].astype(float)
    learned, other = (Transforms.learn(X, [name], "auto") for X in (values, values * factor))
    assert (other.kinds, other.names_of_transforms) == (learned.kinds, learned.names_of_transforms)
    moved, rescaled = learned.forward(values, "X"), other.forward(values * factor, "X")
    ratio = 1 if learned.names_of_transforms != ("none",) else factor
    assert rescaled - rescaled.mean() == pytest.approx(ratio * (moved - moved.mean()), rel=1e-6, abs=1e-6)
    assert other.back(rescaled) == pytest.approx(values * factor)


def test_log1p_of_counts_is_in_steps():
    X = 1000.0 * COLUMNS["visits"][2][:, None]
    for wanted in ("auto", {"visits": "log1p"}):
        learned = Transforms.learn(X, ["visits"], wanted)
        assert learned.columns[0].unit == 1000
        assert learned.forward(X, "X") == pytest.approx(np.log1p(X / 1000))
    assert Transforms.learn(np.exp(X / 1e4), ["a"], {"a": "log1p"}).columns[0].unit == 1


@pytest.mark.parametrize("values", [RNG.standard_normal(500), RNG.lognormal(size=500), RNG.beta(1, 3, 500)])
@pytest.mark.parametrize("outlier", [1e6, -1e6, 99_999.0, 1e200])
def test_one_wild_value_makes_no_counts(values, outlier):
    assert kind_of(np.append(values, outlier)) in ("continuous", "skewed")


@pytest.mark.parametrize(("a", "b"), [(1, 3), (2, 5)])
def test_rounding_makes_nothing_more_skewed(a, b):
    values = RNG.beta(a, b, 2000).round(2)[:, None]
    moved = Transforms.learn(values, ["share"], "auto").forward(values, "X")
    assert abs(skewness(moved[:, 0])) <= abs(skewness(values[:, 0]))


@pytest.mark.parametrize(
    "levels", [[0.0, 1.0, 2**0.5, np.pi], [0.0, 0.0123, 1.0], [0.0, 1e-4, 1.0], np.linspace(0, 1, 3001)]
)
def test_no_common_step(levels):
    assert common_step(np.array(levels)) is None


@pytest.mark.parametrize("scale", [1e-310, 1e-200, 0.3, 1.0, 1e200])
def test_common_step(scale):
    for steps in ([0, 2, 3], [2, 4, 10, 14], [-6, 0, 9, 999], range(500)):
        expected = scale * (np.gcd.reduce(np.array(steps)))
        assert common_step(scale * np.array(steps, dtype=float)) == pytest.approx(expected, rel=1e-3, abs=0)


@pytest.mark.parametrize(
    "options",
    [{}, {"noise_scale": (0.5, 2)}, {"mean_shift": 1.0}, {"degrees_of_freedom": 3}, {"outliers": 0.01}, {"units": 3.0}],
)
def test_ordinary_columns_are_not_touched(options):
    for n, seed in ((60, 0), (200, 1), (2000, 2)):
        X = make_varying_dag(n, 20, 2, random_state=seed, **options).X
        learned = Transforms.learn(X, [f"x{k}" for k in range(20)], "auto")
        assert not learned.change
        assert learned.forward(X, "X") is X
        assert learned.back(X) is X


def table():
    return np.stack([values.astype(float) for _, _, values in COLUMNS.values()], axis=1)


def test_there_and_back_again():
    X = table()
    learned = Transforms.learn(X, list(COLUMNS), {"normal": "normal-scores", "answer": "log"})
    moved = learned.forward(X, "X")
    assert learned.back(moved) == pytest.approx(X)
    assert moved[:, list(COLUMNS).index("crp")] == pytest.approx(np.log(COLUMNS["crp"][2]))
    assert moved[:, list(COLUMNS).index("visits")] == pytest.approx(np.log1p(COLUMNS["visits"][2]))
    scores = moved[:, list(COLUMNS).index("normal")]
    assert (scores.mean(), scores.std()) == pytest.approx((0, 1), abs=0.02)
    assert (np.argsort(scores) == np.argsort(COLUMNS["normal"][2])).all()


def test_missing_values_stay_and_teach_nothing():
    X = RNG.lognormal(size=(500, 2))
    holes = X.copy()
    holes[::3] = np.nan
    learned = Transforms.learn(holes, ["a", "b"], {"b": "normal-scores"})
    assert learned.names_of_transforms == ("log", "normal-scores")
    moved = learned.forward(holes, "X")
    assert (np.isnan(moved) == np.isnan(holes)).all()
    assert (np.isnan(learned.back(moved)) == np.isnan(holes)).all()


def test_a_column_without_values_is_left_to_others():
    learned = Transforms.learn(np.full((5, 1), np.nan), ["a"], {"a": "normal-scores"})
    assert not learned.change


def test_normal_scores_of_new_values_stay_in_range_and_between():
    values = np.sort(RNG.lognormal(size=3000))
    learned = Transforms.learn(values[:, None], ["a"], {"a": "normal-scores"})
    (column,) = learned.columns
    assert len(column.values) <= 1000
    new = learned.forward(np.array([[-5.0], [values[0]], [np.median(values)], [values[-1]], [1e6]]), "X")[:, 0]
    assert new[0] == new[1]
    assert new[2] == pytest.approx(0, abs=0.01)
    assert new[3] == new[4] == pytest.approx(3.6, abs=0.1)
    assert learned.back(np.array([[9.0]])) == pytest.approx(values[-1])


def test_what_is_said():
    learned = Transforms.learn(table(), list(COLUMNS), {"normal": "normal-scores"})
    assert learned.in_words() == (
        "2 binary, 3 ordinal, 1 count: log1p, 3 counts, 1 skewed: log, 1 skewed: normal-scores, 1 continuous: normal-scores"
    )
    assert Transforms.learn(table()[:, -4:], list(COLUMNS)[-4:], "auto").in_words() == ""


def test_nothing_is_done_where_nothing_is_wanted():
    learned = Transforms.learn(table(), list(COLUMNS), "none")
    assert set(learned.names_of_transforms) == {"none"}
    assert learned.kinds[0] == "binary"


@pytest.mark.parametrize(
    ("values", "wanted", "message"),
    [
        ([0.0, 1, 0, 2], "log", "'crp' of X has 2 zeros, which have no logarithm. Use 'log1p' or 'normal-scores'"),
        ([0.0, 1, -1, -2], "log", "'crp' of X has 1 zero and 2 negative values, which have no logarithm. Use 'normal-"),
        ([0.0, 1, -1, -2], "log1p", "'crp' of X has 2 values of -1 or less"),
        ([0.0, 1, -1, 2], "log1p", "'crp' of X has 1 value of -1 or less"),
    ],
)
def test_no_logarithm(values, wanted, message):
    X = np.array(values)[:, None]
    with pytest.raises(InvalidInputError, match=message.replace(".", r"\.")):
        Transforms.learn(X, ["crp"], {"crp": wanted}).forward(X, "X")


def test_unknown_names_and_transforms():
    with pytest.raises(InvalidParameterError, match=r"names 'crb', which is not a variable. Did you mean 'crp'\?"):
        Transforms.learn(np.ones((3, 1)), ["crp"], {"crb": "log"})
    with pytest.raises(InvalidParameterError, match=r"'transform' parameter of FixedDAG .* for 'crp'. Got 'ln'"):
        check_transform({"crp": "ln"}, "FixedDAG")
    for wrong in ("log", None, ["crp"]):
        with pytest.raises(InvalidParameterError, match="must be 'auto', 'none' or a dict"):
            check_transform(wrong, "FixedDAG")


def test_kinds_of_odd_columns():
    assert kind_of(np.array([])) == "continuous"
    assert kind_of(np.array([0.0, 1.0, 17.0])) == "count"
    assert kind_of(np.array([-2.0, 0.0, 3.0])) == "ordinal"


def test_positions_in_place_of_names():
    X, names = np.random.default_rng(0).lognormal(size=(100, 3)), ["a", "b", "c"]
    by_name = Transforms.learn(X, names, {"c": "none", "a": "log1p"}).names_of_transforms
    assert by_name == ("log1p", "log", "none")
    for wanted in ({2: "none", 0: "log1p"}, {"2": "none", "a": "log1p"}):  # text, as in a model that was saved
        check_transform(wanted, "FixedDAG")
        assert Transforms.learn(X, names, wanted).names_of_transforms == by_name
    assert Transforms.learn(X, ["2", "b", "c"], {"2": "none"}).names_of_transforms == ("none", "log", "log")
    with pytest.raises(InvalidParameterError, match=r"names 3, which is not a variable.* positions from 0 to 2 will do too"):
        Transforms.learn(X, names, {3: "none"})
    with pytest.raises(InvalidParameterError, match="holds 'c' twice"):
        Transforms.learn(X, names, {2: "none", "c": "log"})
    for key in (np.int64(2), 2.0, True, None):
        with pytest.raises(InvalidParameterError, match=r"a dict of names or positions \(int\) of variables"):
            check_transform({key: "none"}, "FixedDAG")


def test_what_is_saved_comes_back():
    X = table() * 1000
    learned = Transforms.learn(X, list(COLUMNS), "auto")
    packed = [[column.kind, column.transform] for column in learned.columns]
    again = Transforms.of(learned.names, packed, learned.arrays())
    assert [column.unit for column in again.columns] == [column.unit for column in learned.columns]
    assert again.forward(X, "X") == pytest.approx(learned.forward(X, "X"), abs=0)
