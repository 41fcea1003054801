import re
from dataclasses import fields

from contextualdag.colours import DARK, LIGHT, Palette, css_variables


def test_every_colour_is_a_colour():
    for palette in (LIGHT, DARK):
        values = [getattr(palette, field.name) for field in fields(Palette)]
        colours = [value for value in values if isinstance(value, str)] + list(palette.scale)
        assert all(re.fullmatch("#[0-9A-F]{6}", colour) for colour in colours)


def test_css_has_both_palettes():
    light, dark = css_variables().split("@media")
    assert f"--positive: {LIGHT.positive};" in light
    assert f"--positive: {DARK.positive};" in dark
    assert f"--scale-1: {LIGHT.scale[1]};" in light
    assert f"--notice-line: {DARK.notice_line};" in dark
