import io
import json
import re

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from contextualdag import BootstrapDAG, ClusteredDAG, FixedDAG, SortedDAG
from contextualdag.cli import app
from contextualdag.datasets import make_fixed_dag, make_varying_dag

pytestmark = pytest.mark.slow

N = 200
NAMES = ["mood", "[b]sleep[/b]", "a=b", "pain"]


@pytest.fixture(scope="module")
def model():
    """A chain whose first edge grows with age, and a variable on its own."""
    rng = np.random.default_rng(0)
    age, X = rng.uniform(20, 60, N), rng.standard_normal((N, 4))
    X[:, 1] += (age - 20) / 10 * X[:, 0]
    X[:, 2] += 2 * X[:, 1]
    Z = pd.DataFrame({"age": age, "site": rng.choice(["1", "2"], N, p=[0.7, 0.3])})
    fit = SortedDAG(
        order=NAMES, hidden_layers=(16,), n_members=1, n_budgets=6, max_epochs=40, structure="common-order", noise="equal",
        random_state=0, verbose=False,
    )  # fmt: skip
    return fit.fit(pd.DataFrame(X, columns=NAMES), Z)


@pytest.fixture(autouse=True)
def _folder(model, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    model.save("model")


def invoke(*arguments):
    return CliRunner().invoke(app, ["effects", "model", *arguments])


def words(result):
    """What typer shows in a box, without the box."""
    return " ".join(result.stderr.replace("│", " ").split())


def test_one_effect(model):
    result = invoke("--source", "mood", "--target", "a=b", "--at", "age=50")
    assert result.exit_code == 0, result.output
    Z = model.typical_context().assign(age=50.0)
    effect, direct = model.effect("mood", "a=b", Z).iloc[0]
    assert result.stdout.startswith("age = 50, site = 1\n")
    assert re.search(rf"^ +mood +a=b +{effect:.4g} +{direct:.4g} *$", result.stdout, re.MULTILINE)
    none = invoke("--source", "a=b", "--target", "mood", "--format", "json")
    assert json.loads(none.stdout) == [{"source": "a=b", "target": "mood", "effect": 0.0, "direct": 0.0}]


def test_all_effects_the_largest_first(model):
    found = pd.read_csv(io.StringIO(invoke("--format", "csv").stdout))
    T = model.total_effects(model.typical_context())[0]
    assert len(found) == (T != 0).sum() >= 3
    assert found["effect"].abs().is_monotonic_decreasing
    for row in found.itertuples():
        assert row.effect == pytest.approx(T[NAMES.index(row.source), NAMES.index(row.target)])
    assert "[b]sleep[/b]" in invoke().stdout  # names are shown as they are
    of_mood = pd.read_csv(io.StringIO(invoke("--source", "mood", "--format", "csv").stdout))
    assert set(of_mood["target"]) == {NAMES[k] for k in np.flatnonzero(T[0])}
    assert "no effects" in invoke("--source", "pain").stdout  # the last of the order


def test_along_a_feature(model):
    found = json.loads(invoke("--source", "mood", "--target", "a=b", "--along", "age", "--format", "json").stdout)
    expected = model.effect_along("mood", "a=b", "age", n_points=11)
    pd.testing.assert_frame_equal(pd.DataFrame(found), expected, atol=1e-9)
    shown = invoke("--source", "mood", "--target", "a=b", "--along", "site", "--at", "age=25").stdout
    assert shown.startswith("Effect of mood on a=b along site, age = 25\n")
    assert len(re.findall(r"^ +[12] +", shown, re.MULTILINE)) == 2


def test_a_bootstrap_has_intervals():
    data = make_varying_dag(200, n_nodes=4, n_edges=4, n_features=1, reversals=False, random_state=0)
    model = BootstrapDAG(ClusteredDAG(n_clusters=2, random_state=0), n_resamples=4, n_jobs=1, verbose=False)
    model.fit(data.X, data.Z).save("model")
    low, high = model.effect_intervals(model.typical_context())
    found = pd.read_csv(io.StringIO(invoke("--format", "csv").stdout))
    assert len(found)
    for row in found.itertuples():
        j, k = model.names_.index(row.source), model.names_.index(row.target)
        assert (row.low, row.high) == (pytest.approx(low[0, j, k]), pytest.approx(high[0, j, k]))
    first = found.iloc[0]
    pair = ["--source", first["source"], "--target", first["target"]]
    for arguments in ([], pair, [*pair, "--along", "z1"]):
        shown = invoke(*arguments)
        assert shown.exit_code == 0, shown.output
        assert re.search(r"effect +direct +low +high", shown.stdout)
        assert "low and high: a 90 % interval of the effect" in shown.stdout
    assert "interval" not in invoke("--do", "x1=2").stdout


def test_means_before_and_after(model):
    shown = invoke("--do", "mood=2.5", "--do", "a=b=-1", "--at", "age=90").stdout
    Z = model.typical_context().assign(age=90.0)
    before, after = model.means(Z).iloc[0], model.do(Z, {"mood": 2.5, "a=b": -1}).means.iloc[0]
    assert "Outside the training data, so a guess: age = 90" in shown
    for name in NAMES:
        row = f"{before[name]:.4g} +{after[name]:.4g} +{after[name] - before[name]:.4g}"
        assert re.search(rf"^ +{re.escape(name)} +{row} *$", shown, re.MULTILINE)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--source", "mod"], "Invalid value for --source: The model has no variable 'mod'. Did you mean 'mood'? It has:"),
        (["--source", "mood", "--target", "mood"], "for --target: Two variables were expected. Got 'mood' twice."),
        (["--along", "age"], "for --along: It needs --source and --target."),
        (
            ["--source", "mood", "--target", "pain", "--along", "agee"],
            "The model has no context feature 'agee'. Did you mean",
        ),
        (["--source", "mood", "--target", "pain", "--along", "age", "--at", "age=3"], "'age' is the feature of --along"),
        (["--do", "mood=2", "--source", "mood"], "for --do: It takes no --source"),
        (["--do", "mod=2"], "for --do: The model has no variable 'mod'."),
        (["--do", "mood"], "for --do: 'mood' must be set to a number. Got ''."),
        (["--do", "mood=high"], "for --do: 'mood' must be set to a number. Got 'high'."),
        (["--do", "mood=nan"], "for --do: 'mood' must be set to a finite number"),
        (["--do", "mood=1", "--do", "mood=2"], "for --do: 'mood' is given twice."),
        (["--at", "agee=3"], "for --at: The model has no context feature 'agee'."),
    ],
)
def test_wrong_usage(arguments, said):
    result = invoke(*arguments)
    assert result.exit_code == 2
    assert said in words(result)


def test_one_graph_without_directions_or_context():
    data = make_fixed_dag(800, n_nodes=6, random_state=1, noise_scale=(0.3, 3))
    FixedDAG(random_state=0).fit(data.X).save("model")
    result = invoke()
    assert result.exit_code == 0, result.output
    assert result.stdout.startswith("one graph for all contexts\n")
    assert "do not tell the direction of" in result.stdout
    assert "Effects are those of one possible graph." in result.stdout
    assert result.stderr == ""
    assert "This model was fitted without a context" in words(invoke("--at", "age=3"))
