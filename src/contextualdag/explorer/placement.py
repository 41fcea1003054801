"""Where nodes are drawn in a panel of a given size, and how edges bend around them."""

import functools
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from contextualdag.tables import Array

FONTS = (18, 16, 14, 13, 12, 11, 10, 9, 8)  # pixels, the largest that fits is taken
SMALL = 11  # with larger letters all names are written in full
LETTER = 0.6  # width of a letter as a share of its height
PADDING, GAP, BORDER = 16, 7, 8  # pixels inside a box, between boxes, around all
MOST_WIDE = 0.45  # share of the width of the panel; longer names end in dots
MOST_FILLED = 0.13  # share of the panel that boxes may cover; edges need the rest
PUSHES = 120
BENDS = (0, 26, -26, 52, -52, 84, -84, 124, -124, 170, -170)  # pixels off the straight line, at its middle twice that
CLEAR, CLEAR_LABEL = 5, 18  # pixels between an edge and a box it passes; and between its middle, where its label is, and one
ALONG = np.linspace(0.04, 0.96, 24)


class Placement:
    """Boxes for nodes, in pixels of a panel.

    Parameters
    ----------
    places : array of shape (p, 2)
        As `contextualdag.plotting.layered_layout` gives them: to the right, and upwards.
    names : sequence of str
        Written into the boxes.
    width, height : int
        Of the panel.

    Attributes
    ----------
    centres : array of shape (p, 2)
        To the right and downwards.
    widths : array of shape (p,)
        Of the boxes.
    box_height, font : float
        The same for all of them.
    """

    def __init__(self, places: "Array", names: Sequence[str], width: int, height: int) -> None:
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
            self.widths = np.clip(self._room(), 18, self.widths)
        self.bend = functools.cache(self._bend)

    def _spread(self, places: "Array") -> "Array":
        """From the layout's units to pixels; in rows that would be too tight, every other node moves down."""
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

    def _apart(self, centres: "Array") -> "Array":
        """Push boxes apart that overlap, each pair along the shorter way, and keep all of them inside the panel."""
        half = np.stack([self.widths / 2, np.full(len(centres), self.box_height / 2)], axis=1)
        needed = half[:, None] + half[None] + GAP
        low, high = half + 3, np.maximum(self.size - half - 3, half + 3)
        # Two boxes in one place need something to tell them apart by.
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

    def _room(self) -> "Array":
        """Width that each box may have before it meets another beside it."""
        apart = np.abs(self.centres[:, None] - self.centres[None])
        beside = apart[:, :, 1] < self.box_height + 2
        np.fill_diagonal(beside, False)
        room: Array = np.where(beside, apart[:, :, 0], np.inf).min(1) - 2
        return room

    @property
    def label_font(self) -> float:
        """Height of what is written on edges."""
        return max(self.font - 2, 10)

    def line(self, j: int, k: int, at: Sequence[float]) -> "Array":
        """Points (n, 2) of the line between two boxes, at shares of it."""
        half = np.stack([self.widths / 2, np.full(len(self.widths), self.box_height / 2)], axis=1)
        control = self._control(j, k, self.bend(j, k))
        start, end = (
            self.centres[node]
            + (away := control - self.centres[node]) * min(1, *(half[node] / np.maximum(np.abs(away), 1e-9)))
            for node in (j, k)
        )
        return _curve(start, control, end, np.array(at))

    def has_room_for_label(self, j: int, k: int) -> bool:
        """Whether the line between two boxes is long enough to write on."""
        across, down = np.abs(self.centres[j] - self.centres[k])
        return bool(down - self.box_height >= 34 or across - (self.widths[j] + self.widths[k]) / 2 >= 56)

    def _bend(self, j: int, k: int) -> int:
        """How far to pull the middle of an edge aside so that it passes no other box: as little as possible."""
        if j > k:
            return -self.bend(k, j)  # the same line, seen from the other end
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

    def _control(self, j: int, k: int, bend: float) -> "Array":
        """Where the middle of an edge is pulled to."""
        start, end = self.centres[j], self.centres[k]
        direction = end - start
        normal = np.array([-direction[1], direction[0]]) / (np.hypot(*direction) or 1)
        control: Array = (start + end) / 2 + normal * bend
        return control


def _curve(start: "Array", control: "Array", end: "Array", at: "Array") -> "Array":
    """Points of a quadratic curve."""
    t = at[:, None]
    points: Array = (1 - t) ** 2 * start + 2 * t * (1 - t) * control + t**2 * end
    return points
