"""Every check of a table fires on a table made for it, and is silent on clean ones."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy.stats import kendalltau
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris, load_wine

from contextualdag.datasets import make_fixed_dag, make_varying_dag
from contextualdag.diagnostics import check_table
from contextualdag.diagnostics.given_context import context_basis, dependence, fitted
from contextualdag.errors import InvalidInputError, InvalidParameterError

SEVERITY = ["serious", "warning", "note"]


def names(X, Z=None, groups=None, **options):
    return {finding.name for finding in check_table(X, Z, groups, **options)}


def only(X, Z, name, groups=None):
    """The one finding of a name."""
    (finding,) = [finding for finding in check_table(X, Z, groups) if finding.name == name]
    return finding


@pytest.fixture(scope="module")
def data():
    return make_varying_dag(500, 5, 2, n_edges=6, random_state=0)


# Over 100 or 200 seeds of designs like these: neighbouring rows 1 %, means 0 % (2.5 % with 200 rows and eight variables),
# nothing else. With unequal noise and standardised variables: neighbouring rows and heavy tails 2 % each.
@pytest.mark.parametrize("seed", range(12))
def test_clean_tables_have_no_findings(seed):
    for data in (
        make_varying_dag(1000, 20, 2, random_state=seed),
        make_varying_dag(500, 10, 2, n_edges=20, random_state=seed),
        make_fixed_dag(500, 5, 1, n_edges=6, random_state=seed),
    ):
        assert check_table(data.X, data.Z) == []


def test_false_alarms_are_as_rare_as_said():
    alarms = sum(bool(check_table(*_normal(seed))) for seed in range(300))
    assert alarms <= 12  # five tests at 1 %, of which effects must be of some size as well


def _normal(seed):
    rng = np.random.default_rng(seed)
    return rng.standard_normal((200, 6)), rng.uniform(size=(200, 2))


def test_a_finding_has_what_it_promises(data):
    X = pd.DataFrame(data.X, columns=list("abcde")).assign(b=3.0)
    (finding,) = check_table(X, data.Z)
    assert (finding.name, finding.severity, finding.columns, finding.value) == ("constant columns", "warning", ("b",), 1)
    assert str(finding) == "warning, constant columns: 'b' does not vary and gets no edges. Leave it out."


def test_the_most_serious_come_first(data):
    X = np.hstack([data.X, data.X[:, :1] + data.X[:, 1:2], np.round(data.X[:, :1] > 0), np.ones((500, 1))])
    severities = [finding.severity for finding in check_table(X, data.Z)]
    assert set(severities) == set(SEVERITY)
    assert severities == sorted(severities, key=SEVERITY.index)


def test_few_rows(data):
    assert only(data.X[:40], data.Z[:40], "few rows").value == 8
    assert "few rows" not in names(data.X[:100], data.Z[:100])
    finding = only(data.X[:4], data.Z[:4], "fewer rows than variables")
    assert (finding.severity, finding.value) == ("serious", 0.8)


@pytest.mark.parametrize("n", [1, 2, 3, 5, 19, 20, 21, 30])
def test_tables_of_any_length(data, n):
    assert names(data.X[:n], data.Z[:n]) & {"few rows", "fewer rows than variables"}
    assert names(data.X[:n])


ODD = {
    "one column": lambda X: X[:, :1],
    "constants": lambda X: np.ones_like(X),
    "the same column": lambda X: X[:, [0, 0, 0]],
    "mostly zero": lambda X: np.where(X > 1, X, 0),
    "far from zero": lambda X: X + 1e8,
    "large": lambda X: X * 1e100,
    "small": lambda X: X * 1e-100,
    "one row differs": lambda X: (np.arange(len(X)) == 3)[:, None] * np.ones((1, 4)),
    "more columns than rows": lambda X: np.random.default_rng(0).standard_normal((len(X), 70)),
    "polars": lambda X: pl.DataFrame(X, schema=list("abcde")),
}
ODD_CONTEXTS = {
    "none": lambda n: None,
    "constant": lambda n: np.zeros((n, 1)),
    "one category": lambda n: pd.DataFrame({"site": ["a"] * n}),
    "many categories": lambda n: pd.DataFrame({"site": [f"{i % 12}" for i in range(n)]}),
    "many features": lambda n: np.random.default_rng(0).standard_normal((n, 30)),
    "large": lambda n: np.random.default_rng(0).standard_normal((n, 1)) * 1e100,
}


@pytest.mark.parametrize("contexts", ODD_CONTEXTS)
@pytest.mark.parametrize("odd", ODD)
def test_odd_tables(data, odd, contexts):
    for n in (25, 60):
        for finding in check_table(ODD[odd](data.X[:n]), ODD_CONTEXTS[contexts](n)):
            assert np.isfinite(finding.value)
            assert "nan" not in finding.message


def test_a_constant_that_is_no_binary_fraction_is_constant(data):
    assert only(np.hstack([data.X, np.full((500, 1), 0.1)]), data.Z, "constant columns").columns == ("x6",)


def test_nearly_constant_columns(data):
    X = data.X.copy()
    X[:, 1] = 0
    X[[7, 70], 1] = [1.5, -1]
    finding = only(X, data.Z, "nearly constant columns")
    assert finding.columns == ("x2",)
    assert finding.value == 0.996


def test_units(data):
    finding = only(data.X * [1, 1e4, 1, 1e-4, 1], data.Z, "very different units")
    assert set(finding.columns) == {"x2", "x4"}
    assert names(data.X * [1, 1e2, 1, 1e-2, 1], data.Z) == set()


def test_means_that_move_with_the_context():
    data = make_varying_dag(500, 5, 2, n_edges=6, mean_shift=1.0, random_state=0)
    finding = only(data.X, data.Z, "means move with the context")
    assert finding.severity == "note"
    # Against a regression of each column on the same polynomial, by another program.
    Z = data.Z
    design = np.column_stack([np.ones(500), Z, Z**2, Z[:, 0] * Z[:, 1]])
    left = data.X - design @ np.linalg.lstsq(design, data.X, rcond=None)[0]
    share = 1 - (left**2).sum(0) / ((data.X - data.X.mean(0)) ** 2).sum(0) * 499 / 494
    assert finding.value == pytest.approx(share.max())


def test_contexts_with_few_rows(data):
    site = np.array(["a"] * 470 + ["b"] * 30)
    finding = only(data.X, pd.DataFrame({"site": site}), "rare categories")
    assert "b (30)" in finding.message
    assert finding.columns == ("site",)
    dose = np.where(np.arange(500) < 480, 0.0, np.arange(500))
    assert only(data.X, pd.DataFrame({"dose": dose}), "context at one point").value == 0.96
    income = np.random.default_rng(0).lognormal(0, 1.5, 500)
    assert only(data.X, pd.DataFrame({"income": income}), "sparse tails of a context").columns == ("income",)
    assert only(data.X, pd.DataFrame({"year": np.full(500, 2020)}), "constant context").columns == ("year",)
    rng = np.random.default_rng(0)
    fine = pd.DataFrame(
        {"site": rng.choice(list("abc"), 500), "age": rng.normal(50, 10, 500), "dose": rng.exponential(size=500)}
    )
    assert names(data.X, fine) == set()


def test_functions_of_other_columns(data):
    X = np.hstack([data.X, data.X[:, [0]] - 3 * data.X[:, [2]] + 2 * data.Z[:, [0]]])
    finding = only(X, data.Z, "function of other columns")
    assert (finding.severity, finding.columns) == ("serious", ("x1", "x3", "x6"))
    noise = np.random.default_rng(0).standard_normal((500, 1))
    X[:, [5]] += 0.1 * noise
    finding = only(X, data.Z, "nearly a function of others")
    assert "x6" in finding.columns
    # Against a regression of x6 on all others and the context.
    design = np.column_stack([X[:, :5], context_basis(data.Z)])
    left = X[:, 5] - design @ np.linalg.lstsq(design, X[:, 5], rcond=None)[0]
    given_context = X[:, 5] - fitted(X[:, 5], context_basis(data.Z))
    n, q = context_basis(data.Z).shape
    share = (left**2).sum() / (given_context**2).sum() * (n - q) / (n - q - 5)
    assert f"'x6' ({1 - share:.3f})" in finding.message
    assert finding.severity == "warning"


def test_functions_after_a_transform():
    rng = np.random.default_rng(0)
    z = rng.standard_normal(600)
    X = pd.DataFrame(rng.standard_normal((600, 3)), columns=list("abc"))
    Z = pd.DataFrame({"z": z})
    finding = only(X.assign(crp=np.exp(X.a)), Z, "function of other columns")
    assert (finding.severity, finding.columns) == ("serious", ("a", "crp"))
    assert finding.message.endswith(" Values were judged as a fit transforms them: log of 'crp'.")
    assert names(X.assign(crp=np.exp(X.a)), Z, transform="none").isdisjoint({"function of other columns"})
    two = only(X.assign(crp=np.exp(X.a), crp2=np.exp(2 * X.a + 1)), Z, "function of other columns")
    assert two.columns == ("a", "crp", "crp2")
    assert only(X.assign(crp=np.exp(X.a + 0.5 * z)), Z, "function of other columns").columns == ("a", "crp")
    # What is a function either way is named once.
    both = only(X.assign(crp=np.exp(X.a), d=2 * X.a + 1), Z, "function of other columns")
    assert both.columns == ("a", "crp", "d")
    nearly = only(X.assign(crp=np.exp(X.a + 0.05 * rng.standard_normal(600))), Z, "nearly a function of others")
    assert nearly.columns == ("a", "crp")
    assert "log of 'crp'" in nearly.message
    plain = only(X.assign(d=X.a + 0.05 * rng.standard_normal(600), e=np.exp(X.b)).drop(columns="b"), Z, nearly.name)
    assert "log" not in plain.message
    # A sum of skewed columns is one only as they are.
    X = pd.DataFrame(np.exp(rng.standard_normal((600, 2))), columns=["ldl", "hdl"])
    total = only(X.assign(total=X.sum(axis=1), mood=z**2), None, "function of other columns")
    assert total.columns == ("ldl", "hdl", "total")
    assert "log" not in total.message


def test_functions_of_other_columns_and_the_context():
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.standard_normal((600, 3)), columns=list("abc"))
    Z = pd.DataFrame({"z": rng.standard_normal(600), "site": rng.choice(["north", "south"], 600)})
    kind = "function of other columns and the context"
    finding = only(X.assign(y=X.a * Z.z), Z, kind)
    assert (finding.severity, finding.columns) == ("serious", ("y",))
    assert only(X.assign(y=np.where(Z.site == "north", X.a, X.b)), Z, kind).columns == ("y",)
    assert kind not in names(X.assign(y=X.a * Z.z + 0.01 * rng.standard_normal(600)), Z)
    assert kind not in names(X.assign(y=X.a * Z.z), None)
    # A linear function is one without the context.
    assert kind not in names(X.assign(y=X.a - X.b), Z)


def test_functions_of_the_context(data):
    finding = only(np.hstack([data.X, data.Z[:, :1] ** 2]), data.Z, "function of the context")
    assert (finding.severity, finding.columns) == ("serious", ("x6",))


def test_heavy_tails():
    data = make_varying_dag(500, 5, 2, n_edges=6, degrees_of_freedom=3, random_state=0)
    assert set(only(data.X, data.Z, "heavy tails").columns) >= {"x1", "x2"}


def test_columns_are_judged_as_a_fit_transforms_them():
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.standard_normal((800, 3)), columns=list("abc"))
    X["crp"] = np.exp(1.2 * rng.standard_normal(800))
    assert names(X) == set()
    assert {"heavy tails"} <= names(X, transform="none")
    assert {"heavy tails"} <= names(X, transform={"crp": "none"})
    X.loc[7, "crp"] = 1e5
    finding = only(X, None, "outliers")
    assert "(counted from 0): 7." in finding.message
    assert "log of 'crp'" in finding.message
    X["visits"] = np.exp(rng.standard_t(1.5, 800))
    finding = only(X, None, "heavy tails")
    assert finding.columns == ("visits",)
    assert "log of 'visits'" in finding.message
    assert "try logarithms" not in finding.message
    plain = only(make_varying_dag(500, 5, 2, n_edges=6, degrees_of_freedom=3, random_state=0).X, None, "heavy tails")
    assert "log" not in plain.message


def test_what_the_context_determines_after_a_transform(data):
    z = np.random.default_rng(0).normal(size=(500, 1))
    assert only(np.hstack([data.X, np.exp(z)]), z, "function of the context").columns == ("x6",)


def test_a_variance_that_changes_with_the_context_is_no_heavy_tail():
    rng = np.random.default_rng(0)
    Z = rng.uniform(-1, 1, (2000, 1))
    X = rng.standard_normal((2000, 3)) * np.exp(1.5 * Z)
    assert names(X, Z) == set()
    assert "heavy tails" in names(X)


def test_outliers(data):
    X = data.X.copy()
    X[[10, 20]] *= 12
    X[30, 2] = 40
    finding = only(X, data.Z, "outliers")
    assert "10, 20, 30." in finding.message
    assert finding.value == 3


def test_an_outlier_in_no_single_column():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((500, 1)) + 0.1 * rng.standard_normal((500, 4))
    X[100] = [1.5, -1.5, 1.5, -1.5]
    assert "(counted from 0): 100." in only(X, None, "outliers").message


def test_neighbouring_rows_that_depend(data):
    rng = np.random.default_rng(0)
    X = data.X.copy()
    for i in range(1, 500):
        X[i, 3] = 0.5 * X[i - 1, 3] + rng.standard_normal()
    finding = only(X, data.Z, "neighbouring rows depend")
    assert finding.columns == ("x4",)
    assert finding.value == pytest.approx(kendalltau(X[1:, 3], X[:-1, 3]).statistic * 1.5, abs=0.07)
    assert "groups=" in finding.message
    assert "np.arange(n) // 50" in finding.message
    assert "--groups" in finding.message
    assert "neighbouring rows depend" not in names(X[rng.permutation(500)], data.Z)


def test_rows_of_one_group_may_depend():
    rng = np.random.default_rng(0)
    person = np.repeat(np.arange(100), 8)
    X = rng.standard_normal((800, 4)) + 1.5 * rng.standard_normal((100, 4))[person]
    assert "neighbouring rows depend" in names(X)
    assert names(X, None, person) == set()
    assert names(X, None, [f"person {i}" for i in person]) == set()


def test_blocks_of_a_time_series():
    """Blocks that are long against the memory of the series are as good as independent; short ones are not."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((3000, 3))
    for i in range(1, 3000):
        X[i] += 0.8 * X[i - 1]
    assert "neighbouring rows depend" in names(X)
    assert names(X, None, np.arange(3000) // 100) == set()
    finding = only(X, None, "neighbouring groups depend", np.arange(3000) // 3)
    assert (finding.severity, finding.columns) == ("warning", ("x1", "x2", "x3"))
    # Of a row with one of the three rows before its block, whose distance is 1 to 5.
    assert finding.value == pytest.approx((0.8 + 2 * 0.8**2 + 3 * 0.8**3 + 2 * 0.8**4 + 0.8**5) / 9, abs=0.07)
    assert "neighbouring groups depend" not in names(X, None, np.arange(3000) // 300)  # ten groups are too few to tell


def test_groups_and_missing_values():
    rng = np.random.default_rng(0)
    person = np.repeat(np.arange(100), 8)
    X = rng.standard_normal((800, 4)) + 1.5 * rng.standard_normal((100, 4))[person]
    X[:40, 1] = np.nan
    assert names(X, None, person) == {"missing values"}


def test_identifiers(data):
    X = pd.DataFrame(data.X).add_prefix("v")
    X = X.assign(subject_id=np.random.default_rng(0).permutation(500))
    finding = only(X, data.Z, "like identifiers")
    assert (finding.severity, finding.columns) == ("warning", ("subject_id",))
    counted = X.drop(columns="subject_id").assign(id=np.arange(1, 501))
    assert names(counted, data.Z) == {"like identifiers"}
    assert only(counted.drop(columns="id"), counted[["id"]], "like identifiers").columns == ("id",)
    day = counted.rename(columns={"id": "day"})
    assert only(day, data.Z, "neighbouring rows depend").columns == ("day",)


def test_dates_as_text(data):
    Z = pd.DataFrame({"visit": np.random.default_rng(0).choice(["2024-01-01", "2024-02-01"], 500)})
    finding = only(data.X, Z, "dates as text")
    assert finding.columns == ("visit",)
    assert "such as '2024-01-01'" in finding.message


def test_cyclic_features(data):
    Z = pd.DataFrame({"hour": np.random.default_rng(0).integers(0, 24, 500).astype(float)})
    angle = 2 * np.pi * Z[["hour"]].to_numpy() / 24
    X = np.hstack([data.X, np.sin(angle)])
    assert "function of the context" not in names(X, Z)
    assert "function of the context" in names(X, Z, cyclic={"hour": 24})


def test_rows_sorted_by_the_context_are_independent_given_it(data):
    order = np.argsort(data.Z[:, 0])
    X = data.X + 2 * data.Z[:, :1]
    assert names(X[order], data.Z[order]) == {"means move with the context"}
    assert "neighbouring rows depend" in names(X[order])


def test_duplicated_rows(data):
    again = np.r_[0:500, 3, 4]
    finding = only(data.X[again], data.Z[again], "duplicated rows")
    assert (finding.severity, finding.value) == ("warning", 2 / 502)
    assert only(np.tile(data.X, (2, 1)), None, "duplicated rows").severity == "warning"
    assert only(np.round(data.X[:, :2] * 3), None, "duplicated rows").severity == "note"


def test_columns_of_few_values(data):
    X = data.X.copy()
    X[:, 0] = X[:, 0] > 0
    X[:, 1] = np.random.default_rng(0).poisson(2, 500).clip(max=6)
    assert only(X, data.Z, "binary columns").columns == ("x1",)
    assert only(X, data.Z, "counts or grades").columns == ("x2",)
    assert names(X, data.Z) == {"binary columns", "counts or grades"}


def test_what_a_fit_refuses_is_refused(data):
    with pytest.raises(InvalidInputError, match="must be finite"):
        check_table(np.where(np.eye(500, 5), np.inf, data.X), data.Z)
    with pytest.raises(InvalidInputError, match=r"Z must be complete\..* 2 of 500 rows lack a context"):
        check_table(data.X, np.where(np.eye(500, 2), np.nan, data.Z))
    with pytest.raises(InvalidInputError, match="same samples"):
        check_table(data.X, data.Z[:10])
    with pytest.raises(InvalidInputError, match="each of the 500 rows"):
        check_table(data.X, data.Z, [1, 2])
    labels = pd.Series(np.arange(500) // 5, index=np.arange(500)[::-1])
    with pytest.raises(InvalidInputError, match="X and groups"):
        check_table(pd.DataFrame(data.X), None, labels)
    with pytest.raises(InvalidParameterError, match="'transform' parameter of check_table"):
        check_table(data.X, data.Z, transform="sqrt")
    with pytest.raises(InvalidParameterError, match="'cyclic' parameter of check_table"):
        check_table(data.X, data.Z, cyclic={"z1": -1})
    with pytest.raises(InvalidParameterError, match="there is no context"):
        check_table(data.X, cyclic={"z1": 24})


def test_missing_values_are_a_finding(data):
    X = np.where(np.eye(500, 5) > 0, np.nan, data.X)
    X[10:20, 1] = np.nan
    finding = only(X, data.Z, "missing values")
    assert (finding.severity, finding.columns, finding.value) == ("warning", ("x1", "x2", "x3", "x4", "x5"), 15 / 500)
    assert "'x2' (11)" in finding.message
    assert "485 of 500 rows are complete" in finding.message
    assert 'missing="impute"' in finding.message
    assert "--impute" in finding.message
    assert names(X, data.Z) == {"missing values"}


def test_checks_of_columns_see_all_values_that_are_there(data):
    X = data.X.copy()
    X[:, 0] = X[:, 0] > 0
    X[:, 1] = 3
    X[5:, 2] = np.where(np.arange(495) % 2, X[5:, 2], np.nan)
    X[:300, 3] = np.nan
    assert only(X, data.Z, "constant columns").columns == ("x2",)
    assert only(X, data.Z, "binary columns").columns == ("x1",)
    assert "few rows" not in names(X, data.Z)


def test_rows_keep_their_numbers_where_others_are_incomplete(data):
    X = data.X.copy()
    X[:8, 0] = np.nan
    X[20] *= 30
    assert "(counted from 0): 20." in only(X, data.Z, "outliers").message


def test_rows_that_are_no_neighbours_are_not_compared():
    """A row that is missing lies between its neighbours."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((600, 3))
    X[1::2, 0] = np.nan
    X[::2, 1] = np.repeat(X[::4, 1], 2)  # every complete row equals the next complete one
    assert "neighbouring rows depend" not in names(X)


def test_columns_with_hardly_a_value_are_named_and_passed_over(data):
    X = np.hstack([data.X, np.full((500, 1), np.nan)])
    X[:3, 5] = 1.0
    finding = only(X, data.Z, "nearly empty columns")
    assert (finding.severity, finding.columns, finding.value) == ("serious", ("x6",), 3)
    assert names(X, data.Z) == {"nearly empty columns"}
    assert names(np.full((50, 3), np.nan)) == {"nearly empty columns"}


@pytest.mark.parametrize("n", [1, 5, 25, 60])
def test_no_row_is_complete(data, n):
    X = data.X[:n].copy()
    X[::2, 0], X[1::2, 1] = np.nan, np.nan
    assert names(X, data.Z[:n]) & {"missing values", "nearly empty columns"}
    if n > 20:
        assert "were left out, since these are too few" in only(X, data.Z[:n], "missing values").message


def test_tables_are_not_changed(data):
    X, Z = data.X.copy(), data.Z.copy()
    check_table(X, Z)
    np.testing.assert_array_equal(X, data.X)
    np.testing.assert_array_equal(Z, data.Z)


def test_real_tables():
    """Cholesterol is nearly the sum of its parts, flowers are sorted by species, wines by vintage, radius by perimeter."""
    frame = load_diabetes(as_frame=True, scaled=False).frame
    X, Z = frame.drop(columns=["age", "sex"]), frame[["age", "sex"]]
    assert only(X, Z, "strongly tied to others").columns == ("s1", "s2")
    assert names(X, Z) == {"strongly tied to others", "means move with the context"}
    iris = load_iris(as_frame=True)
    species = pd.DataFrame({"species": iris.target.map(str)})
    assert names(iris.data, species) == {"duplicated rows", "means move with the context"}
    assert "neighbouring rows depend" in names(iris.data)
    wine = load_wine(as_frame=True)
    assert names(wine.data, pd.DataFrame({"cultivar": wine.target.map(str)})) >= {"few rows", "neighbouring rows depend"}
    cancer = load_breast_cancer(as_frame=True)
    tied = only(cancer.data, pd.DataFrame({"benign": cancer.target.map(str)}), "nearly a function of others")
    assert {"mean radius", "mean perimeter", "worst radius"} <= set(tied.columns)


def test_dependence_agrees_with_plain_correlations_and_sees_those_that_change():
    rng = np.random.default_rng(0)
    basis = context_basis(rng.uniform(-1, 1, (2000, 1)))
    first, noise = rng.standard_normal(2000), rng.standard_normal((2000, 3))
    others = noise.copy()
    others[:, 0] += 0.4 * first  # everywhere
    others[:, 1] += 0.4 * first * basis[:, 1]  # with either sign
    p_values, correlations = dependence(first, others, basis)
    assert p_values[:2].max() < 1e-20
    assert p_values[2] > 0.01
    assert correlations[0] == pytest.approx(np.corrcoef(first, others[:, 0])[0, 1], abs=0.05)
    assert correlations[1] == pytest.approx(0.4 / np.sqrt(1.16), abs=0.07)
    level = np.mean([dependence(*_pair(seed), basis)[0] < 0.05 for seed in range(400)])
    assert 0.01 < level < 0.06  # the smaller of two p-values, doubled


def _pair(seed):
    rng = np.random.default_rng(seed)
    return rng.standard_normal(2000), rng.standard_normal((2000, 1))
