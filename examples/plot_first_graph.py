"""
A first graph
=============

Four measurements of 1500 people, and their age. In the young, sleep affects mood. In the old, pain disturbs sleep. Stress
lowers mood at any age. We simulate such data, so that we know the right answer, and ask for the graphs of a young and of
an old person.
"""

import numpy as np
import pandas as pd

from contextualdag import ContextualDAG

rng = np.random.default_rng(0)
n = 1500
age = rng.uniform(18, 80, n)
old = np.clip((age - 40) / 30, 0, 1)  # 0 up to the age of 40, 1 from 70 on

pain, stress = rng.standard_normal((2, n))
sleep = -1.2 * old * pain + rng.standard_normal(n)
mood = 1.2 * (1 - old) * sleep - 0.9 * stress + rng.standard_normal(n)

X = pd.DataFrame({"pain": pain, "stress": stress, "sleep": sleep, "mood": mood})
Z = pd.DataFrame({"age": age})

# %%
# Variables and contexts are two tables with the same rows. ``fit`` does not know how many edges there are.

model = ContextualDAG(n_members=1, hidden_layers=(32, 32), random_state=0).fit(X, Z)
young, elderly = pd.DataFrame({"age": [25.0]}), pd.DataFrame({"age": [75.0]})
model.edges(pd.concat([young, elderly]))

# %%
# One picture for each context, with every node in the same place. Blue is a positive weight, orange a negative one; wider
# is stronger.

_ = model.plot_graphs(pd.concat([young, elderly]))

# %%
# The weight of an edge as a function of age. There is no edge where the line stops.

_ = model.plot_edge("sleep", "mood", "age")

# %%
# ``model.score(X_new, Z_new)`` is the fraction of the variance of new data that contexts and edges explain, and
# ``model.save("model/")`` saves the model.
#
# Before you rely on such a graph of real data, read :doc:`/trusting-a-graph`.
