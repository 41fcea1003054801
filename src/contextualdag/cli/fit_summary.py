"""Summary of ``contextualdag fit``, for people and for scripts."""

import math
import shlex
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from contextualdag.cli.fit_data import FitData
    from contextualdag.estimators.base import GraphEstimator

NEXT = {
    "summary": "which edges change with the context, and which are the same for everyone",
    "graphs": "the graph of a typical context",
    "explore": "move through the contexts in a browser",
    "report": "one HTML file to send to others",
}


def summarise(model: "GraphEstimator", data: "FitData", out: Path, seconds: float) -> dict[str, Any]:
    """Summarise a fit as values that JSON can hold.

    Parameters
    ----------
    model : estimator
        Fitted on `data`; its outliers are rows of the file, counted from 0. Here they are counted from 1, the first row
        after the header, as in all messages.
    data : FitData
        All rows.
    out : Path
        Folder of the saved model.
    seconds : float
        Duration of the fit.

    Returns
    -------
    dict
    """
    import numpy as np

    from contextualdag.estimators import BootstrapDAG
    from contextualdag.estimators.poor_fit import poor_fit
    from contextualdag.estimators.remarks import remarks, sureness
    from contextualdag.estimators.summary import for_json, in_words

    contexts = model.typical_context() if data.Z is None else data.Z
    # The probabilities of a bootstrap are not needed here, and would take long in so many contexts.
    fitted = model.estimator_ if isinstance(model, BootstrapDAG) else model
    n_edges = np.bincount(fitted.edges(contexts)["sample"], minlength=len(contexts))
    path = model.path_.drop(columns="selected").to_dict("records")
    return {
        "model": str(out),
        "estimator": type(model).__name__,
        "rows": len(data.X),
        "rows_dropped": data.n_dropped,
        "rows_held_out": model.n_held_out_,
        "variables": list(data.X.columns),
        "context": [] if data.Z is None else list(data.Z.columns),
        "dates": {feature.name: feature.origin for feature in model.context_features_ if feature.origin is not None},
        "left_out": data.left_out,
        "kinds": model.kinds_,
        "transforms": model.transforms_,
        "selection": fitted.selection,
        "half_samples": model.n_resamples_ if isinstance(model, BootstrapDAG) else 0,
        "noise": model.noise_,
        "noise_scale": dict(zip(model.names_, model.noise_scale_.tolist(), strict=True)),
        "noise_changes": model.noise_changes_,
        "undirected": [list(pair) for pair in model.undirected_edges_],
        "missing_filled_in": model.rows_.n_missing,
        "interventions": model.rows_.n_interventions,
        "weighted": model.rows_.weighted,
        "groups": model.rows_.n_groups,
        "outliers": [row + 1 for row in model.outliers_],
        "structure": model.structure_,
        "structure_scores": {name: asdict(score) for name, score in model.structure_scores_.items()},
        "explained": {kind: float(share) for kind, share in model.explained_.iloc[-1].dropna().items()},
        "explained_by_variable": {
            name: {kind: float(share) for kind, share in shares.dropna().items()}
            for name, shares in model.explained_.iloc[:-1].iterrows()
        },
        "context_test": None if model.context_test_ is None else asdict(model.context_test_),
        "poor_fit": poor_fit(model),
        "sureness": sureness(model),
        "summary": for_json(model),
        "summary_in_words": in_words(model),
        "remarks": remarks(model, first_row=1),
        "edges": {"mean": float(n_edges.mean()), "fewest": int(n_edges.min()), "most": int(n_edges.max())},
        "explained_variance_held_out": model.held_out_score_ if math.isfinite(model.held_out_score_) else None,
        "selected": int(model.path_["selected"].to_numpy().argmax()),
        "chosen": {name: value if math.isfinite(value) else None for name, value in model.chosen_.items()},
        "path": [{name: value if math.isfinite(value) else None for name, value in row.items()} for row in path],
        "seconds": round(seconds, 1),
    }


