"""The exceptions of this library. Every message names what was wrong, what was expected and what was got."""


class ContextualDAGError(Exception):
    """Base of every exception raised on purpose by contextualdag."""


class InvalidParameterError(ContextualDAGError, ValueError, TypeError):
    """A setting has the wrong type or lies outside its range."""


class InvalidInputError(ContextualDAGError, ValueError, TypeError):
    """An array has the wrong shape, type or content."""


class CyclicGraphError(ContextualDAGError, ValueError):
    """A graph that had to be acyclic has a cycle."""


class NotFittedError(ContextualDAGError, RuntimeError):
    """Something learned in training was asked for before any training."""


class TrainingError(ContextualDAGError, RuntimeError):
    """Training could not go on."""


class PersistenceError(ContextualDAGError, OSError):
    """A saved model, a checkpoint or a data file cannot be written or read."""


class SweepError(ContextualDAGError, RuntimeError):
    """A sweep could not start or go on. Its finished cells are kept."""
