"""Features, their sliders and their densities."""

import numpy as np
import pytest

from contextualdag.errors import InvalidInputError
from contextualdag.explorer.features import Control, density, density_picture

pytestmark = pytest.mark.slow


def of(values, name="z"):
    return Control(name, tuple(np.quantile(values, np.linspace(0, 1, 101))), {})


def test_read_from_a_model(graphs):
    age, income, site = graphs.features
    assert (age.name, age.is_number, age.step) == ("age", True, 1)  # whole numbers
    assert (income.name, income.step) == ("income", 0.01)
    assert list(site.shares) == ["Lisbon", "Oslo & environs"]
    assert sum(site.shares.values()) == pytest.approx(1)


@pytest.mark.parametrize("scale", [1e-6, 1.0, 3e7])
def test_slider_reaches_past_the_data_in_whole_steps(scale):
    feature = of(scale * np.linspace(0.1, 1.2, 500) ** 2)
    low, high = feature.bounds
    assert low < feature.low < feature.high < high
    assert 100 <= (high - low) / feature.step <= 1500
    for value in (low, high, feature.rounded(0.5 * scale)):
        assert value / feature.step == pytest.approx(round(value / feature.step))
    assert feature.low <= feature.rounded(feature.low) <= feature.rounded(feature.high) <= feature.high


@pytest.mark.parametrize("bad", ["1", None, True, float("nan"), float("inf"), 1e9, [1.0], {"a": 1}])
def test_what_is_no_number_of_the_slider_is_refused(bad):
    with pytest.raises(InvalidInputError, match="'z' must be"):
        of(np.arange(10.0)).checked(bad)


def test_what_is_no_category_is_refused(graphs):
    with pytest.raises(InvalidInputError, match=r"'site' must be one of 'Lisbon', 'Oslo & environs'\. Got 'Rome'"):
        graphs.features[2].checked("Rome")


def test_outside_is_said():
    feature = of(np.linspace(20, 60, 100), "age")
    assert feature.outside(40.0) is None
    assert feature.outside(19.5) == "age = 19.5 is below the training data, which begin at 20."
    assert feature.outside(61.0) == "age = 61 is above the training data, which end at 60."


def test_dates_say_since_when_days_are_counted():
    assert Control("visit", tuple(range(101)), {}, None, "2024-01-31").label == "visit (days since 2024-01-31)"


def test_a_cyclic_slider_is_one_period():
    hours = Control("hour", tuple(np.quantile(np.arange(24), np.linspace(0, 1, 101)).round()), {}, (0.0, 24.0))
    assert (hours.step, hours.bounds) == (1, (0, 24))
    assert hours.outside(23.5) is None
    assert hours.checked(24.0) == 24
    with pytest.raises(InvalidInputError, match="'hour' must be from 0 to 24 here"):
        hours.checked(25.0)


def test_density_is_one_and_follows_the_data():
    rng = np.random.default_rng(0)
    feature = of(np.concatenate([rng.normal(0, 1, 3000), rng.normal(6, 1, 1000)]))
    at = np.linspace(-8, 14, 2000)
    heights = density(feature, at)
    assert np.trapezoid(heights, at) == pytest.approx(1, abs=0.01)
    assert density(feature, np.array([0.0, 3.0, 6.0])).argsort().tolist() == [1, 2, 0]
    assert density_picture(feature).startswith("data:image/svg+xml,%3Csvg")


def test_a_click_goes_to_the_nearest_step(graphs):
    feature = of(np.linspace(0, 1, 500))
    assert feature.clicked(0.5042) == 0.5
    assert feature.clicked(9.0) == feature.bounds[1]
    assert graphs.features[2].clicked("Lisbon") == "Lisbon"
    for bad in ("0.5", None, float("nan")):
        with pytest.raises(InvalidInputError, match="'z' must be a number"):
            feature.clicked(bad)
