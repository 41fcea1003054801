"""A software bill of materials: all packages of the environment that runs this, as CycloneDX 1.5, from installed metadata.

It needs nothing but Python, so that it can be run by any environment: `.venv/bin/python release/sbom.py > sbom.json`.
"""

import datetime
import json
import os
import re
import sys
from importlib.metadata import Distribution, distributions
from typing import Any

OURS = "contextualdag"
LEFT_OUT = ("pip", "setuptools")  # of the environment, not of the package


def bill() -> dict[str, Any]:
    """The document; the same for the same environment if SOURCE_DATE_EPOCH is set."""
    found = {_normal(one.metadata["Name"]): one for one in distributions()}
    epoch = os.environ.get("SOURCE_DATE_EPOCH")
    now = datetime.datetime.now(datetime.UTC) if epoch is None else datetime.datetime.fromtimestamp(int(epoch), datetime.UTC)
    names = sorted(name for name in found if name not in LEFT_OUT)
    metadata: dict[str, Any] = {"timestamp": now.strftime("%Y-%m-%dT%H:%M:%SZ")}
    if OURS in found:
        metadata["component"] = _component(OURS, found[OURS]) | {"type": "library"}
    return {
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        "version": 1,
        "metadata": metadata,
        "components": [_component(name, found[name]) for name in names if name != OURS],
        "dependencies": [{"ref": _ref(name, found[name]), "dependsOn": _needs(found[name], found)} for name in names],
    }


def _component(name: str, one: Distribution) -> dict[str, Any]:
    component: dict[str, Any] = {
        "type": "library",
        "bom-ref": _ref(name, one),
        "name": name,
        "version": one.version,
        "purl": _ref(name, one),
    }
    expression = "".join(one.metadata.get_all("License-Expression") or [])
    named = [line.rpartition("::")[2].strip() for line in one.metadata.get_all("Classifier") or [] if "License ::" in line]
    if expression:
        component["licenses"] = [{"expression": expression}]
    elif named:
        component["licenses"] = [{"license": {"name": name}} for name in named]
    return component


def _needs(one: Distribution, found: dict[str, Distribution]) -> list[str]:
    """What a package requires and is installed; those of its extras too, where they are."""
    names = {_normal(re.split(r"[\s;\[<>=!~(]", line, maxsplit=1)[0]) for line in one.requires or []}
    return sorted(_ref(name, found[name]) for name in names if name in found and name not in LEFT_OUT)


def _ref(name: str, one: Distribution) -> str:
    return f"pkg:pypi/{name}@{one.version}"


def _normal(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


if __name__ == "__main__":
    json.dump(bill(), sys.stdout, indent=1, sort_keys=True)
    sys.stdout.write("\n")
