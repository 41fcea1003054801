"""Attacks on the library: what it must survive, as programs that run before a release: `python -m attack --help`."""
