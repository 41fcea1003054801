"""How a feature was distributed in training, drawn from its quantiles as a small picture."""

from typing import TYPE_CHECKING
from urllib.parse import quote

import numpy as np

from contextualdag.explorer.features import Feature
from contextualdag.plotting.colours import DARK, LIGHT

if TYPE_CHECKING:
    from contextualdag.tables import Array

WIDTH, HEIGHT = 240, 40
POINTS = 121
# A picture in an <img> still hears which colours the reader's system asks for.
STYLE = (
    f"path{{fill:{LIGHT.scale[1]}}}rect{{fill:{LIGHT.missing};opacity:.2}}"
    f"@media(prefers-color-scheme:dark){{path{{fill:{DARK.scale[1]}}}rect{{fill:{DARK.missing};opacity:.2}}}}"
)


def density(feature: Feature, at: "Array") -> "Array":
    """Density of the training data at given values, as its 101 quantiles tell it.

    Each of the hundred intervals between quantiles holds a hundredth of the data. They are smeared out by a normal
    kernel, Silverman's rule.

    Parameters
    ----------
    feature : Feature
        A number.
    at : array of shape (n,)
        Where.

    Returns
    -------
    array of shape (n,)
    """
    quantiles = np.array(feature.quantiles)
    middles = (quantiles[1:] + quantiles[:-1]) / 2
    spread = min(quantiles[1:-1].std(), (quantiles[75] - quantiles[25]) / 1.34) or quantiles[1:-1].std()
    bandwidth = max(0.9 * spread * len(middles) ** -0.2, (feature.high - feature.low) / 100)
    bumps = np.exp(-0.5 * ((at[:, None] - middles[None]) / bandwidth) ** 2) / (bandwidth * np.sqrt(2 * np.pi))
    heights: Array = bumps.mean(1)
    return heights


def density_picture(feature: Feature) -> str:
    """The density over the whole slider as an SVG in a data URI; what lies outside the training range is shaded."""
    low, high = feature.bounds
    at = np.linspace(low, high, POINTS)
    heights = density(feature, at)
    # Nothing is known beyond the smallest and the largest value, so the curve ends there.
    inside = (at >= feature.low) & (at <= feature.high)
    at, heights = at[inside], heights[inside]

    def across(value: float) -> float:
        return (value - low) / (high - low) * WIDTH

    tops = HEIGHT - heights / heights.max() * (HEIGHT - 3)
    line = " ".join(f"L{across(x):.1f},{y:.1f}" for x, y in zip(at, tops, strict=True))
    path = f"M{across(at[0]):.1f},{HEIGHT} {line} L{across(at[-1]):.1f},{HEIGHT}Z"
    left, right = across(feature.low), across(feature.high)
    svg = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" preserveAspectRatio="none">'
        f'<style>{STYLE}</style><rect width="{left:.1f}" height="{HEIGHT}"/>'
        f'<rect x="{right:.1f}" width="{WIDTH - right:.1f}" height="{HEIGHT}"/><path d="{path}"/></svg>'
    )
    return "data:image/svg+xml," + quote(svg)
