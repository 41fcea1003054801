"""
The sparsity map
================

Where in the space of contexts are graphs dense, and where nearly empty? :func:`~contextualdag.plotting.plot_sparsity` counts
the edges over two context features, all others at typical values.
"""

import matplotlib.pyplot as plt

from contextualdag import ContextualDAG
from contextualdag.datasets import make_varying_dag

data = make_varying_dag(2000, n_nodes=6, n_features=2, n_edges=8, random_state=1)
model = ContextualDAG(n_members=1, hidden_layers=(64, 64), random_state=0).fit(data.X, data.Z)

# %%
# On the left the true number of edges of each row, which only a simulation can tell. On the right what the model learned.
# Hatched is what lies outside the range of the data.

figure, (left, right) = plt.subplots(1, 2, figsize=(10, 4.2), layout="constrained")
counts = (data.W != 0).sum((1, 2))
points = left.scatter(data.Z[:, 0], data.Z[:, 1], c=counts, s=14)
left.set(xlabel="z1", ylabel="z2", title="true, row by row", xlim=(-1.3, 1.3), ylim=(-1.3, 1.3))
figure.colorbar(points, ax=left, label="number of edges")
_ = model.plot_sparsity("z1", "z2", ax=right)

# %%
# A context can be chosen from the map and looked at. A mapping may leave features out; they are then typical.

_ = model.plot_graph({"z1": 0.8, "z2": -0.8})
