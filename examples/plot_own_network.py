"""
A network of your own
=====================

:class:`~contextualdag.projection.DAGProjection` is an ordinary PyTorch layer: any batch of matrices in, sparse acyclic
matrices out, with a gradient. Put it at the end of a network of your own.
"""

import matplotlib.pyplot as plt
import torch
from torch import nn

from contextualdag.graphs import is_acyclic
from contextualdag.projection import DAGProjection

torch.manual_seed(0)
z = torch.rand(1000, 1) * 2 - 1
e = torch.randn(1000, 2)
# For z < 0 the first variable drives the second, for z > 0 the second drives the first, with weight 2.
x = torch.where(z < 0, e @ torch.tensor([[1.0, 2.0], [0.0, 1.0]]), e @ torch.tensor([[1.0, 0.0], [2.0, 1.0]]))

network = nn.Sequential(
    nn.Linear(1, 32),
    nn.Tanh(),
    nn.Linear(32, 4),
    nn.Unflatten(1, (2, 2)),
    DAGProjection(l1_budget=1.5),
)

# %%
# The training loop is an ordinary one. ``W[i, j, k]`` is the effect of j on k in sample i.

optimiser = torch.optim.Adam(network.parameters(), lr=0.01)
for _ in range(300):
    optimiser.zero_grad()
    W = network(z)
    loss = ((x - torch.einsum("nj,njk->nk", x, W)) ** 2).mean()
    loss.backward()
    optimiser.step()

# %%
# In eval mode the threshold of training is kept, so that a sample's graph does not depend on its batch.

network.eval()
grid = torch.linspace(-1, 1, 401)[:, None]
with torch.no_grad():
    W = network(grid)
print("all graphs are acyclic:", bool(is_acyclic(W).all()))

figure, ax = plt.subplots(figsize=(6, 3.6), layout="constrained")
ax.plot(grid, W[:, 0, 1], label="first → second")
ax.plot(grid, W[:, 1, 0], label="second → first")
ax.axhline(2, color="grey", linewidth=0.8, linestyle=":")
ax.set(xlabel="z", ylabel="weight")
_ = ax.legend()

# %%
# The budget bounds the mean l1 norm of the graphs, so weights come out smaller than the true 2 (dotted). That is the price
# of sparsity; :class:`~contextualdag.ContextualDAG` undoes it by a refit on the learned edges. :doc:`/layer` explains the
# layer.
