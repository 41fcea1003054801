"""
Protein signalling under nine conditions
========================================

Eleven proteins and lipids in single T cells, measured under nine conditions, most of which disturb one of them
(`~contextualdag.datasets.load_sachs`). Biologists agree on 18 edges, so the graphs can be compared with something.

The data do not come with this package. If the package cdt was not there when this page was built, it says so and shows
nothing: ``pip install --no-deps cdt==0.6.0`` and run it.
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
# Logarithms of the measurements are the variables, the condition is the context. To be quick: 1500 of the 7466 cells, one
# network, one order for all conditions.

if data is not None:
    rows = np.sort(np.random.default_rng(0).permutation(len(data.X))[:1500])
    X, Z = data.X.iloc[rows], data.condition.iloc[rows]
    model = ContextualDAG(n_members=1, hidden_layers=(64, 64), structure="common-order", random_state=0).fit(X, Z)
    conditions = pd.DataFrame({"condition": ["cd3cd28", "u0126", "pma"]})
    _ = model.plot_graphs(conditions)

# %%
# Pairs by the share of the conditions that have them, and whether they are among those that biologists agree on.

if data is not None:
    every = pd.DataFrame({"condition": data.condition["condition"].cat.categories})
    edges = model.edges(every)
    known = {frozenset(edge) for edge in data.consensus}
    edges["pair"] = [", ".join(sorted(pair)) for pair in zip(edges["source"], edges["target"], strict=True)]
    edges["agreed on"] = [frozenset(pair) in known for pair in zip(edges["source"], edges["target"], strict=True)]
    pairs = edges.groupby("pair").agg(conditions=("sample", "nunique"), agreed=("agreed on", "first"))
    print(pairs.sort_values(["conditions", "pair"], ascending=[False, True]).to_string())

# %%
# How many of the edges that join such a pair point the way that biologists agree on:

if data is not None:
    joined = edges[edges["agreed on"]]
    right = [edge in data.consensus for edge in zip(joined["source"], joined["target"], strict=True)]
    print(f"{sum(right)} of {len(right)}, over the nine conditions")

# %%
# Of the pairs that all conditions have, most are known: Raf with Mek, PKC with P38 and Jnk, PIP2 with PIP3, PKA with Akt.
# Many that are known are missing, and most directions are wrong: the graphs have Mek before Raf and Akt before PKA, where
# biology has the reverse. So read them as pairs that move together within a condition; which one moves the other is a
# matter of the experiments. ``results/real.md`` has the numbers of the default settings, with other methods beside them.
