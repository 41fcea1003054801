"""The model of one context in other libraries, which compute the same from it as its own formulas say."""

import functools
import re
import sys
import types
from pathlib import Path

import networkx as nx
import numpy as np
import pandas as pd
import polars as pl
import pytest

from contextualdag import BootstrapDAG, ContextualDAG, FixedDAG
from contextualdag.datasets import make_varying_dag
from contextualdag.errors import ContextualDAGError, InvalidInputError, MissingPackageError, NotFittedError
from contextualdag.export import (
    NamedGraph,
    as_frame,
    as_graphml,
    from_causallearn,
    from_dowhy,
    from_lingam,
    from_networkx,
    from_pgmpy,
)

pytestmark = pytest.mark.slow

NAMES = ["heart rate", "größe", "x[1]", "(y)~z; 2", 'say "hi"']
DOORS = ("to_frame", "cpdag", "to_networkx", "to_lingam", "to_causallearn", "to_pgmpy", "to_dowhy")
CAPPED = "needs an older SciPy; the extra doors installs it"
QUICK = {"hidden_layers": (16,), "n_members": 1, "n_budgets": 10, "max_epochs": 60, "random_state": 0, "verbose": False}


@pytest.fixture(scope="module")
def tables():
    data = make_varying_dag(400, n_nodes=5, n_edges=5, random_state=0)
    X = pd.DataFrame(data.X * [1, 2, 1, 1, 3] + [1, 2, 3, 4, 5], columns=NAMES)
    site = np.where(np.arange(400) % 2, "Leeds & York", "Ely")
    return X, pd.DataFrame({"age": 10 * data.Z[:, 0], "site": site})


@pytest.fixture(scope="module")
def model(tables):
    return ContextualDAG(structure="varying", device="cpu", **QUICK).fit(*tables)


@pytest.fixture(scope="module")
def z():
    return pd.DataFrame({"age": [3.0], "site": ["Ely"]})


@pytest.fixture(scope="module")
def one_graph():
    """A model without a context in which some edges have a direction and some have none."""
    X = np.random.default_rng(1).standard_normal((1000, 5))
    X[:, 2] += X[:, 0] - X[:, 1]  # a collider: both edges have a direction
    X[:, 4] += X[:, 3]
    X = X * [1, 2, 1, 1, 3] + 1
    found = FixedDAG(noise="unequal", random_state=0).fit(pd.DataFrame(X, columns=NAMES))
    directed = found.edges(found.typical_context())["directed"]
    assert directed.any()
    assert not directed.all()
    return found


@pytest.fixture(scope="module")
def moments(model, z):
    """Weights, means and covariances of the context in closed form."""
    W = model.adjacency(z)[0]
    assert (W != 0).sum() >= 4
    through = np.linalg.inv(np.eye(5) - W)  # x - mu = through^T noise
    mu = model._means(model._encode(z))[0]
    return W, mu, through.T @ np.diag(model.noise_scale_**2) @ through


def test_frame_rows_are_sources(model, z):
    frame = model.to_frame(z)
    assert list(frame.index) == list(frame.columns) == NAMES
    assert (frame.index.name, frame.columns.name) == ("source", "target")
    np.testing.assert_array_equal(frame, model.adjacency(z)[0])
    for edge in model.edges(z).itertuples():
        assert frame.loc[edge.source, edge.target] == edge.weight


def test_contexts_in_all_their_forms(model, z):
    wanted = model.to_frame(z)
    array = np.array([3.0, "Ely"], dtype=object)
    for form in ([3.0, "Ely"], array, array[None], z[["site", "age"]], pl.from_pandas(z)):
        pd.testing.assert_frame_equal(model.to_frame(form), wanted)
    with pytest.raises(InvalidInputError, match="'age' was numeric"):
        model.to_frame(["3", "Ely"])


