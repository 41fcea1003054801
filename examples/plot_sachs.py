"""
Protein signalling under nine conditions
========================================

Eleven proteins and lipids in single T cells, measured under nine conditions, most of which disturb one of them
(`~contextualdag.datasets.load_sachs`). Biologists agree on 18 edges, so the graphs can be compared with something.

The data do not come with this package. If the package cdt was not there when this page was built, it says so and shows
nothing: ``pip install --no-deps cdt==0.6.0`` and run it, or give `load_sachs` the place of the file.
"""

import numpy as np
import pandas as pd

from contextualdag import ContextualDAG
from contextualdag.datasets import load_sachs
from contextualdag.errors import MissingPackageError

try:
    data = load_sachs()
except MissingPackageError as error:
    data = None
    print(error)

# %%
# Logarithms of the measurements are the variables, the condition is the context. Where a reagent acts on a protein, the
# protein's equation is not learned from these cells (``interventions``), while what follows from it is. To be quick: 1500 of
# the 7466 cells, one network, one order for all conditions.

if data is not None:
    rows = np.sort(np.random.default_rng(0).permutation(len(data.X))[:1500])
    X, Z, interventions = data.X.iloc[rows], data.condition.iloc[rows], data.interventions.iloc[rows]
    settings = {"n_members": 1, "hidden_layers": (64, 64), "structure": "common-order", "random_state": 0}
    model = ContextualDAG(**settings).fit(X, Z, interventions=interventions)
    print(model.rows_.in_words())
    conditions = pd.DataFrame({"condition": ["cd3cd28", "u0126", "pma"]})
    _ = model.plot_graphs(conditions)

# %%
# Pairs by the number of conditions that have them, and whether they are among those that biologists agree on.


def with_pairs(edges):
    known = {frozenset(edge) for edge in data.consensus}
    pairs = [frozenset(pair) for pair in zip(edges["source"], edges["target"], strict=True)]
    right = [edge in data.consensus for edge in zip(edges["source"], edges["target"], strict=True)]
    words = [", ".join(sorted(pair)) for pair in pairs]
    return edges.assign(pair=words, agreed=[pair in known for pair in pairs], right=right)


if data is not None:
    every = pd.DataFrame({"condition": data.condition["condition"].cat.categories})
    edges = with_pairs(model.edges(every))
    pairs = edges.groupby("pair").agg(conditions=("sample", "nunique"), agreed=("agreed", "first"))
    print(pairs.sort_values(["conditions", "pair"], ascending=[False, True]).to_string())

# %%
# The same without a word on the reagents, and how many of the pairs and directions biologists agree on:

if data is not None:
    ignored = with_pairs(ContextualDAG(**settings).fit(X, Z).edges(every))
    for name, its in (("told the targets", edges), ("not told", ignored)):
        joined = its[its["agreed"]]
        print(
            f"{name}: {len(its) / len(every):.1f} pairs a condition, {its['agreed'].mean():.0%} of them agreed on; "
            f"{joined['right'].mean():.0%} of these point the way that is agreed on"
        )

# %%
# Three things to keep in mind. Arrows into a protein that a reagent acts on are what its equation would say of that
# condition without the reagent. The directions are poor, told or not, and change with the cells that are drawn: with three
# other draws, of 3000 cells each, 58 to 72 % were right with the targets told and 55 to 64 % without. And more than half of
# the pairs that biologists agree on are not found. ``results/real.md`` has the default settings, with other methods.
#
# What holds: of the pairs that all conditions have, nearly all are known. Raf goes with Mek, PKC with P38 and Jnk, PKA with
# Akt, and PIP2, PIP3 and PLC-gamma with one another, whatever the cells were treated with; which of them acts on which
# these graphs do not tell reliably.
