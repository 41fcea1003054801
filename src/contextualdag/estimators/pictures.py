"""How estimators show themselves: the pictures of `contextualdag.plotting` as methods, and a summary in notebooks."""

import html
from typing import TYPE_CHECKING, Any

import numpy as np

from contextualdag.estimators.poor_fit import poor_fit
from contextualdag.estimators.summary import in_words, structure_and_noise
from contextualdag.printable import printable

if TYPE_CHECKING:
    import pandas
    from matplotlib.axes import Axes


class Pictures:
    """Methods that draw; parameters and examples are with the functions of the same names."""

    def plot_graph(
        self, z: Any = None, *, places: np.ndarray | None = None, max_edges: int = 100, ax: "Axes | None" = None
    ) -> "Axes":
        """Draw the graph of a context, see `contextualdag.plotting.plot_graph`."""
        from contextualdag.plotting import plot_graph

        return plot_graph(_as_model(self), z, places=places, max_edges=max_edges, ax=ax)

    def plot_graphs(self, Z: Any, *, max_edges: int = 100, ax: Any = None) -> np.ndarray:
        """Draw the graphs of several contexts with one layout, see `contextualdag.plotting.plot_graphs`."""
        from contextualdag.plotting import plot_graphs

        return plot_graphs(_as_model(self), Z, max_edges=max_edges, ax=ax)

    def plot_difference(
        self, z1: Any, z2: Any, *, places: np.ndarray | None = None, max_edges: int = 100, ax: "Axes | None" = None
    ) -> "Axes":
        """Draw what changes between two contexts, see `contextualdag.plotting.plot_difference`."""
        from contextualdag.plotting import plot_difference

        return plot_difference(_as_model(self), z1, z2, places=places, max_edges=max_edges, ax=ax)

    def plot_path(self, *, ax: "Axes | None" = None) -> "Axes":
        """Draw losses and edges along the path, see `contextualdag.plotting.plot_path`."""
        from contextualdag.plotting import plot_path

        return plot_path(_as_model(self), ax=ax)

    def plot_sparsity(
        self,
        feature_a: str | None = None,
        feature_b: str | None = None,
        *,
        resolution: int = 30,
        ax: "Axes | None" = None,
    ) -> "Axes":
        """Draw the number of edges over two features, see `contextualdag.plotting.plot_sparsity`."""
        from contextualdag.plotting import plot_sparsity

        return plot_sparsity(_as_model(self), feature_a, feature_b, resolution=resolution, ax=ax)

    def plot_edge(self, source: str, target: str, feature: str | None = None, *, ax: "Axes | None" = None) -> "Axes":
        """Draw the weight of an edge along a feature, see `contextualdag.plotting.plot_edge`."""
        from contextualdag.plotting import plot_edge

        return plot_edge(_as_model(self), source, target, feature, ax=ax)

    def plot_effect(self, source: str, target: str, feature: str | None = None, *, ax: "Axes | None" = None) -> "Axes":
        """Draw the total effect of a variable on another along a feature, see `contextualdag.plotting.plot_effect`."""
        from contextualdag.plotting import plot_effect

        _as_model(self)._warn_of_directions()
        return plot_effect(_as_model(self), source, target, feature, ax=ax)

    def plot_order_flips(self, Z: Any = None, *, n_pairs: int = 15, ax: "Axes | None" = None) -> "Axes":
        """Draw the pairs whose direction changes with the context, see `contextualdag.plotting.plot_order_flips`."""
        from contextualdag.plotting import plot_order_flips

        return plot_order_flips(_as_model(self), Z, n_pairs=n_pairs, ax=ax)

    def order_flips(self, Z: Any = None) -> "pandas.DataFrame":
        """The same pairs as a table, see `contextualdag.plotting.order_flips`."""
        from contextualdag.plotting import order_flips

        return order_flips(_as_model(self), Z)


class NotebookSummary:
    """Adds a few lines to scikit-learn's HTML, once a model is fitted."""

    def _repr_html_inner(self) -> str:
        shown: str = super()._repr_html_inner()  # type: ignore[misc]
        return shown + self._learned_html()

    def _repr_mimebundle_(self, **kwargs: Any) -> dict[str, str]:
        bundle: dict[str, str] = super()._repr_mimebundle_(**kwargs)  # type: ignore[misc]
        if "text/html" in bundle:
            bundle["text/html"] += self._learned_html()
        return bundle

    def _learned_html(self) -> str:
        model: Any = self
        if not hasattr(model, "noise_scale_"):
            return ""
        selected, path = model.chosen_, model.path_
        features = [feature.name for feature in model.context_features_]
        rows = {
            "variables": _listed(model.names_),
            "context": _listed(features) if features else "none",
            "edges": f"{selected['n_edges']:.1f} on average, at l1 budget {selected['l1_budget']:.3g}",
            "path": f"{len(path)} sparsity levels, up to {path['n_edges'].max():.1f} edges (path_, plot_path())",
        }
        rows["graphs"] = structure_and_noise(model)
        known = model.rows_.in_words()
        if known:
            rows["rows"] = known
        changes = in_words(model)
        if changes:
            rows["changes"] = f"{changes} (summary())"
        if hasattr(model, "edge_probabilities"):
            rows["probabilities"] = f"from {model.n_resamples_} random halves of the rows (edge_probabilities(Z), edges(Z))"
            sure = model._surest_edges()
            if sure:
                rows["in a typical context"] = _listed(sure)
        for number, sentence in enumerate(poor_fit(model)):
            rows[f"warning{f' {number + 1}' if number else ''}"] = sentence
        cells = "".join(
            f"<tr><th style='text-align:left'>{k}</th><td style='text-align:left'>{html.escape(printable(v))}</td></tr>"
            for k, v in rows.items()
        )
        return f"<table class='contextualdag-summary'>{cells}</table>"


def _listed(names: list[str], most: int = 8) -> str:
    shown = ", ".join(names[:most])
    return f"{len(names)}: {shown}" if len(names) <= most else f"{len(names)}: {shown}, …"


def _as_model(model: Any) -> Any:
    return model
