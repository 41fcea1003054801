"""How much varies, seen from the outside."""

import numpy as np
import pytest

from contextualdag import ContextualDAG, FixedDAG, SortedDAG
from contextualdag.datasets import make_fixed_dag, make_varying_dag
from contextualdag.estimators.remarks import remarks
from contextualdag.metrics import f1_score

pytestmark = pytest.mark.slow

QUICK = {"hidden_layers": (32,), "learning_rate": 1e-2, "n_members": 2, "random_state": 0, "verbose": False, "device": "cpu"}


def n_reversed(W):
    joined = (W != 0).any(0)
    return int((joined & joined.T).sum()) // 2


@pytest.fixture(scope="module")
def along():
    return make_varying_dag(3500, n_nodes=6, n_edges=7, reversals=False, random_state=0)


@pytest.fixture(scope="module")
def model(along):
    return ContextualDAG(**QUICK).fit(along.X[:3000], along.Z[:3000])


def test_one_order_where_nothing_is_reversed(model, along):
    assert model.structure_ == "common-order"
    assert model.varies_
    W = model.adjacency(along.Z[3000:])
    assert n_reversed(W) == 0
    free = ContextualDAG(structure="varying", **QUICK).fit(along.X[:3000], along.Z[:3000])
    truth, Z = along.W[3000:], along.Z[3000:]
    assert f1_score(truth, W) > max(0.7, f1_score(truth, free.adjacency(Z)))
    assert set(model.structure_scores_) == {"constant", "common-order", "varying"}
    assert model.structure_scores_["constant"].behind > 2 * model.structure_scores_["constant"].standard_error
    assert any("along one order" in remark for remark in remarks(model))


def test_the_context_and_what_it_explains(model, along):
    test = model.context_test_
    assert test.context_matters
    assert set(test.features) == {"z1", "z2"}
    low, high = test.gain_interval
    assert 0 < low < test.gain < high
    table = model.explained_
    assert list(table.index) == [*along.names, "mean"]
    assert table.loc["mean"].sum() == pytest.approx(model.held_out_score_)
    assert table.loc["mean", "change of edges"] > 0
    single = ContextualDAG(structure="constant", **QUICK).fit(along.X[:3000], along.Z[:3000])
    assert (single.explained_["change of edges"] == 0).all()
    assert single.context_test_.gain is None
    assert single.structure_scores_ == {}
    np.testing.assert_allclose(
        single.explained_["means"], table["means"], atol=1e-6
    )  # means are learned in single precision


def test_a_structure_can_be_set():
    data = make_varying_dag(600, n_nodes=5, n_edges=5, random_state=3)
    assert n_reversed(data.W) > 0
    for structure in ("constant", "common-order", "varying"):
        model = ContextualDAG(structure=structure, **QUICK).fit(data.X, data.Z)
        assert model.structure_ == structure
        assert (n_reversed(model.adjacency(data.Z)) > 0) == (structure == "varying")
        assert (np.ptp(model.adjacency(data.Z), axis=0).max() > 0) == (structure != "constant")
    assert FixedDAG().fit(data.X).structure_ == "constant"
    told = SortedDAG(order=range(5), **QUICK).fit(data.X, data.Z)
    assert told.structure_ in ("constant", "common-order")
    assert "varying" not in told.structure_scores_


def test_saved_and_loaded(model, along, tmp_path):
    model.save(tmp_path / "model")
    loaded = ContextualDAG.load(tmp_path / "model", device="cpu")
    assert loaded.structure_ == model.structure_
    assert loaded.structure_scores_ == model.structure_scores_
    assert loaded.context_test_ == model.context_test_
    assert loaded.explained_.equals(model.explained_)
    np.testing.assert_array_equal(loaded.adjacency(along.Z[3000:]), model.adjacency(along.Z[3000:]))


class StoppedError(Exception):
    pass


@pytest.mark.parametrize("after", [25, pytest.param(40, marks=pytest.mark.long)])
def test_an_interrupted_fit_goes_on_to_the_same_end(model, along, tmp_path, monkeypatch, after):
    from contextualdag.training.checkpoint import Checkpoint

    save, count = Checkpoint.save, [0]

    def save_and_stop(self, path):
        save(self, path)
        count[0] += 1
        if count[0] == after:
            raise StoppedError

    monkeypatch.setattr(Checkpoint, "save", save_and_stop)
    with pytest.raises(StoppedError):
        ContextualDAG(**QUICK).fit(along.X[:3000], along.Z[:3000], checkpoint=tmp_path / "half")
    monkeypatch.undo()
    resumed = ContextualDAG(**QUICK).fit(along.X[:3000], along.Z[:3000], checkpoint=tmp_path / "half")
    assert resumed.structure_scores_ == model.structure_scores_
    np.testing.assert_array_equal(resumed.adjacency(along.Z[3000:]), model.adjacency(along.Z[3000:]))


def test_a_context_that_does_not_vary_and_few_rows():
    data = make_fixed_dag(200, n_nodes=3, n_edges=2, weight=1.0, random_state=0)
    with pytest.warns(UserWarning, match="The context does not vary: 'z1'. There is one graph for all"):
        still = ContextualDAG(**QUICK).fit(data.X, np.ones((200, 1)))
    assert still.context_test_ is None
    assert still.structure_ == "constant"
    assert any("does not vary" in remark for remark in remarks(still))
    few = ContextualDAG(**QUICK).fit(data.X[:36], data.Z[:36])
    assert 0 < few.context_test_.p_value <= 1
    assert any("With so few rows" in remark for remark in remarks(few))


def test_a_context_of_pure_noise():
    rng = np.random.default_rng(0)
    data = make_fixed_dag(400, n_nodes=5, n_edges=4, weight=0.8, noise_scale=(0.5, 2), random_state=0)
    model = ContextualDAG(**QUICK).fit(data.X, rng.uniform(size=(400, 2)))
    assert model.structure_ == "constant"
    assert model.context_test_.p_value > 0.05
    assert any("no sign" in remark for remark in remarks(model))
    alone = FixedDAG(random_state=0).fit(data.X)
    assert not any("context" in remark.split(", so")[0] and "vary" in remark for remark in remarks(alone))
