"""Training: one budget, the path over budgets, and the choice among them."""
