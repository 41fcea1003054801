"""Models that someone changed and gave right hashes: refused with a sentence, or sound in everything that they answer."""

import warnings

import numpy as np
import pandas as pd
import pytest
import torch

from attack.folders import damaged, forged, judge
from contextualdag import BootstrapDAG, ClusteredDAG, ContextualDAG, FixedDAG, SortedDAG
from contextualdag.errors import InvalidParameterError, PersistenceError
from contextualdag.estimators import load_model
from contextualdag.estimators.stored import check_contexts
from contextualdag.folder import load_folder, save_folder
from contextualdag.network import ContextNetwork, state_shapes
from contextualdag.projection import LogDet

N = 120
TINY = {"hidden_layers": (4,), "n_budgets": 3, "max_epochs": 3, "random_state": 0, "verbose": False}
MODELS = {
    "varying": ContextualDAG(**TINY, structure="varying", n_members=2, cyclic={"hour": 24}, tiers=[["p"], ["q", "r"]]),
    "logdet": ContextualDAG(**TINY, structure="varying", n_members=1, acyclicity=LogDet(), required_edges=[("p", "q")]),
    "sorted": SortedDAG(order=["p", "q", "r"], **TINY),
    "fixed": FixedDAG(n_penalties=4, random_state=0),
    "clustered": ClusteredDAG(n_clusters=2, n_penalties=4, random_state=0),
    "bootstrap": BootstrapDAG(
        FixedDAG(n_penalties=4, random_state=0), n_resamples=2, n_jobs=1, selection="stability", verbose=False
    ),
}


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    Z = pd.DataFrame({"u": rng.uniform(size=N), "site": rng.choice(["a", "b"], N), "hour": rng.integers(0, 24, N) * 1.0})
    X = rng.standard_normal((N, 3))
    X[:, 1] += 3 * X[:, 0] * Z["u"]
    return pd.DataFrame(X, columns=["p", "q", "r"]), Z


@pytest.fixture(scope="module")
def folders(data, tmp_path_factory):
    parent = tmp_path_factory.mktemp("models")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name, model in MODELS.items():
            model.fit(*data).save(parent / name)
    return {name: parent / name for name in MODELS}


@pytest.mark.parametrize("name", MODELS)
def test_models_themselves_are_sound(name, folders):
    assert judge(folders[name]).outcome == "sound"
    assert judge(folders[name], lambda folder: type(MODELS[name]).load(folder, "cpu")).outcome == "sound"


@pytest.mark.parametrize("name", MODELS)
def test_damage_is_refused_or_harmless(name, folders, tmp_path):
    for one in damaged(folders[name], np.random.default_rng(0), tmp_path, count=40):
        found = judge(one.folder)
        assert found.fine, f"{one.what}: {found}"
        assert one.rehashed or found.outcome == "refused", one.what


@pytest.mark.parametrize("name", MODELS)
def test_forgeries_are_refused_or_harmless(name, folders, tmp_path):
    cls = type(MODELS[name])
    for one in forged(folders[name], tmp_path, every=41):
        found = judge(one.folder, lambda folder: cls.load(folder, "cpu"))
        assert found.fine, f"{one.what}: {found}"


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (lambda m: m["solution"]["network"].update(hidden_layers=[50_000, 50_000]), "must be the weights"),
        (lambda m: m["solution"]["network"].update(n_nodes=10**9), "must be one from 5 features to 3 nodes"),
        (lambda m: m["solution"].update(points=[]), "points must be a path with budgets"),
        (lambda m: m["solution"]["selected"].update(index=99), "selected.index must be from 0"),
        (lambda m: m["solution"]["selected"].update(cut=2**64), "selected.cut must be a float"),
        (lambda m: m["solution"]["selected"].update(whole=-1.0), "selected.whole must be None or a float from 0 to the cut"),
        (lambda m: m["parameters"].update(selection=["explained", 2]), "'selection' parameter of ContextualDAG must be"),
        (lambda m: m["parameters"].update(patience=-1), "patience"),
        (lambda m: m["parameters"].update(tiers=[["p"]]), "tiers"),
        (lambda m: m["preparation"].update(names=["p", "p", "r"]), "names must be different texts"),
        (lambda m: m.update(structure="odd"), "structure must be one of"),
        (lambda m: m.update(n_samples="many"), "n_samples must be an integer"),
    ],
)
def test_what_is_wrong_is_named(change, sentence, folders, tmp_path):
    metadata, tensors = load_folder(folders["varying"], "ContextualDAG")
    change(metadata)
    save_folder(tmp_path / "changed", "ContextualDAG", metadata, tensors)
    for load in (load_model, ContextualDAG.load):
        with pytest.raises(PersistenceError, match=rf"in a form that this version cannot read \(.*{sentence}.*\); fit the"):
            load(tmp_path / "changed")


