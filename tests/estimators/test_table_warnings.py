"""Warnings before a fit: each fires where it should, and all are silent on good data."""

import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_diabetes

from contextualdag import FixedDAG
from contextualdag.cli.contexts import context_from_options
from contextualdag.contexts import ContextEncoder
from contextualdag.datasets import make_varying_dag
from contextualdag.errors import InvalidInputError
from contextualdag.estimators import load_model
from contextualdag.estimators.table_warnings import warn_of_tables
from contextualdag.tables import read_variables

N = 60


def said(X, Z):
    X, names = read_variables(X)
    encoder = ContextEncoder.learn(Z)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        warn_of_tables(X, names, encoder.encode(Z), encoder)
    return [str(warning.message) for warning in caught]


@pytest.fixture
def X():
    return pd.DataFrame(np.random.default_rng(0).standard_normal((N, 3)), columns=list("abc"))


@pytest.fixture
def Z():
    rng = np.random.default_rng(1)
    return pd.DataFrame({"age": rng.integers(20, 60, N), "site": rng.choice(["Leeds", "York"], N)})


def test_silent_on_good_data(X, Z):
    diabetes = load_diabetes(as_frame=True, scaled=False).data
    data = make_varying_dag(300, random_state=0)
    assert said(X, Z) == []
    assert said(data.X, data.Z) == []
    assert said(diabetes.drop(columns=["age", "sex"]), diabetes[["age", "sex"]]) == []


