"""Learn a directed acyclic graph for every context."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from contextualdag.estimators import ContextualDAG

__version__ = "0.1.0.dev0"
__all__ = ["ContextualDAG", "__version__"]


def __getattr__(name: str) -> Any:
    # Imported when first asked for, so that `import contextualdag` stays quick.
    if name == "ContextualDAG":
        from contextualdag.estimators import ContextualDAG

        return ContextualDAG
    raise AttributeError(f"module 'contextualdag' has no attribute {name!r}")
