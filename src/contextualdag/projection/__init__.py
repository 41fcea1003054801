"""The projection layer, which turns any batch of matrices into sparse DAGs."""

from contextualdag.projection.l1 import project_l1
from contextualdag.projection.layer import DAGProjection
from contextualdag.projection.logdet import LogDet
from contextualdag.projection.ordering import Order

__all__ = ["DAGProjection", "LogDet", "Order", "project_l1"]
