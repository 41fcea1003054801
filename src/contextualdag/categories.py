"""Categories of contextual features: which values mean which, and those with too few rows to stand alone."""

from collections import Counter
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from contextualdag.columns import as_text
from contextualdag.errors import InvalidInputError
from contextualdag.tables import too_many_categories

RARE = 5  # rows below which a category is too rare to stand alone
MOST_JOINED = 3  # names in that of a joined category


def learn_categories(column: NDArray[Any], name: str) -> tuple[tuple[str, ...], dict[str, str]]:
    """The categories of a column, in the order of the alphabet, and which of its values are joined to which of them.

    Values with fewer than five rows are joined to one category, if there are several and two others are left.

    Examples
    --------
    >>> import numpy as np
    >>> from contextualdag.categories import learn_categories
    >>> learn_categories(np.array(["Oslo"] * 9 + ["Rome"] * 7 + ["Bath", "York", "York"]), "site")
    (('Bath or York', 'Oslo', 'Rome'), {'Bath': 'Bath or York', 'York': 'Bath or York'})
    """
    values = as_text(column)
    counts = Counter(values)
    problem = too_many_categories(len(counts), len(values), values[0]) if values else ""
    if problem:
        raise InvalidInputError(f"Context column '{name}' {problem}")
    rare = sorted(value for value, count in counts.items() if count < RARE)
    others = sorted(counts.keys() - set(rare))
    label = _joined(rare)
    if len(rare) < 2 or len(others) < 2 or label in counts:
        return tuple(sorted(counts)), {}
    return tuple(sorted([*others, label])), dict.fromkeys(rare, label)


def _joined(rare: list[str]) -> str:
    more = len(rare) - MOST_JOINED
    return " or ".join(rare[:MOST_JOINED]) + (f" or {more} more" if more > 0 else "")


def find_category(value: object, categories: tuple[str, ...] | list[str]) -> str | None:
    """The category that a value means: the same text, an equal number, where true is 1 and false is 0.

    Examples
    --------
    >>> from contextualdag.categories import find_category
    >>> find_category(1, ["0.0", "1.0"]), find_category("true", ["False", "True"]), find_category("c", ["a", "b"])
    ('1.0', 'True', None)
    >>> find_category(0, ["False", "True"]), find_category(True, ["0", "1"])
    ('False', '1')
    """
    text = str(value)
    if text in categories:
        return text
    meant = _meaning(text)
    return next((category for category in categories if meant is not None and _meaning(category) == meant), None)


def _meaning(text: str) -> float | None:
    """The number or truth value that a text stands for; None if it is neither."""
    if text.strip().lower() in ("true", "false"):
        return float(text.strip().lower() == "true")
    try:
        return float(text)
    except ValueError:
        return None


def codes(column: NDArray[Any], name: str, categories: tuple[str, ...], joined: Mapping[str, str]) -> NDArray[np.int64]:
    """Places of values among the categories, to which some of them may be joined."""
    values = as_text(column)
    known = [*categories, *joined]
    meant = {value: find_category(value, known) for value in set(values)}
    unknown = sorted(value for value, category in meant.items() if category is None)
    if unknown:
        raise InvalidInputError(
            f"Context column '{name}' has categories that were not seen in fit: {unknown}. Known: {known}."
        )
    place = {value: categories.index(joined.get(it, it)) for value, it in meant.items() if it is not None}
    return np.array([place[value] for value in values], dtype=np.int64)
