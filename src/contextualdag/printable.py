"""Names of the user as people see them: letters that would act on a terminal or turn the text around are written out."""

import re

# Control characters, breaks of lines, marks that turn the direction of text, letters without width, halves of characters and
# what is no character. Joiners stay, which scripts and emoji need.
HIDDEN = re.compile(
    "[\x00-\x1f\x7f-\x9f\u00ad\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u2069\ud800-\udfff\ufeff\ufffe\uffff]"
)


def printable(text: str) -> str:
    r"""The text with hidden characters written as in a string of Python.

    Examples
    --------
    >>> from contextualdag.printable import printable
    >>> print(printable("\x1b[31mred\n"), printable("naïve [μg]"))
    \x1b[31mred\n naïve [μg]
    """
    return HIDDEN.sub(lambda found: found[0].encode("unicode_escape").decode(), text)


def shortened(text: str, most: int = 40) -> str:
    """The text with at most so many letters, from both of its ends.

    Examples
    --------
    >>> from contextualdag.printable import shortened
    >>> shortened("systolic blood pressure (mmHg)", 20)
    'systolic blo… (mmHg)'
    """
    last = (most - 1) * 2 // 5
    return text if len(text) <= most else f"{text[: most - 1 - last]}…{text[len(text) - last :]}"
