"""
Drug use, with personality as context
=====================================

1885 people said when they last used each of 18 substances (`~contextualdag.datasets.load_drug_consumption`). The paper that
this package follows shows two graphs of them: three edges for people with low scores of neuroticism and sensation seeking,
eleven for those with high scores. How much of the difference is a difference of the graphs?

The data do not come with this package; they are downloaded once. If that was not possible when this page was built, it says
so and shows nothing.
"""

import matplotlib.pyplot as plt

from contextualdag import ContextualDAG
from contextualdag.datasets import load_drug_consumption
from contextualdag.datasets.drug_consumption import PUBLISHED_HIGH, PUBLISHED_LOW
from contextualdag.errors import PersistenceError

try:
    data = load_drug_consumption()
except PersistenceError as error:
    data = None
    print(error)

# %%
# A single network, to be quick; everything else is as it is by default. Recent use is 6, never 0.

if data is not None:
    model = ContextualDAG(n_members=1, random_state=0).fit(data.X, data.Z)
    print(f"structure: {model.structure_}")
    for name, score in model.structure_scores_.items():
        print(f"{name}: behind by {score.behind:.2f} ± {score.standard_error:.2f} in the log-likelihood of people held out")
    test = model.context_test_
    print(f"test of whether the scores matter: p = {test.p_value:.3f}")

# %%
# One graph for all predicts people who were held out better than graphs that follow the scores. The test says that something
# changes with the scores all the same: it counts a change in how much values scatter, too.
#
# A linear model agrees. With means given the scores removed, each substance was predicted from the others by the lasso, for
# people held out in five parts (``python -m benchmarks.drug_linear``). With constant weights .652 of the variance is left,
# with weights that are linear in the scores .654, and .909 if only the means are known.
#
# What does change is how much people take at all. Means given the scores, for both scores at their 0.1 and 0.9 quantiles:

if data is not None:
    quantiles = data.Z.quantile([0.1, 0.9])
    means = model.means(quantiles).set_axis(["low scores", "high scores"]).T.sort_values("high scores")
    fig, ax = plt.subplots(figsize=(7, 5))
    ax.hlines(means.index, means["low scores"], means["high scores"], color="0.8")
    for name, colour in (("low scores", "#0072B2"), ("high scores", "#D55E00")):
        ax.plot(means[name], means.index, "o", color=colour, label=name)
    ax.set(xlabel="last use, from never (0) to the last day (6)")
    ax.legend()

# %%
# What is left of each substance once these means are removed, and how it depends on the others. Few of many edges are enough
# for most of it:

if data is not None:
    few = model.select(explained=0.9)
    context = few.typical_context()
    edges = few.edges(context, standardised=True)
    print(f"{len(model.edges(context))} edges predict best; the {len(edges)} strongest explain nine tenths of it.")
    print(edges.sort_values("weight", ascending=False)[["source", "target", "weight", "directed"]].head(10).to_string())
    few.plot_graph(context)
    plt.show()

# %%
# How many of the published edges are among these pairs, and how many arrows the data can tell at all:

if data is not None:
    pairs = {frozenset(pair) for pair in zip(edges["source"], edges["target"], strict=True)}
    for name, published in (("low", PUBLISHED_LOW), ("high", PUBLISHED_HIGH)):
        print(f"{name} scores: {sum(frozenset(pair) in pairs for pair in published)} of {len(published)} published pairs")
    print(f"{edges['directed'].sum()} of {len(edges)} edges have a direction that the data tell")

# %%
# One graph for everyone, then, has all pairs that were published for low scores and most of those for high scores. The
# published graphs were found with one mean for all: those with high scores take more of nearly everything, so that
# substances go together in the whole table, and edges come to stand for that.
#
# Read it so: people who take one of these substances tend to take those joined to it, at any scores. Neuroticism and
# sensation seeking go with how much is taken, far more than with what is taken together. Which substance leads to which
# cannot be told from answers given at one time.