@pytest.mark.parametrize("door", DOORS)
def test_bad_contexts(model, z, tables, door):
    call = getattr(model, door)
    with pytest.raises(InvalidInputError, match=r"z must be a single context.* Got 2; use adjacency or edges"):
        call(tables[1].iloc[:2])
    with pytest.raises(InvalidInputError, match=r"Z has 3 columns; the model was fitted on 2: \['age', 'site'\]"):
        call([1.0, "Ely", 2.0])
    with pytest.raises(InvalidInputError, match="not seen in fit: \\['Hull'\\]"):
        call([1.0, "Hull"])
    with pytest.raises(InvalidInputError, match="z is missing: graphs of this model vary"):
        call()
    with pytest.raises(NotFittedError, match="not fitted yet"):
        getattr(ContextualDAG(), door)(z)


def test_one_graph_needs_no_context(one_graph, tables):
    W = one_graph.graph_
    np.testing.assert_array_equal(one_graph.to_frame(), W)
    np.testing.assert_array_equal(one_graph.to_lingam(), W.T)
    constant = ContextualDAG(structure="constant", device="cpu", **QUICK).fit(*tables)
    np.testing.assert_array_equal(constant.to_frame(), constant.adjacency(tables[1][:1])[0])
    for door in (constant.to_pgmpy, constant.to_dowhy):
        with pytest.raises(InvalidInputError, match="z is missing: means of the variables change with the context"):
            door()
    pytest.importorskip("pgmpy")
    assert one_graph.to_pgmpy().check_model()


def test_cpdag_marks_undirected_edges_in_both_places(one_graph, model, z):
    table = one_graph.cpdag()
    assert list(table.index) == list(table.columns) == NAMES
    assert table.to_numpy().dtype == bool
    both = np.argwhere((table & table.T).to_numpy())
    assert sorted({tuple(sorted((NAMES[j], NAMES[k]))) for j, k in both}) == one_graph.undirected_edges_
    assert ((table | table.T) == ((one_graph.graph_ != 0) | (one_graph.graph_.T != 0))).all(axis=None)
    assert model.undirected_edges_ == []  # the change of graphs tells directions that one graph does not
    assert (model.cpdag(z).to_numpy() >= (model.adjacency(z)[0] != 0)).all()


def test_networkx_and_back(model, one_graph, z, tmp_path):
    graph = model.to_networkx(z)
    assert graph.graph == {"context age": 3.0, "context site": "Ely", "outside": False}
    assert nx.is_directed_acyclic_graph(graph)
    back = from_networkx(graph)
    pd.testing.assert_frame_equal(as_frame(back), model.to_frame(z))
    assert (back.context, back.outside) == ({"age": 3.0, "site": "Ely"}, False)
    assert model.to_networkx([1e4, "Ely"]).graph["outside"] is True
    # Directions that are not known survive a file, too.
    (tmp_path / "graph.graphml").write_bytes(as_graphml(from_networkx(one_graph.to_networkx())))
    read = from_networkx(nx.read_graphml(tmp_path / "graph.graphml"))
    undirected = sorted(tuple(sorted(edge[:2])) for edge in read.edges if not edge.directed)
    assert undirected == one_graph.undirected_edges_
    pd.testing.assert_frame_equal(as_frame(read), one_graph.to_frame())


def test_lingam_finds_the_total_effects(model, z, moments):
    utils = pytest.importorskip("lingam.utils", reason=CAPPED)
    W, B = moments[0], model.to_lingam(z)
    assert B.flags.c_contiguous
    assert B.flags.writeable
    total = np.linalg.inv(np.eye(5) - W)
    for j, k in zip(*np.nonzero(~np.eye(5, dtype=bool)), strict=True):
        assert utils.calculate_total_effect(B, int(j), int(k)) == pytest.approx(total[j, k], abs=1e-12)
    assert set(utils.get_exo_variables(B)) == set(np.flatnonzero((W == 0).all(0)))
    drawn = utils.make_dot(B, labels=NAMES, lower_limit=0.0).source
    assert drawn.count("->") == (W != 0).sum()
    pd.testing.assert_frame_equal(as_frame(from_lingam(B, NAMES)), model.to_frame(z))


