import numpy as np
import pytest

from contextualdag.contexts import ContextFeature
from contextualdag.plotting.contexts import drawn_contexts, value_text, values_along

pytestmark = pytest.mark.slow


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0, "0"),
        (-0.5, "\N{MINUS SIGN}0.5"),
        (12.345, "12.3"),
        (20700.4, "20700"),
        (1e-5, "1e\N{MINUS SIGN}05"),
        (3e6, "3e+06"),
        (np.float64(2.5), "2.5"),
        ("Leeds", "Leeds"),
        (True, "True"),
    ],
)
def test_values_for_people(value, text):
    assert value_text(value) == text


def test_values_reach_a_little_past_the_data():
    number = ContextFeature("age", tuple(np.linspace(20, 60, 101)), {})
    assert values_along(number, 3) == pytest.approx([14, 40, 66])
    hours = ContextFeature("hour", tuple(np.linspace(0, 23, 101)), {}, (0.0, 24.0))
    assert values_along(hours, 4) == [0, 8, 16, 24]  # the circle and no more
    assert values_along(ContextFeature("site", (), {"Leeds": 0.2, "York": 0.8}), 3) == ["Leeds", "York"]


def test_drawn_contexts_are_distributed_like_the_data(model):
    drawn = drawn_contexts(model, 400)
    for feature in model.context_features_:
        column = drawn[feature.name]
        if feature.is_number:
            assert column.between(feature.low, feature.high).all()
            assert column.median() == pytest.approx(feature.typical(0.5), abs=0.02 * (feature.high - feature.low))
        else:
            assert set(column) <= set(feature.shares)


def test_without_a_context_drawn_contexts_have_rows_but_no_columns():
    class Model:
        context_features_ = ()

    assert drawn_contexts(Model(), 7).shape == (7, 0)
