import numpy as np
import pandas as pd
import pytest

from benchmarks import imperfect
from contextualdag.datasets import make_varying_dag

SMALL = {"hidden_layers": (8,), "n_members": 1, "max_epochs": 5, "structure": "varying"}


def test_skeletons_have_no_direction():
    W = np.array([[[0, 0.0, 0.5], [0, 0, 0], [0, -2, 0]]])
    assert imperfect.skeletons(W).tolist() == [[[0, 0, 0.5], [0, 0, 2], [0, 0, 0]]]


def test_what_a_fit_is_told():
    design = {"missing": 0.2, "interventions": 0.4, "random_state": 0}
    data = make_varying_dag(60, 5, n_edges=3, **design)
    told = imperfect.tables_of(imperfect.Row("", filled=True), data, 20)
    assert not np.isnan(told["X"]).any()
    assert (told["X_val"].shape, told["interventions_val"].shape) == ((20, 5), (20, 5))
    assert "interventions" not in imperfect.tables_of(imperfect.Row("", told=False), data, 20)
    persons = make_varying_dag(60, 5, n_edges=3, group_size=5, random_state=0)
    told = imperfect.tables_of(imperfect.ROWS["groups"], persons, 20)
    assert (len(told["X"]), told["groups"].max()) == (40, 7)
    assert "groups" not in imperfect.tables_of(imperfect.ROWS["groups-untold"], persons, 20)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["missing-10", "binary-counts", "groups"])
def test_a_run_and_its_line(name):
    found = imperfect.run(imperfect.ROWS[name], 0, n=60, p=6, **SMALL)
    assert 0 <= found["f1"] <= 1
    assert np.isfinite(found["new_rows"]) == (name != "missing-10")
    line = imperfect.table(pd.DataFrame([{"row": name, "data_set": 0, **found}])).splitlines()[-1]
    assert line.startswith(f"| {imperfect.ROWS[name].label} | 1 | {found['f1']:.3f} |")
