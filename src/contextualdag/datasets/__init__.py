"""Data to try things on."""

from contextualdag.datasets.synthetic import Dataset, make_varying_dag

__all__ = ["Dataset", "make_varying_dag"]
