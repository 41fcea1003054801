"""
A table to be warned of
=======================

The diabetes data of scikit-learn: 442 patients, six blood values, body mass index, blood pressure and how far the disease
went in a year. A graph is learned from it in seconds. It should not be believed, and
`~contextualdag.diagnostics.check_table` says why.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_diabetes

from contextualdag import FixedDAG
from contextualdag.diagnostics import check_table

frame = load_diabetes(as_frame=True, scaled=False).frame
names = {
    "target": "progress",
    "s1": "cholesterol",
    "s2": "LDL",
    "s3": "HDL",
    "s4": "ratio",
    "s5": "log trigl.",
    "s6": "glucose",
}
X = frame.drop(columns=["age", "sex"]).rename(columns=names)
Z = frame[["age", "sex"]]
for finding in check_table(X, Z):
    print(finding)

# %%
# Cholesterol is nearly a function of the others. That is no discovery: it is carried by LDL, HDL and particles that follow
# the triglycerides, and laboratories often compute LDL from the rest. The ratio is cholesterol over HDL:

ratio = X["cholesterol"] / X["HDL"]
print(f"correlation of the ratio with cholesterol / HDL: {np.corrcoef(X['ratio'], ratio)[0, 1]:.3f}")

# %%
# One graph, with the means given age and sex taken out first: of the whole table, and without cholesterol and the ratio.
# Columns are standardised, so scales say nothing about directions (``noise="unequal"``). Progress was measured a year
# after all else, which is told by tiers; nothing else about the order is known.


def one_graph(X):
    before = [name for name in X if name != "progress"]
    return FixedDAG(noise="unequal", tiers=[before, ["progress"]], random_state=0).fit(X, Z)


whole = (X - X.mean()) / X.std()
sound = whole.drop(columns=["cholesterol", "ratio"])
models = {"all columns": one_graph(whole), "without cholesterol and ratio": one_graph(sound)}
fig, axes = plt.subplots(1, 2, figsize=(13, 5.5))
for ax, (title, model) in zip(axes, models.items(), strict=True):
    model.plot_graph(Z.iloc[:1], ax=ax)
    ax.set_title(title)
fig.tight_layout()
plt.show()

# %%
# The largest weights of the whole table are among the lipids; they restate the formulas.

models["all columns"].edges(Z.iloc[:1]).sort_values("weight", key=abs, ascending=False).head(6).round(2)

# %%
# Edges whose direction the data do not tell:

for title, model in models.items():
    print(f"{title}: {len(model.undirected_edges_)} of {len(model.edges(Z.iloc[:1]))} edges")

# %%
# Progress of the disease goes with body mass index, blood pressure and triglycerides, with and without the computed columns;
# this much a physician will accept. What the first graph says about cholesterol is arithmetic, not physiology: when a check
# names a column that is computed from others, leave it out before you look at any graph.
