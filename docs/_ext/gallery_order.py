"""The order of the examples: from what a newcomer wants to what few need."""

from typing import Any

FIRST = ("first_graph", "several_contexts", "sparsity_map", "choosing_sparsity", "order_flip", "categorical_context")


class ReadingOrder:
    """Sorts the names of example files; those that are not listed come last, by name."""

    def __init__(self, folder: Any) -> None:
        """Sphinx-Gallery passes the folder of the examples, which makes no difference."""

    def __call__(self, filename: str) -> tuple[int, str]:
        """What to sort a file by."""
        name = filename.removeprefix("plot_").removesuffix(".py")
        return (FIRST.index(name) if name in FIRST else len(FIRST), name)
