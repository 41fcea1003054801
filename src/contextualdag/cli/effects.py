"""``contextualdag effects``."""

import warnings
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from contextualdag.cli.options import AtOption, EdgesOption, ExplainedOption, ModelArgument

if TYPE_CHECKING:
    import pandas as pd

    from contextualdag.estimators.base import GraphEstimator

POINTS = 11  # values of a number along which effects are shown


def effects(
    model: ModelArgument,
    source: Annotated[str | None, typer.Option(metavar="NAME", help="Variable whose effects are shown.")] = None,
    target: Annotated[str | None, typer.Option(metavar="NAME", help="Variable on which effects are shown.")] = None,
    at: AtOption = None,
    along: Annotated[
        str | None,
        typer.Option(metavar="FEATURE", help="Context feature along which the effect of --source on --target is shown."),
    ] = None,
    do: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME=VALUE", help="Set a variable, and show all means before and after; repeat it for several."
        ),
    ] = None,
    edges: EdgesOption = None,
    explained: ExplainedOption = None,
    format_: Annotated[
        Literal["csv", "json"] | None,
        typer.Option("--format", metavar="KIND", show_default="a table", help="csv or json, to be read by programs."),
    ] = None,
) -> None:
    """Show what changes if a variable is set to another value.

    A total effect is the change of the mean of the target for one unit
    more of the source, set by intervention: the sum over all directed
    paths. The direct effect is the weight of the edge. They are causal
    only if the graph is.

    Models of fit --bootstrap have intervals as well.

    Without --at, this is in a typical context; without --source and
    --target, for all pairs that have an effect.

    Example: contextualdag effects model --source sleep --target mood --along age
    """
    from contextualdag.cli.contexts import context_from_options, load_model, require_context
    from contextualdag.cli.tables import table_bytes
    from contextualdag.cli.terminal import write_data
    from contextualdag.errors import ContextualDAGWarning

    if do and (source is not None or target is not None or along is not None):
        raise typer.BadParameter("It takes no --source, --target or --along.", param_hint="--do")
    if along is not None and (source is None or target is None):
        raise typer.BadParameter("It needs --source and --target.", param_hint="--along")
    loaded = load_model(model, edges, explained)
    if at or along is not None:
        require_context(loaded, "--at" if at else "--along")
    context = context_from_options(loaded, at or [])
    for name, option in ((source, "--source"), (target, "--target")):
        _check_name(name, loaded.names_, option, "variable")
    if source is not None and source == target:
        raise typer.BadParameter(f"Two variables were expected. Got '{source}' twice.", param_hint="--target")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ContextualDAGWarning)  # directions that the data do not tell; said below
        if do:
            table = _means(loaded, context, do)
        elif along is not None and source is not None and target is not None:
            table = _along(loaded, context, source, target, along, at or [])
        else:
            table = _pairs(loaded, context, source, target)
    if format_ is not None:
        records = table.to_json(orient="records", force_ascii=False) + "\n"
        write_data(table_bytes(table, "csv") if format_ == "csv" else records.encode())
    else:
        held = context if along is None else context.drop(columns=along)
        _show(loaded, held, table, "" if along is None else f"Effect of {source} on {target} along {along}")


def _pairs(model: "GraphEstimator", context: "pd.DataFrame", source: str | None, target: str | None) -> "pd.DataFrame":
    """Effects of and on the given variables, the largest first; without both of them only those that are not zero."""
    import pandas as pd

    from contextualdag.estimators import BootstrapDAG

    names = model.names_
    T, W = model.total_effects(context)[0], model.adjacency(context)[0]
    rows = [
        (a, b, T[j, k], W[j, k])
        for j, a in enumerate(names)
        for k, b in enumerate(names)
        if a != b and source in (None, a) and target in (None, b) and (T[j, k] or None not in (source, target))
    ]
    found = pd.DataFrame(rows, columns=["source", "target", "effect", "direct"])
    if isinstance(model, BootstrapDAG):
        at = [names.index(name) for name in found["source"]], [names.index(name) for name in found["target"]]
        low, high = model.effect_intervals(context)
        found = found.assign(low=low[0][at], high=high[0][at])
    return found.sort_values("effect", key=abs, ascending=False, kind="stable", ignore_index=True)


def _along(
    model: "GraphEstimator", context: "pd.DataFrame", source: str, target: str, along: str, at: list[str]
) -> "pd.DataFrame":
    _check_name(along, [feature.name for feature in model.context_features_], "--along", "context feature")
    if any(pair.startswith(f"{along}=") for pair in at):
        raise typer.BadParameter(f"'{along}' is the feature of --along, so it has no value here.", param_hint="--at")
    return model.effect_along(source, target, along, context, n_points=POINTS)


def _means(model: "GraphEstimator", context: "pd.DataFrame", do: list[str]) -> "pd.DataFrame":
    """Means of all variables without and with the intervention."""
    import pandas as pd

    from contextualdag.cli.contexts import name_before_equals
    from contextualdag.errors import InvalidInputError

    given: dict[str | int, float] = {}
    for pair in do:
        name = name_before_equals(pair, model.names_)
        _check_name(name, model.names_, "--do", "variable")
        if name in given:
            raise typer.BadParameter(f"'{name}' is given twice.", param_hint="--do")
        value = pair[len(name) + 1 :].strip()
        try:
            given[name] = float(value)
        except ValueError:
            raise typer.BadParameter(f"'{name}' must be set to a number. Got '{value}'.", param_hint="--do") from None
    try:
        after = model.do(context, given).means.iloc[0].to_numpy()
    except InvalidInputError as error:
        raise typer.BadParameter(str(error), param_hint="--do") from None
    before = model.means(context).iloc[0].to_numpy()
    return pd.DataFrame({"variable": model.names_, "mean": before, "then": after, "change": after - before})


def _check_name(name: str | None, known: list[str], option: str, what: str) -> None:
    from contextualdag.checks import did_you_mean, listed

    if name is not None and name not in known:
        hint = did_you_mean(name, known)
        raise typer.BadParameter(
            f"The model has no {what} '{name}'.{hint} It has: {listed(known)}.", param_hint=option
        ) from None


def _show(model: "GraphEstimator", held: "pd.DataFrame", table: "pd.DataFrame", title: str) -> None:
    """Show a table below its title and the features of the context that are held."""
    from contextualdag.cli.contexts import describe_context, describe_outside
    from contextualdag.cli.terminal import say, show_table
    from contextualdag.estimators import BootstrapDAG
    from contextualdag.estimators.remarks import directions

    where = ", ".join(part for part in (title, describe_context(held.iloc[0])) if part)
    say(where or "one graph for all contexts")
    outside = describe_outside(model, held.iloc[0])
    if outside:
        say(f"Outside the training data, so a guess: {outside}.")
    if len(table):
        numbers = [name for name, dtype in table.dtypes.items() if dtype.kind == "f"]
        rows = [
            [f"{cell:.4g}" if isinstance(cell, float) else str(cell) for cell in row]
            for row in table.itertuples(index=False, name=None)
        ]
        show_table(list(table.columns), rows, numbers)
    else:
        say("  no effects")
        say("")
    if isinstance(model, BootstrapDAG) and "effect" in table:
        say("low and high: a 90 % interval of the effect, from how much it differs between random halves of the rows.")
    for sentence in directions(model):
        say(f"{sentence} Effects are those of one possible graph.")
