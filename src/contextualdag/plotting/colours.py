"""The one table of colours, light and dark, for pictures and for the explorer page; people see colours differently."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# Okabe and Ito: told apart with the usual colour-vision deficiencies.
POSITIVE, NEGATIVE, MISSING = "#0072B2", "#D55E00", "#8A8A8A"


@dataclass(frozen=True)
class Palette:
    """What each thing is coloured.

    `faint` is for what is there but not the point, `line` for grids, `mark` is as of a marker pen, `scale` from few to many.
    """

    background: str
    text: str
    faint: str
    node: str
    border: str
    positive: str
    negative: str
    missing: str
    gained: str
    lost: str
    turned: str
    warning: str
    line: str
    mark: str
    scale: tuple[str, ...]


LIGHT = Palette(
    background="#FFFFFF",
    text="#1A1A1A",
    faint="#8F8F8B",
    node="#F4F4F1",
    border="#4D4D4D",
    positive=POSITIVE,
    negative=NEGATIVE,
    missing=MISSING,
    gained="#009E73",
    lost="#D55E00",
    turned="#A3428F",
    warning="#B3261E",
    line="#D9D9D4",
    mark="#F0C808",
    scale=("#F3F6F9", "#9CC3DF", "#3D8BBD", "#0B4A78"),
)
DARK = Palette(
    background="#1B1C1E",
    text="#F2F2EE",
    faint="#85857F",
    node="#2A2B2E",
    border="#B9B9B4",
    positive="#56B4E9",
    negative="#FF9248",
    missing="#9A9A96",
    gained="#2BD4A4",
    lost="#FF9248",
    turned="#E08BD0",
    warning="#FF7B72",
    line="#3D3E42",
    mark="#B39700",
    scale=("#222A31", "#2B5F86", "#4E9FD1", "#C9E6F8"),
)


def palette_of(ax: "Axes") -> Palette:
    """The palette for the background of an Axes: its own, or that of its figure where it is transparent."""
    from dataclasses import replace

    from matplotlib.colors import to_hex, to_rgba

    color = to_rgba(ax.get_facecolor())
    if color[3] < 0.5 or not ax.axison:  # an Axes that is switched off does not paint its background
        color = to_rgba(ax.get_figure(root=True).get_facecolor())  # type: ignore[union-attr]
        if color[3] < 0.5:
            color = (1.0, 1.0, 1.0, 1.0)
    brightness = 0.299 * color[0] + 0.587 * color[1] + 0.114 * color[2]
    return replace(LIGHT if brightness > 0.5 else DARK, background=to_hex(color))