def test_a_cyclic_graph_is_refused(folders, tmp_path):
    metadata, tensors = load_folder(folders["fixed"], "FixedDAG")
    name = next(name for name in tensors if name.startswith("solution/refit/"))
    save_folder(tmp_path / "changed", "FixedDAG", metadata, tensors | {name: torch.ones_like(tensors[name])})
    with pytest.raises(PersistenceError, match="must be acyclic"):
        load_model(tmp_path / "changed")


@pytest.mark.parametrize(
    ("prefix", "change"),
    [
        ("variation/target", lambda one: one.bool()),
        ("untold", lambda one: one.double()),
        ("untold", lambda one: one[:-1]),
        ("untold", lambda one: torch.ones_like(one).triu()),
        ("solution/refit/", lambda one: one * 1e300),
        ("mean/", lambda one: one.to(torch.complex64)),
    ],
)
def test_tensors_of_another_kind_or_size_are_refused(folders, tmp_path, prefix, change):
    metadata, tensors = load_folder(folders["fixed"], "FixedDAG")
    changed = {name: change(one) for name, one in tensors.items() if name.startswith(prefix)}
    save_folder(tmp_path / "changed", "FixedDAG", metadata, tensors | changed)
    with pytest.raises(PersistenceError, match=f"{'points' if '/refit/' in prefix else prefix}.* must be"):
        load_model(tmp_path / "changed")


def test_a_device_that_is_not_there_is_no_fault_of_the_model(folders):
    with pytest.raises(InvalidParameterError, match="There is no device 'odd'"):
        load_model(folders["fixed"], device="odd")


def test_what_could_not_be_loaded_is_not_saved(data, tmp_path):
    model = FixedDAG(n_penalties=4, random_state=0).fit(*data).set_params(validation_fraction=7)
    with pytest.raises(InvalidParameterError, match="validation_fraction"):
        model.save(tmp_path / "model")
    assert not (tmp_path / "model").exists()


@pytest.mark.parametrize("hidden_layers", [(), (4,), (5, 3, 2)])
def test_shapes_are_those_of_the_network(hidden_layers):
    network = ContextNetwork(2, 3, hidden_layers, "silu", dropout=0.1)
    found = {name: tuple(weights.shape) for name, weights in network.state_dict().items()}
    assert found == state_shapes(2, 3, hidden_layers, network.allowed)


@pytest.mark.parametrize("origin", ["2024-13-01", "2024-1-1", "today", "NaT", "", 2024, [], "400000-01-01"])
def test_first_days_of_dates(origin):
    feature = {"name": "visit", "categories": None, "ordered": False, "cycle": None}
    check_contexts([feature, feature | {"name": "start", "origin": "2024-02-29"}])
    with pytest.raises(ValueError, match="origin"):
        check_contexts([feature | {"origin": origin}])
    with pytest.raises(ValueError, match="none for categories"):
        check_contexts([feature | {"categories": ["a"], "origin": "2024-02-29"}])
