"""
A categorical context
=====================

Context features may be categorical. Columns that hold text or pandas categories are one-hot encoded for the network;
everywhere else they appear under their own names.
"""

import numpy as np
import pandas as pd

from contextualdag import ContextualDAG
from contextualdag.errors import InvalidInputError

rng = np.random.default_rng(0)
n = 1800
site = rng.choice(["north", "south", "west"], n)
dose = rng.uniform(0, 10, n)

# In the north a drives b, in the south b drives c, in the west
# there is no edge. The dose strengthens both edges.
strength = 0.4 + 0.1 * dose
a = rng.standard_normal(n)
b = np.where(site == "north", strength, 0) * a + rng.standard_normal(n)
c = np.where(site == "south", strength, 0) * b + rng.standard_normal(n)
X = pd.DataFrame({"a": a, "b": b, "c": c})
Z = pd.DataFrame({"site": site, "dose": dose})
model = ContextualDAG(n_members=1, hidden_layers=(32, 32), random_state=0).fit(X, Z)

# %%
# A summary of the contexts that the model was fitted to. It contains no row of the data:

summary = model.context_summary_
print(summary["shares"][0])
summary[["feature", "kind", "low", "median", "high"]].round(1)

# %%
# One graph for each site, at a dose of eight.

sites = pd.DataFrame({"site": ["north", "south", "west"], "dose": 8.0})
_ = model.plot_graphs(sites)

# %%
# The weight of an edge over the categories, drawn as bars:

_ = model.plot_edge("a", "b", "site")

# %%
# A category that was not in the training data raises an error.

try:
    model.adjacency(pd.DataFrame({"site": ["east"], "dose": [5.0]}))
except InvalidInputError as error:
    print(error)
