import numpy as np
from matplotlib import pyplot as plt

from contextualdag.colours import DARK, LIGHT
from contextualdag.plotting.canvas import bend_around, fit_labels, palette_of


def test_very_long_names_are_shortened_rather_than_laid_over_one_another():
    labels = fit_labels([f"averyveryverylongname{i}ofavariable" for i in range(12)], 110, 110)
    assert all(text.endswith("…") for text in labels.texts)
    assert labels.fontsize >= 5


def test_an_edge_goes_around_a_node_in_its_way():
    places = np.array([[0, 0], [0, 100.0], [3.0, 50]])
    sizes = np.full((3, 2), 20.0)
    assert abs(bend_around(0, 1, places, sizes)) > 0.1
    assert abs(bend_around(0, 1, places + np.array([[0, 0], [0, 0], [200, 0]]), sizes)) < 0.1


def test_colours_follow_the_background():
    with plt.style.context("dark_background"):
        _, dark = plt.subplots()
        assert palette_of(dark).positive == DARK.positive
    _, light = plt.subplots()
    assert palette_of(light).positive == LIGHT.positive
    light.set_facecolor("none")
    assert palette_of(light).text == LIGHT.text
