"""Reports as single HTML files: that of a fitted model, and that of the demonstration."""
