"""The estimators."""

from contextualdag.estimators.clustered import ClusteredDAG
from contextualdag.estimators.contextual import ContextualDAG
from contextualdag.estimators.fixed import FixedDAG
from contextualdag.estimators.sorted import SortedDAG
from contextualdag.estimators.together import fit_together

__all__ = ["ClusteredDAG", "ContextualDAG", "FixedDAG", "SortedDAG", "fit_together"]
