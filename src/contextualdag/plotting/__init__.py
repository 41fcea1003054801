"""Pictures of graphs and of fitted models: arrays or a model in, matplotlib Axes out."""

from contextualdag.colours import MISSING, NEGATIVE, POSITIVE
from contextualdag.differences import edge_changes
from contextualdag.plotting.changes import order_flips, plot_difference, plot_order_flips
from contextualdag.plotting.features import plot_edge, plot_effect, plot_sparsity
from contextualdag.plotting.graph import draw_graph, plot_graph, plot_graphs
from contextualdag.plotting.layout import layered_layout
from contextualdag.plotting.path import plot_path

__all__ = [
    "MISSING",
    "NEGATIVE",
    "POSITIVE",
    "draw_graph",
    "edge_changes",
    "layered_layout",
    "order_flips",
    "plot_difference",
    "plot_edge",
    "plot_effect",
    "plot_graph",
    "plot_graphs",
    "plot_order_flips",
    "plot_path",
    "plot_sparsity",
]