def test_causallearn_has_the_same_independences(model, z):
    pytest.importorskip("causallearn")
    from causallearn.utils.DAG2CPDAG import dag2cpdag

    general, graph = model.to_causallearn(z), model.to_networkx(z)
    assert general.get_node_names() == NAMES
    assert not general.exists_directed_cycle()
    assert general.get_num_edges() == graph.number_of_edges()
    node = dict(zip(NAMES, general.get_nodes(), strict=True))
    for a in NAMES:
        assert {parent.get_name() for parent in general.get_parents(node[a])} == set(graph.predecessors(a))
        for b in NAMES:
            for given in ([], [c for c in NAMES if c not in (a, b)][:1]):
                if a != b:
                    separated = nx.is_d_separator(graph, {a}, {b}, set(given))
                    assert general.is_dseparated_from(node[a], node[b], [node[c] for c in given]) == separated
    completed = from_causallearn(dag2cpdag(general))
    np.testing.assert_array_equal(_marks(completed), model.cpdag(z))


def test_causallearn_has_lines_where_directions_are_unknown(one_graph):
    pytest.importorskip("causallearn")
    from causallearn.graph.Edge import Edge
    from causallearn.graph.Endpoint import Endpoint

    general = one_graph.to_causallearn()
    node = dict(zip(NAMES, general.get_nodes(), strict=True))
    for edge in one_graph.edges(one_graph.typical_context()).itertuples():
        source, target = node[edge.source], node[edge.target]
        assert general.get_endpoint(target, source) == Endpoint.TAIL
        assert general.get_endpoint(source, target) == (Endpoint.ARROW if edge.directed else Endpoint.TAIL)
        assert general.is_undirected_from_to(source, target) is not edge.directed
    np.testing.assert_array_equal(_marks(from_causallearn(general)), one_graph.cpdag())
    free = next(pair for pair in nx.non_edges(nx.Graph(one_graph.to_networkx())))
    general.add_edge(Edge(node[free[0]], node[free[1]], Endpoint.ARROW, Endpoint.ARROW))
    with pytest.raises(InvalidInputError, match=r"edges --> and --- only.* Got .* <-> "):
        from_causallearn(general)
    with pytest.raises(InvalidInputError, match="must be a GeneralGraph of causal-learn"):
        from_causallearn(one_graph.to_networkx())


def test_pgmpy_has_the_same_distribution(model, z, moments):
    pytest.importorskip("pgmpy")
    W, mu, covariance = moments
    network = model.to_pgmpy(z)
    assert network.check_model()
    assert set(network.edges()) == set(model.to_networkx(z).edges())
    pd.testing.assert_frame_equal(as_frame(from_pgmpy(network)).loc[NAMES, NAMES], model.to_frame(z))
    order = [NAMES.index(name) for name in nx.topological_sort(network)]  # that of to_joint_gaussian
    mean, joint = network.to_joint_gaussian()
    np.testing.assert_allclose(mean, mu[order], atol=1e-7)  # pgmpy rounds to 8 digits
    np.testing.assert_allclose(joint, covariance[np.ix_(order, order)], atol=1e-7)
    # The means are those that the model itself draws from.
    drawn = model.sample(pd.concat([z] * 20_000), random_state=0)
    np.testing.assert_allclose(drawn.mean(0), mu, atol=5 * np.sqrt(covariance.diagonal().max() / 20_000))
    # Prediction of one variable from all others is the conditional mean.
    row = pd.DataFrame([mu + np.arange(5)], columns=NAMES)
    child = int((W != 0).sum(0).argmax())
    rest = [k for k in range(5) if k != child]
    slope = np.linalg.solve(covariance[np.ix_(rest, rest)], covariance[rest, child])
    predicted = network.predict(row.drop(columns=NAMES[child]))
    assert float(np.asarray(predicted).squeeze()) == pytest.approx(mu[child] + slope @ np.array(rest), abs=1e-5)


