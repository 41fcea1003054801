"""
Several contexts, and what differs
==================================

Graphs are easiest to compare when every node keeps its place. :func:`~contextualdag.plotting.plot_graphs` draws the graphs
of several contexts that way, and :func:`~contextualdag.plotting.plot_difference` shows how the edges differ between two
contexts.
"""

import numpy as np

from contextualdag import ContextualDAG
from contextualdag.datasets import make_varying_dag
from contextualdag.metrics import f1_score, shd

data = make_varying_dag(2000, n_nodes=6, n_features=2, n_edges=7, random_state=2)
train, test = data[:1500], data[1500:]
model = ContextualDAG(n_members=1, hidden_layers=(64, 64), random_state=0).fit(train.X, train.Z)

# %%
# Four corners of the context space, and a fifth context that lies outside the range of the data and is marked.

corners = np.array([[-0.8, -0.8], [-0.8, 0.8], [0.8, -0.8], [0.8, 0.8], [1.6, 1.6]])
_ = model.plot_graphs(corners)

# %%
# From the first corner to the fourth: which edges appear, vanish, reverse or change their weight.

_ = model.plot_difference(corners[0], corners[3])

# %%
# The same as a table; zero is no edge.

changes = model.edges(corners[[0, 3]]).pivot(index=["source", "target"], columns="sample", values="weight")
changes.columns = ["first corner", "fourth corner"]
changes.fillna(0).round(2)

# %%
# The data are simulated, so the graphs of new contexts can be compared with the true ones.

W = model.adjacency(test.Z)
print(f"edges on average: {(test.W != 0).sum((1, 2)).mean():.2f} true, {(W != 0).sum((1, 2)).mean():.2f} learned")
print(f"F1 {f1_score(test.W, W):.2f}, structural Hamming distance {shd(test.W, W):.2f}")
