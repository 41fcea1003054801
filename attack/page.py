"""Requests as the page of the explorer sends them, made of what its server says about itself."""

import http.client
import json
import random
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

SCREEN = {"width": 700, "height": 500, "dark": False}
UPDATE = "/_dash-update-component"
JSON = {"Content-Type": "application/json"}


class Connection:
    """A connection that is kept, as a browser keeps it, and made again if the server has closed it."""

    def __init__(self, port: int, timeout: float = 60) -> None:
        self._kept = http.client.HTTPConnection("127.0.0.1", port, timeout=timeout)

    def ask(self, path: str, sent: object = None) -> tuple[int, bytes]:
        """The status and the body of the answer; `sent` is posted as JSON."""
        method, body = ("GET", None) if sent is None else ("POST", json.dumps(sent).encode())
        for last in (False, True):
            try:
                self._kept.request(method, path, body, JSON if body else {})
                answer = self._kept.getresponse()
                return answer.status, answer.read()
            except (http.client.RemoteDisconnected, ConnectionResetError, BrokenPipeError):
                self._kept.close()
                if last:
                    raise
        raise AssertionError("unreachable")

    def close(self) -> None:
        """Close it."""
        self._kept.close()


@dataclass
class Page:
    """The controls and callbacks of one explorer."""

    controls: dict[str, dict[str, Any]] = field(default_factory=dict)
    callbacks: dict[str, dict[str, Any]] = field(default_factory=dict)

    @classmethod
    def read(cls, connection: Connection) -> "Page":
        """What a server says about its page."""
        layout, dependencies = (json.loads(connection.ask(path)[1]) for path in ("/_dash-layout", "/_dash-dependencies"))
        page = cls()
        for component in _components(layout):
            page.controls[_name(component["id"])] = component
        for one in dependencies:
            if one["clientside_function"] is None:
                page.callbacks[one["output"].strip(".").split("...")[0]] = one
        return page

    def request(self, callback: str, changed: dict[str, Any]) -> dict[str, Any]:
        """The body of a request to a callback, named by its first output; `changed` are values that the reader changed."""
        one = self.callbacks[callback]
        names = one["output"].strip(".").split("...") if one["output"].startswith("..") else [one["output"]]
        outputs: Any = [dict(zip(("id", "property"), name.rsplit(".", 1), strict=True)) for name in names]
        return {
            "output": one["output"],
            "outputs": outputs if one["output"].startswith("..") else outputs[0],
            "inputs": [self._input(given, changed) for given in one["inputs"]],
            "changedPropIds": ["level.value"],
            "state": [self._input(given, changed) for given in one["state"]],
        }

    def _input(self, given: dict[str, Any], changed: dict[str, Any]) -> Any:
        asked, what = given["id"], given["property"]
        if "ALL" in asked:
            kind = json.loads(asked)["type"]
            of_kind = [name for name in self.controls if name.startswith("{") and json.loads(name).get("type") == kind]
            return [{"id": json.loads(n), "property": what, "value": self._value(n, what, changed)} for n in sorted(of_kind)]
        found: Any = json.loads(asked) if asked.startswith("{") else asked
        return {"id": found, "property": what, "value": self._value(_name(found), what, changed)}

    def _value(self, name: str, what: str, changed: dict[str, Any]) -> Any:
        if (name, what) == ("screen", "data"):
            return changed.get(name, SCREEN)
        return changed.get(name, self.controls.get(name, {}).get(what))

    def settings(self, name: str) -> list[Any]:
        """Some values of a slider or a menu."""
        control = self.controls[name]
        if "options" in control:
            return [one["value"] if isinstance(one, dict) else one for one in control["options"]]
        low, high, step = control["min"], control["max"], control.get("step") or 1
        count = min(round((high - low) / step), 400)
        return [low + step * position for position in range(count + 1)]

    def moves(self, seed: int) -> Iterator[dict[str, Any]]:
        """Without end, the values of all controls after each step of a hand that drags one slider after another."""
        chance = random.Random(seed)  # noqa: S311 - no secret
        of_contexts = [name for name in self.controls if '"value-' in name]
        changed: dict[str, Any] = {"comparing": ["on"] if seed % 2 else []}
        if seed % 5 == 0:
            changed["picked"] = "node-0"
        if seed % 5 == 1:
            changed["cause"] = 0
        while True:
            name = chance.choice([*of_contexts, "level"])
            values = self.settings(name)
            start = chance.randrange(len(values))
            for value in values[start : start + 12]:
                changed[name] = value
                yield dict(changed)


def drawn(answer: bytes) -> tuple[str, str]:
    """The link and the message that an answer holds, each empty if there is none."""
    said = json.loads(answer)
    link = said.get("response", {}).get("link", {}).get("href", "")
    message = said.get("sideUpdate", {}).get("message", {}).get("children") or ""
    return link, message


def _name(given: Any) -> str:
    return given if isinstance(given, str) else json.dumps(given, sort_keys=True, separators=(",", ":"))


def _components(part: Any) -> Iterator[dict[str, Any]]:
    if isinstance(part, list):
        for one in part:
            yield from _components(one)
    elif isinstance(part, dict):
        properties = part.get("props", {})
        if "id" in properties:
            yield properties
        yield from _components(properties.get("children"))
