"""A local page on which to move through the contexts of a model; `serve` opens it."""

from collections.abc import Callable
from typing import TYPE_CHECKING

from contextualdag.checks import is_integer, require
from contextualdag.errors import MissingPackageError

if TYPE_CHECKING:
    from contextualdag.estimators.base import GraphEstimator


def serve(model: "GraphEstimator", host: str, port: int, on_ready: Callable[[str, str], None]) -> None:
    """Serve the page of a model until it is interrupted (Ctrl-C).

    Parameters
    ----------
    model : estimator
        Fitted model.
    host : str
        Address of this machine.
    port : int
        Port to serve at; 0 for any free one.
    on_ready : callable
        Called with the address of the page and a sentence that names it, once requests are accepted.

    Raises
    ------
    MissingPackageError
        If a package of the explorer is not installed.
    InvalidParameterError
        If the port is none or in use, or the address does not belong to this machine.
    """
    require(isinstance(host, str), "host", "explore", "an address of this machine, such as '127.0.0.1'", host)
    require(is_integer(port) and 0 <= port < 2**16, "port", "explore", "an integer from 0 to 65535", port)
    try:
        from contextualdag.explorer.app import listen, make_app
    except ModuleNotFoundError as error:
        if (error.name or "").startswith("contextualdag"):
            raise
        raise MissingPackageError(
            f"The explorer needs the package {error.name}: pip install 'contextualdag[explorer]'"
        ) from error

    server = listen(make_app(model, host), host, port)
    name = f"[{host}]" if ":" in host else host
    address = f"http://{name}:{server.port}/"
    try:
        on_ready(address, f"Explore the model at {address} (Ctrl-C ends it)")
        server.serve_forever()
    except KeyboardInterrupt:
        pass
    finally:
        server.server_close()
