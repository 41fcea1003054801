"""``contextualdag check``."""

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from contextualdag.cli.options import (
    DecimalOption,
    DelimiterOption,
    OrderedOption,
    read_levels,
    read_periods,
    read_transforms,
    split_names,
)
from contextualdag.cli.row_columns import BlocksOption, RowColumns

if TYPE_CHECKING:
    from contextualdag.cli.fit_data import FitData
    from contextualdag.diagnostics import Finding
    from contextualdag.estimators.base import GraphEstimator


def check(
    data: Annotated[Path, typer.Argument(metavar="TABLE", help="CSV or Parquet file.", show_default=False)],
    context: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAMES",
            show_default="none; with --model, those of the model",
            help="Context features: comma-separated columns. Text becomes categories.",
        ),
    ] = None,
    nodes: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAMES",
            show_default="all other numeric columns; with --model, those of the model",
            help="Variables: comma-separated columns.",
        ),
    ] = None,
    categorical: Annotated[
        list[str] | None, typer.Option(metavar="NAMES", help="Context features whose numbers are codes of categories.")
    ] = None,
    cyclic: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME=PERIOD",
            show_default="none; with --model, those of the model",
            help="A context feature that comes back, such as hour=24 or month=12; repeat the option for several.",
        ),
    ] = None,
    ordered: OrderedOption = None,
    groups: Annotated[
        str | None,
        typer.Option(
            metavar="COLUMN",
            help="Column that says what rows belong to, such as a person or a week: rows of one group may depend on one "
            "another, and groups are asked whether neighbours do.",
        ),
    ] = None,
    blocks: BlocksOption = None,
    interventions: Annotated[
        str | None,
        typer.Option(
            metavar="COLUMN",
            help="Column that names the variable that was set or disturbed in each row; empty for none, several with ; "
            "between them. These values are not held against the --model.",
        ),
    ] = None,
    weight: Annotated[
        str | None,
        typer.Option(
            metavar="COLUMN", help="Column of weights. Rows of weight zero are left out; all others count the same."
        ),
    ] = None,
    transform: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME=KIND",
            show_default="auto; with --model, those of the model",
            help="What the fit will do to a variable first, so that it is judged afterwards: log, log1p, normal-scores or "
            "none, such as crp=log; repeat the option for several. 'none' for all.",
        ),
    ] = None,
    model: Annotated[Path | None, typer.Option(metavar="FOLDER", help="A saved model to check on these rows, too.")] = None,
    drop_missing: Annotated[
        bool,
        typer.Option(
            "--drop-missing",
            help="Drop rows with missing values. Otherwise those of variables are a finding, and of the context an error.",
        ),
    ] = False,
    delimiter: DelimiterOption = None,
    decimal: DecimalOption = ".",
    as_json: Annotated[bool, typer.Option("--json", help="Print the findings as JSON.")] = False,
) -> None:
    """Look for what may be wrong with a table, or with a model of it.

    Nothing is fitted. With --model the graphs of the model are checked
    on the rows of the table, and their independences are compared with
    those of relabelled graphs. Findings are no failure: the exit code
    is 0.

    Example: contextualdag check data.csv --context age,site
    """
    import json

    from contextualdag.cli.contexts import load_model
    from contextualdag.cli.fit_data import check_kinds, check_transforms, choose_data
    from contextualdag.cli.tables import read_table
    from contextualdag.diagnostics import check_table
    from contextualdag.estimators.interventions import read_interventions

    variables, features = split_names(nodes, "--nodes"), split_names(context, "--context")
    codes, periods = split_names(categorical, "--categorical"), read_periods(cyclic)
    transforms = read_transforms(transform)
    loaded = None if model is None else load_model(model, None)
    if loaded is not None:
        variables = variables or list(loaded.names_)
        features = features or [feature.name for feature in loaded.context_features_]
        codes = codes or [feature.name for feature in loaded.context_features_ if not feature.is_number]
        cycles = {feature.name: feature.cycle for feature in loaded.context_features_ if feature.cycle is not None}
        periods = periods or {name: cycle[1] for name, cycle in cycles.items() if name in features}
        if transform is None:
            transforms = {name: kind for name, kind in loaded.transforms_.items() if name in variables}
    levels = read_levels(ordered, features)
    if loaded is not None:
        of_model = loaded._preparation.contexts.encoder.ordered
        known = {feature.name: list(feature.shares) for feature in loaded.context_features_ if feature.name in of_model}
        levels = {name: known[name] for name in known if name in features} | levels
        codes = [name for name in codes if name not in levels]
    check_kinds(periods, levels, features, codes)
    if groups is not None and blocks is not None:
        raise typer.BadParameter("Give --groups or --blocks, not both.", param_hint="--blocks")
    of_rows = RowColumns(interventions, weight, groups, blocks)
    frame = read_table(data, delimiter, decimal, [*codes, *levels, *of_rows.text])
    chosen = choose_data(frame, data, variables, features, codes, drop_missing, of_rows, not drop_missing, levels)
    check_transforms(transforms, list(chosen.X.columns))
    n_without_weight = 0
    if weight is not None:
        chosen, n_without_weight = _rows_that_count(chosen)
    of_groups, n_intervened = chosen.more.get("groups"), 0
    if interventions is not None:
        targets = read_interventions(chosen.more["interventions"], len(chosen.X), list(chosen.X.columns), "--interventions")
        n_intervened = int(targets.any(1).sum())
    summary: dict[str, Any] = {
        "table": str(data),
        "rows": len(chosen.X),
        "rows_dropped": chosen.n_dropped,
        "rows_of_weight_zero": n_without_weight,
        "rows_with_interventions": n_intervened,
        "variables": list(chosen.X.columns),
        "context": [] if chosen.Z is None else list(chosen.Z.columns),
        "left_out": chosen.left_out,
        "findings": check_table(chosen.X, chosen.Z, of_groups, cyclic=periods or None, transform=transforms),
    }
    if loaded is not None:
        summary |= {"model": str(model), **_of_model(loaded, chosen)}
    if as_json:
        typer.echo(json.dumps(_as_json(summary), indent=2, allow_nan=False))
    else:
        _show(summary)


