"""The exceptions of this library, which say what was wrong, what was expected and what was given, and its warning."""

from typing import TYPE_CHECKING, Any

__all__ = [
    "ContextualDAGError",
    "ContextualDAGWarning",
    "CyclicGraphError",
    "InvalidInputError",
    "InvalidParameterError",
    "MissingPackageError",
    "NotFittedError",
    "PersistenceError",
    "SweepError",
    "TrainingError",
]


class ContextualDAGError(Exception):
    """Base class of the exceptions that contextualdag raises on purpose."""


class ContextualDAGWarning(UserWarning):
    """What is likely a mistake in the data, or a fit that should not be relied on.

    Warnings of other libraries have other classes, so these can be silenced alone.

    Examples
    --------
    >>> import warnings
    >>> from contextualdag.errors import ContextualDAGWarning
    >>> with warnings.catch_warnings():
    ...     warnings.filterwarnings("ignore", category=ContextualDAGWarning)
    """


class InvalidParameterError(ContextualDAGError, ValueError, TypeError):
    """A parameter has the wrong type or is out of range."""


class InvalidInputError(ContextualDAGError, ValueError, TypeError):
    """An array or table has the wrong shape, type or content."""


class MissingPackageError(ContextualDAGError, ImportError):
    """An optional package is not installed or cannot be imported."""


class CyclicGraphError(ContextualDAGError, ValueError):
    """A graph that had to be acyclic has a cycle."""


class TrainingError(ContextualDAGError, RuntimeError):
    """Training failed."""


class PersistenceError(ContextualDAGError, OSError):
    """A saved model, a checkpoint or a data file cannot be written or read."""


class SweepError(ContextualDAGError, RuntimeError):
    """Work on a cluster, such as a sweep, could not start or go on. What is finished is kept."""


if TYPE_CHECKING:

    class NotFittedError(ContextualDAGError, ValueError, AttributeError):
        """A fitted attribute or method was used before `fit`; also a ``sklearn.exceptions.NotFittedError``."""


def __getattr__(name: str) -> Any:
    # Importing scikit-learn takes a second, so the subclass of its exception is made when it is first used.
    if name != "NotFittedError":
        raise AttributeError(f"module '{__name__}' has no attribute {name!r}")
    from sklearn.exceptions import NotFittedError as NotFittedErrorOfSklearn

    text = "A fitted attribute or method was used before `fit`; also a ``sklearn.exceptions.NotFittedError``."
    body = {"__doc__": text, "__module__": __name__}
    return globals().setdefault(name, type(name, (ContextualDAGError, NotFittedErrorOfSklearn), body))
