"""Which variables were intervened on in which rows: as flags, as a mask, or as names of targets."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from contextualdag.checks import did_you_mean, is_integer, listed, shown, two_meanings
from contextualdag.columns import columns, has_names, is_missing, vector
from contextualdag.errors import InvalidInputError
from contextualdag.tables import Flags, check_aligned, n_rows

if TYPE_CHECKING:
    import pandas

SEPARATOR = ";"  # of several targets in one text
FEWEST_ROWS = 20  # without an intervention on a variable, to learn its equation from


def read_interventions(given: Any, n: int, names: Sequence[str], what: str = "interventions") -> Flags:
    """Which variables (n, p) were intervened on in which rows; errors call the argument `what`."""
    return _mask(given, n, names, what) if _is_mask(given) else _targets(given, n, names, what)


def interventions_of(given: Any, X: Any, names: Sequence[str], depth: int = 5) -> Flags:
    """Which variables (n, p), in the order of a fitted model, were intervened on in the rows of a table of the user.

    A mask without names has the columns of X. The user is `depth` calls away from what compares indexes.
    """
    if isinstance(given, Mapping):
        given = flags_as_table(given, X, "interventions", "X")
    check_aligned({"X": X, "interventions": given}, depth)
    own = columns(X, "X", "x")[1] if has_names(X) else list(names)
    flags = read_interventions(given, n_rows(X), own)
    in_order: Flags = flags[:, [own.index(name) for name in names]]
    return in_order


def flags_as_table(given: Mapping[Any, Any], X: Any, what: str, table: str) -> "pandas.DataFrame":
    """Interventions on variables of X as a data frame, from a dict of variables and flags for each row."""
    import pandas as pd

    columns, n = {}, n_rows(X)
    for name, flags in given.items():
        entry = f"{what}[{name!r}]"
        check_aligned({table: X, entry: flags})
        columns[str(name)] = column = vector(flags, entry)
        if len(column) != n:
            raise InvalidInputError(f"{entry} must hold a flag for each of the {n} rows of {table}. Got {len(column)}.")
    return pd.DataFrame(columns)


def mask_of_targets(
    entries: Sequence[Any], names: Sequence[str], what: str = "interventions"
) -> tuple[Flags, dict[str, list[int]]]:
    """Which variables (n, p) the entries of n rows name, and the rows of what they name that is no variable."""
    mask = np.zeros((len(entries), len(names)), dtype=bool)
    unknown: dict[str, list[int]] = {}
    for row, entry in enumerate(entries):
        for target in _names_in(entry, names):
            if isinstance(target, str) and target in names:
                mask[row, names.index(target)] = True
            elif is_integer(target) and not _is_flag(target) and 0 <= target < len(names):
                if unclear := two_meanings(int(target), names):
                    raise InvalidInputError(f"{what} are unclear in row {row}: {unclear}")
                mask[row, int(target)] = True
            else:
                unknown.setdefault(_in_words(target), []).append(row)
    return mask, unknown


def check_enough_rows(intervened: Flags, names: Sequence[str]) -> None:
    """Raise if too few rows are left for the equation of some variable."""
    left = np.logical_not(intervened).sum(0)
    for name, count, ever in zip(names, left.tolist(), np.any(intervened, 0).tolist(), strict=True):
        if ever and count < FEWEST_ROWS:
            raise InvalidInputError(
                f"interventions leave {count} of {len(intervened)} rows for the equation of '{name}', which is learned from "
                f"rows where it was not intervened on; it needs {FEWEST_ROWS} at least. Pass '{name}' as context (Z), or "
                "leave it out."
            )


def check_validation_set(intervened: Flags | None, missing: Flags, names: Sequence[str]) -> None:
    """Raise if no row of a validation set scores some variable, where values (n, p) may be missing."""
    scored = ~missing if intervened is None else ~(missing | intervened)
    lacking = [names[place] for place in np.flatnonzero(~scored.any(axis=0)).tolist()]
    if lacking:
        one = len(lacking) == 1
        raise InvalidInputError(
            f"X_val must have a row that scores each variable. In all {len(missing)} rows {listed(lacking)} "
            f"{'was' if one else 'were'} intervened on or {'is' if one else 'are'} missing. Add rows to X_val in which "
            f"{'it was' if one else 'they were'} not, or append X_val and Z_val to X and Z, of which rows are held out then."
        )


def _is_mask(given: Any) -> bool:
    """Whether flags are given, rather than names: a table, or rows of flags."""
    if has_names(given) or np.ndim(_if_array(given)) > 1:
        return True
    if isinstance(given, list | tuple) and len(given):
        return all(isinstance(row, list | tuple | np.ndarray) and len(row) and all(map(_is_flag, row)) for row in given)
    return False


def _if_array(given: Any) -> Any:
    return given if hasattr(given, "dtype") or hasattr(given, "__array__") else None


def _is_flag(value: Any) -> bool:
    return isinstance(value, bool | np.bool_)


def _mask(given: Any, n: int, names: Sequence[str], what: str) -> Flags:
    named = has_names(given)
    if not named and np.ndim(given) != 2:
        raise InvalidInputError(f"{what} must have the shape ({n}, {len(names)}). Got {np.shape(given)} instead.")
    found, labels = columns(given, what, "")
    if len(found[0] if found else []) != n or (not named and len(found) != len(names)):
        shape = (len(found[0]) if found else 0, len(found))
        raise InvalidInputError(f"{what} must have the shape ({n}, {len(names)}), as X has. Got {shape} instead.")
    mask = np.zeros((n, len(names)), dtype=bool)
    for place, (label, column) in enumerate(zip(labels, found, strict=True)):
        if named and label not in names:
            raise InvalidInputError(
                f"{what} has a column '{label}', which is not a variable.{did_you_mean(label, names)} The variables are "
                f"{listed(names)}. To name the targets of each row, pass a sequence of names instead."
            )
        name = label if named else names[place]
        wrong = np.array([is_missing(value) or value not in (0, 1) for value in column.tolist()])
        if wrong.any():
            first = int(wrong.argmax())
            raise InvalidInputError(
                f"{what} must be boolean, or hold only zeros and ones. Its column '{name}' has {wrong.sum()} other values, "
                f"such as {_in_words(column[first])} in row {first}, counted from 0."
            )
        mask[:, names.index(name)] = column.astype(bool)
    return mask


def _targets(given: Any, n: int, names: Sequence[str], what: str) -> Flags:
    if isinstance(given, str) or not hasattr(given, "__len__"):
        raise InvalidInputError(
            f"{what} must be a mask of shape ({n}, {len(names)}) or name the targets of each row. Got {shown(given)} "
            "instead."
        )
    entries = given.to_list() if hasattr(given, "to_list") else list(given)
    if len(entries) != n:
        raise InvalidInputError(f"{what} must name the targets of each of the {n} rows of X. Got {len(entries)} entries.")
    told = [entry for entry in entries if entry is not np.ma.masked and not is_missing(entry)]
    if told and all(map(_is_flag, told)):
        raise InvalidInputError(
            f"{what} is one vector of True and False, which does not tell the variable. Pass a dict, such as "
            f"{{'{names[0]}': flags}}, a mask of shape ({n}, {len(names)}), or the names of the targets of each row."
        )
    mask, unknown = mask_of_targets(entries, names, what)
    if unknown:
        target = max(unknown, key=lambda one: len(unknown[one]))
        count, near = len(unknown[target]), did_you_mean(target.strip("'"), names)
        raise InvalidInputError(
            f"{what} name {target} in {count} row{'' if count == 1 else 's'}, which is not a variable; the first is row "
            f"{unknown[target][0]}, counted from 0.{near} The variables are {listed(names)}; positions from 0 to "
            f"{len(names) - 1} will do too. None or an empty text is no intervention."
        )
    return mask


def _in_words(target: Any) -> str:
    """A target in quotes if it is a name, else as Python writes it, numbers of NumPy without their type."""
    if isinstance(target, str):
        return f"'{target}'"
    return shown(target.item() if isinstance(target, np.generic) else target)


def _names_in(entry: Any, names: Sequence[str]) -> list[Any]:
    """The targets that one entry names: none, one, or several."""
    if is_missing(entry) or entry is np.ma.masked:
        return []
    if isinstance(entry, str):
        if entry in names:
            return [entry]
        return [part.strip() for part in entry.split(SEPARATOR) if part.strip()]
    if isinstance(entry, list | tuple | set | frozenset | np.ndarray):
        return [target for part in entry for target in _names_in(part, names)]
    return [entry]
