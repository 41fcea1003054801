"""Learn a directed acyclic graph for every context."""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from contextualdag.estimators import BootstrapDAG, ClusteredDAG, ContextualDAG, FixedDAG, SortedDAG

__version__ = "0.1.0.dev0"
__all__ = ["BootstrapDAG", "ClusteredDAG", "ContextualDAG", "FixedDAG", "SortedDAG", "__version__"]


def __getattr__(name: str) -> Any:
    # Imported when first asked for, so that `import contextualdag` stays quick.
    if name in __all__:
        return getattr(importlib.import_module("contextualdag.estimators"), name)
    raise AttributeError(f"module 'contextualdag' has no attribute {name!r}")
