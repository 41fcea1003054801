"""The server of the page: few threads, none of which waits for a slow reader, and one line for each error.

Waitress reads requests and sends answers in one thread and computes answers in a few others. So clients that send half a
request, or do not read what they asked for, hold a connection until its time is up, but no thread. Answers are computed
under Python's lock, so more threads would only slow down one another.
"""

import errno
import logging
import select
import socket
import sys
import threading
import traceback
from typing import TYPE_CHECKING, Any

import torch
from waitress import wasyncore
from waitress.server import create_server

from contextualdag.errors import InvalidParameterError
from contextualdag.threads import one_thread_each

if TYPE_CHECKING:
    from wsgiref.types import WSGIApplication

LARGEST_REQUEST = 1_000_000  # bytes
LARGEST_HEAD = 65_536  # bytes of headers; a link has at most 20 000 characters
THREADS = 4
SILENT = 20  # seconds after which a connection without a complete request is closed
MOST_CONNECTIONS = 800
OWN_FILES = 64  # files and sockets that the program has open itself, at most
LAST_ANSWERS = 1.0  # seconds that answers under way have to end in


class Server:
    """Answers requests on a port until it is stopped.

    Parameters
    ----------
    application : WSGI application
        What answers.
    listener : socket
        A bound socket, which the server closes in the end.

    Attributes
    ----------
    port : int
        Port of the socket.
    """

    def __init__(self, application: "WSGIApplication", listener: socket.socket) -> None:
        self.port: int = listener.getsockname()[1]
        self._stopped = threading.Event()
        self._sockets: dict[int, Any] = {}
        _log_lines()
        self._server = create_server(
            application,
            map=self._sockets,
            sockets=[listener],
            threads=THREADS,
            connection_limit=most_connections(),
            channel_timeout=SILENT,
            cleanup_interval=5,
            max_request_header_size=LARGEST_HEAD,
            max_request_body_size=LARGEST_REQUEST,
            asyncore_use_poll=hasattr(select, "poll"),
            log_socket_errors=False,
            ident=None,
        )

    def serve_forever(self) -> None:
        """Answer requests until `shutdown` is called from another thread, or an exception such as an interrupt ends it."""
        # PyTorch's threads spin while they wait, and no graph is large enough to gain from them.
        with one_thread_each(torch.device("cpu")):
            while not self._stopped.is_set():
                wasyncore.loop(timeout=1, use_poll=hasattr(select, "poll"), map=self._sockets, count=1)

    def shutdown(self) -> None:
        """Let `serve_forever` return."""
        self._stopped.set()
        self._server.pull_trigger()

    def server_close(self) -> None:
        """Close all connections and the port."""
        self._server.task_dispatcher.shutdown(timeout=LAST_ANSWERS)
        wasyncore.close_all(self._sockets)


def bind(host: str, port: int) -> socket.socket:
    """A socket bound to a port of this machine, or an error that says why it cannot be.

    Parameters
    ----------
    host : str
        Address of this machine.
    port : int
        Port to bind; 0 for any free one.

    Returns
    -------
    socket.socket
    """
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        listener = socket.socket(family, kind, protocol)
        try:
            if sys.platform != "win32":  # where it would let several programs share a port
                listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            listener.bind(address)
            listener.listen()
        except OSError:
            listener.close()
            raise
    except (OSError, UnicodeError) as error:
        raise InvalidParameterError(_why(error, host, port)) from error
    return listener


def most_connections() -> int:
    """How many connections may be open at once: each is a file to the system, which limits these."""
    try:
        import resource
    except ModuleNotFoundError:  # Windows
        return MOST_CONNECTIONS
    limit = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    return MOST_CONNECTIONS if limit == resource.RLIM_INFINITY else max(min(MOST_CONNECTIONS, limit - OWN_FILES), 16)


def in_one_line(error: BaseException) -> str:
    """What kind of error it was, what it said and where, without line breaks.

    Examples
    --------
    >>> from contextualdag.explorer.serving import in_one_line
    >>> in_one_line(ValueError("wrong"))
    "ValueError: 'wrong'"
    """
    at = traceback.extract_tb(error.__traceback__)[-1:]
    where = "".join(f" ({one.filename}, line {one.lineno})" for one in at)
    return f"{type(error).__name__}: {str(error)[:300]!r}{where}"


def _log_lines() -> None:
    """Let Waitress log one line for each error, and nothing about requests that wait."""
    logging.getLogger("waitress.queue").setLevel(logging.ERROR)
    logging.getLogger("waitress").addFilter(_without_traceback)


def _without_traceback(record: logging.LogRecord) -> bool:
    if record.exc_info:
        error = record.exc_info[1]
        record.msg, record.args = f"{record.getMessage()} {in_one_line(error) if error else ''}".splitlines()[0], ()
        record.exc_info = record.exc_text = None
    return True


def _why(error: Exception, host: str, port: int) -> str:
    number = getattr(error, "errno", None)
    if number == errno.EADDRINUSE:
        return f"Port {port} of {host} is in use. Choose another port, or 0 for any that is free."
    if number == errno.EACCES:
        return f"Port {port} needs more rights than this program has. Choose a port from 1024 to 65535."
    said = getattr(error, "strerror", None) or error
    return f"Cannot serve at {host}, port {port}: {said}. Choose an address of this machine as the host."
