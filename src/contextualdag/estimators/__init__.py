"""The estimators."""

from contextualdag.estimators.bootstrap import BootstrapDAG
from contextualdag.estimators.clustered import ClusteredDAG
from contextualdag.estimators.contextual import ContextualDAG
from contextualdag.estimators.effects import Intervened
from contextualdag.estimators.fitting import fit_together
from contextualdag.estimators.fixed import FixedDAG
from contextualdag.estimators.loading import load_model
from contextualdag.estimators.sorted import SortedDAG

__all__ = [
    "BootstrapDAG",
    "ClusteredDAG",
    "ContextualDAG",
    "FixedDAG",
    "Intervened",
    "SortedDAG",
    "fit_together",
    "load_model",
]
