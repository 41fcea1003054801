"""Where nodes are drawn in a panel of a given size, and how edges bend around them."""

import functools
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from contextualdag.tables import Array

if TYPE_CHECKING:
    from numpy.typing import NDArray

FONTS = (18, 16, 14, 13, 12, 11, 10, 9, 8)  # pixels; the largest that fits is used
SMALL = 11  # larger fonts are used only if all names fit in full
LETTER = 0.6  # width of a letter as a fraction of the font size
PADDING, GAP, BORDER = 16, 7, 8  # pixels inside a box, between boxes, around all
MOST_WIDE = 0.45  # largest fraction of the width of the panel; longer names are shortened
MOST_FILLED = 0.13  # largest fraction of the panel that boxes may cover
PUSHES = 120
BENDS = (0, 26, -26, 52, -52, 84, -84, 124, -124, 170, -170)  # pixels between the control point and the straight line
CLEAR, CLEAR_LABEL = 5, 18  # pixels between an edge and other boxes; and between its middle, where its label is, and those
ALONG = np.linspace(0.04, 0.96, 24)


class Placement:
    """Boxes for nodes, in pixels of a panel.

    Parameters
    ----------
    places : array of shape (p, 2)
        Places from `contextualdag.plotting.layered_layout`: to the right, and upwards.
    names : sequence of str
        Names to write in the boxes.
    width, height : int
        Size of the panel.

    Attributes
    ----------
    centres : array of shape (p, 2)
        Centres of the boxes: to the right, and downwards.
    widths : array of shape (p,)
        Widths of the boxes.
    box_height, font : float
        Height and font size of all boxes.
    """

    def __init__(self, places: Array, names: Sequence[str], width: int, height: int) -> None:
        self.size = np.array([width, height], dtype=float)
        letters = np.array([max(len(name), 2) for name in names])
        for font in FONTS:
            self.font = font
            self.box_height = float(2 * font - 2 if font > 11 else font + 9)
            wanted = letters * font * LETTER + PADDING
            self.widths = np.minimum(wanted, MOST_WIDE * width)
            filled = self.widths.sum() * self.box_height / self.size.prod()
            if font != FONTS[-1] and (filled > MOST_FILLED or (font > SMALL and (wanted > self.widths).any())):
                continue
            self.centres = self._apart(self._spread(places))
            if not self._overlaps().any():
                break
        else:
            self.widths = np.clip(self.room(), 18, self.widths)
        self.bend = functools.cache(self._bend)

    def _spread(self, places: Array) -> Array:
        """Convert to pixels; in rows that are too tight, every other node moves down."""
        margin = np.array([self.widths.max() / 2, self.box_height / 2]) + BORDER
        low, span = places.min(0), np.ptp(places, axis=0)
        share = np.where(span > 0, (places - low) / np.where(span > 0, span, 1), 0.5)
        share[:, 1] = 1 - share[:, 1]  # pixels count downwards
        centres: Array = margin + share * np.maximum(self.size - 2 * margin, 1)
        for y in np.unique(centres[:, 1]):
            row = np.flatnonzero(centres[:, 1] == y)
            row = row[np.argsort(centres[row, 0], kind="stable")]
            if (np.diff(centres[row, 0]) < (self.widths[row[1:]] + self.widths[row[:-1]]) / 2 + GAP).any():
                centres[row[1::2], 1] += self.box_height + GAP
        return centres

    def _apart(self, centres: Array) -> Array:
        """Move overlapping boxes apart, each pair in the shorter direction, and keep all of them inside the panel."""
        half = np.stack([self.widths / 2, np.full(len(centres), self.box_height / 2)], axis=1)
        needed = half[:, None] + half[None] + GAP
        low, high = half + 3, np.maximum(self.size - half - 3, half + 3)
        # Two boxes in the same place move apart by their order.
        order = np.arange(len(centres))[:, None] - np.arange(len(centres))[None]
        for _ in range(PUSHES):
            away = centres[:, None] - centres[None]
            missing = needed - np.abs(away)
            missing[np.arange(len(centres)), np.arange(len(centres))] = -1
            clash = (missing > 0.01).all(2)
            if not clash.any():
                break
            shorter = missing.argmin(2)
            direction = np.where(away == 0, order[:, :, None], np.sign(away))
            push = np.where(clash[:, :, None] & (shorter[:, :, None] == np.arange(2)), direction * missing / 2, 0.0)
            centres = np.clip(centres + push.sum(1) * 0.6, low, high)
        return centres

    def _overlaps(self) -> "NDArray[np.bool_]":
        apart = np.abs(self.centres[:, None] - self.centres[None])
        across = (self.widths[:, None] + self.widths[None]) / 2
        found: NDArray[np.bool_] = (apart[:, :, 0] < across + 2) & (apart[:, :, 1] < self.box_height + 2)
        np.fill_diagonal(found, False)
        return found

    def room(self) -> Array:
        """Width that each box can have without touching another one beside it."""
        apart = np.abs(self.centres[:, None] - self.centres[None])
        beside = apart[:, :, 1] < self.box_height + 2
        np.fill_diagonal(beside, False)
        room: Array = np.where(beside, apart[:, :, 0], np.inf).min(1) - 2
        return room

    @property
    def label_font(self) -> float:
        """Font size of labels of edges."""
        return max(self.font - 2, 10)

    def line(self, j: int, k: int, at: Sequence[float]) -> Array:
        """Points (n, 2) of the line between two boxes, at fractions of its length."""
        half = np.stack([self.widths / 2, np.full(len(self.widths), self.box_height / 2)], axis=1)
        control = self._control(j, k, self.bend(j, k))
        start, end = (
            self.centres[node]
            + (away := control - self.centres[node]) * min(1, *(half[node] / np.maximum(np.abs(away), 1e-9)))
            for node in (j, k)
        )
        return _curve(start, control, end, np.array(at))

    def has_room_for_label(self, j: int, k: int) -> bool:
        """Whether the line between two boxes is long enough for a label."""
        across, down = np.abs(self.centres[j] - self.centres[k])
        return bool(down - self.box_height >= 34 or across - (self.widths[j] + self.widths[k]) / 2 >= 56)

    def _bend(self, j: int, k: int) -> int:
        """The smallest bend with which an edge passes no other box."""
        if j > k:
            return -self.bend(k, j)  # the same line in the other direction
        start, end = self.centres[j], self.centres[k]
        others = [node for node in range(len(self.centres)) if node not in (j, k)]
        if not others:
            return 0
        half = np.stack([self.widths[others] / 2, np.full(len(others), self.box_height / 2)], axis=1)
        best, most = 0, -np.inf
        for bend in BENDS:
            line = _curve(start, self._control(j, k, bend), end, ALONG)
            beyond = (np.abs(line[:, None] - self.centres[others][None]) - half[None]).max(2)
            border = float(np.minimum(line, self.size - line).min())
            clearance = min(
                float(beyond.min()) - CLEAR, float(beyond[len(ALONG) // 2].min()) - CLEAR_LABEL, border - 2 * CLEAR
            )
            if clearance >= 0:
                return bend
            if clearance > most + 1:
                best, most = bend, clearance
        return best

    def _control(self, j: int, k: int, bend: float) -> Array:
        """Control point of the curve of an edge."""
        start, end = self.centres[j], self.centres[k]
        direction = end - start
        normal = np.array([-direction[1], direction[0]]) / (np.hypot(*direction) or 1)
        control: Array = (start + end) / 2 + normal * bend
        return control


def _curve(start: Array, control: Array, end: Array, at: Array) -> Array:
    """Points of a quadratic curve."""
    t = at[:, None]
    points: Array = (1 - t) ** 2 * start + 2 * t * (1 - t) * control + t**2 * end
    return points
