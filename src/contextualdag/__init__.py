"""Learn a directed acyclic graph for every context."""

__version__ = "0.1.0.dev0"
