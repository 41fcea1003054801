"""What may be wrong with a table or a fitted model, in sentences with numbers."""

from contextualdag.diagnostics.falsification import Falsification, falsify
from contextualdag.diagnostics.findings import Finding
from contextualdag.diagnostics.model import check_model
from contextualdag.diagnostics.table import check_table

__all__ = ["Falsification", "Finding", "check_model", "check_table", "falsify"]