def show(summary: dict[str, Any]) -> None:
    """Print a summary for people, with the commands to run next."""
    from contextualdag.cli import COMMANDS
    from contextualdag.cli.terminal import say, show_table

    for sentence in summary["poor_fit"]:
        say(f"Warning: {sentence}")
    if summary["summary_in_words"]:
        say(summary["summary_in_words"])
    for sentence in summary["sureness"]:
        say(sentence)
    dropped = f", {summary['rows_dropped']} with missing values dropped" if summary["rows_dropped"] else ""
    halves = f" and {summary['half_samples']} halves of them" if summary["half_samples"] else ""
    say(f"{summary['estimator']} in {summary['seconds']:g} s from {summary['rows']} rows{dropped}{halves}.")
    say(f"Variables ({len(summary['variables'])}): {', '.join(summary['variables'])}")
    if summary["context"]:
        dates = {name: f"{name} (days since {origin})" for name, origin in summary["dates"].items()}
        say(f"Context ({len(summary['context'])}): {', '.join(dates.get(name, name) for name in summary['context'])}")
    if summary["left_out"]:
        say(f"Not used, because they are not numeric or have no name: {', '.join(summary['left_out'])}")
    show_table(("budget", "edges", "validation loss", "after refit", "edges kept", ""), path_rows(summary), title="Path")
    edges, how = summary["edges"], summary["selection"]
    span = "" if edges["fewest"] == edges["most"] else f" on average, from {edges['fewest']} to {edges['most']}"
    if isinstance(how, tuple):
        selection = f"'{how[0]}', {how[1]:g}"
    else:
        selection = f"'{how}'" if isinstance(how, str) else f"{how:g} edges"
    count = f"{edges['mean']:.3g} edge{'' if edges['mean'] == 1 else 's'}"
    say(f"Graphs have {count}{span} (selection: {selection}; graphs --edges shows other points).")
    if not edges["most"]:
        say("No edge improves the prediction of the held-out rows: no dependence was found, or there are too few rows.")
    if summary["explained_variance_held_out"] is not None:
        say(
            f"Explained variance of the {summary['rows_held_out']} held-out rows: "
            f"{summary['explained_variance_held_out']:.2f} "
            "(they were also used to select the sparsity, so it may be a little lower on new rows)."
        )
    for remark in summary["remarks"]:
        if remark not in summary["sureness"]:  # said already
            say(remark)
    say(f"Model: {summary['model']}")
    say("Next:")
    there = {command.__name__ for command in COMMANDS}
    lines = {f"contextualdag {name} {shlex.quote(summary['model'])}": what for name, what in NEXT.items() if name in there}
    for line, what in lines.items():
        say(f"  {line:{max(map(len, lines))}}  {what}")


def path_rows(summary: dict[str, Any]) -> list[tuple[str, ...]]:
    """The path as rows of a table, from the largest budget to the smallest, with what is selected of it.

    A refit keeps fewer edges than its point has, and the selected graphs may have fewer still: then the others explain
    hardly more. So the last columns of the selected point are of the graphs that the model has.
    """
    chosen = summary["chosen"]
    rows: list[tuple[str, ...]] = []
    by_budget = sorted(enumerate(summary["path"]), key=lambda pair: -pair[1]["l1_budget"])  # a point may come in later
    for index, point in by_budget:
        loss, kept, selected = point["refit_loss"], point["refit_edges"], index == summary["selected"]
        if selected and chosen["refitted"]:
            loss = loss if chosen["n_edges"] == kept else chosen["loss"]
            kept = summary["edges"]["mean"]
        numbers = (f"{point['l1_budget']:.3g}", f"{point['n_edges']:.1f}", f"{point['validation_loss']:.4f}")
        refit = ("" if loss is None else f"{loss:.4f}", "" if kept is None else f"{kept:.1f}")
        rows.append((*numbers, *refit, "selected" if selected else ""))
    return rows
