"""Attacks on the library, which are run before a release: hostile names and tables, and programs that try them."""
