"""The command that serves the explorer."""

import socket
import subprocess
import sys
import urllib.request

import numpy as np
import pytest
from typer.testing import CliRunner

from contextualdag import FixedDAG
from contextualdag.cli import app


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    X = np.random.default_rng(0).standard_normal((100, 3))
    folder = tmp_path_factory.mktemp("explore") / "model"
    FixedDAG(random_state=0).fit(X).save(folder)
    return folder


def test_a_port_in_use_is_one_sentence(saved):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        result = CliRunner().invoke(app, ["explore", str(saved), "--port", str(port), "--no-open"])
    assert result.exit_code == 1
    assert result.stderr == (
        f"Error: Port {port} of 127.0.0.1 is in use. Choose another with --port, or 0 for any that is free.\n"
    )


def test_an_address_of_another_machine_is_one_sentence(saved):
    result = CliRunner().invoke(app, ["explore", str(saved), "--host", "192.0.2.1", "--port", "0", "--no-open"])
    assert result.exit_code == 1
    assert result.stderr.startswith("Error: Cannot serve at 192.0.2.1, port 0: ")
    assert result.stderr.count("\n") == 1


def test_no_model_is_one_sentence(tmp_path):
    result = CliRunner().invoke(app, ["explore", str(tmp_path / "nothing")])
    assert result.exit_code == 1
    assert result.stderr.startswith("Error: ")
    assert result.stderr.count("\n") == 1


def test_serves_until_it_is_stopped(saved):
    command = [sys.executable, "-m", "contextualdag", "explore", str(saved), "--port", "0", "--no-open"]
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
