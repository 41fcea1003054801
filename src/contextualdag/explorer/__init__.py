"""The explorer: a local page on which one moves through the contexts of a fitted model."""
