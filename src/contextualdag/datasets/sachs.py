"""Protein signalling in single cells (Sachs and others, 2005): eleven proteins, nine experimental conditions.

The file is part of the package cdt, which need not be imported for it. Every copy is checked by its content.
"""

import hashlib
import importlib.util
import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from contextualdag.checks import is_flag, require
from contextualdag.errors import InvalidInputError, MissingPackageError, PersistenceError
from contextualdag.tables import exact_numbers

if TYPE_CHECKING:
    import pandas

__all__ = ["CONDITIONS", "CONSENSUS", "Sachs", "load_sachs"]

CONSENSUS = (
    ("PIP2", "PIP3"),
    ("PIP2", "PKC"),
    ("PIP3", "pakts473"),
    ("PIP3", "plcg"),
    ("PKA", "P38"),
    ("PKA", "p44/42"),
    ("PKA", "pakts473"),
    ("PKA", "pjnk"),
    ("PKA", "pmek"),
    ("PKA", "praf"),
    ("PKC", "P38"),
    ("PKC", "pjnk"),
    ("PKC", "pmek"),
    ("PKC", "praf"),
    ("plcg", "PIP2"),
    ("plcg", "PKC"),
    ("pmek", "p44/42"),
    ("praf", "pmek"),
)
"""Edges that biologists agree on, as in ``cyto_full_target.csv`` of cdt; plcg, PIP2 and PIP3 form a cycle."""

CONDITIONS = (
    ("cd3cd28", 853, ()),
    ("icam2", 902, ()),
    ("aktinhib", 911, ("pakts473",)),
    ("g0076", 723, ("PKC",)),
    ("psitect", 810, ("PIP2",)),
    ("u0126", 799, ("pmek",)),
    ("ly", 848, ("PIP3", "pakts473")),
    ("pma", 913, ("PKC",)),
    ("b2camp", 707, ("PKA",)),
)
"""Conditions in the order of the file: name, number of cells, and the proteins that the reagent acts on."""

_OWNER = "load_sachs"
_FILE = "cyto_full_data.csv"
_PROTEINS = ("praf", "pmek", "plcg", "PIP2", "PIP3", "p44/42", "pakts473", "PKA", "PKC", "P38", "pjnk")
_N_CELLS = sum(size for _, size, _ in CONDITIONS)
# Digest of the numbers, row by row, as little-endian doubles: line ends and trailing zeros make no difference.
_SHA256 = "9b3f895c1652f9230a3356d76d7a320c88494feee9c6df509b001ccef8eae484"

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Sachs:
    """7466 cells, in the order of the file.

    Attributes
    ----------
    X : DataFrame of shape (7466, 11)
        How much of each protein or lipid is phosphorylated or present, as measured by fluorescence; natural logarithms of it
        by default.
    condition : DataFrame of shape (7466, 1)
        The condition of every cell, a category; to be used as the context Z.
    interventions : DataFrame of bool, of shape (7466, 11)
        True where the reagent of the condition acts on the variable itself.
    consensus : list of (source, target)
        Edges that biologists agree on. They contain a cycle, so no DAG has all of them.
    """

    X: "pandas.DataFrame"
    condition: "pandas.DataFrame"
    interventions: "pandas.DataFrame"
    consensus: list[tuple[str, str]]


