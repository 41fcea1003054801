"""``contextualdag explore`` and ``contextualdag report``: a model as a local page, or as one HTML file."""

from pathlib import Path
from typing import Annotated

import typer

from contextualdag.cli.options import AtOption, EdgesOption, ExplainedOption, ModelArgument, OverwriteOption


def explore(
    model: ModelArgument,
    host: Annotated[str, typer.Option(help="Address to serve at; by default only this machine can reach it.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, help="Port to serve at; 0 for any free port.")] = 8050,
    browser: Annotated[bool, typer.Option("--open/--no-open", help="Open the page in the browser.")] = True,
) -> None:
    """Open a local page to move through the contexts of a model.

    Example: contextualdag explore model/
    """
    from contextualdag.estimators import load_model
    from contextualdag.explorer import serve

    def show(address: str, sentence: str) -> None:
        typer.echo(sentence)
        if browser:
            typer.launch(address)

    serve(load_model(model, device="cpu"), host, port, show)


def report(
    model: ModelArgument,
    out: Annotated[Path, typer.Option(help="HTML file to write.")] = Path("report.html"),
    at: AtOption = None,
    edges: EdgesOption = None,
    explained: ExplainedOption = None,
    overwrite: OverwriteOption = False,
) -> None:
    """Write one HTML file that shows a model: graphs at typical contexts, what varies, the path, warnings, how to read it.

    --at adds the graph of that context.

    Example: contextualdag report model --out report.html --at age=30 --at site=a
    """
    from contextualdag.cli.contexts import context_from_options, load_model, require_context
    from contextualdag.cli.outcome import check_output
    from contextualdag.report.model import write_model_report

    check_output(out, overwrite)
    loaded = load_model(model, edges, explained)
    if at:
        require_context(loaded, "--at")
    contexts = context_from_options(loaded, at) if at else None
    typer.echo(f"Report: {write_model_report(loaded, out, contexts, source=str(model))}")
