"""
A clinical trial, with the treatment as context
===============================================

In the trial ACTG 175, 2139 patients with HIV were given one of four treatments, drawn at random. Their CD4 and CD8 cells
were counted before and after twenty weeks (`~contextualdag.datasets.load_actg175`). Does the treatment change how these
counts depend on one another, or only their level?
"""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from contextualdag import ContextualDAG
from contextualdag.datasets import load_actg175

data = load_actg175()
X = np.sqrt(data.X)  # the spread of counts grows with their level; square roots take most of that away
X.describe().loc[["mean", "std", "min", "max"]].round(1)

# %%
# Time gives the order of most variables: nothing that was measured after twenty weeks caused what was measured before.
# Such knowledge is given as tiers.

print(data.tiers)
# One small network, to be quick.
model = ContextualDAG(n_members=1, hidden_layers=(64, 64), tiers=data.tiers, random_state=0).fit(X, data.Z)

# %%
# Graphs of patients of 35 years, one for each treatment.

arms = list(data.Z["arm"].cat.categories)
patients = pd.DataFrame({"arm": arms, "age": 35})
_ = model.plot_graphs(patients)

# %%
# They hardly differ. A permutation test asks whether the context matters at all to how the variables depend on one another:

test = model.context_test_
print(f"p = {test.p_value:.2f}; " + ", ".join(f"{name} {p:.2f}" for name, p in test.features.items()))

# %%
# So there is no evidence that treatment or age change the dependence. The level is another question. Treatments
# were drawn at random, so differences of means are their effect: here as CD4 cells after twenty weeks, by the model and as
# plain means with two standard errors.

predicted = model.means(patients)["cd420"] ** 2
counts = X["cd420"].groupby(data.Z["arm"], observed=True).agg(["mean", "sem"])
low, high = (counts["mean"] - 2 * counts["sem"]) ** 2, (counts["mean"] + 2 * counts["sem"]) ** 2
fig, ax = plt.subplots(figsize=(7, 3))
ax.hlines(arms, low, high, color="0.6", linewidth=6, label="plain means, two standard errors")
ax.plot(predicted, arms, "o", color="#0072B2", label="model, 35 years")
ax.set(xlabel="CD4 cells per cubic millimetre after 20 weeks", ylim=(-0.5, 4.2))
ax.legend(loc="upper right", fontsize="small")
fig.tight_layout()
plt.show()

# %%
# How much of each variable is explained, in patients held out: by the means, by edges that all contexts share, and by edges
# that change.

model.explained_.round(2)

# %%
# In the words of the trial: after twenty weeks patients had more CD4 cells with either combination or with didanosine alone
# than with zidovudine alone, most with zidovudine and didanosine. Within every arm the count at the start foretells the
# count after twenty weeks in much the same way, so the treatments shift the level, and nothing here says that they rewire
# the rest.
#
# An edge that only one arm has is no evidence to the contrary. With the default of three networks one graph for all is
# selected, and `~contextualdag.BootstrapDAG` tells how sure each edge is.
