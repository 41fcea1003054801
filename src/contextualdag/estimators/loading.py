"""A saved model of whatever kind."""

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING

from contextualdag.errors import ContextualDAGError, PersistenceError
from contextualdag.estimators.clustered import ClusteredDAG
from contextualdag.estimators.contextual import ContextualDAG
from contextualdag.estimators.fixed import FixedDAG
from contextualdag.estimators.sorted import SortedDAG
from contextualdag.files import read_folder

if TYPE_CHECKING:
    from contextualdag.estimators.path_estimator import PathEstimator

KINDS: dict[str, type["PathEstimator"]] = {cls.__name__: cls for cls in (ContextualDAG, FixedDAG, ClusteredDAG, SortedDAG)}
METADATA = "metadata.json"
FILES = {METADATA, "tensors.safetensors"}


def load_model_of_any_kind(path: str | os.PathLike[str], device: str = "auto") -> "PathEstimator":
    """Read a model that any of the estimators saved.

    Parameters
    ----------
    path : path
        The folder.
    device : str, default="auto"
        Where the model shall live.

    Returns
    -------
    ContextualDAG, FixedDAG, ClusteredDAG or SortedDAG

    Raises
    ------
    PersistenceError
        If there is no model, or one that this version cannot read.

    Examples
    --------
    >>> import tempfile, numpy as np
    >>> from contextualdag import FixedDAG
    >>> from contextualdag.estimators.loading import load_model_of_any_kind
    >>> X = np.random.default_rng(0).standard_normal((50, 3))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     FixedDAG(random_state=0).fit(X).save(f"{folder}/model")
    ...     type(load_model_of_any_kind(f"{folder}/model")).__name__
    'FixedDAG'
    """
    kind, version = _kind_and_version(path)
    if kind is not None and kind not in KINDS:
        raise PersistenceError(
            f"{os.fspath(path)} holds a '{kind}' (contextualdag {version}), which this version does not know as a model. "
            f"It loads: {', '.join(KINDS)}."
        )
    try:
        # What is no model of ours at all is best explained by the loader itself.
        return KINDS[kind or ContextualDAG.__name__].load(path, device)
    except ContextualDAGError:
        raise
    except (KeyError, TypeError, ValueError, RuntimeError) as error:
        raise PersistenceError(
            f"{os.fspath(path)} was written by contextualdag {version} in a form that this version cannot read "
            f"({type(error).__name__}: {error}); fit the model again, or load it with that version."
        ) from error


def is_nothing_but_a_save(folder: str | os.PathLike[str]) -> bool:
    """Whether a folder holds what one of our saves wrote, and no other file."""
    return _kind_and_version(folder)[0] is not None and {file.name for file in Path(folder).iterdir()} <= FILES


def _kind_and_version(path: str | os.PathLike[str]) -> tuple[str | None, str]:
    """What a folder says it holds, and which version wrote it; None where it does not say."""
    try:
        document = json.loads(read_folder(path, (METADATA,))[METADATA])
        return str(document["kind"]), str(document["versions"]["contextualdag"])
    except (KeyError, TypeError, ValueError, RecursionError):
        return None, "of unknown version"
