"""Tables and pictures as files, each written in one step, and tables as Markdown."""

import io
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from contextualdag.files import write_file

if TYPE_CHECKING:
    import pandas
    from matplotlib.figure import Figure


def markdown_table(head: Sequence[object], rows: Iterable[Sequence[object]]) -> str:
    """A table in Markdown.

    Examples
    --------
    >>> from contextualdag.paper.outputs import markdown_table
    >>> print(markdown_table(["p", "seconds"], [[10, "0.5"], [20, "0.9"]]))
    | p | seconds |
    | --- | --- |
    | 10 | 0.5 |
    | 20 | 0.9 |
    """
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(str(cell) for cell in line) + " |" for line in lines)


def write_table(file: Path, table: "pandas.DataFrame", float_format: str | None = None) -> Path:
    """Write a CSV file and return its path. Missing folders are created."""
    file.parent.mkdir(parents=True, exist_ok=True)
    write_file(file, table.to_csv(index=False, float_format=float_format).encode())
    return file


def write_page(file: Path, parts: Iterable[str]) -> Path:
    """Write a Markdown file, with an empty line between its parts, and return its path. Missing folders are created."""
    file.parent.mkdir(parents=True, exist_ok=True)
    write_file(file, ("\n\n".join(parts) + "\n").encode())
    return file


def write_pictures(stem: Path, figure: "Figure", kinds: tuple[str, ...] = ("png", "svg")) -> list[Path]:
    """Write ``<stem>.png`` and ``<stem>.svg`` and return their paths. The same figure gives the same files."""
    import matplotlib as mpl

    stem.parent.mkdir(parents=True, exist_ok=True)
    files = []
    for kind in kinds:
        buffer = io.BytesIO()
        with mpl.rc_context({"svg.hashsalt": "contextualdag"}):
            figure.savefig(buffer, format=kind, dpi=120, metadata={"Date": None} if kind == "svg" else None)
        files.append(stem.with_name(f"{stem.name}.{kind}"))
        write_file(files[-1], buffer.getvalue())
    return files
