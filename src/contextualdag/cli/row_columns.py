"""Columns of a table that say something of its rows: what was intervened on, how much a row counts, what it belongs to."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    import pandas

InterventionsOption = Annotated[
    str | None,
    typer.Option(
        metavar="COLUMN",
        help="Column that names the variable that was set or disturbed in each row; empty for none, several with ; between "
        "them.",
    ),
]
WeightOption = Annotated[
    str | None, typer.Option(metavar="COLUMN", help="Column of weights: a row of weight 2 counts as much as two rows.")
]
GroupsOption = Annotated[
    str | None,
    typer.Option(
        metavar="COLUMN",
        help="Column that says what rows belong to, such as a person: rows of one group are all trained on or all held out.",
    ),
]


@dataclass(frozen=True)
class RowColumns:
    """The names of these columns, None for those that are not there. They are neither variables nor context features."""

    interventions: str | None = None
    weight: str | None = None
    groups: str | None = None

    @property
    def by_option(self) -> dict[str, str]:
        """The columns that are there, by the option that names them."""
        given = {"--interventions": self.interventions, "--weight": self.weight, "--groups": self.groups}
        return {option: name for option, name in given.items() if name is not None}

    @property
    def names(self) -> list[str]:
        """The columns that are there."""
        return list(self.by_option.values())

    @property
    def text(self) -> list[str]:
        """Columns whose values are names, even if they look like numbers."""
        return [name for name in (self.interventions, self.groups) if name is not None]

    @property
    def may_be_empty(self) -> list[str]:
        """Columns in which a missing value says something."""
        return [] if self.interventions is None else [self.interventions]

    def check_roles(self, nodes: list[str], context: list[str]) -> None:
        """Raise if one of the columns has another role as well."""
        for option, name in self.by_option.items():
            if name in nodes or name in context or self.names.count(name) > 1:
                raise typer.BadParameter(f"The column '{name}' has another role already.", param_hint=option)

    def read(self, frame: "pandas.DataFrame", path: Path) -> "pandas.DataFrame":
        """The columns, with weights as numbers."""
        from contextualdag.cli.tables import numbers

        found = frame[self.names].copy()
        if self.weight is not None:
            found[self.weight] = numbers(frame, self.weight, path)
        return found

    def arguments(self, found: "pandas.DataFrame") -> dict[str, Any]:
        """Arguments of `fit`, from rows of what `read` returned."""
        arguments: dict[str, Any] = {}
        if self.interventions is not None:
            arguments["interventions"] = found[self.interventions]
        if self.weight is not None:
            arguments["sample_weight"] = found[self.weight].to_numpy()
        if self.groups is not None:
            arguments["groups"] = found[self.groups].to_numpy()
        return arguments
