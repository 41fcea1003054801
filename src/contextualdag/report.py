"""A page that needs nothing but itself: pictures inside, no scripts, no network."""

import html
import io
import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from contextualdag.files import write_file

if TYPE_CHECKING:
    import pandas
    from matplotlib.figure import Figure

STYLE = """
:root { color-scheme: light dark; --text: #1a1a1a; --soft: #5a5a5a; --page: #fdfdfb; --line: #d9d9d4; }
@media (prefers-color-scheme: dark) { :root { --text: #ecece8; --soft: #a9a9a4; --page: #1b1c1e; --line: #3a3b3e; } }
body { font: 16px/1.55 system-ui, sans-serif; color: var(--text); background: var(--page); max-width: 62rem;
       margin: 2.5rem auto; padding: 0 1.25rem; }
h1 { font-size: 1.7rem; line-height: 1.25; } h2 { font-size: 1.2rem; margin-top: 2.2rem; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; display: block; overflow-x: auto; }
table + table { margin-top: 1.4rem; }
th, td { text-align: left; padding: .3rem .9rem .3rem 0; border-bottom: 1px solid var(--line); }
th { color: var(--soft); font-weight: 600; } figure { margin: 1.2rem 0; background: #fff; border-radius: 6px; }
figure > div { overflow-x: auto; }
figure svg { width: 100%; min-width: 40rem; height: auto; display: block; }
figcaption { color: #5a5a5a; padding: 0 1rem .8rem; }
aside { border-left: 4px solid #d55e00; padding: .6rem 1rem; margin: 1.2rem 0;
        background: color-mix(in srgb, #d55e00 9%, var(--page)); }
aside ul { margin: .3rem 0 0; padding-left: 1.2rem; }
@media (max-width: 45rem) { td { white-space: nowrap; } }
footer { color: var(--soft); font-size: .85rem; margin-top: 3rem; border-top: 1px solid var(--line); padding-top: .8rem; }
"""


def heading(text: str) -> str:
    """A heading of a section."""
    return f"<h2>{html.escape(text)}</h2>"


def paragraph(text: str) -> str:
    """A paragraph of plain text."""
    return f"<p>{html.escape(text)}</p>"


def notes(title: str, sentences: Sequence[str]) -> str:
    """A box that catches the eye: a title and sentences of plain text."""
    items = "".join(f"<li>{html.escape(sentence)}</li>" for sentence in sentences)
    return f'<aside role="note"><strong>{html.escape(title)}</strong><ul>{items}</ul></aside>'


def table(frame: "pandas.DataFrame", digits: int = 3) -> str:
    """A table; numbers with as many digits after the point."""
    return str(frame.to_html(index=False, border=0, escape=True, float_format=lambda x: f"{x:.{digits}f}", na_rep=""))


def picture(figure: "Figure", caption: str) -> str:
    """A figure as vector graphics inside the page. The figure is closed."""
    import matplotlib as mpl
    from matplotlib import pyplot as plt

    buffer = io.StringIO()
    with mpl.rc_context({"svg.hashsalt": "contextualdag", "svg.fonttype": "path"}):
        figure.savefig(buffer, format="svg", bbox_inches="tight", metadata={"Date": None})
    plt.close(figure)
    svg = buffer.getvalue()
    return f"<figure><div>{svg[svg.index('<svg') :]}</div><figcaption>{html.escape(caption)}</figcaption></figure>"


def write_page(path: str | os.PathLike[str], title: str, parts: Sequence[str], footer: str) -> Path:
    """Write the page in one go: a reader never meets half of it.

    Parameters
    ----------
    path : path
        The file; missing folders are made.
    title : str
        Of the page.
    parts : sequence of str
        HTML, as the functions of this module make it.
    footer : str
        Plain text.

    Returns
    -------
    pathlib.Path
        The file.
    """
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    name = html.escape(title)
    page = (
        f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8">\n'
        f'<meta name="viewport" content="width=device-width, initial-scale=1"><title>{name}</title>\n'
        f"<style>{STYLE}</style></head>\n<body><h1>{name}</h1>\n{chr(10).join(parts)}\n"
        f"<footer>{html.escape(footer)}</footer></body></html>\n"
    )
    write_file(path, page.encode())
    return path
