"""The explorer: a local page for moving through the contexts of a fitted model."""
