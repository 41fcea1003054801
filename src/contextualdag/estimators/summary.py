"""Which edges are the same in all contexts, which change and which reverse, as a table and a sentence."""

from collections.abc import Sequence
from dataclasses import fields, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from numpy.typing import NDArray

from contextualdag.cpdag import untold
from contextualdag.errors import InvalidInputError
from contextualdag.export import edge_text
from contextualdag.training.context_test import LEVEL
from contextualdag.training.noise import EQUAL
from contextualdag.training.packing import Tensors
from contextualdag.training.structure import COMMON_ORDER, CONSTANT
from contextualdag.training.variation import Variation, benjamini_hochberg, edge_variation

if TYPE_CHECKING:
    import pandas

    from contextualdag.estimators.base import GraphEstimator
    from contextualdag.training.problem import Problem

OFTEN_JOINED = 0.5  # share of the contexts
MOST_NAMED = 3  # features in a sentence
EXPLAINED = (
    "Share: contexts of the data in which the two are joined; reversed: of these, those with the edge the other way. "
    "Weight: the mean where the edge is; spread: the standard deviation over all contexts, 0 where it is not. p: of a test "
    "that the weight is the same in all contexts; varies: whether that is rejected, allowing for the number of tests, or "
    "the edge reverses. Edges that are not said to vary may still do so, by less than the data show."
)
AVERAGED = " The graph is one for all contexts, so weights that change are averages."


def learn_variation(model: "GraphEstimator", problem: "Problem") -> Variation:
    """What is summarised of a fit, weights in the user's units; `problem` is that whose graphs were learned."""
    rows, scaling = problem.rows, model._preparation.scaling
    z_scale = np.where(np.isfinite(scaling.z_scale), scaling.z_scale, 0)  # infinite for contexts that do not vary
    Z = rows.Z.double().cpu().numpy() * z_scale + scaling.z_mean
    mask = None if rows.mask is None else rows.mask.double().cpu().numpy()

    def graphs(chosen: torch.Tensor) -> torch.Tensor:
        W = model._weights(Z[chosen], None if mask is None else mask[chosen])
        return torch.from_numpy(W / (scaling.unit / scaling.unit[:, None]))

    found = edge_variation(graphs, rows, problem.features, problem.seed)
    unit = torch.from_numpy(scaling.unit)
    factor = unit[found.target] / unit[found.source]
    return replace(found, weight=found.weight * factor, spread=found.spread * factor)


def find_untold(model: "GraphEstimator", problem: "Problem") -> NDArray[np.bool_]:
    """Pairs (p, p) in graphs that vary whose direction is not told by change, other edges or the user, in both orders.

    What is neither said to vary nor there in most contexts is too doubtful to tell the direction of others.
    """
    p, found = len(model.names_), model._variation
    has_order = problem.rows.mask is not None
    if found is None or has_order or model.noise_ == EQUAL or not model._solution.varies:
        return np.zeros((p, p), dtype=bool)
    source, target, turns = (one.numpy() for one in (found.source, found.target, found.reverses))
    edges, told = np.zeros((2, p, p), dtype=bool)
    edges[source, target] = True
    edges[target[turns], source[turns]] = True
    varies, doubtful = _varies(found), np.zeros_like(edges)
    rare = ~varies & (found.share.numpy() < OFTEN_JOINED)
    doubtful[source[rare], target[rare]] = True
    told[source[varies], target[varies]] = told[target[varies], source[varies]] = True
    return untold(edges, told | ~model._knowledge(model.names_).allowed.T, doubtful)


def _varies(found: Variation) -> NDArray[np.bool_]:
    """Which pairs are said to vary: the test rejects, or they reverse."""
    varies: NDArray[np.bool_] = (benjamini_hochberg(found.p_value) | found.reverses).numpy()
    return varies


def pack_variation(variation: Variation | None) -> Tensors:
    """As named tensors; none for a point of the path that has no summary."""
    if variation is None:
        return {}
    return {field.name: getattr(variation, field.name).contiguous() for field in fields(Variation)}


def unpack_variation(tensors: Tensors) -> Variation | None:
    """What `pack_variation` packed."""
    return Variation(**{field.name: tensors[field.name] for field in fields(Variation)}) if tensors else None


