"""Render formulas as MathML, which browsers display without any script."""

import html
from typing import Any

from docutils import nodes
from docutils.utils.math import MathError
from docutils.utils.math.latex2mathml import tex2mathml
from sphinx.application import Sphinx
from sphinx.util import logging

_logger = logging.getLogger(__name__)


def _inline(translator: Any, node: nodes.math) -> None:
    translator.body.append(_mathml(node, as_block=False))
    raise nodes.SkipNode


def _block(translator: Any, node: nodes.math_block) -> None:
    translator.body.append(f'<div class="formula">{_mathml(node, as_block=True)}</div>\n')
    raise nodes.SkipNode


def _mathml(node: nodes.Element, as_block: bool) -> str:
    try:
        formula: str = tex2mathml(node.astext(), as_block=as_block)
    except MathError as error:
        _logger.warning("%s In the formula: %s", error, node.astext(), location=node)
        return f"<code>{html.escape(node.astext())}</code>"
    return formula


def setup(app: Sphinx) -> dict[str, bool]:
    """Register the renderer as ``mathml``."""
    app.add_html_math_renderer("mathml", (_inline, None), (_block, None))
    return {"parallel_read_safe": True, "parallel_write_safe": True}
