"""How a fitted model shows itself in a notebook: scikit-learn's box of settings, and under it what was learned."""

import html
from typing import Any


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
        rows = {"variables": _listed(model.names_), "context": _listed(list(model.context_summary_["feature"]))}
        if hasattr(model, "_path"):
            chosen, path = model.chosen_, model.path_
            rows["edges"] = f"{chosen['n_edges']:.1f} on average, at l1 budget {chosen['l1_budget']:.3g}"
            rows["path"] = f"{len(path)} sparsity levels, up to {path['n_edges'].max():.1f} edges (path_, plot_path())"
        cells = "".join(
            f"<tr><th style='text-align:left'>{k}</th><td style='text-align:left'>{html.escape(v)}</td></tr>"
            for k, v in rows.items()
        )
        return f"<table class='contextualdag-summary'>{cells}</table>"


def _listed(names: list[str], most: int = 8) -> str:
    shown = ", ".join(names[:most])
    return f"{len(names)}: {shown}" if len(names) <= most else f"{len(names)}: {shown}, …"