def load_sachs(path: str | os.PathLike[str] | None = None, *, log: bool = True) -> Sachs:
    """Load the protein signalling data of Sachs and others, measured in nine experimental conditions.

    The data do not come with this package. They are read from the package cdt if it is installed, which is not imported, or
    from `path`.

    Parameters
    ----------
    path : str or path-like, optional
        ``cyto_full_data.csv`` of cdt 0.6.0, or the folder that holds it. By default it is looked for in the installed cdt.
    log : bool, default=True
        Whether to take natural logarithms. The measurements are positive and skewed.

    Returns
    -------
    Sachs
        A small frozen object with X, condition, interventions and consensus.

    Raises
    ------
    MissingPackageError
        If no `path` is given and cdt is not installed.
    PersistenceError
        If the file is missing or cannot be read.
    InvalidInputError
        If the file is not the published one. The message says where it differs.

    Notes
    -----
    Human T cells were stimulated and, in seven of the nine conditions, a reagent was added that acts on certain molecules;
    then each cell was measured once, by flow cytometry [1]_. All conditions but pma and b2camp contain cd3cd28, the general
    stimulus:

    ==========  =====================  ================
    condition   acts on                cells
    ==========  =====================  ================
    cd3cd28     (no single molecule)   853
    icam2       (no single molecule)   902
    aktinhib    pakts473, inhibits     911
    g0076       PKC, inhibits          723
    psitect     PIP2, inhibits         810
    u0126       pmek, inhibits         799
    ly          PIP3 and pakts473      848
    pma         PKC, activates         913
    b2camp      PKA, activates         707
    ==========  =====================  ================

    The names of the variables are those of the file: praf is Raf, pmek Mek, plcg PLCγ, p44/42 Erk, pakts473 Akt and pjnk
    Jnk. The measurements were published as a supplement of the article, without a licence, and are therefore not shipped
    here; cdt [2]_ is under the MIT licence.

    References
    ----------
    .. [1] K. Sachs, O. Perez, D. Pe'er, D. A. Lauffenburger and G. P. Nolan, "Causal protein-signaling networks derived from
       multiparameter single-cell data", Science 308, 2005.
    .. [2] D. Kalainathan, O. Goudet and R. Dutta, "Causal Discovery Toolbox: uncovering causal relationships in Python",
       Journal of Machine Learning Research 21, 2020.

    Examples
    --------
    >>> from contextualdag.datasets import load_sachs
    >>> data = load_sachs()  # doctest: +SKIP
    >>> data.X.shape, len(data.consensus)  # doctest: +SKIP
    ((7466, 11), 18)
    >>> from contextualdag.datasets.sachs import CONDITIONS
    >>> CONDITIONS[6]
    ('ly', 848, ('PIP3', 'pakts473'))
    """
    import pandas as pd

    require(is_flag(log), "log", _OWNER, "a bool", log)
    file = _find_in_cdt() if path is None else _find_at(path)
    values = _published(_read(file), str(file))
    names = list(_PROTEINS)
    conditions, sizes, targets = zip(*CONDITIONS, strict=True)
    codes = np.repeat(np.arange(len(conditions)), sizes)
    acts = np.array([[name in acted_on for name in names] for acted_on in targets])
    return Sachs(
        X=pd.DataFrame(np.log(values) if log else values, columns=names),
        condition=pd.DataFrame({"condition": pd.Categorical.from_codes(codes, list(conditions))}),
        interventions=pd.DataFrame(acts[codes], columns=names),
        consensus=list(CONSENSUS),
    )


def _find_in_cdt() -> Path:
    """The file in an installed cdt. `find_spec` looks for a package without importing it, which is slow and may fail."""
    spec = importlib.util.find_spec("cdt")
    folders = [] if spec is None else list(spec.submodule_search_locations or [])
    if not folders:
        raise MissingPackageError(
            "load_sachs reads its data from the package cdt, which is not installed. Try: pip install --no-deps cdt==0.6.0 "
            f"(the data need none of its dependencies), or give the place of its {_FILE} as 'path'."
        )
    for folder in folders:
        file = Path(folder) / "data" / "resources" / _FILE
        if file.exists():
            return file
    raise PersistenceError(
        f"The package cdt at {folders[0]} has no data/resources/{_FILE}. Try: pip install --no-deps cdt==0.6.0, or give the "
        "place of the file as 'path'."
    )


def _find_at(path: Any) -> Path:
    require(isinstance(path, str | os.PathLike), "path", _OWNER, "a str or a path", path)
    try:
        place = Path(path).expanduser()
    except RuntimeError as error:
        raise PersistenceError(f"There is no home folder for {path} ({error}); give the 'path' in full.") from error
    file = place / _FILE if place.is_dir() else place
    if not file.exists():
        raise PersistenceError(f"There is no file {file}; 'path' must be {_FILE} of cdt 0.6.0, or the folder that holds it.")
    return file


def _read(file: Path) -> "pandas.DataFrame":
    import pandas as pd

    try:
        return pd.read_csv(file, **exact_numbers())
    except OSError as error:
        raise PersistenceError(f"{file} cannot be read: {error.strerror or error}.") from error
    except ValueError as error:  # what pandas raises for text that is no table is a ValueError, as is text that is no text
        raise InvalidInputError(f"{file} is not a table in CSV format ({error}).") from error


def _published(table: "pandas.DataFrame", where: str) -> Array:
    """The numbers of the table, if they are the published ones."""
    if tuple(table.columns) != _PROTEINS:
        raise InvalidInputError(
            f"{where} must have the columns {', '.join(_PROTEINS)}, in this order. Got {', '.join(map(str, table.columns))}."
        )
    if len(table) != _N_CELLS:
        cause = " It seems to be truncated." if len(table) < _N_CELLS else ""
        raise InvalidInputError(f"{where} has {len(table)} rows, {_N_CELLS} were expected.{cause}")
    try:
        values: Array = table.to_numpy(np.float64)
    except ValueError as error:
        raise InvalidInputError(f"{where} must hold numbers only ({error}).") from error
    wrong = np.argwhere(~(values > 0) | np.isinf(values))
    if len(wrong):
        row, column = wrong[0]
        raise InvalidInputError(
            f"Row {row + 1}, column {_PROTEINS[column]} of {where} must be a positive number. "
            f"Got {values[row, column]:g} instead."
        )
    found = hashlib.sha256(np.ascontiguousarray(values, dtype="<f8").tobytes()).hexdigest()
    if found != _SHA256:
        raise InvalidInputError(
            f"{where} has the right shape, but other values or another order of rows than the file of cdt 0.6.0, so its "
            f"conditions are unknown. The sha256 of its numbers must be {_SHA256}. Got {found} instead."
        )
    return values
