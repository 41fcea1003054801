"""The explorer as a Dash application that reads no files and runs nothing but its own callbacks."""

import logging
from pathlib import Path
from typing import TYPE_CHECKING, Any

import dash_cytoscape as cyto
from dash import Dash, set_props
from flask import Response, abort, request
from werkzeug.exceptions import HTTPException

from contextualdag.errors import InvalidInputError
from contextualdag.explorer.callbacks import Answers, connect
from contextualdag.explorer.fitted_graphs import FittedGraphs
from contextualdag.explorer.graph_style import css_variables
from contextualdag.explorer.layout import page

if TYPE_CHECKING:
    from contextualdag.estimators.path_estimator import PathEstimator

logger = logging.getLogger(__name__)

LARGEST_REQUEST = 1_000_000  # bytes
HERE = ("localhost", "127.0.0.1", "[::1]")
ANYWHERE = ("0.0.0.0", "::", "")  # noqa: S104 - recognised, not used

INDEX = """<!doctype html>
<html lang="en">
  <head>{%metas%}<title>{%title%}</title>{%favicon%}<style>{colours}</style>{%css%}</head>
  <body>{%app_entry%}<footer>{%config%}{%scripts%}{%renderer%}</footer></body>
</html>
"""


def make_app(model: "PathEstimator", host: str = "127.0.0.1") -> Dash:
    """The page for a fitted model.

    Parameters
    ----------
    model : estimator
        Fitted.
    host : str, default="127.0.0.1"
        The address it will be served at. Requests that name another host are refused, so that no page elsewhere can
        reach it through a name of its own.

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
        on_error=_say,
        enable_mcp=False,
        websocket_callbacks=False,
        add_log_handler=False,
        meta_tags=[{"name": "viewport", "content": "width=device-width, initial-scale=1"}],
    )
    app.layout = page(graphs)
    connect(app, answers)
    app.enable_dev_tools(debug=False, dev_tools_disable_version_check=True)  # whatever environment variables say
    _guard(app, host)
    return app


def _say(error: Exception) -> None:
    """An error in a callback: the page stays as it was and says why."""
    if isinstance(error, InvalidInputError):
        set_props("message", {"children": str(error)})
        return
    logger.error("A request failed.", exc_info=error)
    set_props("message", {"children": "This did not work. The terminal shows why."})


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
        logger.debug("A request that makes no sense.", exc_info=error)
        return Response("This request makes no sense.\n", 400, mimetype="text/plain")

    server.before_request(check_host)
    server.after_request(restrict)
    server.register_error_handler(Exception, refuse)
