"""What a model remembers of how its rows were used, and says."""

import numpy as np
import pandas as pd
import pytest

from contextualdag import BootstrapDAG, FixedDAG
from contextualdag.errors import PersistenceError
from contextualdag.estimators import load_model
from contextualdag.estimators.remarks import remarks
from contextualdag.estimators.rows_of_fit import RowsOfFit
from contextualdag.folder import load_folder, save_folder

TARGETS = np.select([np.arange(300) % 5 == 0, np.arange(300) % 30 == 1, np.arange(300) % 30 == 2], ["b", "c", "b;c"], "")


@pytest.fixture(scope="module")
def X():
    X = np.random.default_rng(0).standard_normal((300, 3))
    X[:, 1] += X[:, 0]
    return pd.DataFrame(X, columns=["a", "b", "c"])


@pytest.fixture(scope="module")
def holes(X):
    holes = X.copy()
    holes.loc[:19, "b"] = holes.loc[40:53, "c"] = np.nan
    return holes


def test_nothing_is_said_where_there_is_nothing_to_say(X):
    model = FixedDAG(missing="impute", random_state=0).fit(X, interventions=[None] * 300)
    assert model.rows_ == RowsOfFit(300)
    assert model.rows_.in_words() == ""
    assert "rows" not in model._repr_html_inner().partition("contextualdag-summary")[2]


def test_everything_that_was_used_is_said(holes):
    given = {"interventions": TARGETS, "sample_weight": np.arange(300) % 3 + 1, "groups": np.arange(300) // 10}
    model = FixedDAG(missing="impute", random_state=0).fit(holes, **given)
    assert model.rows_ == RowsOfFit(300, {"b": 20, "c": 14}, 80, {"b": 70, "c": 20}, True, 30)
    said = (
        "34 missing values were filled in (b 20, c 14). 80 of 300 rows are interventions (on b 70, on c 20); those values "
        "are not scored. Rows have weights. 30 groups of rows were kept together."
    )
    assert said in remarks(model)
    assert said in model._repr_html_inner()


def test_rows_of_a_validation_set_count_and_those_without_weight_do_not(holes):
    weight = (np.arange(200) > 0).astype(float)
    model = FixedDAG(missing="impute", random_state=0)
    model.fit(
        holes[:200], None, holes[200:], interventions=TARGETS[:200], interventions_val=TARGETS[200:], sample_weight=weight
    )
    assert model.rows_ == RowsOfFit(299, {"b": 19, "c": 14}, 79, {"b": 69, "c": 20}, True)


def test_one_of_a_kind():
    assert RowsOfFit(9, n_missing={"a": 1}).in_words() == "1 missing value was filled in (a 1)."
    assert (
        RowsOfFit(9, n_intervened=1, n_interventions={"a": 1})
        .in_words()
        .startswith("1 of 9 rows is an intervention (on a 1)")
    )
    many = RowsOfFit(99, n_missing={f"x{k}": 2 for k in range(12)}).in_words()
    assert many.startswith("24 missing values were filled in (x0 2, ")
    assert many.endswith("x9 2 and 2 more).")


def test_saved_with_the_model(X, tmp_path):
    model = BootstrapDAG(FixedDAG(random_state=0), n_resamples=2, n_jobs=1, verbose=False).fit(X, interventions=TARGETS)
    model.save(tmp_path / "model")
    loaded = load_model(tmp_path / "model")
    assert loaded.rows_ == loaded.estimator_.rows_ == model.rows_
    assert model.rows_.n_intervened == 80


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"n_rows": 0}, "rows.n_rows must be an integer of at least 1"),
        ({"n_missing": {"q": 3}}, "rows.n_missing must be counts by variable"),
        ({"n_interventions": {"a": -1}}, "rows.n_interventions must be counts by variable"),
        ({"n_groups": 301}, "rows.n_groups must be an integer up to n_rows"),
        ({"weighted": 1}, "rows.weighted must be true or false"),
    ],
)
def test_what_is_wrong_in_a_folder_is_named(X, tmp_path, change, sentence):
    FixedDAG(n_penalties=4, random_state=0).fit(X).save(tmp_path / "model")
    metadata, tensors = load_folder(tmp_path / "model", "FixedDAG")
    metadata["rows"] |= change
    save_folder(tmp_path / "model", "FixedDAG", metadata, tensors)
    with pytest.raises(PersistenceError, match=sentence):
        load_model(tmp_path / "model")