@pytest.mark.parametrize("name", ["id", "ID", "patient_id", "PatientID", "Row", "subject"])
def test_identifiers_by_name(X, Z, name):
    numbers = np.random.default_rng(0).permutation(1000)[:N]
    for tables in ((X.assign(**{name: numbers}), Z), (X, Z.assign(**{name: numbers}))):
        (sentence,) = said(*tables)
        assert (
            sentence
            == f"This column looks like an identifier of rows: '{name}'. Leave it out unless the numbers mean something."
        )
    assert said(X.assign(**{name: numbers + 0.5}), Z) == []
    assert said(X.assign(**{name: numbers // 2}), Z) == []
    assert said(X.assign(width=numbers, idle=numbers), Z) == []


def test_columns_that_count_rows(X, Z):
    sentence, _ = said(X.assign(number=np.arange(N) + 7.0), Z.assign(place=np.arange(N)))
    assert "look like identifiers of rows: 'number', 'place'" in sentence
    assert said(X, Z.assign(day=np.arange(N))) == []  # time may well matter


def test_copies(X, Z):
    few = [*range(N), 0, 1, 2, 3]
    many = [*few, 4]
    assert said(X.iloc[few], Z.iloc[few]) == []
    (sentence,) = said(X.iloc[many], Z.iloc[many])
    assert sentence.startswith("5 of 65 rows are copies of others.")
    assert said(X.iloc[many].assign(a=np.arange(65.0) ** 2), Z.iloc[many]) == []
    assert said(X.iloc[many].round(0), Z.iloc[many].assign(age=Z["age"] // 30)) == []  # so coarse that samples agree


def test_fewer_rows_than_variables(Z):
    X = np.random.default_rng(0).standard_normal((N, N + 1))
    (sentence,) = said(X, Z)
    assert sentence.startswith("X has fewer rows (60) than variables (61)")
    assert said(X[:, 1:], Z) == []


def test_rare_categories(X, Z):
    Z["site"] = ["Oslo"] * 4 + ["Rome"] * 5 + ["York"] * (N - 9)
    (sentence,) = said(X, Z)
    assert sentence.startswith("Fewer than 5 rows have site = Oslo (4).")


def test_several_rare_categories_are_one(X, Z, tmp_path):
    Z["site"] = ["Oslo"] * 4 + ["Rome"] * 25 + ["York"] * (N - 31) + ["Bath"] * 2
    with pytest.warns(UserWarning, match=r"Categories of 'site' .* are joined to one, 'Bath or Oslo': 'Bath', 'Oslo'"):
        model = FixedDAG(random_state=0).fit(X, Z)
    feature = model.context_features_[-1]
    assert feature.name == "site"
    assert list(feature.shares) == ["Bath or Oslo", "Rome", "York"]
    assert feature.shares["Bath or Oslo"] == pytest.approx(6 / N)
    means = model.means(pd.DataFrame({**Z.iloc[[0]], "site": ["Bath"]}))
    for same in ("Oslo", "Bath or Oslo"):
        np.testing.assert_array_equal(model.means(pd.DataFrame({**Z.iloc[[0]], "site": [same]})), means)
    with pytest.raises(InvalidInputError, match=r"not seen in fit: \['Cork'\]"):
        model.means(pd.DataFrame({**Z.iloc[[0]], "site": ["Cork"]}))
    model.save(tmp_path / "model")
    loaded = load_model(tmp_path / "model", device="cpu")
    np.testing.assert_array_equal(loaded.means(Z), model.means(Z))
    assert context_from_options(loaded, ["site=Oslo"])["site"].tolist() == ["Bath or Oslo"]


def test_rare_categories_stay_where_few_others_are_left(X, Z):
    Z["site"] = ["Oslo"] * 4 + ["Rome"] * 3 + ["York"] * (N - 7)
    (sentence,) = said(X, Z)
    assert sentence.startswith("Fewer than 5 rows have site = Oslo (4), site = Rome (3).")


def test_a_fit_warns_where_it_was_called(X, Z):
    with pytest.warns(UserWarning, match="looks like an identifier of rows: 'id'") as caught:
        FixedDAG(random_state=0).fit(X, Z.assign(id=np.arange(N)[::-1]))
    assert caught[0].filename == __file__


def test_rows_that_do_not_belong_together(X, Z):
    X, Z = X.set_axis(range(100, 100 + N)), Z.set_axis(range(100, 100 + N))
    model = FixedDAG(random_state=0).fit(X, Z)
    model.score(X, Z)
    turned = Z.iloc[::-1]
    for call in (
        lambda: FixedDAG().fit(X, turned),
        lambda: FixedDAG().fit(X, Z, X, turned),
        lambda: model.score(X, turned),
    ):
        with pytest.raises(InvalidInputError, match="hold the same labels in another order"):
            call()
    assert model.score(X, turned.loc[X.index]) == model.score(X, Z)


def test_values_beyond_the_fit(X, Z):
    model = FixedDAG(random_state=0).fit(X, Z)
    with pytest.raises(InvalidInputError, match=r"Column 'age' of Z has values too large .* standard deviations of the fit"):
        model.adjacency(Z.iloc[:1].assign(age=1e60))
    with pytest.raises(InvalidInputError, match=r"Column 'a' of X_val has values too large"):
        FixedDAG().fit(X, Z, X.iloc[:1] * 1e60, Z.iloc[:1])


def test_a_tenth_in_all_rows_does_not_vary(X, Z):
    constant = pytest.warns(UserWarning, match="This context feature does not vary, so graphs cannot depend on it: 'e'")
    with pytest.warns(UserWarning, match=r"do not vary get no edges: \['d'\]"), constant:
        model = FixedDAG(random_state=0).fit(X.assign(d=0.1), Z.assign(e=0.1))
    assert [feature.varies for feature in model.context_features_] == [True, True, False]


@pytest.mark.parametrize(
    ("constants", "sentence"),
    [
        ({"e": 98.6}, "This context feature does not vary, so graphs cannot depend on it: 'e'."),
        ({"e": 0.3, "f": "x"}, "These context features do not vary, so graphs cannot depend on them: 'e', 'f'."),
        ({"age": 0.1, "site": "York"}, "The contexts do not vary: 'age', 'site'. There is one graph for all."),
    ],
)
def test_contexts_that_do_not_vary(X, Z, constants, sentence):
    assert said(X, Z.assign(**constants)) == [sentence]


def test_dates_as_text(X, Z):
    (sentence,) = said(X, Z.assign(visit=["2024-01-01", "2024-02-01"] * (N // 2)))
    assert sentence.startswith("Context column 'visit' holds dates as text, such as '2024-01-01', so each is a category")
    assert said(X, Z.assign(version=["1.2", "1.3"] * (N // 2))) == []


def test_spreads_that_equal_noise_cannot_have(X, Z):
    X["b"] *= 1e7
    with pytest.warns(UserWarning, match=r"differ by a factor of 1e\+07, from 'c' to 'b', and noise='equal' means noise of"):
        FixedDAG(noise="equal", random_state=0).fit(X, Z)
    FixedDAG(random_state=0).fit(X, Z)  # units do not matter


def test_masks_are_kept_where_rows_have_no_weight(X, Z):
    masked = np.ma.masked_array(X.to_numpy(), np.arange(3 * N).reshape(N, 3) == 4)
    for table in (masked, X.where(~masked.mask)):
        with pytest.raises(InvalidInputError, match=r"how many: '(x2|b)' \(1\)"):
            FixedDAG().fit(table, Z, sample_weight=np.arange(N))


def test_variables_that_are_contexts_as_well(X, Z):
    flag = pd.Series(np.arange(N) % 3 == 0)
    given = X.assign(years=1990.0 - Z["age"], flag=flag.astype(int)), Z.assign(smokes=np.where(flag, "yes", "no"))
    first, second = said(*given)
    assert first.startswith("Column 'years' of X and the context column 'age' are the same, up to a linear map.")
    assert second.startswith("Column 'flag' of X and the context column 'smokes' are the same")
    (sentence,) = said(X.assign(age=Z["age"]), Z)
    assert sentence.startswith("Column 'age' of X and the context column 'age' are the same")
    (sentence,) = said(X.rename(columns={"a": "age"}), Z)
    assert sentence.startswith("X and Z both have columns with these names: 'age'.")
    assert said(X.assign(years=Z["age"] + 1e-3 * X["a"]), Z) == []
    assert said(X.assign(years=Z["age"])[:9], Z[:9].assign(site="York")) == said(X[:9], Z[:9].assign(site="York"))


def test_units_do_not_hide_a_variable_that_is_a_context(X, Z):
    for unit in (1e-120, 1e120):
        (sentence,) = said(X.assign(years=Z["age"] * unit), Z)
        assert "'years' of X and the context column 'age' are the same" in sentence
