"""The linear answer finds weights that change with a context, and only those."""

from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

from benchmarks import drug_linear


@pytest.mark.parametrize("changes", [True, False])
def test_weights_that_change_are_found(changes):
    rng = np.random.default_rng(0)
    Z = rng.uniform(-1, 1, (400, 2))
    X = rng.standard_normal((400, 3))
    X[:, 1] += (2 * Z[:, 0] if changes else 1) * X[:, 0]
    X += 2 * Z[:, :1]
    squares = drug_linear.held_out_squares(X, Z)
    assert squares.shape == (4, 400, 3)
    plain, means, constant, linear = squares.mean((1, 2))
    assert plain == pytest.approx(1, abs=0.02)
    assert means < plain
    if changes:
        assert linear < constant - 0.05
    else:
        assert constant < means - 0.05
        assert linear == pytest.approx(constant, abs=0.02)


def test_the_table_and_what_is_printed(monkeypatch, capsys):
    squares = np.arange(24, dtype=float).reshape(4, 3, 2)
    rows = drug_linear.summary(squares)
    assert [row[1] for row in rows] == ["2.500", "8.500", "14.500", "20.500"]
    assert [row[2] for row in rows] == ["-12.000 ± 0.000", "-6.000 ± 0.000", "", "+6.000 ± 0.000"]
    rng = np.random.default_rng(0)
    made_up = SimpleNamespace(
        X=pd.DataFrame(rng.standard_normal((60, 3))), Z=pd.DataFrame(rng.standard_normal((60, 2))), read=[]
    )
    monkeypatch.setattr(drug_linear, "load_drug_consumption", lambda path: made_up.read.append(path) or made_up)
    drug_linear.main(["somewhere.data"])
    printed = capsys.readouterr().out
    assert made_up.read == ["somewhere.data"]
    assert all(f"| {name} | " in printed for name in drug_linear.MODELS)
