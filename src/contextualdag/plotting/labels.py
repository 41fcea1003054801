"""Names of nodes as they are written: on how many lines, how large, and how much room they take."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

LARGEST, SMALLEST = 10.0, 5.0  # points
LONGEST_LINE = 11  # characters; longer names are broken where they have a gap
SHARE = 0.2  # of the picture, at most, for nodes
ACROSS = 0.4  # of the width of the picture, at most, for one node


@dataclass(frozen=True)
class Labels:
    """Names as written, their font size, and the sizes (p, 2) of their nodes in points."""

    texts: list[str]
    fontsize: float
    sizes: np.ndarray


def fit_labels(names: Sequence[str], width: float, height: float) -> Labels:
    """Choose the largest font with which the names leave room for the edges in a picture of this size in points."""
    texts = [_broken(str(name)) for name in names]
    padding = 0.4  # around the text, as a multiple of the font size
    while True:
        extents = np.array([_extent(text) for text in texts])
        for fontsize in np.arange(LARGEST, SMALLEST - 0.1, -0.5):
            sizes = fontsize * (extents + 2 * padding)
            sizes[:, 0] = np.maximum(sizes[:, 0], sizes[:, 1])  # short names make round nodes
            if sizes.prod(1).sum() <= SHARE * width * height and sizes[:, 0].max() <= ACROSS * width:
                return Labels(texts, float(fontsize), sizes)
        if padding > 0.2:
            padding = 0.2
            continue
        shorter = [_shortened(text, int(max(len(line) for line in text.split("\n")) * 0.85)) for text in texts]
        if shorter == texts:
            return Labels(texts, SMALLEST, sizes)
        texts = shorter


def _broken(name: str) -> str:
    """A long name on two lines, broken at the gap nearest to its middle."""
    if len(name) <= LONGEST_LINE:
        return name
    gaps = [i for i, letter in enumerate(name) if letter in " _-/" and 0 < i < len(name) - 1]
    if not gaps:
        return name
    at = min(gaps, key=lambda i: abs(i - (len(name) - 1) / 2))
    first = name[:at] if name[at] == " " else name[: at + 1]
    return f"{first}\n{name[at + 1 :]}"


def _shortened(text: str, n: int) -> str:
    """Every line with at most `n` characters, four at least."""
    n = max(n, 4)
    return "\n".join(line if len(line) <= n else f"{line[: n - 1]}…" for line in text.split("\n"))


@lru_cache(maxsize=4096)
def _extent(text: str) -> tuple[float, float]:
    """Width and height of a text as multiples of its font size."""
    from matplotlib.textpath import TextPath

    lines = text.split("\n")
    widths = [
        TextPath((0, 0), line.replace("$", r"\$"), size=100).get_extents().width / 100 for line in lines if line.strip()
    ]
    return max(widths, default=0.5), 0.75 + 1.2 * (len(lines) - 1)
