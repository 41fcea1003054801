"""Options that several commands share: how they are declared, and how their values are read."""

import csv
from pathlib import Path
from typing import Annotated

import typer

ModelArgument = Annotated[Path, typer.Argument(metavar="MODEL", help="Folder of a saved model.", show_default=False)]
AtOption = Annotated[
    list[str] | None,
    typer.Option(
        metavar="NAME=VALUE",
        help="A context; repeat the option for several features. The other features get typical values.",
    ),
]
EdgesOption = Annotated[
    float | None,
    typer.Option(min=0, metavar="N", help="Use another point of the path: graphs with N edges on average."),
]
OverwriteOption = Annotated[bool, typer.Option("--overwrite", help="Replace existing files.")]
DelimiterOption = Annotated[
    str | None,
    typer.Option(metavar="SIGN", show_default="comma; tab for .tsv", help="Column separator of a CSV; tab for a tab."),
]
DecimalOption = Annotated[str, typer.Option(metavar="SIGN", help="Decimal separator of a CSV.")]


def split_names(names: str | None, option: str) -> list[str]:
    """Names of an option, which are separated by commas; a name that contains a comma is in double quotes."""
    from contextualdag.checks import listed

    if names is None:
        return []
    try:
        split = [name.strip() for name in next(csv.reader([names], skipinitialspace=True), [])]
    except csv.Error as error:
        raise typer.BadParameter(f"{names!r} cannot be split into names: {error}.", param_hint=option) from None
    if not all(split) or not split:
        raise typer.BadParameter(f"Comma-separated names were expected. Got {names!r}.", param_hint=option)
    twice = sorted({name for name in split if split.count(name) > 1})
    if twice:
        raise typer.BadParameter(f"Named more than once: {listed(twice)}.", param_hint=option)
    return split


def check_device(name: str) -> str:
    """The name of a device, after a check that PyTorch has it."""
    from contextualdag.checks import find_device
    from contextualdag.errors import InvalidParameterError

    try:
        find_device(name)
    except InvalidParameterError as error:
        raise typer.BadParameter(str(error), param_hint="--device") from None
    return name
