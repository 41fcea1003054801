"""Self-contained HTML pages: pictures inline, no scripts, no network."""

import html
import io
import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from contextualdag import __version__
from contextualdag.colours import LIGHT, css_variables
from contextualdag.files import write_file
from contextualdag.plotting.contexts import value_text
from contextualdag.printable import printable

if TYPE_CHECKING:
    import pandas
    from matplotlib.figure import Figure

COLOURS = "Blue edges are positive, orange ones negative; wider edges are stronger, in standard deviations."
NO_PROOF = "A graph shows dependence as the model sees it; it is not proof of cause."
FOOTER = f"contextualdag {__version__}. {NO_PROOF}"
# Pictures are drawn on white, so they and their captions keep the light colours.
STYLE = (
    css_variables()
    + f"""
figure {{ margin: 1.2rem 0; background: {LIGHT.background}; border-radius: 6px; }}
figcaption {{ color: {LIGHT.soft}; padding: 0 1rem .8rem; }}
"""
    + """
body { font: 16px/1.55 system-ui, sans-serif; color: var(--text); background: var(--page); max-width: 62rem;
       margin: 2.5rem auto; padding: 0 1.25rem; }
h1 { font-size: 1.7rem; line-height: 1.25; } h2 { font-size: 1.2rem; margin-top: 2.2rem; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; display: block; overflow-x: auto; }
table + table { margin-top: 1.4rem; }
th, td { text-align: left; padding: .3rem .9rem .3rem 0; border-bottom: 1px solid var(--line); }
th { color: var(--soft); font-weight: 600; }
figure > div { overflow-x: auto; }
figure svg { width: 100%; min-width: 40rem; height: auto; display: block; }
aside { border-left: 4px solid var(--negative); padding: .6rem 1rem; margin: 1.2rem 0;
        background: color-mix(in srgb, var(--negative) 9%, var(--page)); }
aside ul { margin: .3rem 0 0; padding-left: 1.2rem; }
@media (max-width: 45rem) { td { white-space: nowrap; } }
footer { color: var(--soft); font-size: .85rem; margin-top: 3rem; border-top: 1px solid var(--line); padding-top: .8rem; }
"""
)


def _escaped(text: str) -> str:
    return html.escape(printable(text))


def heading(text: str) -> str:
    """The heading of a section."""
    return f"<h2>{_escaped(text)}</h2>"


def paragraph(text: str) -> str:
    """A paragraph of plain text."""
    return f"<p>{_escaped(text)}</p>"


def notes(title: str, sentences: Sequence[str]) -> str:
    """A box with a title and a list of sentences of plain text."""
    items = "".join(f"<li>{_escaped(sentence)}</li>" for sentence in sentences)
    return f'<aside role="note"><strong>{_escaped(title)}</strong><ul>{items}</ul></aside>'


def table(frame: "pandas.DataFrame") -> str:
    """A table; numbers have about three digits, however large or small they are."""
    import pandas as pd

    shown = frame.map(lambda cell: printable(cell) if isinstance(cell, str) else cell)
    shown.columns = [printable(str(name)) for name in frame.columns]
    with pd.option_context("display.max_colwidth", None):  # names are not cut off, for then they may be the same
        return str(shown.to_html(index=False, border=0, escape=True, float_format=value_text, na_rep=""))


def picture(figure: "Figure", caption: str) -> str:
    """A figure as an inline SVG. The figure is closed."""
    import matplotlib as mpl
    from matplotlib import pyplot as plt

    buffer = io.StringIO()
    with mpl.rc_context({"svg.hashsalt": "contextualdag", "svg.fonttype": "path"}):
        figure.savefig(buffer, format="svg", bbox_inches="tight", metadata={"Date": None})
    plt.close(figure)
    svg = buffer.getvalue()
    return f"<figure><div>{svg[svg.index('<svg') :]}</div><figcaption>{_escaped(caption)}</figcaption></figure>"


def write_page(path: str | os.PathLike[str], title: str, parts: Sequence[str], footer: str = FOOTER) -> Path:
    """Write a page atomically.

    Parameters
    ----------
    path : path
        File to write; missing folders are created.
    title : str
        Title of the page.
    parts : sequence of str
        HTML from the other functions of this module.
    footer : str, optional
        Plain text at the end of the page; by default the version of the program.

    Returns
    -------
    pathlib.Path
        The file.
    """
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    name = _escaped(title)
    page = (
        f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8">\n'
        f'<meta name="viewport" content="width=device-width, initial-scale=1"><title>{name}</title>\n'
        f"<style>{STYLE}</style></head>\n<body><h1>{name}</h1>\n{chr(10).join(parts)}\n"
        f"<footer>{_escaped(footer)}</footer></body></html>\n"
    )
    write_file(path, page.encode())
    return path
