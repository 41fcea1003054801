"""The server: slow and malformed requests hold no thread, and no error is a traceback on the terminal."""

import contextlib
import http.client
import logging
import socket
import threading
import time

import pytest

from contextualdag.errors import InvalidParameterError
from contextualdag.explorer.app import _show_error
from contextualdag.explorer.serving import THREADS, Server, bind, most_connections


def application(environ, start_response):
    if environ["PATH_INFO"] == "/fails":
        raise RuntimeError("two\nlines")
    start_response("200 OK", [("Content-Type", "text/plain")])
    return [b"here"]


@pytest.fixture
def port():
    server = Server(application, bind("127.0.0.1", 0))
    serving = threading.Thread(target=server.serve_forever)
    serving.start()
    try:
        yield server.port
    finally:
        server.shutdown()
        serving.join(5)
        server.server_close()
        assert not serving.is_alive()


def ask(port, path="/"):
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=10)
    connection.request("GET", path)
    answer = connection.getresponse()
    found = answer.status, answer.read()
    connection.close()
    return found


def test_half_open_requests_hold_no_threads(port):
    before = threading.active_count()
    waiting = []
    for position in range(100):
        client = socket.create_connection(("127.0.0.1", port), timeout=10)
        client.sendall(
            (b"", b"GET / HTTP/1.1\r\nHost: loc", b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 9\r\n\r\nab")[position % 3]
        )
        waiting.append(client)
    assert ask(port) == (200, b"here")
    assert threading.active_count() == before
    for client in waiting:
        client.close()


def test_connections_without_a_request_are_closed(port, monkeypatch):
    monkeypatch.setattr("time.time", lambda: time.monotonic() + 2e9)
    client = socket.create_connection(("127.0.0.1", port), timeout=10)
    client.sendall(b"GET / HT")
    assert ask(port)[0] == 200
    monkeypatch.setattr("time.time", lambda: time.monotonic() + 3e9)
    assert client.recv(100) == b""
    client.close()


@pytest.mark.parametrize(
    "sent",
    [
        b"\r\n\r\n\r\n\x00\xff",
        b"GET\r\n\r\n",
        b"GET / HTTP/1.1\r\nContent-Length: -4\r\n\r\n",
        b"GET / HTTP/9.9\r\nHost: a\r\n\r\n",
        b"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
        b"GET / HTTP/1.1\r\nA: " + b"a" * 100_000 + b"\r\n\r\n",
        b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 99999999999\r\n\r\n",
    ],
)
def test_what_is_no_request_is_refused_without_a_traceback(port, sent, capfd, caplog):
    # What is too large is not read to its end, so the connection may be reset.
    with socket.create_connection(("127.0.0.1", port), timeout=10) as client, contextlib.suppress(OSError):
        client.sendall(sent)
        client.shutdown(socket.SHUT_WR)
        while client.recv(4096):
            pass
    assert ask(port) == (200, b"here")
    assert "Traceback" not in caplog.text + "".join(capfd.readouterr())


def test_an_error_is_one_line(port, caplog):
    with caplog.at_level(logging.INFO):
        assert ask(port, "/fails")[0] == 500
    (said,) = caplog.text.splitlines()
    assert "RuntimeError" in said
    assert "test_serving.py" in said


def test_an_error_of_a_callback_is_one_line(monkeypatch, caplog):
    shown = []
    monkeypatch.setattr("contextualdag.explorer.app.set_props", lambda *given: shown.append(given))
    with caplog.at_level(logging.INFO):
        _show_error(RuntimeError("two\nlines"))
    (said,) = caplog.text.splitlines()
    assert "RuntimeError" in said
    assert shown[0][1]["children"].startswith("Unexpected error")


def test_many_at_once_are_answered(port):
    found = []
    clients = [threading.Thread(target=lambda: found.append(ask(port))) for _ in range(10 * THREADS)]
    for client in clients:
        client.start()
    for client in clients:
        client.join(10)
    assert found == [(200, b"here")] * len(clients)


def test_a_port_in_use_is_an_error_with_a_remedy(port):
    with pytest.raises(InvalidParameterError, match=f"Port {port} of 127.0.0.1 is in use. Choose another port, or 0"):
        bind("127.0.0.1", port)


def test_a_host_that_is_none_is_an_error():
    with pytest.raises(InvalidParameterError, match="Choose an address of this machine"):
        bind("\udcff" * 3, 0)


def test_few_files_leave_room_for_those_of_the_program(monkeypatch):
    resource = pytest.importorskip("resource")
    monkeypatch.setattr(resource, "getrlimit", lambda _: (256, 256))
    assert most_connections() == 192
