"""
Choosing sparsity
=================

A fit is a path: one model for each budget, from dense graphs to empty ones. The default choice needs no truth and no tuning.
Here is what it looks at, and what the alternatives give. See :doc:`/choosing-sparsity` for the words.
"""

import pandas as pd

from contextualdag import ContextualDAG
from contextualdag.datasets import make_varying_dag
from contextualdag.metrics import f1_score

data = make_varying_dag(2000, n_nodes=8, n_features=2, n_edges=8, random_state=0)
train, test = data[:1000], data[1000:]
model = ContextualDAG(n_members=1, hidden_layers=(64, 64), random_state=0).fit(train.X, train.Z)

# %%
# The table behind it, one row for each budget. ``validation_loss`` is that of the shrunken graphs, ``refit_loss`` that of a
# second network on the same edges without shrinkage; ``refit_edges`` is what a refit keeps once its small weights are cut.

model.path_.round(3)

# %%
# The validation loss falls as long as edges are added, because more budget means less shrinkage. The loss of the refits does
# not: it has its least value at the star.

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
    row("told: four edges on average", model.select(n_edges=4)),
    row("two edges on average", model.select(n_edges=2)),
]
pd.DataFrame(rows).round(2)
