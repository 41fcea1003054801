"""Tables and pictures to files, each written in one step."""

import io
from pathlib import Path
from typing import TYPE_CHECKING

from contextualdag.files import write_file

if TYPE_CHECKING:
    import pandas
    from matplotlib.figure import Figure


def write_table(file: Path, table: "pandas.DataFrame", float_format: str | None = None) -> Path:
    """Write a CSV file; missing folders are made."""
    file.parent.mkdir(parents=True, exist_ok=True)
    write_file(file, table.to_csv(index=False, float_format=float_format).encode())
    return file


def write_pictures(stem: Path, figure: "Figure", kinds: tuple[str, ...] = ("png", "svg")) -> list[Path]:
    """Write ``<stem>.png`` and ``<stem>.svg``. The same figure gives the same files."""
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