def test_dowhy_intervenes_as_the_formula_says(model, z, moments):
    gcm = pytest.importorskip("dowhy.gcm", reason=CAPPED)
    W, mu, covariance = moments
    gcm.util.general.set_random_seed(0)
    scm, n = model.to_dowhy(z), 20_000
    pd.testing.assert_frame_equal(as_frame(from_dowhy(scm)).loc[NAMES, NAMES], model.to_frame(z))
    drawn = gcm.draw_samples(scm, n)[NAMES].to_numpy()
    spread = np.sqrt(covariance.diagonal())
    assert (np.abs(drawn.mean(0) - mu) < 5 * spread / np.sqrt(n)).all()
    np.testing.assert_allclose(np.cov(drawn.T), covariance, atol=0.05 * spread.max() ** 2)

    # do(x_k = value): no edge leads to k, and x - mu = W^T (x - mu) + noise elsewhere.
    k = int((W != 0).sum(1).argmax())
    value, cut = mu[k] + 2.0, W.copy()
    cut[:, k] = 0
    shift = np.zeros(5)
    shift[k] = 2.0
    wanted = mu + np.linalg.solve(np.eye(5) - cut.T, shift)
    assert np.abs(wanted - mu).max() > 0.5
    done = gcm.interventional_samples(scm, {NAMES[k]: lambda _: value}, num_samples_to_draw=n)[NAMES].to_numpy()
    assert (np.abs(done.mean(0) - wanted) < 5 * spread / np.sqrt(n)).all()
    np.testing.assert_array_equal(done[:, k], value)

    # A counterfactual keeps the noise, so it is exact.
    row = pd.DataFrame([mu + np.arange(5)], columns=NAMES)
    noise = (row.to_numpy()[0] - mu) @ (np.eye(5) - W)
    noise[k] = 2.0
    other = gcm.counterfactual_samples(scm, {NAMES[k]: lambda _: value}, observed_data=row)[NAMES].to_numpy()[0]
    np.testing.assert_allclose(other, mu + np.linalg.solve(np.eye(5) - cut.T, noise), atol=1e-9)


def test_pgmpy_networks_that_cannot_be_read():
    models = pytest.importorskip("pgmpy.models")
    network = models.LinearGaussianBayesianNetwork([("a", "b")])
    with pytest.raises(InvalidInputError, match=r"distribution for every variable; 'a' has none\. Fit it first"):
        from_pgmpy(network)
    with pytest.raises(InvalidInputError, match=r"must be a LinearGaussianBayesianNetwork of pgmpy\. Got <class 'dict'>"):
        from_pgmpy({})
    rng = np.random.default_rng(0)
    rows = pd.DataFrame({"a": rng.standard_normal(500)}).assign(b=lambda t: 2 * t["a"] + rng.standard_normal(500))
    (edge,) = from_pgmpy(network.fit(rows)).edges
    assert (edge.source, edge.target, edge.weight) == ("a", "b", pytest.approx(2, abs=0.2))


class Scm:
    """What `from_dowhy` asks of a model of DoWhy."""

    def __init__(self, mechanism):
        self.graph, self._mechanism = nx.DiGraph([("b", "c"), ("a", "c")]), mechanism

    def causal_mechanism(self, name):
        return types.SimpleNamespace(prediction_model=self._mechanism)


def test_models_in_the_form_of_dowhy():
    given = types.SimpleNamespace(coefficients=np.array([1.0, 2.0]))
    learned = types.SimpleNamespace(sklearn_model=types.SimpleNamespace(coef_=np.array([[1.0, 2.0]])))
    for mechanism in (given, learned):
        graph = from_dowhy(Scm(mechanism))
        assert [edge[:3] for edge in graph.edges] == [("a", "c", 1.0), ("b", "c", 2.0)]
    for mechanism in (None, types.SimpleNamespace(coefficients=np.ones(3))):
        with pytest.raises(InvalidInputError, match="that of 'c' has no coefficient for each of 'a', 'b'"):
            from_dowhy(Scm(mechanism))
    with pytest.raises(InvalidInputError, match=r"must be a structural causal model of dowhy\.gcm"):
        from_dowhy(nx.DiGraph())


