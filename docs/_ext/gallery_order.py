"""The order of the examples in the gallery: the most useful to a newcomer first."""

from typing import Any

FIRST = (
    *("first_graph", "several_contexts", "sparsity_map", "choosing_sparsity", "order_flip", "categorical_context"),
    *("weather", "actg175", "sachs", "drugs", "diabetes"),  # real data
)


class ReadingOrder:
    """Sort key for the names of example files; those that are not listed come last, by name."""

    def __init__(self, folder: Any) -> None:
        """Sphinx-Gallery passes the folder of the examples, which is ignored."""

    def __call__(self, filename: str) -> tuple[int, str]:
        """The sort key of a file."""
        name = filename.removeprefix("plot_").removesuffix(".py")
        return (FIRST.index(name) if name in FIRST else len(FIRST), name)
