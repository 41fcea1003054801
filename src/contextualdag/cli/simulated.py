"""``contextualdag simulate`` and ``contextualdag demo``: simulated data to try things on."""

import shlex
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from contextualdag.cli.options import OverwriteOption

if TYPE_CHECKING:
    import pandas

    from contextualdag.datasets import Dataset

ONLY = {
    "varying": (
        *("active", "mean_shift", "weak_edges", "context_correlation"),
        *("degrees_of_freedom", "units", "outliers", "reversals"),
        *("binary", "counts", "missing", "missing_by_value", "interventions", "group_size"),
    ),
    "fixed": ("weight",),
}
INTERVENED, PERSON = "intervened", "person"  # columns of simulated tables


def simulate(
    out: Annotated[Path, typer.Option(metavar="FILE", help="Table to write: .csv or .parquet.", show_default=False)],
    truth: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Also write the true edges of every row: .csv or .parquet.")
    ] = None,
    design: Annotated[
        Literal["varying", "fixed"],
        typer.Option(metavar="KIND", help="varying: graphs vary with the context; fixed: one graph for all contexts."),
    ] = "varying",
    samples: Annotated[int, typer.Option(min=1, metavar="N", help="Number of rows.")] = 1000,
    nodes: Annotated[int, typer.Option(min=2, metavar="N", help="Number of variables: x1, x2, ...")] = 5,
    features: Annotated[int, typer.Option(min=1, metavar="N", help="Number of context features: z1, z2, ...")] = 2,
    edges: Annotated[
        int, typer.Option(min=0, metavar="N", help="Number of pairs of variables that an edge may connect.")
    ] = 5,
    graph: Annotated[
        Literal["erdos-renyi", "scale-free"],
        typer.Option(metavar="KIND", help="How the pairs are drawn. erdos-renyi: uniformly; scale-free: with hubs."),
    ] = "erdos-renyi",
    active: Annotated[
        float | None,
        typer.Option(
            min=0, max=1, metavar="SHARE", show_default="0.5", help="Varying: mean fraction of the pairs with an edge."
        ),
    ] = None,
    weight: Annotated[
        float | None, typer.Option(metavar="NUMBER", show_default="0.3", help="Fixed: weight of every edge.")
    ] = None,
    noise_scale: Annotated[
        tuple[float, float] | None,
        typer.Option(metavar="LOW HIGH", show_default="1 1", help="Range of the standard deviations of the noise."),
    ] = None,
    standardise: Annotated[
        bool, typer.Option("--standardise", help="Divide variables by their standard deviations.")
    ] = False,
    mean_shift: Annotated[
        float | None,
        typer.Option(metavar="NUMBER", show_default="0", help="Varying: how much the means vary with the context."),
    ] = None,
    weak_edges: Annotated[bool, typer.Option("--weak-edges", help="Varying: weaker edges of both signs.")] = False,
    context_correlation: Annotated[
        float | None,
        typer.Option(metavar="NUMBER", show_default="0", help="Varying: correlation of the context features, in [0, 1)."),
    ] = None,
    degrees_of_freedom: Annotated[
        float | None,
        typer.Option(metavar="NUMBER", show_default="normal", help="Varying: heavy tails, noise of Student's distribution."),
    ] = None,
    units: Annotated[
        float | None,
        typer.Option(metavar="NUMBER", show_default="0", help="Varying: powers of ten by which units differ, up and down."),
    ] = None,
    outliers: Annotated[
        float | None,
        typer.Option(metavar="SHARE", show_default="0", help="Varying: share of rows that are multiplied by ten."),
    ] = None,
    reversals: Annotated[
        float | None,
        typer.Option(
            metavar="SHARE", show_default="1", help="Varying: share of pairs whose edge is reversed; 0 for one order."
        ),
    ] = None,
    binary: Annotated[
        float | None,
        typer.Option(
            min=0, max=1, metavar="SHARE", show_default="0", help="Varying: share of the variables cut at their median."
        ),
    ] = None,
    counts: Annotated[
        float | None,
        typer.Option(min=0, max=1, metavar="SHARE", show_default="0", help="Varying: share of variables that are counts."),
    ] = None,
    missing: Annotated[
        float | None,
        typer.Option(metavar="SHARE", show_default="0", help="Varying: share of the values that are missing."),
    ] = None,
    missing_by_value: Annotated[
        bool, typer.Option("--missing-by-value", help="Varying: large values are missing more often.")
    ] = False,
    interventions: Annotated[
        float | None,
        typer.Option(
            min=0,
            max=1,
            metavar="SHARE",
            show_default="0",
            help=f"Varying: share of the variables that are set in a fifth of the rows; the column {INTERVENED} names them.",
        ),
    ] = None,
    group_size: Annotated[
        int | None,
        typer.Option(
            min=1, metavar="N", show_default="1", help=f"Varying: rows of one person; the column {PERSON} says whose."
        ),
    ] = None,
    seed: Annotated[int, typer.Option(min=0, metavar="N", help="The same seed gives the same data.")] = 0,
    overwrite: OverwriteOption = False,
) -> None:
    """Simulate a table to try things on.

    Columns x1, x2, ... are variables and z1, z2, ... the context.
    --truth writes one row per true edge: sample (the row of the
    table, from 0), source, target, weight.

    Example: contextualdag simulate --out data.csv --truth truth.csv
    """
    from contextualdag import datasets
    from contextualdag.cli.outcome import check_output, write_output
    from contextualdag.cli.tables import table_bytes, table_format
    from contextualdag.errors import InvalidParameterError

    given = {"active": active, "weight": weight, "mean_shift": mean_shift, "context_correlation": context_correlation}
    given |= {"degrees_of_freedom": degrees_of_freedom, "units": units, "outliers": outliers, "reversals": reversals}
    given |= {"binary": binary, "counts": counts, "missing": missing, "interventions": interventions}
    given |= {"group_size": group_size}
    options: dict[str, Any] = {name: value for name, value in given.items() if value is not None}
    options |= {"weak_edges": True} if weak_edges else {}
    options |= {"missing_by_value": True} if missing_by_value else {}
    options |= {"noise_scale": noise_scale} if noise_scale is not None else {}
    for other, names in ONLY.items():
        without_effect = [name for name in names if other != design and name in options]
        if without_effect:
            option = f"--{without_effect[0].replace('_', '-')}"
            raise typer.BadParameter(f"This option has no effect with --design {design}.", param_hint=option)
    if truth is not None and truth.resolve() == out.resolve():
        raise typer.BadParameter("The data and the truth need two files.", param_hint="--truth")
    paths = [out] if truth is None else [truth, out]
    kinds = [table_format(path) for path in paths]
    for path in paths:
        check_output(path, overwrite)

    pairs = nodes * (nodes - 1) // 2
    if edges > pairs:
        raise typer.BadParameter(f"{nodes} variables have only {pairs} pairs. Got {edges}.", param_hint="--edges")
    make: Callable[..., Dataset] = datasets.make_varying_dag if design == "varying" else datasets.make_fixed_dag
    sizes = {"n_samples": samples, "n_nodes": nodes, "n_features": features, "n_edges": edges}
    try:
        data = make(**sizes, graph=graph, standardise=standardise, random_state=seed, **options)
    except InvalidParameterError as error:
        raise typer.BadParameter(str(error)) from None
    tables = [_rows(data)] if truth is None else [_true_edges(data), _rows(data)]
    for path, kind, table in zip(paths, kinds, tables, strict=True):
        write_output(path, table_bytes(table, kind))

    context = [f"z{k + 1}" for k in range(features)]
    typer.echo(f"{out}: {samples} rows of {_span(list(data.names))} in the context {_span(context)}.")
    if truth is not None:
        typer.echo(f"{truth}: {len(tables[0])} true edges, {len(tables[0]) / samples:.1f} per row.")
    more = " --impute" if missing else ""
    more += "" if data.interventions is None else f" --interventions {INTERVENED}"
    more += "" if data.groups is None else f" --groups {PERSON}"
    typer.echo(f"Next: contextualdag fit {shlex.quote(str(out))} --context {','.join(context)}{more} --out model")