def test_edges_of_a_bootstrap_have_their_probability():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((400, 3)) * [1.0, 3.0, 0.2]
    X[:, 1] += 5 * X[:, 0]
    for noise in ("equal", "unequal"):  # with and without directions
        model = BootstrapDAG(FixedDAG(noise=noise, random_state=0), n_resamples=4, n_jobs=1, verbose=False).fit(X)
        table = model.edges(model.typical_context()).set_index(["source", "target"])["probability"]
        graph = model.to_networkx()
        assert len(graph.edges) == len(table) > 0
        for source, target, data in graph.edges(data=True):
            assert data["probability"] == pytest.approx(table[source, target])
        assert [edge.probability for edge in from_networkx(graph).edges] == pytest.approx(table.tolist())


@pytest.mark.parametrize(
    ("door", "package", "install"),
    [("to_causallearn", "causallearn", "causal-learn"), ("to_pgmpy", "pgmpy", "pgmpy"), ("to_dowhy", "dowhy", "dowhy")],
)
def test_a_package_that_is_not_there(one_graph, monkeypatch, door, package, install):
    for name in [name for name in sys.modules if name.split(".")[0] == package]:
        monkeypatch.delitem(sys.modules, name)
    absent = types.SimpleNamespace(find_spec=functools.partial(_refuse, package))
    monkeypatch.setattr(sys, "meta_path", [absent, *sys.meta_path])
    with pytest.raises(
        MissingPackageError, match=rf"needs the package {install}, .* not installed. Try: pip install {install}"
    ):
        getattr(one_graph, door)()
    assert issubclass(MissingPackageError, ImportError)
    assert issubclass(MissingPackageError, ContextualDAGError)


def _refuse(package, name, path=None, target=None):
    """Find no module of that name, as if the package were not installed."""
    if name == package:
        raise ModuleNotFoundError(f"No module named '{name}'", name=name)


def test_a_package_that_is_broken(one_graph, monkeypatch):
    pytest.importorskip("pgmpy")
    monkeypatch.setitem(sys.modules, "pgmpy.models", None)
    with pytest.raises(MissingPackageError, match=r"pgmpy, which cannot be imported \(.*pip install --upgrade pgmpy"):
        one_graph.to_pgmpy()


def _blocks():
    """The setup of the page and, by its section, the code of each door."""
    page = (Path(__file__).parents[2] / "docs" / "other-libraries.md").read_text()
    first, *sections = re.split(r"^## ", page, flags=re.MULTILINE)
    code = {text.splitlines()[0]: "\n".join(re.findall(r"```python\n(.*?)```", text, re.DOTALL)) for text in sections}
    return "\n".join(re.findall(r"```python\n(.*?)```", first, re.DOTALL)), code


@pytest.fixture(scope="module")
def page():
    setup, code = _blocks()
    names = {}
    exec(setup, names)  # noqa: S102 - our own page
    return names, code


@pytest.mark.parametrize(
    ("section", "needs"),
    [("pandas", "pandas"), ("networkx", "networkx"), ("lingam", "lingam"), ("causal-learn", "causallearn"),
     ("pgmpy", "pgmpy"), ("DoWhy", "dowhy")],
)  # fmt: skip
def test_the_examples_of_the_page_run(page, section, needs, tmp_path, monkeypatch):
    pytest.importorskip(needs)
    monkeypatch.chdir(tmp_path)
    names, code = page
    exec(code[section], dict(names))  # noqa: S102 - our own page


def _marks(graph: NamedGraph):
    """A matrix as that of `cpdag`."""
    edges = (as_frame(graph) != 0).to_numpy(copy=True)
    for edge in graph.edges:
        edges[graph.names.index(edge.target), graph.names.index(edge.source)] |= not edge.directed
    return edges
