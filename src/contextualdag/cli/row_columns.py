"""Columns of a table that say something of its rows: what was intervened on, how much a row counts, what it belongs to."""

import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from contextualdag.errors import ContextualDAGWarning, InvalidInputError

if TYPE_CHECKING:
    import pandas

QUOTE = "'"

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
BlocksOption = Annotated[
    int | None,
    typer.Option(
        min=1,
        metavar="N",
        help="Rows in the order of time: each N neighbouring rows are one group, as with --groups.",
    ),
]


@dataclass(frozen=True)
class RowColumns:
    """The names of these columns, None for those that are not there. They are neither variables nor context features.

    `blocks` is the number of neighbouring rows that make a group, where there is no column of groups.
    """

    interventions: str | None = None
    weight: str | None = None
    groups: str | None = None
    blocks: int | None = None

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
            found[self.weight] = numbers(frame, self.weight, path, " It is the column of --weight.")
        return found

    def check(self, found: "pandas.DataFrame", variables: list[str], path: Path) -> None:
        """Raise if weights or targets, rows of what `read` returned, cannot be what their options say they are.

        A fit would say so too, but by the names of arguments and of rows that are left.
        """
        if self.weight is not None:
            _check_weights(found[self.weight], f"Column '{self.weight}' of {path} (--weight)")
        if self.interventions is not None:
            _check_targets(
                found[self.interventions], variables, f"Column '{self.interventions}' of {path} (--interventions)"
            )

    def check_groups(self, groups: Any, fewest: int, path: Path) -> bool:
        """Whether groups say something, else a warning; raise if there are fewer than a fit needs."""
        n = len(set(groups))
        where = f"Column '{self.groups}' of {path} (--groups)"
        if self.blocks is not None:
            where = f"{path} in blocks of {self.blocks} rows (--blocks)"
        if n < fewest:
            longest = len(groups) // fewest
            remedy = f" Give blocks of {longest} rows at most." if self.blocks is not None and longest else ""
            raise InvalidInputError(
                f"{where} has {_count(n, 'group')}. Whole groups are held out, so this fit needs {fewest} at least.{remedy}"
            )
        if n == len(groups) and self.groups is not None:
            sentence = f"{where} has another value in every row, so it changes nothing."
            warnings.warn(sentence, ContextualDAGWarning, stacklevel=2)
            return False
        return True

    def arguments(self, found: "pandas.DataFrame") -> dict[str, Any]:
        """Arguments of `fit`, from rows of what `read` returned."""
        arguments: dict[str, Any] = {}
        if self.interventions is not None:
            arguments["interventions"] = found[self.interventions]
        if self.weight is not None:
            arguments["sample_weight"] = found[self.weight].to_numpy()
        if self.groups is not None:
            arguments["groups"] = found[self.groups].to_numpy()
        if self.blocks is not None:
            arguments["groups"] = found.index.to_numpy() // self.blocks  # rows that were dropped leave gaps
        return arguments


def _check_weights(weights: "pandas.Series", where: str) -> None:
    negative = weights.index[weights < 0]
    if len(negative):
        raise InvalidInputError(
            f"{where} has {_count(len(negative), 'negative weight')}; the first is {weights[negative[0]]:g} in row "
            f"{negative[0] + 1} after the header. A weight is a positive number, or 0 for a row that is left out."
        )
    if not (weights > 0).any():
        raise InvalidInputError(f"{where} is zero in all {len(weights)} rows, so none is left to learn from.")


def _check_targets(targets: "pandas.Series", variables: list[str], where: str) -> None:
    from contextualdag.checks import did_you_mean, listed
    from contextualdag.estimators.interventions import FEWEST_ROWS, mask_of_targets

    mask, unknown = mask_of_targets(targets.tolist(), variables)
    if unknown:
        target = max(unknown, key=lambda one: len(unknown[one]))
        first = targets.index[unknown[target][0]] + 1
        raise InvalidInputError(
            f"{where} names {target} in {_count(len(unknown[target]), 'row')}, which is not a variable; the first is row "
            f"{first} after the header.{did_you_mean(target.strip(QUOTE), variables)} The variables are: "
            f"{listed(variables)}. Leave the cell empty where there was no intervention, and put ; between several names."
        )
    for name, flags in zip(variables, mask.T, strict=True):
        count = len(flags) - int(flags.sum())
        if flags.any() and count < FEWEST_ROWS:
            rows = f"all but {count} of {len(flags)}" if count else f"all {len(flags)}"
            raise InvalidInputError(
                f"{where} names '{name}' in {rows} rows. The equation of '{name}' is learned from the others, and needs "
                f"{FEWEST_ROWS} of them. Name '{name}' in --context, or leave it out of --nodes."
            )


def _count(n: int, what: str) -> str:
    return f"{n} {what}{'' if n == 1 else 's'}"
