"""What is known of the graphs before a fit, from options and from a file."""

from pathlib import Path
from typing import Annotated, Any

import typer

from contextualdag.cli.options import split_names

ARROWS = ("->", "→")
KEYS = ("forbidden_edges", "required_edges", "tiers")
KINDS = {"forbidden": "forbidden_edges", "required": "required_edges"}

TiersOption = Annotated[
    list[str] | None,
    typer.Option(
        metavar="NAMES",
        help="Variables of one tier, comma-separated; repeat the option, from the earliest tier on. No variable causes one "
        "of an earlier tier.",
    ),
]
ForbidOption = Annotated[
    list[str] | None, typer.Option(metavar='"A -> B"', help="An edge that no graph may have; repeat for several.")
]
RequireOption = Annotated[
    list[str] | None, typer.Option(metavar='"A -> B"', help="An edge that every graph has; repeat for several.")
]
KnowledgeOption = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE",
        help="The same from a file: TOML with forbidden_edges, required_edges and tiers, or CSV with the columns source, "
        "target and kind (forbidden or required).",
    ),
]


def read_knowledge(
    tiers: list[str] | None, forbid: list[str] | None, require: list[str] | None, path: Path | None
) -> dict[str, Any]:
    """Parameters of an estimator, from the values of the options; those of a file and of options are put together."""
    found = {} if path is None else _read_file(path)
    if tiers:
        if "tiers" in found:
            raise typer.BadParameter(f"Give the tiers here or in {path}, not both.", param_hint="--tiers")
        found["tiers"] = [split_names(tier, "--tiers") for tier in tiers]
    for name, edges, option in (("forbidden_edges", forbid, "--forbid"), ("required_edges", require, "--require")):
        if edges:
            found[name] = [*found.get(name, []), *(_read_edge(edge, option) for edge in edges)]
    return found


def _read_edge(text: str, option: str) -> tuple[str, str]:
    for arrow in ARROWS:
        source, found, target = (part.strip() for part in text.partition(arrow))
        if found and source and target:
            if any(another in target for another in ARROWS):
                raise typer.BadParameter(
                    f"{text!r} has several arrows, so it is not clear where one name ends. Name the edge in a file instead, "
                    "with --knowledge.",
                    param_hint=option,
                )
            return source, target
    raise typer.BadParameter(f'An edge such as "A -> B" was expected. Got {text!r}.', param_hint=option)


def _read_file(path: Path) -> dict[str, Any]:
    import tomllib

    from contextualdag.checks import did_you_mean, listed
    from contextualdag.errors import InvalidInputError

    try:
        text = path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise typer.BadParameter(f"{path} cannot be read: {error}.", param_hint="--knowledge") from None
    if path.suffix.lower() != ".toml":
        return _read_csv(text, path)
    try:
        found = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise InvalidInputError(f"{path} is not TOML: {error}.") from None
    for name in found:
        if name not in KEYS:
            raise InvalidInputError(
                f"{path} has the unknown key '{name}'.{did_you_mean(name, KEYS)} It may have {listed(KEYS)}."
            )
    return found


def _read_csv(text: str, path: Path) -> dict[str, Any]:
    import csv

    from contextualdag.errors import InvalidInputError

    found: dict[str, Any] = {}
    rows = csv.DictReader(text.splitlines(), skipinitialspace=True)
    if not {"source", "target", "kind"} <= set(rows.fieldnames or ()):
        raise InvalidInputError(f"{path} must have the columns source, target and kind. Got {rows.fieldnames}.")
    for number, row in enumerate(rows, 2):
        kind = (row["kind"] or "").strip().lower()
        if kind not in KINDS or not row["source"] or not row["target"]:
            raise InvalidInputError(
                f"Line {number} of {path} must have a source, a target and a kind, 'forbidden' or 'required'. Got {row}."
            )
        found.setdefault(KINDS[kind], []).append((row["source"].strip(), row["target"].strip()))
    return found
