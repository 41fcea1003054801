"""The directive ``command-help``: the arguments and options of a command, generated when the pages are built."""

import re
from typing import Any

import typer
from docutils import nodes
from docutils.statemachine import StringList
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

from contextualdag.cli import app as program

EXAMPLE = re.compile(r"Example: (.*)")


class CommandHelp(SphinxDirective):
    """Sphinx directive whose argument is the name of a command."""

    required_arguments = 1

    def run(self) -> list[nodes.Node]:
        """Describe the command, show its example, and list its arguments and options in a table."""
        group: Any = typer.main.get_command(program)
        name = self.arguments[0]
        if name not in group.commands:
            raise self.error(f"contextualdag has no command {name!r}. It has: {', '.join(group.commands)}.")
        container = nodes.container()
        self.state.nested_parse(StringList(_markdown(name, group.commands[name]), source=f"--help of {name}"), 0, container)
        return container.children


def _markdown(name: str, command: Any) -> list[str]:
    paragraphs = [" ".join(part.split()) for part in command.help.strip().split("\n\n")]
    examples = [found[1] for part in paragraphs if (found := EXAMPLE.match(part))]
    needed = [_name_of(one) for one in command.params if one.required]
    lines = [_plain(part) + "\n" for part in paragraphs if not EXAMPLE.match(part)]
    shown = [f"contextualdag {' '.join([name, *needed])} [OPTIONS]", *examples]
    lines += ["```console", *(f"$ {one}" for one in shown), "```", ""]
    lines += ["| | default | |", "|---|---|---|"]
    lines += [f"| `{_name_of(one)}` | {_default(one)} | {_plain(one.help or '')} |" for one in command.params]
    return "\n".join(lines).splitlines()


def _name_of(parameter: Any) -> str:
    if parameter.param_type_name == "argument":
        return parameter.metavar or parameter.name.upper()
    names = "/".join([*parameter.opts[:1], *parameter.secondary_opts])
    kind = "" if parameter.is_flag else f" {parameter.metavar or parameter.name.upper()}"
    return names + kind


def _default(parameter: Any) -> str:
    if parameter.required:
        return "required"
    shown = getattr(parameter, "show_default", None)
    if isinstance(shown, str):
        return shown
    if getattr(parameter, "is_flag", False):
        return parameter.opts[0].lstrip("-") if parameter.default and parameter.secondary_opts else ""
    return "" if parameter.default in (None, ()) else f"`{parameter.default}`"


def _plain(text: str) -> str:
    """Mark options as code and escape table borders."""
    return re.sub(r"(?<![\w`-])(--[a-z-]+)", r"`\1`", text).replace("|", "\\|")


def setup(app: Sphinx) -> dict[str, bool]:
    """Add the directive."""
    app.add_directive("command-help", CommandHelp)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
