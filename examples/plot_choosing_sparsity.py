"""
Choosing sparsity
=================

A fit is a path: one model for each budget, from dense graphs to empty ones. The default selection needs neither the truth
nor tuning. This example shows how it selects, and what the alternatives give. See :doc:`/choosing-sparsity` for the
explanation.
"""

import pandas as pd

from contextualdag import ContextualDAG
from contextualdag.datasets import make_varying_dag
from contextualdag.metrics import f1_score

data = make_varying_dag(2000, n_nodes=8, n_features=2, n_edges=8, random_state=0)
train, test = data[:1000], data[1000:]
model = ContextualDAG(n_members=1, hidden_layers=(64, 64), random_state=0).fit(train.X, train.Z)

# %%
# The path as a table, one row for each budget. ``validation_loss`` is the loss of the shrunken graphs, ``refit_loss`` that
# of a second network on the same edges without shrinkage, and ``refit_edges`` the number of edges of the refit after its
# threshold.

model.path_.round(3)

# %%
# The validation loss falls as long as edges are added, because a larger budget means less shrinkage. The loss of the
# refits has a minimum, marked by the star.

_ = model.plot_path()

# %%
# Other points of the same path cost no further fit. The true graphs have four edges on average.


def row(name, choice):
    W = choice.adjacency(test.Z)
    return {"choice": name, "edges": (W != 0).sum((1, 2)).mean(), "F1": f1_score(test.W, W)}


least = model.path_.loc[model.path_["validation_loss"].idxmin(), "l1_budget"]
rows = [
    row("relaxed, the default", model),
    row("the budget of least validation loss", model.select(l1_budget=least)),
    row("given: four edges on average", model.select(n_edges=4)),
    row("two edges on average", model.select(n_edges=2)),
]
pd.DataFrame(rows).round(2)
