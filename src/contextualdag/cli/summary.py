"""``contextualdag summary``."""

from typing import Annotated, Literal

import typer

from contextualdag.cli.options import ModelArgument


def summary(
    model: ModelArgument,
    format_: Annotated[
        Literal["csv", "json"] | None,
        typer.Option("--format", metavar="KIND", show_default="a table", help="csv or json, to be read by programs."),
    ] = None,
) -> None:
    """Show which edges of a model are the same in all contexts, which change and with what, and which reverse.

    Example: contextualdag summary model
    """
    from contextualdag.cli.tables import table_bytes
    from contextualdag.cli.terminal import say, show_table, write_data
    from contextualdag.estimators import load_model
    from contextualdag.estimators.poor_fit import poor_fit
    from contextualdag.estimators.remarks import how_many
    from contextualdag.estimators.summary import EXPLAINED, in_words, readable_table

    loaded = load_model(model)
    table = loaded.summary()
    if format_ is not None:
        records = table.to_json(orient="records", force_ascii=False) + "\n"
        write_data(table_bytes(table, "csv") if format_ == "csv" else records.encode())
        return
    for sentence in poor_fit(loaded):
        say(f"Warning: {sentence}")
    if not len(table):
        say("No graph has an edge.")
        return
    if sentence := in_words(loaded):
        say(sentence)
    for sentence in how_many(loaded):
        say(sentence)
    words = readable_table(table)
    for name in ("weight", "spread"):
        words[name] = [f"{number:.3g}" for number in words[name]]
    # A row is as narrow as it can be, so that names stay in one line.
    words["changes with"] = words["changes with"].where(words["changes with"] != "", words["varies"])
    empty = [name for name in ("reversed", "changes with") if not words[name].any()]
    words = words.drop(columns=["varies", *empty])
    show_table(list(words.columns), words.itertuples(index=False, name=None), ["share", "reversed", "weight", "spread", "p"])
    say(EXPLAINED)
