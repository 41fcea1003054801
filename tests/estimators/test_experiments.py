"""Interventions, weights of rows and groups, as arguments of fit."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
import torch

from contextualdag import BootstrapDAG, ClusteredDAG, ContextualDAG, FixedDAG, SortedDAG
from contextualdag.errors import InvalidInputError
from contextualdag.estimators import fit_together
from contextualdag.estimators.experiments import context_tells, read_weights
from contextualdag.estimators.fitting import Tables, prepare
from contextualdag.estimators.interventions import read_interventions

NAMES = ["a", "b", "c"]
QUICK = {"hidden_layers": (16,), "n_members": 1, "n_budgets": 8, "max_epochs": 60, "random_state": 0, "verbose": False}


def experiment(n=900, seed=0, share=3, far=4.0, varies=False):
    """x1 -> x2 -> x3, where x2 is set to large numbers in some of the rows; the targets of each row, and contexts."""
    rng = np.random.default_rng(seed)
    X, Z = rng.standard_normal((n, 3)), rng.uniform(-1, 1, (n, 1))
    hit = np.arange(n) % share == 0
    weight = 1.5 * Z[:, 0] if varies else 1.0
    X[:, 1] = np.where(hit, far + 2 * rng.standard_normal(n), X[:, 1] + weight * X[:, 0])
    X[:, 2] += X[:, 1]
    return X, Z, ["x2" if one else None for one in hit]


@pytest.mark.parametrize(
    "given",
    [
        [None, "b", "a;c", ""],
        ["", "b", " a ; c ", float("nan")],
        [[], ["b"], ("a", "c"), None],
        np.array([None, "b", "a;c", np.nan], dtype=object),
        pd.Series([None, "b", "a;c", pd.NA]),
        pl.Series([None, "b", "a;c", ""]),
        [None, 1, [0, 2], None],
        np.array([[0, 0, 0], [0, 1, 0], [1, 0, 1], [0, 0, 0]]),
        [[False, False, False], [False, True, False], [True, False, True], [False, False, False]],
        pd.DataFrame({"c": [False, False, True, False], "a": [0, 0, 1, 0], "b": [False, True, False, False]}),
        pl.DataFrame({"a": [0, 0, 1, 0], "b": [0, 1, 0, 0], "c": [0, 0, 1, 0]}),
    ],
)
def test_ways_to_say_which_variables_were_intervened_on(given):
    assert read_interventions(given, 4, NAMES).tolist() == [[0, 0, 0], [0, 1, 0], [1, 0, 1], [0, 0, 0]]


def test_some_columns_of_flags_and_a_name_with_a_semicolon():
    found = read_interventions(pd.DataFrame({"c": [True, False]}), 2, NAMES)
    assert found.tolist() == [[0, 0, 1], [0, 0, 0]]
    assert read_interventions(["a;b", "c;d"], 2, ["a;b", "c", "d"]).tolist() == [[1, 0, 0], [0, 1, 1]]


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (
            [None, "B1", "B1", "a"],
            r"name 'B1' in 2 rows, which is not a variable; the first is row 1, counted from 0. Did you mean 'b'\?",
        ),
        ([None, "q", 7, None], r"in 1 row, which is not a variable"),
        ([None, "b"], r"each of the 4 rows of X. Got 2 entries"),
        ("b", r"must be a mask of shape \(4, 3\) or name the targets of each row. Got 'b' instead"),
        (3, r"name the targets of each row. Got 3 instead"),
        (np.array([-1, 0, -1, 1]), r"name -1 in 2 rows, which is not a variable.*; positions from 0 to 2 will do too"),
        ([None, np.float64(0.5), None, None], r"name 0\.5 in 1 row"),
        (np.zeros((4, 2), bool), r"must have the shape \(4, 3\), as X has. Got \(4, 2\)"),
        (np.zeros((3, 3), bool), r"must have the shape \(4, 3\), as X has. Got \(3, 3\)"),
        (np.zeros((4, 3, 3), bool), r"must have the shape \(4, 3\). Got \(4, 3, 3\)"),
        (np.array([[0, 2, 0]] * 4), r"boolean, or hold only zeros and ones. Its column 'b' has 4 other values, such as"),
        (pd.DataFrame({"b": [0, 1, np.nan, 0]}), r"Its column 'b' has 1 other values, such as nan in row 2, counted from 0"),
        (pd.DataFrame({"target": [0, 1, 0, 0]}), r"has a column 'target', which is not a variable"),
        (np.array([True, False, True, True]), r"does not tell the variable. Pass a dict, such as {'a': flags}, a mask"),
        (pd.Series([True, None, True, True]), r"does not tell the variable"),
    ],
)
def test_bad_interventions(given, message):
    with pytest.raises(InvalidInputError, match=message):
        read_interventions(given, 4, NAMES)


def test_too_few_rows_for_an_equation():
    X, _, _ = experiment(100)
    with pytest.raises(InvalidInputError, match=r"leave 0 of 100 rows for the equation of 'x2'.*needs 20 at least"):
        FixedDAG().fit(X, interventions=["x2"] * 100)
    with pytest.raises(InvalidInputError, match=r"leave 19 of 100 rows for the equation of 'x3'"):
        FixedDAG().fit(X, interventions=["x3"] * 81 + [None] * 19)
    with pytest.raises(InvalidInputError, match="interventions_val belongs to X_val"):
        FixedDAG().fit(X, interventions_val=["x2"] * 100)


@pytest.mark.parametrize("noise", ["equal", "unequal"])
@pytest.mark.parametrize("intercept", ["contextual", "constant"])
def test_one_graph_is_unbiased_with_targets_and_biased_without(noise, intercept):
    X, Z, targets = experiment()
    told = FixedDAG(noise=noise, intercept=intercept, random_state=0).fit(X, Z, interventions=targets)
    ignored = FixedDAG(noise=noise, intercept=intercept, random_state=0).fit(X, Z)
    free = np.array([target is None for target in targets])
    slope = np.polyfit(X[free, 0], X[free, 1], 1)[0]
    np.testing.assert_allclose(told.graph_[0, 1], slope, atol=0.05)
    assert ignored.graph_[0, 1] < 0.75
    np.testing.assert_allclose(told.graph_[1, 2], 1, atol=0.08)
    np.testing.assert_allclose(told.noise_scale_, 1, atol=0.12)
    assert not np.allclose(ignored.noise_scale_, 1, atol=0.12)
    assert told.outliers_ == []
    assert np.abs(told._preparation.scaling.x_mean).max() < 0.25  # of the rows that were left alone
    assert ignored._preparation.scaling.x_mean[1] > 1


@pytest.mark.slow
@pytest.mark.parametrize("structure", ["varying", "common-order"])
def test_graphs_that_vary_are_unbiased_with_targets(structure):
    X, Z, targets = experiment(1500, varies=True)
    at = np.array([[-0.8], [0.8]])
    settings = QUICK | {"structure": structure, "noise": "equal", "max_epochs": 150, "selection": 2}
    told = ContextualDAG(**settings).fit(X, Z, interventions=targets).adjacency(at)
    ignored = ContextualDAG(**settings).fit(X, Z).adjacency(at)
    np.testing.assert_allclose(told[:, 0, 1], [-1.2, 1.2], atol=0.3)
    np.testing.assert_allclose(told[:, 1, 2], 1, atol=0.2)
    assert np.abs(ignored[:, 0, 1]).mean() < 1.0


def conditions(n, rng):
    """Three conditions. The second sets x2, and its reagent also moves x1 and x3 by other ways; the third sets x1."""
    condition = np.repeat(["nothing", "b", "c"], n)
    x1 = rng.standard_normal(3 * n) + 3 * (condition == "b")
    x1[condition == "c"] = 4 + rng.standard_normal(n)
    x2 = x1 + rng.standard_normal(3 * n)
    x2[condition == "b"] = 6 + 2 * rng.standard_normal(n)
    x3 = x2 + rng.standard_normal(3 * n) - 9 * (condition == "b")
    targets = np.select([condition == "b", condition == "c"], ["x2", "x1"], default="")
    return np.column_stack([x1, x2, x3]), pd.DataFrame({"condition": condition}), targets


def test_a_condition_that_is_a_context_has_its_own_means():
    X, Z, targets = conditions(300, np.random.default_rng(0))
    model = FixedDAG(noise="equal", random_state=0).fit(X, Z, interventions=targets)
    np.testing.assert_allclose(model.graph_, [[0, 1, 0], [0, 0, 1], [0, 0, 0]], atol=0.1)
    at = pd.DataFrame({"condition": ["nothing", "b", "c"]})
    np.testing.assert_allclose(model.means(at), [[0, 0, 0], [3, 6, -3], [4, 4, 4]], atol=0.35)
    assert model.noise_scale_ == pytest.approx([1, 1, 1], abs=0.1)


def test_whether_the_context_says_what_was_intervened_on():
    rng = np.random.default_rng(0)
    condition = np.repeat([0.0, 1.0, 2.0], 40)
    none = np.zeros((120, 2), dtype=bool)
    set_by_hand = none.copy()
    set_by_hand[40:80, 1] = True
    age = rng.uniform(size=120)
    assert context_tells(condition[:, None], set_by_hand)
    assert context_tells(np.column_stack([age, condition]), set_by_hand)
    assert not context_tells(age[:, None], set_by_hand)
    assert not context_tells(np.zeros((120, 1)), set_by_hand)
    assert not context_tells(np.zeros((120, 0)), set_by_hand)
    partly = set_by_hand.copy()
    partly[50, 1] = False
    assert not context_tells(condition[:, None], partly)
    few = np.repeat([0.0, 1.0], [105, 15])[:, None]  # too few rows of a condition to learn its means from
    assert not context_tells(few, (few == 1) & [True, False])


@pytest.mark.slow
def test_every_estimator_takes_them():
    X, Z, targets = experiment(300)
    weight = np.arange(300) % 4
    given = {"interventions": targets, "sample_weight": weight}
    models = [
        ContextualDAG(**QUICK),
        SortedDAG(order=["x1", "x2", "x3"], **QUICK),
        ClusteredDAG(n_clusters=2, random_state=0),
        BootstrapDAG(FixedDAG(random_state=0), n_resamples=4, n_jobs=1, verbose=False),
    ]
    for model in models:
        W = model.fit(X, Z, **given).adjacency(Z[:3])
        assert (W[:, 0, 1] > 0.6).all()
        assert model.n_samples_ == 225  # without those of weight zero


def test_models_with_and_without_targets_are_fitted_apart():
    X, Z, targets = experiment(300)
    models = [FixedDAG(random_state=0) for _ in range(2)]
    fit_together(models, [{"X": X, "Z": Z, "interventions": targets}, {"X": X, "Z": Z}])
    alone = [FixedDAG(random_state=0).fit(X, Z, interventions=targets), FixedDAG(random_state=0).fit(X, Z)]
    for model, expected in zip(models, alone, strict=True):
        np.testing.assert_allclose(model.graph_, expected.graph_, atol=1e-6)


def test_no_target_anywhere_is_no_intervention():
    X, Z, _ = experiment(300)
    plain = FixedDAG(random_state=0).fit(X, Z)
    np.testing.assert_array_equal(FixedDAG(random_state=0).fit(X, Z, interventions=[None] * 300).graph_, plain.graph_)


def test_few_rows_without_an_intervention_are_a_warning():
    X, Z, _ = experiment(300)
    targets = ["x2" if i % 2 else "x3" for i in range(300)]
    with pytest.warns(UserWarning, match="Too few rows are without any intervention to learn the means"):
        FixedDAG(random_state=0).fit(X, Z, interventions=targets)
    counts = "200 of those to train on, where 50 are needed, and 0 of those held out, where 10 are"
    with pytest.warns(UserWarning, match=counts):
        FixedDAG(random_state=0).fit(X[:200], Z[:200], X[200:], Z[200:], interventions_val=targets[200:])


def test_a_validation_set_scores_every_variable():
    X, Z, _ = experiment(300)
    with pytest.raises(
        InvalidInputError, match=r"X_val must have a row that scores each .* 100 rows 'x2' was intervened on"
    ):
        FixedDAG(random_state=0).fit(X[:200], Z[:200], X[200:], Z[200:], interventions_val=["x2"] * 100)
    X[200:, 1] = np.nan
    with pytest.raises(InvalidInputError, match=r"In all 100 rows 'x1', 'x2' were intervened on or are missing"):
        FixedDAG(random_state=0, missing="impute").fit(X[:200], Z[:200], X[200:], Z[200:], interventions_val=["x1"] * 100)


def test_a_variable_that_only_interventions_move():
    """A dose that is zero unless it is given."""
    rng = np.random.default_rng(0)
    given = np.arange(400) % 2 == 0
    dose = np.where(given, rng.uniform(1, 3, 400), 0.0)
    X = pd.DataFrame({"dose": dose, "effect": 0.8 * dose + rng.standard_normal(400), "other": rng.standard_normal(400)})
    model = FixedDAG(noise="equal", random_state=0).fit(X, interventions=np.where(given, "dose", ""))
    np.testing.assert_allclose(model.graph_[0, 1], 0.8, atol=0.15)
    assert np.isfinite(model.noise_scale_).all()


@pytest.mark.filterwarnings("ignore:.*rows are copies of others")
@pytest.mark.parametrize("noise", ["equal", "auto"])
def test_a_weight_of_two_is_the_row_twice(noise):
    X, Z, targets = experiment(300)
    X[5] *= 30  # an outlier
    X_val, Z_val, targets_val = experiment(200, seed=1)
    times = np.random.default_rng(2).integers(0, 4, 300)
    by_hand = [target for target, count in zip(targets, times, strict=True) for _ in range(count)]
    validation = {"X_val": X_val, "Z_val": Z_val, "interventions_val": targets_val}
    settings = {"noise": noise, "intercept": "constant", "random_state": 0}
    weighted = FixedDAG(**settings).fit(X, Z, interventions=targets, sample_weight=7.5 * times, **validation)
    repeated = FixedDAG(**settings).fit(np.repeat(X, times, 0), np.repeat(Z, times, 0), interventions=by_hand, **validation)
    # Weights are tensors of single precision.
    np.testing.assert_allclose(weighted.graph_, repeated.graph_, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(weighted.noise_scale_, repeated.noise_scale_, rtol=1e-5)
    assert weighted.outliers_ == ([5] if times[5] else [])


def test_rows_of_weight_zero_have_no_influence():
    X, Z, targets = experiment(300)
    Z = pd.DataFrame({"z": Z[:, 0], "site": np.where(np.arange(300) % 2, "here", "there")})
    weight = np.ones(300)
    weight[::5] = 0
    spoilt, kept = X.copy(), weight > 0
    spoilt[::5] = 1e6
    sites = Z.assign(site=np.where(kept, Z["site"], "nowhere"))
    left = [target for target, is_kept in zip(targets, kept, strict=True) if is_kept]
    dropped = FixedDAG(random_state=0).fit(X[kept], Z[kept], interventions=left)
    zero = FixedDAG(random_state=0).fit(spoilt, sites, interventions=targets, sample_weight=weight)
    np.testing.assert_allclose(zero.graph_, dropped.graph_, rtol=1e-6)
    assert zero.context_features_ == dropped.context_features_
    assert zero.score(spoilt, Z, sample_weight=weight) == pytest.approx(zero.score(X[kept], Z[kept]))


def test_numbers_of_outliers_are_those_of_the_table_that_was_given():
    X, Z, _ = experiment(300, far=0.0)
    X[[10, 200]] *= 50
    weight = np.ones(300)
    weight[:8] = 0
    weight[8:100] = 0.1
    assert FixedDAG(random_state=0).fit(X, Z, sample_weight=weight).outliers_ == [10, 200]


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ([1, -1, -2, 1], r"not negative. 2 of 4 weights are negative; the first is that of row 1"),
        ([1, np.nan, 1, 1], r"1 of 4 weights are missing or infinite"),
        ([0, 0, 0, 0], r"zero for all 4 rows"),
        ([1, 1], r"must have the shape \(4,\), one weight for each row. Got \(2,\)"),
        ([[1], [1], [1], [1]], r"Got shape \(4, 1\)"),
        (["a", "b", "c", "d"], r"must hold a number for each of the 4 rows"),
    ],
)
def test_bad_weights(given, message):
    with pytest.raises(InvalidInputError, match=message):
        read_weights(given, 4)


def test_few_rows_that_have_a_weight():
    X, Z, _ = experiment(100)
    with pytest.raises(
        InvalidInputError, match=r"X has 1 samples \(rows\) with a sample_weight above zero, of 100, too few"
    ):
        FixedDAG().fit(X, Z, sample_weight=np.arange(100) == 7)
    with pytest.raises(InvalidInputError, match=r"X has 2 samples \(rows\), too few to hold out"):
        FixedDAG().fit(X[:2], Z[:2])


def test_weights_of_a_validation_set_need_one():
    X, Z, _ = experiment(100)
    with pytest.raises(InvalidInputError, match="sample_weight_val belongs to X_val"):
        FixedDAG().fit(X, Z, sample_weight_val=np.ones(100))


def clustered_rows(n_groups=40, n_each=10, seed=0):
    """Rows of persons; the context is a property of the person, and so are weights."""
    rng = np.random.default_rng(seed)
    person = np.repeat(np.arange(n_groups), n_each)
    Z = rng.standard_normal((n_groups, 1))[person]
    X = rng.standard_normal((len(person), 3))
    X[:, 1] += X[:, 0]
    return X, Z, person


def numbers(problem, X):
    """Which row of a table each row of a problem is, by the first variable, all of whose values differ."""
    return np.argsort(X[:, 0])[problem.rows.X[:, 0].argsort().argsort()]


def test_groups_are_held_out_whole():
    X, Z, person = clustered_rows()
    mixed = np.random.default_rng(1).permutation(400)
    uneven = np.where(person < 3, 0, person)  # one of thirty rows
    for groups in (person, uneven, np.array([f"person {one}" for one in person])):
        problem = prepare(
            ContextualDAG(n_members=3, random_state=0), Tables(X[mixed], Z[mixed], groups=groups[mixed])
        ).problem
        shuffled = groups[mixed]
        order = numbers(problem, X[mixed])
        train, held_out = order[: len(problem.split.train)], order[len(problem.split.train) :]
        assert sorted(order) == list(range(400))
        assert not set(shuffled[train]) & set(shuffled[held_out])
        assert 50 <= len(held_out) <= 110
        folds = problem.folds()
        assert len(folds.train) == 3
        seen = set()
        for own_train, own_held_out in zip(folds.train, folds.held_out, strict=True):
            assert sorted([*own_train.tolist(), *own_held_out.tolist()]) == list(range(400))
            out = set(shuffled[order[own_held_out]])
            assert not set(shuffled[order[own_train]]) & out
            assert not out & seen
            seen |= out


@pytest.mark.slow
def test_networks_are_trained_on_folds_of_different_sizes():
    X, Z, person = clustered_rows()
    groups = np.where(person < 5, 0, person)
    settings = QUICK | {"n_members": 3, "max_epochs": 30, "structure": "common-order"}
    model = ContextualDAG(**settings).fit(X, Z, groups=groups)
    assert model.adjacency(Z[:2])[:, 0, 1].min() > 0.5
    assert model.n_held_out_ > 0


def test_groups_with_weights_of_zero_and_interventions():
    X, Z, person = clustered_rows()
    weight = np.where(person < 10, 0.0, 1.0)
    targets = np.where(np.arange(400) % 4 == 0, "x2", "")
    tables = Tables(X, Z, interventions=targets, sample_weight=weight, groups=person)
    problem = prepare(FixedDAG(random_state=0), tables).problem
    rows = np.flatnonzero(weight)[numbers(problem, X[weight > 0])]
    assert set(person[rows]) == set(range(10, 40))
    np.testing.assert_array_equal(problem.rows.scored[:, 1].numpy(), targets[rows] == "")
    groups = problem.rows.group.numpy()
    assert len({(a, b) for a, b in zip(groups, person[rows], strict=True)}) == 30


def test_bad_groups():
    X, Z, person = clustered_rows()
    with pytest.raises(InvalidInputError, match=r"needs at least 4\. Got 3\. Pass rows of more groups"):
        FixedDAG().fit(X, Z, groups=person % 3)
    with pytest.raises(InvalidInputError, match=r"needs at least 6, one for each member of the ensemble\. Got 5"):
        ContextualDAG(n_members=6).fit(X, Z, groups=person % 5)
    with pytest.raises(InvalidInputError, match=r"each of the 400 rows of X\. Got 399 instead\. Pass one value for each"):
        FixedDAG().fit(X, Z, groups=person[:-1])
    with pytest.raises(InvalidInputError, match=r"10 of 400 are missing"):
        FixedDAG().fit(X, Z, groups=np.where(person == 3, np.nan, person))
    with pytest.raises(InvalidInputError, match=r"groups and a validation set cannot be given together"):
        FixedDAG().fit(X, Z, X, Z, groups=person)


def test_tables_of_other_lengths_are_refused_with_weights_of_zero_too():
    X, Z, targets = experiment(100)
    weight = np.arange(100) % 2
    with pytest.raises(InvalidInputError, match="X has 100 rows and Z has 99; they must describe the same samples"):
        FixedDAG().fit(X, Z[:99], sample_weight=weight)
    with pytest.raises(InvalidInputError, match="X has 100 rows and interventions has 98"):
        FixedDAG().fit(X, Z, sample_weight=weight, interventions=targets[:98])


def test_the_held_out_score_is_that_of_scored_entries_by_weight():
    X, Z, _ = experiment(200, far=0.0)
    X_val, Z_val, targets = experiment(200, seed=1)
    X_val[3] *= 20  # an outlier, which counts in full
    times = np.random.default_rng(2).integers(1, 4, 200)
    model = FixedDAG(intercept="constant", random_state=0)
    model.fit(X, Z, X_val, Z_val, interventions_val=targets, sample_weight_val=times)
    left = model._residuals(X_val, Z_val)
    kept = np.array([target is None for target in targets])
    shares = []
    for k in range(3):
        rows = np.flatnonzero(kept) if k == 1 else np.arange(200)
        x, r = np.repeat(X_val[rows, k], times[rows]), np.repeat(left[rows, k], times[rows])
        shares.append(1 - (r**2).sum() / ((x - x.mean()) ** 2).sum())
    assert model.held_out_score_ == pytest.approx(np.mean(shares), abs=1e-4)


NOT_BY_POSITION = {
    "interventions": pd.Series(["x1", *[None] * 9] * 10),
    "sample_weight": pd.Series(np.linspace(1, 2, 100)),
    "groups": pd.Series(np.arange(100) // 5),
}


@pytest.mark.parametrize("name", NOT_BY_POSITION)
def test_rows_of_all_arguments_belong_together_by_label(name):
    X, _, _ = experiment(100)
    X = pd.DataFrame(X, columns=["x1", "x2", "x3"])
    given = NOT_BY_POSITION[name]
    for wrong in (given[::-1], given.to_frame("x1")[::-1]):
        with pytest.raises(InvalidInputError, match=rf"The indexes of X and {name} hold .*{name} = {name}\.loc\[X\.index\]"):
            FixedDAG().fit(X, **{name: wrong})
    if name != "groups":
        with pytest.raises(InvalidInputError, match=rf"The indexes of X_val and {name}_val hold"):
            FixedDAG().fit(X, None, X, None, **{f"{name}_val": given[::-1]})
    with pytest.warns(UserWarning, match=f"Rows of X and {name} are paired by position") as said:
        FixedDAG(random_state=0).fit(X, **{name: given.set_axis(np.arange(100) + 5)})
    assert said[0].filename == __file__


def test_weights_of_a_score_belong_to_rows_by_label():
    X, _, _ = experiment(100)
    X = pd.DataFrame(X)
    model, weight = FixedDAG(random_state=0).fit(X), NOT_BY_POSITION["sample_weight"]
    with pytest.raises(InvalidInputError, match="The indexes of X and sample_weight hold the same labels in another order"):
        model.score(X, sample_weight=weight[::-1])
    with pytest.warns(UserWarning, match="Rows of X and sample_weight are paired by position") as said:
        model.score(X, sample_weight=weight.set_axis(np.arange(100) + 5))
    assert said[0].filename == __file__


def test_interventions_as_a_dict_of_variables_and_flags():
    X, Z, targets = experiment(300)
    hit, weight = np.array([target is not None for target in targets]), np.ones(300)
    weight[:30] = 0
    expected = prepare(FixedDAG(random_state=0), Tables(X, Z, sample_weight=weight, interventions=targets))
    for flags in (hit, hit.tolist(), pd.Series(hit), hit.astype(int)):
        given = Tables(X, Z, sample_weight=weight, interventions={"x2": flags})
        prepared = prepare(FixedDAG(random_state=0), given)
        assert torch.equal(prepared.problem.rows.scored, expected.problem.rows.scored)
    validated = prepare(FixedDAG(), Tables(X, Z, X, Z, interventions_val={"x2": hit})).problem.split.held_out
    assert (validated.scored.numpy() == ~np.outer(hit, [False, True, False])).all()


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"x4": [True] * 100}, "has a column 'x4', which is not a variable"),
        ({"x2": [True] * 99}, r"interventions\['x2'\] must hold a flag for each of the 100 rows of X. Got 99"),
        ({"x2": True}, r"interventions\['x2'\] must be a sequence with one value for each row. Got a bool instead"),
        ({"x2": pd.Series([True] * 100)[::-1]}, r"The indexes of X and interventions\['x2'\] hold the same labels"),
        ({}, r"must have the shape \(100, 3\)"),
    ],
)
def test_bad_dicts_of_interventions(given, message):
    X, _, _ = experiment(100)
    with pytest.raises(InvalidInputError, match=message):
        FixedDAG().fit(pd.DataFrame(X, columns=["x1", "x2", "x3"]), interventions=given)


def test_groups_of_one_row_each_change_nothing():
    X, _, _ = experiment(100)
    with pytest.warns(UserWarning, match=r"groups has as many groups as rows \(100\), so they change nothing") as said:
        model = FixedDAG(random_state=0).fit(X, groups=np.arange(100))
    assert said[0].filename == __file__
    np.testing.assert_array_equal(model.graph_, FixedDAG(random_state=0).fit(X).graph_)


def test_values_that_were_set_are_not_scored():
    X, _, targets = experiment(600)
    model = FixedDAG(random_state=0).fit(X[:500], interventions=targets[:500])
    X, targets = X[:300], targets[:300]
    hit = np.array([target is not None for target in targets])
    mean = model._means(np.empty((1, 0)))
    error = (X - mean) @ (np.eye(3) - model.graph_)
    scored = ~np.outer(hit, [False, True, False])
    share = [1 - np.mean(error[its, k] ** 2) / np.var(X[its, k]) for k, its in enumerate(scored.T)]
    assert model.score(X, interventions=targets) == pytest.approx(np.mean(share))
    assert model.score(X, interventions=targets) > model.score(X) + 0.1
    assert model.score(X, interventions=[None] * 300) == model.score(X)
    # With weights, and as a mask without names of a table in another order.
    table, weight = pd.DataFrame(X, columns=["x1", "x2", "x3"]), np.arange(300) % 3 + 1.0
    expected = model.score(X, sample_weight=weight, interventions=targets)
    turned = table[["x3", "x1", "x2"]]
    assert model.score(turned, sample_weight=weight, interventions=~scored[:, [2, 0, 1]]) == pytest.approx(expected)
    assert model.score(turned, sample_weight=weight, interventions={"x2": hit}) == pytest.approx(expected)
    # A variable that was set in every row has no part.
    assert model.score(X, interventions=["x2"] * 300) == pytest.approx(np.mean([share[0], share[2]]))
    with pytest.raises(InvalidInputError, match="each of the 300 rows"):
        model.score(X, interventions=targets[:-1])
    every = np.ones((300, 3), dtype=bool)
    with pytest.raises(InvalidInputError, match="score has nothing to score: in all rows that count, every value of X"):
        model.score(X, interventions=every)
    every[0] = False
    with pytest.raises(InvalidInputError, match="score has nothing to score"):
        model.score(X, sample_weight=np.arange(300), interventions=every)
    with pytest.warns(UserWarning, match="Rows of X and interventions are paired by position") as said:
        model.score(table, interventions=pd.DataFrame({"x2": hit}, index=np.arange(300) + 5))
    assert said[0].filename == __file__
