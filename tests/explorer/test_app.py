"""The application: no request reads other files or runs code, and none ends in a traceback."""

import json
import re

import pytest

from contextualdag.explorer.app import make_app

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def app(model):
    return make_app(model)


@pytest.fixture
def client(app):
    return app.server.test_client()


def test_every_colour_of_the_stylesheet_comes_with_the_page(client):
    page = client.get("/").text
    with client.get("/assets/explorer.css") as answer:
        used = set(re.findall(r"var\((--[a-z0-9-]+)\)", answer.text))
    assert used
    assert all(f"{name}: #" in page for name in used)


def test_the_page_loads_nothing_from_elsewhere(client):
    page = client.get("/").text
    assert "https://" not in page.replace("https:\\u002f\\u002fdash-version.plotly.com", "")
    policy = client.get("/").headers["Content-Security-Policy"]
    assert "default-src 'none'" in policy
    assert "connect-src 'self'" in policy
    assert "unsafe-eval" not in policy
    for path in ("/assets/explorer.css", "/assets/explorer.js", "/_dash-layout", "/_dash-dependencies"):
        with client.get(path) as answer:
            assert answer.status_code == 200


@pytest.mark.parametrize(
    "path",
    [
        "/assets/../app.py",
        "/assets/..%2fapp.py",
        "/assets/%2e%2e/%2e%2e/__init__.py",
        "/assets//etc/passwd",
        "/assets/....//....//etc/passwd",
        "/_dash-component-suites/dash/../../../../../../etc/passwd",
        "/_dash-component-suites/contextualdag/explorer/app.py",
        "/_dash-component-suites/os/path.py",
        "/_dash-component-suites/dash/dash.py",
        "/_mcp",
        "/console",
        "/_reload-hash/../x",
    ],
)
def test_files_cannot_be_read(client, path):
    answer = client.get(path)
    # Dash answers unknown paths with the empty page.
    assert "root:" not in answer.text
    assert "import" not in answer.text
    assert answer.status_code in (200, 400, 404)
    if answer.status_code == 200:
        assert answer.text.startswith("<!doctype html>")


@pytest.mark.parametrize("host", ["evil.example", "evil.example:8050", "127.0.0.1.evil.example", "localhost.evil"])
def test_other_hosts_are_refused(client, host):
    assert client.get("/", headers={"Host": host}).status_code == 403


@pytest.mark.parametrize("host", ["127.0.0.1:8050", "localhost", "[::1]:8050"])
def test_this_machine_is_welcome(client, host):
    assert client.get("/", headers={"Host": host}).status_code == 200


def test_where_all_may_come_all_are_served(model):
    client = make_app(model, host="0.0.0.0").server.test_client()  # noqa: S104
    assert client.get("/", headers={"Host": "lab.example:8050"}).status_code == 200


def dependency(client, output):
    for one in json.loads(client.get("/_dash-dependencies").text):
        if output in one["output"]:
            return one
    raise AssertionError(output)


def body(client, **values):
    """A request as the page sends it, with other values for some inputs."""
    one = dependency(client, "graph-a.elements")
    standard = {
        "level.value": 1,
        "comparing.value": [],
        "picked.value": None,
        "map-x.value": 0,
        "map-y.value": 1,
        "screen.data": {"width": 600, "height": 400, "dark": False},
    }
    inputs = []
    for given in one["inputs"]:
        name = f"{given['id']}.{given['property']}"
        if given["id"].startswith("{"):
            side = json.loads(given["id"])["type"]
            listed = values.get(side, [40, 1.0, "Lisbon"])
            found = [{"id": {"type": side, "feature": i}, "property": "value", "value": v} for i, v in enumerate(listed)]
            inputs.append(found)
        else:
            inputs.append({"id": given["id"], "property": given["property"], "value": values.get(name, standard.get(name))})
    outputs = [
        dict(zip(("id", "property"), name.rsplit(".", 1), strict=True)) for name in one["output"].strip(".").split("...")
    ]
    return {
        "output": one["output"],
        "outputs": outputs,
        "inputs": inputs,
        "changedPropIds": ["level.value"],
        "state": [],
    }


def test_a_good_request_is_answered(client):
    answer = client.post("/_dash-update-component", json=body(client))
    assert answer.status_code == 200
    assert "node-0" in answer.text


@pytest.mark.parametrize(
    "values",
    [
        {"level.value": "__import__('os').system('id')"},
        {"level.value": {"a": 1}},
        {"level.value": -1},
        {"picked.value": "../../etc/passwd"},
        {"map-x.value": [1, 2]},
        {"screen.data": {"width": 1e99}},
        {"screen.data": "x"},
        {"value-a": ["a", "b", "c"]},
        {"value-a": [40]},
        {"value-a": [40, 1.0, {"$ne": 1}]},
    ],
)
def test_wrong_types_give_a_sentence(client, values):
    answer = client.post("/_dash-update-component", json=body(client, **values))
    assert answer.status_code == 200
    said = json.loads(answer.text)["sideUpdate"]["message"]["children"]
    assert said.endswith(".")
    assert "Traceback" not in answer.text
    assert "node-0" not in answer.text


@pytest.mark.parametrize(
    "sent",
    [b"", b"{", b"[]", b"null", b'"x"', b'{"output": "nothing.here", "inputs": []}', b'{"output": 3}', b"\x80\x04N."],
)
def test_what_is_no_request_is_refused(client, sent):
    answer = client.post("/_dash-update-component", data=sent, content_type="application/json")
    assert 400 <= answer.status_code < 500
    assert "Traceback" not in answer.text


def test_large_requests_are_refused(client):
    answer = client.post("/_dash-update-component", data=b"0" * 2_000_000, content_type="application/json")
    assert answer.status_code in (400, 413)


def test_debugging_is_off_whatever_the_environment_says(model, monkeypatch):
    monkeypatch.setenv("DASH_DEBUG", "true")
    monkeypatch.setenv("FLASK_DEBUG", "1")
    app = make_app(model)
    assert not app._dev_tools.ui
    assert not app._dev_tools.hot_reload
    assert not app.server.debug
