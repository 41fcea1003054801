"""The oldest versions are those that pyproject.toml allows."""

import re
import tomllib

from release.artefacts import ROOT


def test_the_oldest_versions_are_those_of_the_package():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    extras = project["optional-dependencies"]
    wanted = [*project["dependencies"], *extras["explorer"], *extras["parquet"], *extras["sweeps"]]
    lowest = dict(line.split("==") for line in (ROOT / "constraints-lowest.txt").read_text().splitlines() if "==" in line)
    for one in wanted:
        name, oldest = re.fullmatch(r"([\w-]+)>=([\d.]+)", one).groups()
        if name != "torch":
            assert lowest[name].startswith(oldest), f"{one} is tried with {lowest[name]}"
