"""The commands that show a model as a page: ``explore`` and ``report``."""

import socket
import subprocess
import sys
import urllib.request

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from contextualdag import ContextualDAG, FixedDAG
from contextualdag.cli import app
from contextualdag.errors import InvalidParameterError, MissingPackageError, NotFittedError


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.standard_normal((200, 3)), columns=["mood", "sleep", "stress"])
    X["stress"] += X["mood"]
    Z = pd.DataFrame({"age": rng.uniform(20, 60, 200)})
    home = tmp_path_factory.mktemp("models")
    ContextualDAG(hidden_layers=(8,), n_budgets=4, max_epochs=20, random_state=0).fit(X, Z).save(home / "model")
    FixedDAG(random_state=0).fit(X).save(home / "fixed")
    return home


def test_a_port_in_use_is_one_sentence(folder):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        result = CliRunner().invoke(app, ["explore", str(folder / "fixed"), "--port", str(port), "--no-open"])
    assert result.exit_code == 1
    assert result.stderr == (f"Error: Port {port} of 127.0.0.1 is in use. Choose another port, or 0 for any that is free.\n")


def test_an_address_of_another_machine_is_one_sentence(folder):
    result = CliRunner().invoke(app, ["explore", str(folder / "fixed"), "--host", "192.0.2.1", "--port", "0", "--no-open"])
    assert result.exit_code == 1
    assert result.stderr.startswith("Error: Cannot serve at 192.0.2.1, port 0: ")
    assert result.stderr.count("\n") == 1


def test_exploring_no_model_is_one_sentence(tmp_path):
    result = CliRunner().invoke(app, ["explore", str(tmp_path / "nothing")])
    assert result.exit_code == 1
    assert result.stderr.startswith("Error: ")
    assert result.stderr.count("\n") == 1


@pytest.mark.slow
def test_serves_until_it_is_stopped(folder):
    command = [sys.executable, "-m", "contextualdag", "explore", str(folder / "fixed"), "--port", "0", "--no-open"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as running:  # noqa: S603
        try:
            line = running.stdout.readline()
            address = line.split()[4]
            assert address.startswith("http://127.0.0.1:")
            with urllib.request.urlopen(address, timeout=20) as answer:  # noqa: S310
                assert answer.status == 200
        finally:
            running.send_signal(2)
        _, errors = running.communicate(timeout=20)
    assert running.returncode == 0
    assert errors == ""


EXPLORE = "import sys; from contextualdag import FixedDAG; FixedDAG.load(sys.argv[1]).explore(port=0, browser=False)"


@pytest.mark.long
@pytest.mark.slow
def test_explore_of_a_model_in_memory_serves_until_it_is_stopped(folder):
    command = [sys.executable, "-c", EXPLORE, str(folder / "fixed")]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as running:  # noqa: S603
        try:
            line = running.stderr.readline()
            assert line.startswith("Explore the model at http://127.0.0.1:")
            assert line.endswith("/ (Ctrl-C ends it)\n")
            with urllib.request.urlopen(line.split()[4], timeout=20) as answer:  # noqa: S310
                assert answer.status == 200
        finally:
            running.send_signal(2)
        output, errors = running.communicate(timeout=20)
    assert (running.returncode, output, errors) == (0, "", "")


def test_explore_opens_the_browser_if_it_shall(folder, monkeypatch, capsys):
    opened = []

    def serve(model, host, port, on_ready):
        assert (host, port) == ("127.0.0.1", 8050)
        on_ready("http://there/", "Explore the model there")

    monkeypatch.setattr("contextualdag.explorer.serve", serve)
    monkeypatch.setattr("webbrowser.open", opened.append)
    model = FixedDAG.load(folder / "fixed")
    model.explore()
    model.explore(browser=False)
    assert opened == ["http://there/"]
    shown = capsys.readouterr()
    assert (shown.out, shown.err) == ("", "Explore the model there\n" * 2)


def test_explore_without_the_packages_of_the_explorer(folder, monkeypatch):
    for name in [name for name in sys.modules if name.startswith("contextualdag.explorer.")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "dash_cytoscape", None)
    with pytest.raises(
        MissingPackageError, match=r"needs the package dash_cytoscape: pip install 'contextualdag\[explorer\]'"
    ):
        FixedDAG.load(folder / "fixed").explore()
    result = CliRunner().invoke(app, ["explore", str(folder / "fixed")])
    assert (result.exit_code, result.stderr.count("\n")) == (1, 1)
    assert "pip install 'contextualdag[explorer]'" in result.stderr


def test_what_cannot_be_explored(folder):
    with pytest.raises(NotFittedError, match="not fitted"):
        FixedDAG().explore()
    model = FixedDAG.load(folder / "fixed")
    for port in (-1, 65536, "8050", None):
        with pytest.raises(InvalidParameterError, match="'port' parameter of explore must be an integer from 0 to 65535"):
            model.explore(port=port)
    with pytest.raises(InvalidParameterError, match="'host' parameter of explore must be an address of this machine"):
        model.explore(host=None)


def report(*words):
    return CliRunner().invoke(app, ["report", *map(str, words)])


def test_writes_a_page(folder, tmp_path):
    result = report(folder / "model", "--out", tmp_path / "r.html", "--at", "age=80", "--edges", "1")
    assert result.exit_code == 0, result.output
    assert str(tmp_path / "r.html") in result.output.replace("\n", "")
    text = (tmp_path / "r.html").read_text(encoding="utf-8")
    assert "outside the range of the data" in text
    assert "The context asked for" in text
    again = report(folder / "model", "--out", tmp_path / "r.html")
    assert again.exit_code == 1
    assert "--overwrite" in again.output
    assert report(folder / "fixed", "--out", tmp_path / "r.html", "--overwrite").exit_code == 0


@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        (["nowhere"], 1, "nowhere"),
        (["model", "--at", "aeg=3"], 2, "did you mean"),
        (["model", "--at", "age=old"], 2, "is a number"),
        (["fixed", "--at", "age=3"], 2, "without a context"),
        (["model", "--edges", "99"], 2, "number of edges"),
    ],
)
def test_what_is_wrong_is_said_and_nothing_is_written(folder, tmp_path, words, code, message):
    result = report(folder / words[0], "--out", tmp_path / "r.html", *words[1:])
    assert result.exit_code == code, result.output
    said = " ".join(result.output.replace("│", " ").split())
    assert message.lower() in said.lower()
    assert list(tmp_path.iterdir()) == []
