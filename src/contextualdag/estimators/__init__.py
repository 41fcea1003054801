"""The estimators."""

from contextualdag.estimators.contextual import ContextualDAG

__all__ = ["ContextualDAG"]
