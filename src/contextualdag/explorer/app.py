"""The explorer as a Dash application on a port of this machine; it serves no files but its own assets."""

import logging
from pathlib import Path
from typing import TYPE_CHECKING, Any

import dash_cytoscape as cyto
from dash import Dash, set_props
from flask import Response, abort, request
from werkzeug.exceptions import HTTPException

from contextualdag.colours import css_variables
from contextualdag.errors import InvalidInputError
from contextualdag.explorer.callbacks import Answers, connect
from contextualdag.explorer.graphs import FittedGraphs
from contextualdag.explorer.layout import page
from contextualdag.explorer.serving import LARGEST_REQUEST, Server, bind, in_one_line

if TYPE_CHECKING:
    from contextualdag.estimators.base import GraphEstimator

logger = logging.getLogger(__name__)

HERE = ("localhost", "127.0.0.1", "[::1]")
ANYWHERE = ("0.0.0.0", "::", "")  # noqa: S104 - recognised, not used

INDEX = """<!doctype html>
<html lang="en">
  <head>{%metas%}<title>{%title%}</title>{%favicon%}<style>{colours}</style>{%css%}</head>
  <body>{%app_entry%}<footer>{%config%}{%scripts%}{%renderer%}</footer></body>
</html>
"""


def make_app(model: "GraphEstimator", host: str = "127.0.0.1") -> Dash:
    """The page for a fitted model.

    Parameters
    ----------
    model : estimator
        Fitted model.
    host : str, default="127.0.0.1"
        Address that the page will be served at. Requests for another host are refused, as a protection against DNS
        rebinding.

    Returns
    -------
    dash.Dash
    """
    graphs = FittedGraphs(model)
    answers = Answers(graphs)
    cyto.load_extra_layouts()  # the bundle with SVG export
    app = Dash(
        __name__,
        assets_folder=str(Path(__file__).parent / "assets"),
        serve_locally=True,
        index_string=INDEX.replace("{colours}", css_variables()),
        title="contextualdag",
        update_title="",
        on_error=_show_error,
        enable_mcp=False,
        websocket_callbacks=False,
        add_log_handler=False,
        meta_tags=[{"name": "viewport", "content": "width=device-width, initial-scale=1"}],
    )
    app.layout = page(graphs)
    connect(app, answers)
    app.enable_dev_tools(debug=False, dev_tools_disable_version_check=True)  # despite environment variables
    _guard(app, host)
    return app


def listen(app: Dash, host: str, port: int) -> Server:
    """Bind a port and return a server; its ``serve_forever`` answers requests.

    Parameters
    ----------
    app : dash.Dash
        The page.
    host : str
        Address of this machine.
    port : int
        Port to bind; 0 for any free one.

    Returns
    -------
    Server
        Its `port` is the one that was bound.

    Raises
    ------
    InvalidParameterError
        If the port is in use, or the address does not belong to this machine.
    """
    return Server(app.server, bind(host, port))


def _show_error(error: Exception) -> None:
    """Show an error of a callback as a message; the rest of the page stays unchanged."""
    if isinstance(error, InvalidInputError):
        set_props("message", {"children": str(error)})
        return
    logger.error("A request failed. %s", in_one_line(error))
    logger.debug("It failed here:", exc_info=error)
    set_props("message", {"children": "Unexpected error; the terminal says which."})


def _guard(app: Dash, host: str) -> None:
    server = app.server
    server.debug = False
    server.config["MAX_CONTENT_LENGTH"] = LARGEST_REQUEST
    scripts = " ".join(["'self'", *app.csp_hashes()])
    policy = (
        f"default-src 'none'; script-src {scripts}; style-src 'self' 'unsafe-inline'; img-src 'self' data: blob:; "
        "connect-src 'self'; font-src 'self' data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    )

    def check_host() -> None:
        asked = request.host.rpartition(":")[0] if request.host.rpartition(":")[2].isdigit() else request.host
        if host not in ANYWHERE and asked not in (*HERE, host, f"[{host}]"):
            abort(403, "This page is served to this machine only.")

    def restrict(response: Response) -> Response:
        response.headers["Content-Security-Policy"] = policy
        response.headers["X-Content-Type-Options"] = "nosniff"
        response.headers["Referrer-Policy"] = "no-referrer"
        return response

    def refuse(error: Exception) -> Any:
        if isinstance(error, HTTPException):
            return error
        logger.debug("An invalid request.", exc_info=error)
        return Response("This request is invalid.\n", 400, mimetype="text/plain")

    server.before_request(check_host)
    server.after_request(restrict)
    server.register_error_handler(Exception, refuse)