def _rows_that_count(chosen: "FitData") -> tuple["FitData", int]:
    """The rows whose weight is not zero, and the number of others."""
    from dataclasses import replace

    from contextualdag.estimators.experiments import read_weights

    counts = read_weights(chosen.more["sample_weight"], len(chosen.X), "--weight") > 0
    Z = None if chosen.Z is None else chosen.Z.loc[counts]
    more = {name: column[counts] for name, column in chosen.more.items()}
    return replace(chosen, X=chosen.X.loc[counts], Z=Z, more=more), int((~counts).sum())


def _of_model(model: "GraphEstimator", chosen: "FitData") -> dict[str, Any]:
    """What is found about a model on the rows without missing values, and their number."""
    from contextualdag.diagnostics import check_model, falsify
    from contextualdag.diagnostics.falsification import FEWEST_ROWS

    X = chosen.X.dropna()
    interventions = chosen.more.get("interventions")
    interventions = None if interventions is None else interventions.loc[X.index]
    Z = None if chosen.Z is None or not model.context_features_ else chosen.Z.loc[X.index]
    typer.echo(f"Checking the model on {len(X)} rows ...", err=True)
    return {
        "model_rows": len(X),
        "model_findings": check_model(model, X, Z, interventions) if len(X) else [],
        "falsification": (
            falsify(model, X, Z, random_state=0, interventions=interventions) if len(X) >= FEWEST_ROWS else None
        ),
    }


def _as_json(summary: dict[str, Any]) -> dict[str, Any]:
    """The summary as values that JSON can hold."""
    shown = summary | {"findings": [asdict(finding) for finding in summary["findings"]]}
    if "model" in summary:
        tested = summary["falsification"]
        shown["model_findings"] = [asdict(finding) for finding in summary["model_findings"]]
        shown["falsification"] = None if tested is None else asdict(tested) | {"falsified": tested.falsified}
        if tested is not None:
            shown["falsification"]["violated_permuted"] = tested.violated_permuted.tolist()
    return shown


def _show(summary: dict[str, Any]) -> None:
    """Print the findings for people, the most serious first."""
    from contextualdag.cli.terminal import say

    dropped = f", {summary['rows_dropped']} with missing values dropped" if summary["rows_dropped"] else ""
    without = f", {summary['rows_of_weight_zero']} of weight zero left out" if summary["rows_of_weight_zero"] else ""
    set_by_hand = f", {summary['rows_with_interventions']} with interventions" if summary["rows_with_interventions"] else ""
    say(f"{summary['table']}: {summary['rows']} rows{dropped}{without}{set_by_hand}.")
    say(f"Variables ({len(summary['variables'])}): {', '.join(summary['variables'])}")
    if summary["context"]:
        say(f"Context ({len(summary['context'])}): {', '.join(summary['context'])}")
    if summary["left_out"]:
        say(f"Not used, because they are not numeric or have no name: {', '.join(summary['left_out'])}")
    say("")
    for finding in summary["findings"]:
        say(_line(finding))
    if not summary["findings"]:
        say("Nothing was found that speaks against fitting graphs to this table.")
    if "model" not in summary:
        return
    say("")
    n = summary["model_rows"]
    if not n:
        say(f"Model {summary['model']} was not checked: no row is complete.")
        return
    complete = "these rows" if n == summary["rows"] else f"the {n} complete rows"
    say(f"Model {summary['model']} on {complete}:")
    for finding in summary["model_findings"]:
        say(_line(finding))
    if not summary["model_findings"]:
        say("Nothing was found that speaks against its graphs.")
    if summary["falsification"] is not None:
        say(summary["falsification"].verdict)


def _line(finding: "Finding") -> str:
    return f"{finding.severity.capitalize()} ({finding.name}): {finding.message}"
