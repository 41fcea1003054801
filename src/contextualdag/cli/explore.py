"""``contextualdag explore``."""

from pathlib import Path
from typing import Annotated

import typer


def explore(
    model: Annotated[Path, typer.Argument(metavar="MODEL", help="Folder of a saved model.", show_default=False)],
    host: Annotated[str, typer.Option(help="Address to serve at; the default is seen by this machine alone.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, help="Port to serve at; 0 for any that is free.")] = 8050,
    browser: Annotated[bool, typer.Option("--open/--no-open", help="Open the page in the browser.")] = True,
) -> None:
    """Open a local page to move through the contexts of a model.

    Example: contextualdag explore model/
    """
    from contextualdag.estimators.loading import load_model_of_any_kind

    try:
        from contextualdag.explorer.app import listen, make_app
    except ModuleNotFoundError as error:
        if (error.name or "").startswith("contextualdag"):
            raise
        raise ImportError(f"The explorer needs the package {error.name}: pip install 'contextualdag[explorer]'") from error

    server = listen(make_app(load_model_of_any_kind(model, device="cpu"), host), host, port)
    name = f"[{host}]" if ":" in host else host
    address = f"http://{name}:{server.port}/"
    typer.echo(f"Explore the model at {address} (Ctrl-C ends it)", err=False)
    if browser:
        typer.launch(address)
    try:
        server.serve_forever()
    except KeyboardInterrupt:
        pass
    finally:
        server.server_close()
