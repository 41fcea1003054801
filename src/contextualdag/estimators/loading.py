"""Read a saved model of whatever kind."""

import os

from contextualdag.errors import PersistenceError
from contextualdag.estimators.base import GraphEstimator
from contextualdag.estimators.bootstrap import BootstrapDAG
from contextualdag.estimators.clustered import ClusteredDAG
from contextualdag.estimators.contextual import ContextualDAG
from contextualdag.estimators.fixed import FixedDAG
from contextualdag.estimators.saving import kind_and_version
from contextualdag.estimators.sorted import SortedDAG

KINDS: dict[str, type[GraphEstimator]] = {
    cls.__name__: cls for cls in (ContextualDAG, FixedDAG, ClusteredDAG, SortedDAG, BootstrapDAG)
}


def load_model(path: str | os.PathLike[str], device: str = "auto") -> GraphEstimator:
    """Read a model that any of the estimators saved.

    Parameters
    ----------
    path : path
        Folder to read.
    device : str, default="auto"
        Device of the model.

    Returns
    -------
    ContextualDAG, FixedDAG, ClusteredDAG, SortedDAG or BootstrapDAG

    Raises
    ------
    PersistenceError
        If there is no model, or one that this version cannot read.

    Examples
    --------
    >>> import tempfile, numpy as np
    >>> from contextualdag import FixedDAG
    >>> from contextualdag.estimators import load_model
    >>> X = np.random.default_rng(0).standard_normal((50, 3))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     FixedDAG(random_state=0).fit(X).save(f"{folder}/model")
    ...     type(load_model(f"{folder}/model")).__name__
    'FixedDAG'
    """
    kind, version = kind_and_version(path)
    if kind is not None and kind not in KINDS:
        place = os.fspath(path)
        raise PersistenceError(
            f"{place} holds a {kind!a:.80} (contextualdag {version}), which this version does not know as a model. "
            f"It loads: {', '.join(KINDS)}."
        )
    # A folder that holds no model of ours at all is best explained by the loader itself.
    return KINDS[kind or ContextualDAG.__name__].load(path, device)
