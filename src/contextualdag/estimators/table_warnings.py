"""Warnings of what is likely a mistake in tables: identifiers, copies of rows, variables in the context, and the like.

They are few and silent on good data; `contextualdag.diagnostics` looks closer.
"""

import math
import re
import warnings

import numpy as np

from contextualdag.categories import RARE
from contextualdag.checks import listed
from contextualdag.contexts import ContextEncoder
from contextualdag.errors import ContextualDAGWarning, InvalidInputError
from contextualdag.estimators.scaling import EXACT
from contextualdag.tables import LIKE_A_DATE, Array, Flags, varying

FEWEST_ROWS = 10  # below which whole numbers may differ, or count, by chance
COPIES, COPIES_SHARE = 5, 0.01  # at least so many, and a larger share than this
IDENTIFIERS = {
    "id",
    "ids",
    "identifier",
    "index",
    "idx",
    "row",
    "rows",
    "rownum",
    "patient",
    "subject",
    "participant",
    "uuid",
}
TIMES = {"day", "days", "date", "time", "year", "years", "month", "months", "week", "weeks", "hour", "hours", "minute"}
TIMES |= {"minutes", "second", "seconds", "step", "trial", "age", "t"}
SAME = 1 - 1e-9  # correlation from which two columns are the same up to a linear map
DEPTH = 7  # calls between the user's and the warning
WIDEST = 1e6  # ratio of standard deviations beyond which noise is hardly of one size


def warn_of_tables(X: Array, names: list[str], Z: Array, encoder: ContextEncoder) -> None:
    """Warn of what is likely a mistake in variables (n, p) and encoded contexts (n, m) of a fit."""
    seen = encoder.as_seen(Z)
    numeric = [
        (name, seen[:, encoder.seen_columns[name][0]])
        for name, categories in zip(encoder.names, encoder.categories, strict=True)
        if categories is None and name not in encoder.cycles and name not in encoder.origins
    ]
    _identifiers([*zip(names, X.T, strict=True), *numeric])
    _few_rows(*X.shape)
    _copies(np.hstack([X, Z]))
    _variables_as_contexts(X, names, seen, encoder)
    _rare_categories(seen, encoder)
    _constant_contexts(seen, encoder)
    _dates_as_text(encoder)


def _identifiers(columns: list[tuple[str, Array]]) -> None:
    found = [name for name, values in columns if _looks_like_an_identifier(name, values)]
    if found:
        one = len(found) == 1
        _warn(
            f"{'This column looks like an identifier' if one else 'These columns look like identifiers'} of rows: "
            f"{listed(found)}. Leave {'it' if one else 'them'} out unless the numbers mean something."
        )


