"""Options that several commands share: how they are declared, and how their values are read."""

import csv
import math
from collections.abc import Sequence
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
ExplainedOption = Annotated[
    float | None,
    typer.Option(
        metavar="SHARE",
        help="Only the strongest edges, as few as explain this share of what all of them explain, such as 0.9.",
    ),
]
OrderedOption = Annotated[
    list[str] | None,
    typer.Option(
        metavar="NAME=LEVELS",
        help="A context feature whose categories have an order, and these from low to high, such as grade=low,middle,high; "
        "repeat the option for several.",
    ),
]
OverwriteOption = Annotated[bool, typer.Option("--overwrite", help="Replace existing files.")]
QuietOption = Annotated[bool, typer.Option("--quiet", help="Show no progress; warnings and results are still shown.")]
DelimiterOption = Annotated[
    str | None,
    typer.Option(metavar="SIGN", show_default="comma; tab for .tsv", help="Column separator of a CSV; tab for a tab."),
]
DecimalOption = Annotated[str, typer.Option(metavar="SIGN", help="Decimal separator of a CSV.")]


def split_names(names: str | Sequence[str] | None, option: str) -> list[str]:
    """Names of an option, which are separated by commas; a name that contains a comma is in double quotes.

    An option that was repeated has the names of all its values.
    """
    from contextualdag.checks import listed

    split: list[str] = []
    for value in [names] if isinstance(names, str) else names or []:
        try:
            found = [name.strip() for name in next(csv.reader([value], skipinitialspace=True), [])]
        except csv.Error as error:
            raise typer.BadParameter(f"{value!r} cannot be split into names: {error}.", param_hint=option) from None
        if not all(found) or not found:
            raise typer.BadParameter(f"Comma-separated names were expected. Got {value!r}.", param_hint=option)
        split += found
    twice = sorted({name for name in split if split.count(name) > 1})
    if twice:
        raise typer.BadParameter(f"Named more than once: {listed(twice)}.", param_hint=option)
    return split


def read_periods(pairs: Sequence[str] | None) -> dict[str, float]:
    """Cyclic features and their periods, from ``name=period`` pairs."""
    found: dict[str, float] = {}
    for pair in pairs or []:
        name, _, text = (part.strip() for part in pair.rpartition("="))
        if not name:
            raise _bad_period(f"A name and its period were expected, such as hour=24. Got {pair!r}.")
        try:
            period = float(text)
        except ValueError:
            period = math.nan
        if not 0 < period < math.inf:
            raise _bad_period(f"The period of '{name}' must be a positive number. Got {text!r}.")
        if name in found:
            raise _bad_period(f"'{name}' is given twice.")
        found[name] = period
    return found


def read_levels(pairs: Sequence[str] | None, context: Sequence[str]) -> dict[str, list[str]]:
    """Levels of ordered context features from low to high, from ``name=low,middle,high``."""
    from contextualdag.checks import did_you_mean, listed

    found: dict[str, list[str]] = {}
    for pair in pairs or []:
        if "=" not in pair:
            raise _bad_order(
                f"A context feature and its levels from low to high were expected, such as grade=low,middle,high. Got "
                f"{pair!r}."
            )
        # A name may hold the equals sign as well.
        name = max((one for one in context if pair.startswith(f"{one}=")), key=len, default=pair.partition("=")[0].strip())
        if name not in context:
            known = f"It has: {listed(context)}." if context else "There is no --context."
            raise _bad_order(f"'{name}' is not in --context.{did_you_mean(name, context)} {known}")
        if name in found:
            raise _bad_order(f"'{name}' is given twice.")
        levels = split_names(pair[len(name) + 1 :], "--ordered")
        if len(levels) < 2:
            raise _bad_order(f"Two levels at least were expected for '{name}', separated by commas. Got {pair!r}.")
        found[name] = levels
    return found


def read_transforms(pairs: Sequence[str] | None) -> str | dict[str, str]:
    """The transforms of variables, from ``name=transform`` pairs, or one word for all of them."""
    from contextualdag.transforms import AUTO, NONE, TRANSFORMS

    words = [pair for pair in pairs or [] if pair in (AUTO, NONE)]
    if len(words) == len(pairs or []) <= 1:
        return words[0] if words else AUTO
    found: dict[str, str] = {}
    for pair in pairs or []:
        name, _, transform = (part.strip() for part in pair.rpartition("="))
        if not name or transform not in TRANSFORMS:
            raise _bad_transform(
                f"A variable and its transform were expected, such as crp=log, or one word, auto or none, for all. Got "
                f"{pair!r}. The transforms are: {', '.join(TRANSFORMS)}."
            )
        if name in found:
            raise _bad_transform(f"'{name}' is given twice.")
        found[name] = transform
    return found


def _bad_transform(sentence: str) -> typer.BadParameter:
    return typer.BadParameter(sentence, param_hint="--transform")


def _bad_order(sentence: str) -> typer.BadParameter:
    return typer.BadParameter(sentence, param_hint="--ordered")


def _bad_period(sentence: str) -> typer.BadParameter:
    return typer.BadParameter(sentence, param_hint="--cyclic")


def check_device(name: str) -> str:
    """The name of a device, after a check that PyTorch has it."""
    from contextualdag.checks import find_device
    from contextualdag.errors import InvalidParameterError

    try:
        find_device(name)
    except InvalidParameterError as error:
        raise typer.BadParameter(str(error), param_hint="--device") from None
    return name
