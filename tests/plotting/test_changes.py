import numpy as np
import pandas as pd

from contextualdag.differences import edge_changes
from contextualdag.plotting import order_flips
from tests.plotting.conftest import assert_all_inside, edges_of


def test_difference_draws_every_edge_of_both_once(model):
    z1, z2 = model.typical_context(0.05), model.typical_context(0.95)
    ax = model.plot_difference(z1, z2)
    changes = edge_changes(model.adjacency(z1)[0], model.adjacency(z2)[0])
    assert len(edges_of(ax)) == sum(int(edges.sum()) for edges in changes.values())
    labels = [text.get_text() for text in ax.get_legend().get_texts()]
    assert f"gained ({int(changes['gained'].sum())})" in labels
    assert_all_inside(ax.figure)


def test_order_flips_are_shares_of_contexts(model):
    Z = pd.concat([model.typical_context(q) for q in np.linspace(0, 1, 21)], ignore_index=True)
    table = order_flips(model, Z)
    share = (model.adjacency(Z) != 0).mean(0)
    assert len(table) == int(np.triu((share > 0) & (share.T > 0)).sum())
    np.testing.assert_allclose(table[["forward", "backward", "neither"]].sum(axis=1), 1)
    names = model.names_
    for _, row in table.iterrows():
        assert row["forward"] == share[names.index(row["first"]), names.index(row["second"])] >= row["backward"] > 0
    ax = model.plot_order_flips()
    assert_all_inside(ax.figure)
