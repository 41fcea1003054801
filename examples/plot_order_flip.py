"""
An order that flips
===================

No single order of the variables, and so no single graph, fits these data: for z < 0 the first variable drives the second,
for z > 0 the second drives the first. A third one depends on the second throughout.
"""

import numpy as np
import pandas as pd

from contextualdag import ContextualDAG, FixedDAG

rng = np.random.default_rng(1)
n = 1500
z = rng.uniform(-1, 1, n)
e = rng.standard_normal((3, n))
weight = 1.5 * np.clip(np.abs(z) - 0.2, 0, None) / 0.8  # no edge in between

first = e[0] + np.where(z > 0, weight * e[1], 0)
second = e[1] + np.where(z < 0, weight * e[0], 0)
X = pd.DataFrame({"first": first, "second": second, "third": 0.8 * second + e[2]})
Z = pd.DataFrame({"z": z})
model = ContextualDAG(n_members=1, hidden_layers=(32, 32), random_state=0).fit(X, Z)

# %%
# The weight as a function of z, in both directions. Every graph is acyclic: the two edges are never there at the same z.

_ = model.plot_edge("first", "second")

# %%
# With many variables it is hard to know where to look. ``order_flips`` lists the pairs whose edge has one direction in some
# contexts and the other direction in others.

model.order_flips(Z).round(2)

# %%
# The same as a picture:

_ = model.plot_order_flips(Z)

# %%
# One graph for all contexts has to settle for one direction.

pd.DataFrame(FixedDAG(random_state=0).fit(X, Z).graph_, index=X.columns, columns=X.columns).round(2)
