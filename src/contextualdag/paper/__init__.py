"""The paper's experiments: what is run, and what is drawn from it."""
