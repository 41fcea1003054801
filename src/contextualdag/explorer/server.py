"""Serving the page on a port of this machine."""

import errno
import logging
import socket
from typing import TYPE_CHECKING

from werkzeug.serving import BaseWSGIServer, WSGIRequestHandler, make_server

from contextualdag.errors import InvalidParameterError

if TYPE_CHECKING:
    from dash import Dash

logger = logging.getLogger(__name__)


class QuietRequests(WSGIRequestHandler):
    """No line in the terminal for each request."""

    def log(self, type: str, message: str, *args: object) -> None:  # noqa: A002 - as the base class names it
        """Only for --debug."""
        logger.debug(message, *args)


def listen(app: "Dash", host: str, port: int) -> BaseWSGIServer:
    """Take the port; ``serve_forever`` of what is returned then answers requests.

    Parameters
    ----------
    app : dash.Dash
        The page.
    host : str
        An address of this machine.
    port : int
        0 for any that is free.

    Returns
    -------
    werkzeug.serving.BaseWSGIServer
        Its `port` is the one that was taken.

    Raises
    ------
    InvalidParameterError
        If the port is in use or the address is not of this machine.
    """
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        listener = socket.socket(family, kind, protocol)
        try:
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            listener.bind(address)
            listener.listen()
        except OSError:
            listener.close()
            raise
    except OSError as error:
        raise InvalidParameterError(_why(error, host, port)) from error
    # Werkzeug would end the program where a port is taken; it is given a socket that has it.
    with listener:
        return make_server(
            host, listener.getsockname()[1], app.server, threaded=True, request_handler=QuietRequests, fd=listener.fileno()
        )


def _why(error: OSError, host: str, port: int) -> str:
    if error.errno == errno.EADDRINUSE:
        return f"Port {port} of {host} is in use. Choose another with --port, or 0 for any that is free."
    if error.errno == errno.EACCES:
        return f"Port {port} needs more rights than this program has. Choose one from 1024 to 65535 with --port."
    return f"Cannot serve at {host}, port {port}: {error.strerror or error}. Choose an address of this machine with --host."
