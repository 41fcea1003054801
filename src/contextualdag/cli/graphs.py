"""``contextualdag graphs``."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from contextualdag.cli.options import (
    AtOption,
    DecimalOption,
    DelimiterOption,
    EdgesOption,
    ExplainedOption,
    ModelArgument,
    OverwriteOption,
)

if TYPE_CHECKING:
    from contextualdag.cli.graph_files import Graphs
    from contextualdag.estimators.base import GraphEstimator

MOST_TABLES = 4  # contexts shown one by one on a terminal


def graphs(
    model: ModelArgument,
    contexts: Annotated[
        Path | None,
        typer.Option(metavar="TABLE", help="CSV or Parquet file with the context columns: one graph per row."),
    ] = None,
    at: AtOption = None,
    edges: EdgesOption = None,
    explained: ExplainedOption = None,
    consensus: Annotated[
        float | None,
        typer.Option(
            min=0,
            max=1,
            metavar="P",
            help="Graphs of the edges with a probability of at least P instead, for models of fit --bootstrap.",
        ),
    ] = None,
    standardised: Annotated[
        bool,
        typer.Option("--standardised", help="Weights in standard deviations of the variables instead of their units."),
    ] = False,
    out: Annotated[
        Path | None,
        typer.Option(
            metavar="PATH",
            help="File to write: .csv, .parquet, .json, .graphml or .dot; or a folder, with a graphml or dot file per "
            "context.",
        ),
    ] = None,
    format_: Annotated[
        Literal["csv", "parquet", "json", "graphml", "dot"] | None,
        typer.Option(
            "--format",
            metavar="KIND",
            show_default="by the ending of --out",
            help="csv, parquet, json, graphml or dot. Without --out the graphs are printed.",
        ),
    ] = None,
    delimiter: DelimiterOption = None,
    decimal: DecimalOption = ".",
    overwrite: OverwriteOption = False,
) -> None:
    """Show or write the graphs of contexts.

    Without --contexts and --at, this is the graph of a typical context.
    Where a model has many edges, those are shown that explain nine
    tenths of what all do; files hold all of them.
    Tables have one row per edge: sample (the row of the contexts,
    from 0), source, target, weight, directed: false if the data do not
    tell the direction, and outside: whether the context is outside the
    range of the training data, where a graph is a guess. Those of a
    model of fit --bootstrap have the probability of each edge as well.

    Example: contextualdag graphs model --at age=30 --out graph.graphml
    """
    from contextualdag.cli.contexts import context_from_options, contexts_from_file, load_model, require_context
    from contextualdag.cli.graph_files import ONE_GRAPH, Graphs, file_bytes
    from contextualdag.cli.terminal import write_data
    from contextualdag.estimators.readable import in_words, readable

    if contexts is not None and at:
        raise typer.BadParameter("Give --contexts or --at, not both.", param_hint="--at")
    if contexts is None and (delimiter is not None or decimal != "."):
        raise typer.BadParameter(
            "This option is for the table of --contexts, which is not given.", param_hint="--delimiter, --decimal"
        )
    if consensus is not None and (edges is not None or explained is not None):
        raise typer.BadParameter("Give --edges, --explained or --consensus, not two of them.", param_hint="--consensus")
    kind = _format(out, format_)
    loaded = load_model(model, edges, explained)
    if consensus is not None:
        _use_consensus(loaded, consensus)
    fewer = readable(loaded)
    if contexts is not None or at:
        require_context(loaded, "--at" if contexts is None else "--contexts")
    if contexts is None:
        Z = context_from_options(loaded, at or [])
    else:
        Z = contexts_from_file(loaded, contexts, delimiter, decimal)
    shown = fewer if fewer is not None and kind is None else loaded
    found = Graphs(loaded.names_, Z, loaded.is_outside(Z), shown.edges(Z, standardised))
    if kind is None:
        if fewer is not None:
            typer.echo(f"{in_words(loaded, fewer)}. These are shown; --explained 1 shows all.")
        _show(found, loaded)
    elif out is None:
        if kind in ONE_GRAPH and len(Z) > 1:
            raise typer.BadParameter(f"A {kind} file holds one graph, and there are {len(Z)}: give a folder as --out.")
        write_data(file_bytes(found, kind))
    else:
        _write(found, kind, out, overwrite)
        less = "" if fewer is None else f" {in_words(loaded, fewer)}: --explained 0.9 writes only these."
        typer.echo(f"{out}: {_count(len(Z), 'graph')}, {_count(len(found.edges), 'edge')}.{_outside(found)}{less}")


def _use_consensus(model: "GraphEstimator", threshold: float) -> None:
    """Make the graphs of a model those of the edges that are sure enough."""
    from contextualdag.estimators import BootstrapDAG

    if not isinstance(model, BootstrapDAG):
        raise typer.BadParameter(
            f"This model is a {type(model).__name__}, which does not tell how sure edges are. Fit it with --bootstrap 50.",
            param_hint="--consensus",
        )
    model.set_params(selection="stability", threshold=threshold)


def _format(out: Path | None, given: str | None) -> str | None:
    """Format to write; None to show tables."""
    from contextualdag.cli.graph_files import ENDINGS, ONE_GRAPH

    if out is None:
        if given == "parquet":
            raise typer.BadParameter("Parquet cannot be printed: give a file as --out.", param_hint="--format")
        return given
    by_ending = ENDINGS.get(out.suffix.lower())
    if by_ending is not None and given is not None and given != by_ending:
        raise typer.BadParameter(f"--out {out} says {by_ending}, --format says {given}.", param_hint="--format")
    if by_ending is None and given not in ONE_GRAPH:
        hint = " For a folder with one file per context, add --format graphml or dot." if given is None else ""
        raise typer.BadParameter(
            f"A name that ends in {', '.join(ENDINGS)} was expected. Got '{out}'.{hint}", param_hint="--out"
        )
    return given or by_ending


def _write(found: "Graphs", kind: str, out: Path, overwrite: bool) -> None:
    from contextualdag.cli.graph_files import ENDINGS, ONE_GRAPH, file_bytes, write_each
    from contextualdag.cli.outcome import check_output, write_output

    if out.suffix.lower() not in ENDINGS:
        write_each(found, kind, out, overwrite)
        return
    if kind in ONE_GRAPH and len(found.contexts) > 1:
        raise typer.BadParameter(
            f"A {kind} file holds one graph, and there are {len(found.contexts)} contexts. Give a folder: --out graphs "
            f"--format {kind}.",
            param_hint="--out",
        )
    check_output(out, overwrite)
    write_output(out, file_bytes(found, kind))


def _show(found: "Graphs", model: "GraphEstimator") -> None:
    """Show graphs on the terminal: one by one if they are few, else how often each edge occurs."""
    n = len(found.contexts)
    if n > MOST_TABLES:
        _show_frequencies(found)
    for sample in range(n if n <= MOST_TABLES else 0):
        _show_one(found, sample, model)


def _show_one(found: "Graphs", sample: int, model: "GraphEstimator") -> None:
    from contextualdag.cli.contexts import describe_context, describe_outside
    from contextualdag.cli.terminal import say, show_table
    from contextualdag.export import edge_text

    context = describe_context(found.contexts.iloc[sample])
    where = ", ".join([context] * bool(context) + ["one graph for all contexts"] * (not model.varies_))
    number = f"Sample {sample}: " if len(found.contexts) > 1 else ""
    say(f"{number}{where}")
    if found.outside[sample]:
        say(f"Outside the training data, so a guess: {describe_outside(model, found.contexts.iloc[sample])}.")
    edges = found.edges_of(sample)
    if not len(edges):
        say("  no edges")
        say("")
        return
    more = ["probability"] if "probability" in edges else []
    scale = dict(zip(model.names_, model.scale_, strict=True))
    sizes = edges["weight"] * edges["source"].map(scale) / edges["target"].map(scale)
    rows = []
    for row in edges.assign(size=sizes).sort_values("size", key=abs, ascending=False, kind="stable").itertuples(index=False):
        sure = [f"{row.probability:.2f}"] if more else []
        words = edge_text(row.source, row.target, row.directed)
        rows.append((words, f"{row.weight: .4g}", f"{row.size: .3f}", *sure))
    show_table(("edge", "weight", "in sd", *more), rows)
    said = "Weight: in the units of the variables; in sd: in standard deviations of both, whatever the units."
    if not edges["directed"].all():
        said += " The data do not tell the direction of edges with —."
    say(said)
    say("")


def _show_frequencies(found: "Graphs") -> None:
    from contextualdag.cli.terminal import say, show_table
    from contextualdag.export import edge_text

    n = len(found.contexts)
    say(f"{n} graphs with {len(found.edges) / n:.1f} edges on average.{_outside(found)}")
    by_edge = found.edges.groupby(["source", "target", "directed"])
    grouped = by_edge["weight"].agg(["size", "mean", "min", "max"])
    more = ["probability"] if "probability" in found.edges else []
    if more:
        grouped = grouped.assign(probability=by_edge["probability"].mean())
    # With one more column there is less room for names.
    first = ("in %", "mean") if more else ("in % of graphs", "mean weight")
    rows = []
    for edge, row in grouped.sort_values("size", ascending=False, kind="stable").iterrows():
        weights = (f"{row[name]: .3f}" for name in ("mean", "min", "max"))
        sure = [f"{row['probability']:.2f}"] if more else []
        rows.append((edge_text(*edge), f"{100 * row['size'] / n:.0f}", *weights, *sure))
    show_table(("edge", *first, "smallest", "largest", *more), rows)
    what = "Mean weight and probability" if more else "Mean"
    say(f"{what}, smallest and largest are over the graphs that have the edge. --out graphs.csv writes all graphs.")


def _outside(found: "Graphs") -> str:
    count = int(found.outside.sum())
    if count == len(found.contexts) == 1:
        return " The context is outside the range of the training data, so the graph is a guess."
    if not count:
        return ""
    return (
        f" {count} of {len(found.contexts)} contexts are outside the range of the training data: their graphs are guesses."
    )


def _count(n: int, what: str) -> str:
    return f"{n} {what}{'s' if n != 1 else ''}"
