"""Picture of the path over sparsity levels: losses against numbers of edges, and the selected point."""

from typing import TYPE_CHECKING, Any

import numpy as np

from contextualdag.errors import InvalidInputError
from contextualdag.plotting.canvas import palette_of, size_in_points

if TYPE_CHECKING:
    import pandas
    from matplotlib.axes import Axes


def plot_path(model: Any, *, ax: "Axes | None" = None) -> "Axes":
    """Draw the losses along the path against the mean number of edges, and mark the selected point.

    Parameters
    ----------
    model : estimator
        Fitted model with a path.
    ax : matplotlib.axes.Axes, optional
        Axes to draw on; by default on a new figure.

    Returns
    -------
    matplotlib.axes.Axes
        The loss after a refit is drawn at the number of edges that the refit keeps; it is the mean over networks, each
        with its best threshold. The star is the loss of the selected graphs, at their number of edges.

    Examples
    --------
    >>> from contextualdag import FixedDAG
    >>> from contextualdag.datasets import make_fixed_dag
    >>> from contextualdag.plotting import plot_path
    >>> data = make_fixed_dag(200, n_nodes=4, n_edges=3, random_state=0)
    >>> plot_path(FixedDAG(random_state=0).fit(data.X)).get_xlabel()
    'edges on average'
    """
    if not hasattr(type(model), "path_"):
        raise InvalidInputError(f"{type(model).__name__} has no path of sparsity levels to draw.")
    path: pandas.DataFrame = model.path_
    if ax is None:
        from matplotlib import pyplot as plt

        _, ax = plt.subplots(figsize=(6.4, 4), layout="constrained")
    colors = palette_of(ax)
    ax.plot(path["n_edges"], path["train_loss"], ".-", color=colors.faint, label="training", linewidth=1)
    ax.plot(path["n_edges"], path["validation_loss"], ".-", color=colors.positive, label="validation")
    refits = path.dropna(subset=["refit_loss"]).sort_values("refit_edges")
    if len(refits):
        ax.plot(
            refits["refit_edges"],
            refits["refit_loss"],
            "o",
            color=colors.negative,
            markersize=4,
            label="validation, refitted",
        )
    at, loss = model.chosen_["n_edges"], model.chosen_["loss"]
    ax.axvline(at, color=colors.text, linewidth=0.8, linestyle=(0, (2, 2)), zorder=1)
    ax.plot(
        at, loss, "*", color=colors.text, markersize=13, markeredgecolor=colors.background, zorder=5,
        label=f"selected: {at:.1f} edges",
    )  # fmt: skip
    most, narrow = float(path["n_edges"].max()), size_in_points(ax)[0] < 220
    if most > 30:  # a dense end of the path would push the rest to the left
        ax.set_xscale("symlog", linthresh=5, linscale=0.6)
        every = (0, 5, 50, 500, 5000) if narrow else (0, 1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000)
        ticks = [tick for tick in every if tick <= most]
        ax.set_xticks(ticks, [str(tick) for tick in ticks])
        ax.minorticks_off()
    ax.set_xlim(left=-0.02 * most if most <= 30 else -0.4)
    ax.set_xlabel("edges on average")
    ax.set_ylabel("mean squared error")
    ax.legend(fontsize=6 if narrow else 8, facecolor=colors.background, edgecolor="none", framealpha=0.7)
    for side in ("top", "right"):
        ax.spines[side].set_visible(False)
    _leave_out_outliers(ax, np.concatenate([path["train_loss"], path["validation_loss"], refits["refit_loss"], [loss]]))
    return ax


def _leave_out_outliers(ax: "Axes", losses: np.ndarray) -> None:
    """Limit the axis to losses at most four times as far above the smallest one as the median is."""
    finite = losses[np.isfinite(losses)]
    low, high = float(finite.min()), float(finite.max())
    most = low + 4 * (float(np.median(finite)) - low)
    if high > most > low:
        ax.set_ylim(low - 0.05 * (most - low), most)
