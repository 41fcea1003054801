"""Data to try things on."""

from contextualdag.datasets.drug_consumption import DrugConsumption, load_drug_consumption
from contextualdag.datasets.synthetic import Dataset, make_fixed_dag, make_varying_dag

__all__ = ["Dataset", "DrugConsumption", "load_drug_consumption", "make_fixed_dag", "make_varying_dag"]
