"""``python -m contextualdag`` is the command line."""

from contextualdag.cli import app

if __name__ == "__main__":
    app(prog_name="contextualdag")
