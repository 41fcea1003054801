"""Data to try things on."""

from contextualdag.datasets.actg175 import ACTG175, load_actg175
from contextualdag.datasets.drug_consumption import DrugConsumption, load_drug_consumption
from contextualdag.datasets.sachs import Sachs, load_sachs
from contextualdag.datasets.synthetic import Dataset, make_fixed_dag, make_varying_dag
from contextualdag.datasets.weather import Weather, load_weather

__all__ = [
    "ACTG175",
    "Dataset",
    "DrugConsumption",
    "Sachs",
    "Weather",
    "load_actg175",
    "load_drug_consumption",
    "load_sachs",
    "load_weather",
    "make_fixed_dag",
    "make_varying_dag",
]