def _looks_like_an_identifier(name: str, values: Array) -> bool:
    """Whether whole numbers are all different and named like an identifier, or count the rows and are not named a time."""
    if len(values) < FEWEST_ROWS or not (values == np.round(values)).all():
        return False
    words = {word.lower() for word in re.findall(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+", name)}
    if (np.diff(values) == 1).all() and not words & TIMES:
        return True
    return bool(words & IDENTIFIERS) and len(np.unique(values)) == len(values)


def _few_rows(n: int, p: int) -> None:
    if n < p:
        _warn(
            f"X has fewer rows ({n}) than variables ({p}), so any variable can be computed from the others by chance. Leave "
            "variables out, or get more rows."
        )


def _copies(table: Array) -> None:
    """Warn of copies of rows, unless values are so coarse that different samples agree."""
    n, finest = len(table), 0
    fewest = max(COPIES, math.floor(COPIES_SHARE * n) + 1)
    for column in table.T:
        finest = max(finest, len(np.unique(column)))
        if n - finest < fewest:  # rows differ wherever a column does
            return
    rows = np.ascontiguousarray(table + 0.0)  # no negative zeros
    different = len(np.unique(rows.view(np.dtype((np.void, rows.dtype.itemsize * rows.shape[1])))))
    if n - different >= fewest and finest > different / 2:
        _warn(
            f"{n - different} of {n} rows are copies of others. They make edges look surer than they are; remove them if "
            "they are not different samples."
        )


def _variables_as_contexts(X: Array, names: list[str], seen: Array, encoder: ContextEncoder) -> None:
    """Warn of variables that are contexts as well, by their values or by their names."""
    is_same = np.zeros((len(names), seen.shape[1]), dtype=bool)
    if len(X) >= FEWEST_ROWS:
        is_same = np.abs(_standardised(X).T @ _standardised(seen)) > SAME
    by_value = [
        (name, feature)
        for name, row in zip(names, is_same, strict=True)
        for feature, places in encoder.seen_columns.items()
        if row[list(places)].any()
    ]
    for name, feature in by_value:
        _warn(
            f"Column '{name}' of X and the context column '{feature}' are the same, up to a linear map. The context then "
            "explains the variable by itself, and scores are too high. Leave it out of X or out of Z."
        )
    shared = set(names) & set(encoder.names) - {name for pair in by_value for name in pair}
    by_name = sorted(name for name in shared if not name.isdecimal())  # numbers are the names of columns that have none
    if by_name:
        _warn(f"X and Z both have columns with these names: {listed(by_name)}. Leave them out of one, or rename them.")


def _standardised(table: Array) -> Array:
    """Columns with a mean of zero and a sum of squares of one; zeros where they do not vary."""
    centred = (table - table.mean(0)) * varying(table)
    centred /= np.maximum(np.abs(centred).max(0), np.finfo(float).tiny)
    shares: Array = centred / np.maximum(np.sqrt((centred**2).sum(0)), np.finfo(float).tiny)
    return shares


def _rare_categories(seen: Array, encoder: ContextEncoder) -> None:
    for name, joined in encoder.joined.items():
        shown = listed(list(joined)[:RARE]) + (f" and {len(joined) - RARE} more" if len(joined) > RARE else "")
        _warn(
            f"Categories of '{name}' with fewer than {RARE} rows each are joined to one, "
            f"'{next(iter(joined.values()))}': {shown}."
        )
    rare = []
    for name, categories in zip(encoder.names, encoder.categories, strict=True):
        if categories is not None:
            counts = seen[:, list(encoder.seen_columns[name])].sum(0)
            rare += [f"{name} = {one} ({n:.0f})" for one, n in zip(categories, counts, strict=True) if 0 < n < RARE]
    if rare:
        shown = ", ".join(rare[:RARE]) + (f" and {len(rare) - RARE} more" if len(rare) > RARE else "")
        _warn(f"Fewer than {RARE} rows have {shown}. Their graphs rely on those of other categories; join categories.")


def _constant_contexts(seen: Array, encoder: ContextEncoder) -> None:
    moves = varying(seen)
    found = [name for name in encoder.names if not moves[list(encoder.seen_columns[name])].any()]
    if not found:
        return
    if len(found) == len(encoder.names):
        what = "The context does" if len(found) == 1 else "The contexts do"
        _warn(f"{what} not vary: {listed(found)}. There is one graph for all.")
    else:
        what = "This context feature does" if len(found) == 1 else "These context features do"
        _warn(f"{what} not vary, so graphs cannot depend on {'it' if len(found) == 1 else 'them'}: {listed(found)}.")


def _dates_as_text(encoder: ContextEncoder) -> None:
    for name, categories in zip(encoder.names, encoder.categories, strict=True):
        if categories and all(LIKE_A_DATE.fullmatch(category) for category in categories):
            _warn(
                f"Context column '{name}' holds dates as text, such as '{categories[0]}', so each is a category of its own. "
                "Make them dates, with pandas.to_datetime or written as 2024-01-31 in a file, which count as days; or code "
                "them as the month with a period of 12."
            )


def _warn(sentence: str) -> None:
    warnings.warn(sentence, ContextualDAGWarning, stacklevel=DEPTH)


def varying_columns(X: Array, names: list[str]) -> Flags:
    """Which columns of X are not constant; a warning names those that are."""
    varies = varying(X)
    if varies.sum() < 2:
        raise InvalidInputError(
            f"X has {len(names)} feature(s), of which {varies.sum()} vary; a graph needs two columns that vary."
        )
    if not varies.all():
        constant = [name for name, moves in zip(names, varies, strict=True) if not moves]
        warnings.warn(f"Columns of X that do not vary get no edges: {constant}.", ContextualDAGWarning, stacklevel=5)
    return varies


def warn_of_spreads(X: Array, varies: Flags, names: list[str]) -> None:
    """A warning if noise is taken to be of one size and variables are of sizes so different that this cannot be."""
    spreads = np.where(varies, X.std(0), np.nan)
    least, most = int(np.nanargmin(spreads)), int(np.nanargmax(spreads))
    if spreads[most] > WIDEST * spreads[least]:
        warnings.warn(
            f"The standard deviations of the columns of X differ by a factor of {spreads[most] / spreads[least]:.0e}, from "
            f"'{names[least]}' to '{names[most]}', and noise='equal' means noise of one size in all of them. Use "
            "noise='auto', or give them in units that are alike.",
            ContextualDAGWarning,
            stacklevel=5,
        )


def warn_of_functions(X: Array, varies: Flags, names: list[str]) -> None:
    """A warning that names columns which are linear functions of others."""
    columns = np.flatnonzero(varies)
    if len(X) < 2 * len(columns):
        return  # with so few rows every column is nearly a function of the others
    correlation = np.corrcoef(X[:, columns], rowvar=False)
    values, vectors = np.linalg.eigh(correlation)
    involved = (np.abs(vectors[:, values < EXACT]) > 1e-3).any(1)
    if involved.any():
        exact = [names[column] for column in columns[involved]]
        warnings.warn(
            f"Each of these columns of X is a linear function of the others of them: {exact}. Edges among them mean little; "
            "leave one out. contextualdag check, or contextualdag.diagnostics.check_table, also finds columns that others "
            "determine together with the context, or nearly.",
            ContextualDAGWarning,
            stacklevel=5,
        )