def demo(
    out: Annotated[Path, typer.Option(help="Folder for report.html.")] = Path("demo"),
    samples: Annotated[int, typer.Option(min=100, help="Number of rows to learn from.")] = 10_000,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the data and of the fit.")] = 0,
) -> None:
    """Simulate, fit, compare with the truth, and write a report.

    Example: contextualdag demo --out demo
    """
    from rich.console import Console
    from rich.table import Table

    from contextualdag.report.demo import demonstrate, write_report

    console = Console()
    console.print(f"Learning a graph for every context from {samples} samples of 5 variables …")
    shown = demonstrate(samples, seed)
    exact = True
    for row in shown.shown:
        context = ", ".join(f"{value:.2f}" for value in shown.Z[row])
        table = Table("edge", "true", "learned", "", title=f"z = ({context})", title_justify="left")
        edges = shown.edges(row)
        for edge, true, learned, remark in edges.itertuples(index=False):
            table.add_row(edge, f"{true:.2f}" if true else "none", f"{learned:.2f}" if learned else "none", remark)
        exact &= not edges[""].any()
        console.print(table)
    wrong = "Both graphs were recovered exactly." if exact else "Not recovered exactly: the edges marked in the last column."
    console.print(wrong)
    scores = Table("on 1000 new contexts", "", title_justify="left")
    for name, value in shown.scores.items():
        scores.add_row(name, f"{value:.3f}")
    console.print(scores)
    console.print(f"Fitted in {shown.seconds:.0f} s. Report: {write_report(shown, out)}", soft_wrap=True)


def _span(names: list[str]) -> str:
    return ", ".join(names) if len(names) <= 3 else f"{names[0]} to {names[-1]}"


def _rows(data: "Dataset") -> "pandas.DataFrame":
    import numpy as np
    import pandas as pd

    from contextualdag.estimators.interventions import SEPARATOR

    names = [*data.names, *(f"z{k + 1}" for k in range(data.Z.shape[1]))]
    table = pd.concat([pd.DataFrame(data.X), pd.DataFrame(data.Z)], axis=1).set_axis(names, axis=1)
    if data.groups is not None:
        table[PERSON] = data.groups
    if data.interventions is not None:
        table[INTERVENED] = [SEPARATOR.join(np.array(data.names)[targets]) for targets in data.interventions]
    return table


def _true_edges(data: "Dataset") -> "pandas.DataFrame":
    import numpy as np
    import pandas as pd

    sample, source, target = np.nonzero(data.W)
    names = np.array(data.names, dtype=object)
    columns = {"sample": sample, "source": names[source], "target": names[target]}
    return pd.DataFrame(columns | {"weight": data.W[sample, source, target]})
