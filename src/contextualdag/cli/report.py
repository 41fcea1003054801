"""``contextualdag report``."""

from pathlib import Path
from typing import Annotated

import typer

from contextualdag.cli.outputs import OverwriteOption


def report(
    model: Annotated[Path, typer.Argument(help="Folder of a model that fit saved.", show_default=False)],
    out: Annotated[Path, typer.Option(help="The HTML file to write.")] = Path("report.html"),
    at: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME=VALUE", help="Draw this context too; repeat it for several features. Typical values for the rest."
        ),
    ] = None,
    edges: Annotated[float | None, typer.Option(min=0, help="Another point of the path: so many edges on average.")] = None,
    overwrite: OverwriteOption = False,
) -> None:
    """Write one HTML file that shows a model: graphs at typical contexts, what varies, the path, warnings, how to read it.

    Example: contextualdag report model --out report.html --at age=30 --at site=a
    """
    from contextualdag.cli.contexts import context_from_options, has_context
    from contextualdag.cli.outputs import check_output
    from contextualdag.errors import InvalidParameterError
    from contextualdag.estimators.loading import load_model_of_any_kind
    from contextualdag.report.model import write_model_report

    check_output(out, overwrite)
    loaded = load_model_of_any_kind(model)
    if edges is not None:
        try:
            loaded = loaded.select(n_edges=edges)
        except InvalidParameterError as error:
            raise typer.BadParameter(str(error).replace("n_edges", "The number of edges", 1), param_hint="--edges") from None
    if at and not has_context(loaded):
        raise typer.BadParameter("The model was fitted without a context.", param_hint="--at")
    contexts = context_from_options(loaded, at) if at else None
    typer.echo(f"Report: {write_model_report(loaded, out, contexts, source=str(model))}")
