"""Pictures of graphs and of fitted models: arrays or a model in, matplotlib Axes out."""

from contextualdag.plotting.colours import MISSING, NEGATIVE, POSITIVE
from contextualdag.plotting.difference import edge_changes, plot_difference
from contextualdag.plotting.drawing import draw_graph
from contextualdag.plotting.edge import plot_edge
from contextualdag.plotting.flips import order_flips, plot_order_flips
from contextualdag.plotting.graph import plot_graph, plot_graphs
from contextualdag.plotting.layout import layered_layout
from contextualdag.plotting.path import plot_path
from contextualdag.plotting.sparsity import plot_sparsity

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
    "plot_graph",
    "plot_graphs",
    "plot_order_flips",
    "plot_path",
    "plot_sparsity",
]