class Summary:
    """The summary of a fitted model as a method; see `contextualdag.training.variation` for the test."""

    _variation: Variation | None  # None where another point of the path was selected

    def summary(self) -> "pandas.DataFrame":
        """Which edges are the same in all contexts of the fit, which change, and which reverse.

        Returns
        -------
        DataFrame
            One row for each pair of variables that is joined in some context, strongest first:

            - source, target: in the more frequent direction
            - share: of the contexts, in which the two are joined
            - reversed: share of these in which the edge points the other way
            - weight: mean over the contexts that have the edge from source to target
            - spread: standard deviation of this weight over all contexts, zero where there is no such edge
            - directed: False where the data do not tell the direction, see `undirected_edges_`
            - p_value: of a test that the weight is the same in all contexts
            - varies: whether that is rejected, or the pair reverses
            - changes_with: the context feature with which the weight changes most clearly, given the others; None where none
              does clearly, and for pairs that reverse

        Notes
        -----
        The contexts are those of all rows of the fit, held out or not, or ten thousand of them, drawn at random. The test
        does not depend on how much the networks let weights vary; it is described in `contextualdag.training.variation`.
        `varies` is at the level .05, corrected for many tests after Benjamini and Hochberg: of edges that are said to vary
        because of the test one in twenty does not, on average, or fewer.

        Pairs that reverse in one in twenty contexts or more are not tested: their p-value is NaN and they count as varying.
        It is also NaN where contexts do not vary or rows are too few for a test; such edges do not count as varying.

        Where one graph serves all contexts, the test tells whether the data speak against that.

        Examples
        --------
        >>> from contextualdag import FixedDAG
        >>> from contextualdag.datasets import make_varying_dag
        >>> data = make_varying_dag(500, n_nodes=3, n_edges=2, reversals=False, random_state=0)
        >>> model = FixedDAG(random_state=0).fit(data.X, data.Z)
        >>> model.summary()[["source", "target", "share", "varies"]]
          source target  share  varies
        0     x3     x1    1.0    True
        1     x3     x2    1.0    True
        """
        import pandas as pd

        model = _fitted(self)
        found = model._variation
        if found is None:
            raise InvalidInputError(
                "This model has no summary: that is computed from the rows in fit, for the graphs selected there. To have "
                "it for others, fit with the selection parameter, such as selection=10 for ten edges."
            )
        names, features = np.array(model.names_, dtype=object), [one.name for one in model.context_features_]
        source, target = found.source.numpy(), found.target.numpy()
        varies = _varies(found)
        undirected = model._undirected()[source, target] if len(source) else np.zeros(0, dtype=bool)
        changes = [
            _clearest(p_values, features) if is_varying else None
            for p_values, is_varying in zip(found.of_features.tolist(), varies.tolist(), strict=True)
        ]
        return pd.DataFrame(
            {
                "source": names[source],
                "target": names[target],
                "share": found.share.numpy(),
                "reversed": found.reverse.numpy(),
                "weight": found.weight.numpy(),
                "spread": found.spread.numpy(),
                "directed": ~undirected,
                "p_value": found.p_value.numpy(),
                "varies": varies,
                "changes_with": pd.Series(changes, dtype=object),
            }
        )


def _fitted(model: Any) -> Any:
    model._require_fit()
    return model


def _clearest(p_values: Sequence[float], features: Sequence[str]) -> str | None:
    known = [(p, name) for p, name in zip(p_values, features, strict=True) if p <= LEVEL]
    return min(known)[1] if known else None


