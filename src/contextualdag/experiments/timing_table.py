"""Times by the paper's protocol as a table in a file: measured cell by cell, each kept as soon as it is there."""

from collections.abc import Callable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import torch

from contextualdag.errors import InvalidParameterError, PersistenceError
from contextualdag.experiments import timing
from contextualdag.experiments.figure_files import write_table

if TYPE_CHECKING:
    import pandas

CELLS = {"n": timing.N_GRID, "p": timing.P_GRID}
QUICK_CELLS = {"n": ((1000, 20), (3250, 20)), "p": timing.QUICK_CELLS}
COLUMNS = ["n", "p", "order", "logdet", "baseline", "published", "device", "torch"]


def sizes(along: str, device: str = "auto", quick: bool = False) -> tuple[tuple[int, int], ...]:
    """Pairs (n, p) to be timed along n or p. On the CPU the largest are left out."""
    cells = QUICK_CELLS[along] if quick else CELLS[along]
    return cells if _device(device).type == "cuda" else tuple(cell for cell in cells if cell in timing.CPU_CELLS)


def measure(
    file: Path, along: str, device: str = "auto", quick: bool = False, begin: Callable[[int, str], None] | None = None
) -> None:
    """Time training along n or p and write a table: seconds for ten epochs, one row for each size.

    Sizes that the table has already are not timed again.

    Parameters
    ----------
    file : Path
        The table, a CSV file.
    along : {"n", "p"}
        What grows.
    device : str, default="auto"
        Where to train; "auto" is CUDA where there is a device.
    quick : bool, default=False
        Two small sizes only.
    begin : callable, optional
        Called as ``begin(done, what)`` before each measurement; `done` counts the sizes that the table had already.
    """
    import pandas as pd

    chosen = _device(device)
    cells = sizes(along, device, quick)
    name = timing.device_name(chosen)
    table = read_table(file) if file.exists() else to_table([], name)
    if set(table["device"]) - {name}:
        raise PersistenceError(
            f"{file} has times of {', '.join(sorted(set(table['device'])))}, and this is {name}; use another folder, or "
            "delete the file to measure again."
        )
    known = set(zip(table["n"], table["p"], strict=True))
    todo = tuple(cell for cell in cells if cell not in known)
    done = len(cells) - len(todo)

    def say(what: str) -> None:
        if begin is not None:
            begin(done, what)

    for one in timing.run_protocol(chosen, todo, baseline=True, begin=say):
        rows = table.to_dict("records") + to_table([one], name).to_dict("records")
        table = pd.DataFrame(rows, columns=COLUMNS).sort_values(["n", "p"])
        write_table(file, table)
        done += 1


def to_table(timings: Sequence[timing.Timing], device: str) -> "pandas.DataFrame":
    """One row for each size, with the name of the device and the version of PyTorch."""
    import pandas as pd

    rows = [asdict(one) | {"device": device, "torch": torch.__version__} for one in timings]
    return pd.DataFrame(rows, columns=COLUMNS)


def read_table(file: Path) -> "pandas.DataFrame":
    """The table that `measure` wrote."""
    import pandas as pd

    try:
        table = pd.read_csv(file)
        sound = list(table.columns) == COLUMNS and all(table[name].dtype.kind in "iuf" for name in COLUMNS[:6])
    except (ValueError, OSError) as error:
        raise PersistenceError(f"{file} cannot be read ({error}); delete it to measure again.") from error
    if not sound:
        raise PersistenceError(f"{file} is not a table of times of this version; delete it to measure again.")
    return table


def _device(name: str) -> torch.device:
    if name == "auto":
        name = "cuda" if torch.cuda.is_available() else "cpu"
    if name.partition(":")[0] not in timing.BASELINE_CELLS:
        raise InvalidParameterError(f"Times are measured on the device 'auto', 'cpu' or 'cuda'. Got {name!r} instead.")
    if name.startswith("cuda") and not torch.cuda.is_available():
        raise InvalidParameterError("PyTorch finds no CUDA device here. Take the device 'cpu' instead.")
    return torch.device(name)
