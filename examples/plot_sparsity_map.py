"""
The sparsity map
================

Where in the context space are graphs dense, and where are they nearly empty? :func:`~contextualdag.plotting.plot_sparsity`
shows the number of edges over two context features, with all others at typical values.
"""

import matplotlib.pyplot as plt

from contextualdag import ContextualDAG
from contextualdag.datasets import make_varying_dag

data = make_varying_dag(2000, n_nodes=6, n_features=2, n_edges=8, random_state=1)
model = ContextualDAG(n_members=1, hidden_layers=(64, 64), random_state=0).fit(data.X, data.Z)

# %%
# On the left is the true number of edges of each row, known only because the data are simulated; on the right is what the
# model learned. The hatched area is outside the range of the data.

figure, (left, right) = plt.subplots(1, 2, figsize=(10, 4.2), layout="constrained")
counts = (data.W != 0).sum((1, 2))
points = left.scatter(data.Z[:, 0], data.Z[:, 1], c=counts, s=14)
left.set(xlabel="z1", ylabel="z2", title="true, row by row", xlim=(-1.3, 1.3), ylim=(-1.3, 1.3))
figure.colorbar(points, ax=left, label="number of edges")
_ = model.plot_sparsity("z1", "z2", ax=right)

# %%
# Draw the graph of a context from the map. Features that are not given take typical values.

_ = model.plot_graph({"z1": 0.8, "z2": -0.8})