def in_words(model: "GraphEstimator") -> str:
    """How many edges are the same, change and reverse, as a sentence; empty where there is nothing to say.

    Examples
    --------
    >>> import numpy as np
    >>> from contextualdag import FixedDAG
    >>> from contextualdag.estimators.summary import in_words
    >>> rng = np.random.default_rng(1)
    >>> X, Z = rng.standard_normal((300, 2)), rng.uniform(size=(300, 1))
    >>> X[:, 1] += X[:, 0]
    >>> in_words(FixedDAG(random_state=0).fit(X, Z))
    'The only edge is the same for everyone as far as the data tell.'
    """
    if model._variation is None or not any(feature.varies for feature in model.context_features_):
        return ""
    table = model.summary()
    if not len(table):
        return ""
    reverses = model._variation.reverses.numpy()
    changing = table[table["varies"].to_numpy() & ~reverses]
    untested = table["p_value"].isna().to_numpy() & ~reverses
    n_same = len(table) - len(changing) - int(reverses.sum()) - int(untested.sum())
    one_feature = len(model.context_features_) == 1
    with_what = changing["changes_with"].fillna(model.context_features_[0].name if one_feature else "the context")
    named = with_what.value_counts(sort=True)
    counted = [
        (n_same, "is the same for everyone as far as the data tell", "are the same for everyone as far as the data tell"),
        *((int(n), f"changes with {name}", f"change with {name}") for name, n in named.iloc[:MOST_NAMED].items()),
        (int(named.iloc[MOST_NAMED:].sum()), "changes with another feature", "change with other features"),
        (int(reverses.sum()), "reverses", "reverse"),
        (int(untested.sum()), "is not tested, for lack of rows", "are not tested, for lack of rows"),
    ]
    if len(table) == 1:
        return f"The only edge {next(one for n, one, _ in counted if n)}."
    if n_same == len(table) and model.varies_:
        return f"Weights change with the context, but none of the {len(table)} edges by more than chance might."
    kinds = [(n, several) for n, _, several in counted if n]
    if untested.sum() == len(table):
        return f"None of the {len(table)} edges is tested, for lack of rows."
    if len(kinds) == 1:
        return f"All {len(table)} edges {kinds[0][1]}.{AVERAGED if len(changing) and not model.varies_ else ''}"
    said = ", ".join(f"{n} {one if n == 1 else several}" for n, one, several in counted if n)
    return f"Of {len(table)} edges {said}.{AVERAGED if len(changing) and not model.varies_ else ''}"


def structure_and_noise(model: "GraphEstimator") -> str:
    """How much varies with the context and what the noise was found to be, in one sentence.

    Examples
    --------
    >>> import numpy as np
    >>> from contextualdag import FixedDAG
    >>> from contextualdag.estimators.summary import structure_and_noise
    >>> structure_and_noise(FixedDAG(noise="unequal", random_state=0).fit(np.random.default_rng(0).normal(size=(99, 2))))
    'There is one graph, and the noise has a size of its own in each variable, so units do not matter.'
    """
    if model.structure_ == CONSTANT:
        varies = any(feature.varies for feature in model.context_features_)
        graphs = "One graph serves all contexts" if varies else "There is one graph"
    elif model.structure_ == COMMON_ORDER:
        graphs = "Edges change with the context along one order of the variables"
    else:
        graphs = "Edges and their directions change with the context"
    if model.noise_ == EQUAL:
        return f"{graphs}, and the noise has one size in all variables, in the units given."
    return f"{graphs}, and the noise has a size of its own in each variable, so units do not matter."


def readable_table(table: "pandas.DataFrame") -> "pandas.DataFrame":
    """The rows of a summary as people read them: edges as arrows, shares in percent, empty cells for what is not there."""
    import pandas as pd

    triples = zip(table["source"], table["target"], table["directed"], strict=True)
    return pd.DataFrame(
        {
            "edge": [edge_text(source, target, bool(directed)) for source, target, directed in triples],
            "share": [f"{100 * share:.0f} %" for share in table["share"]],
            "reversed": [f"{100 * share:.0f} %" if share else "" for share in table["reversed"]],
            "weight": table["weight"].to_numpy(),
            "spread": table["spread"].to_numpy(),
            "p": [f"{p:.2g}" if p == p else "" for p in table["p_value"]],
            "varies": ["yes" if varies else "" for varies in table["varies"]],
            "changes with": [feature or "" for feature in table["changes_with"]],
        }
    )


def for_json(model: "GraphEstimator") -> list[dict[str, Any]] | None:
    """The rows of the summary as values that JSON can hold; None where a model has no summary."""
    if model._variation is None:
        return None
    rows: list[dict[str, Any]] = model.summary().to_dict("records")
    return [{name: None if value != value else value for name, value in row.items()} for row in rows]
