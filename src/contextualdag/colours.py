"""The colours of pages, pictures and DOT files, light and dark."""

from dataclasses import dataclass

# From Okabe and Ito's palette, which stays distinguishable with the common colour-vision deficiencies.
POSITIVE, NEGATIVE, MISSING = "#0072B2", "#D55E00", "#8A8A8A"


@dataclass(frozen=True)
class Palette:
    """One colour for each role.

    Attributes
    ----------
    background, page : str
        Behind pictures and panels, and behind the page around them.
    text, soft, faint : str
        Text, less important text, and whatever should recede, such as nodes without edges.
    line : str
        Grids and borders.
    node, border : str
        Nodes and their outlines.
    positive, negative, missing : str
        Edges by sign, and edges that are not there.
    gained, lost, reversed : str
        Edges that differ between two graphs.
    highlight : str
        Marker behind an edge that only one of two graphs has.
    warning : str
        Titles that warn.
    notice, notice_page, notice_line : str
        Text, background and border of a notice.
    scale : tuple of str
        From few edges to many.
    """

    background: str
    page: str
    text: str
    soft: str
    faint: str
    line: str
    node: str
    border: str
    positive: str
    negative: str
    missing: str
    gained: str
    lost: str
    reversed: str
    highlight: str
    warning: str
    notice: str
    notice_page: str
    notice_line: str
    scale: tuple[str, ...]


LIGHT = Palette(
    background="#FFFFFF",
    page="#FAFAF7",
    text="#1A1A1A",
    soft="#63635F",
    faint="#8F8F8B",
    line="#D9D9D4",
    node="#F4F4F1",
    border="#4D4D4D",
    positive=POSITIVE,
    negative=NEGATIVE,
    missing=MISSING,
    gained="#009E73",
    lost=NEGATIVE,
    reversed="#A3428F",
    highlight="#F0C808",
    warning="#B3261E",
    notice="#7A4B00",
    notice_page="#FFF3D6",
    notice_line="#E0A800",
    scale=("#F3F6F9", "#9CC3DF", "#3D8BBD", "#0B4A78"),
)
DARK = Palette(
    background="#1B1C1E",
    page="#141517",
    text="#F2F2EE",
    soft="#A9A9A4",
    faint="#85857F",
    line="#3D3E42",
    node="#2A2B2E",
    border="#B9B9B4",
    positive="#56B4E9",
    negative="#FF9248",
    missing="#9A9A96",
    gained="#2BD4A4",
    lost="#FF9248",
    reversed="#E08BD0",
    highlight="#B39700",
    warning="#FF7B72",
    notice="#FFD98A",
    notice_page="#3A2D0D",
    notice_line="#B98A10",
    scale=("#222A31", "#2B5F86", "#4E9FD1", "#C9E6F8"),
)


def css_variables() -> str:
    """The palettes as CSS variables, such as ``--positive`` and ``--notice-line``; the reader's system selects one.

    Examples
    --------
    >>> from contextualdag.colours import css_variables
    >>> css_variables().startswith(":root { color-scheme: light dark; --background: #FFFFFF;")
    True
    """
    light, dark = _variables(LIGHT), _variables(DARK)
    return f":root {{ color-scheme: light dark; {light} }} @media (prefers-color-scheme: dark) {{ :root {{ {dark} }} }}"


def _variables(palette: Palette) -> str:
    colours = {name: colour for name, colour in vars(palette).items() if isinstance(colour, str)}
    colours |= {f"scale-{step}": colour for step, colour in enumerate(palette.scale)}
    return " ".join(f"--{name.replace('_', '-')}: {colour};" for name, colour in colours.items())
