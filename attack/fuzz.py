"""Malformed requests to an explorer: bytes that are no HTTP, HTTP that is no request of the page, values of all types."""

import contextlib
import copy
import json
import random
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from attack.models import saved
from attack.page import UPDATE, Connection, Page
from attack.program import Case, Found
from attack.server import explorer

TITLE = "Explorer under malformed requests"
BATCH = 500
VALUES: tuple[Any, ...] = (
    *(None, True, False, -1, 0, 10**9, 10**400, 1e308, float("nan"), float("inf"), -0.0, 5e-324, "", "0", "nan"),
    *("a" * 5000, "\x00", "\ud800", "<script>alert(1)</script>", "../../etc/passwd", "?a=1&a=2", "?node=0&shift=9"),
    *([], {}, [[]], {"a": {}}, [None] * 100, {"width": 60, "height": 8000, "dark": 1}, {"id": "node-99"}, ["on", "off"]),
)
PATHS = (
    *(
        "/",
        "/_dash-layout",
        "/_dash-dependencies",
        "/assets/explorer.css",
        "/assets/../app.py",
        "/_reload-hash",
        "/favicon.ico",
    ),
    *(
        "/_dash-component-suites/dash/deps/../../../x.js",
        "/%00",
        "/%ff%fe",
        "//etc/passwd",
        "/_dash-update-component",
        "/a" * 900,
    ),
)
METHODS = ("GET", "POST", "PUT", "DELETE", "OPTIONS", "HEAD", "TRACE", "get", "G\x00T", "")
HEADERS = (
    *(
        "Host: evil.example",
        "Host:",
        "Content-Length: -1",
        "Content-Length: 9999999999",
        "Content-Length: 5\r\nContent-Length: 6",
    ),
    *(
        "Transfer-Encoding: chunked",
        "Expect: 100-continue",
        "Content-Encoding: gzip",
        "X: " + "y" * 3000,
        ": x",
        "Cookie: \xff",
    ),
)


def cases(short: bool) -> Iterator[Case]:
    """Batches of requests, each for a new explorer."""
    for seed in range(1 if short else 100):
        yield {"seed": seed, "count": BATCH if short else 2 * BATCH}


def check(case: Case, scratch: Path) -> Found:
    """Send them, and look whether the explorer still answers and what it printed."""
    chance = random.Random(case["seed"])  # noqa: S311 - no secret
    counts = {"requests": 0.0}
    with explorer(saved("varying", scratch), scratch) as running:
        page = Page.read(Connection(running.port))
        for number in range(case["count"]):
            counts["requests"] += 1
            what, status, said = _malformed(chance, page, running.port)
            wrong = "Traceback" in said or "root:x:" in said or (status >= 500 and not what.startswith("bytes"))
            if wrong:
                return Found(counts, f"Request {number}, {what[:300]}, is answered with {status}: {said[:300]}")
        status, body = Connection(running.port).ask(UPDATE, page.request("graph-a.elements", {}))
        if status != 200 or b"node-0" not in body:
            return Found(counts, f"Afterwards a good request is answered with {status}: {body[:300]!r}")
        return Found(counts, running.complaints())


def _malformed(chance: random.Random, page: Page, port: int) -> tuple[str, int, str]:
    """What was sent, and what the answer was."""
    if chance.random() < 0.5:
        body = _body(chance, page)
        what = json.dumps(body)
        connection = Connection(port, timeout=20)
        status, answer = connection.ask(UPDATE, body)
        connection.close()
        return what, status, answer.decode(errors="replace")
    sent = _bytes(chance, page)
    with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=5) as client:
        client.settimeout(0.3)
        client.sendall(sent)
        client.shutdown(socket.SHUT_WR)
        said = client.recv(65536).decode("latin-1")
        status = int(said[9:12]) if said[9:12].isdigit() else 0
        return f"bytes {sent!r}", status, said
    return f"bytes {sent!r}", 0, ""


def _body(chance: random.Random, page: Page) -> Any:
    """A request of the page with something changed."""
    body = copy.deepcopy(page.request(chance.choice(list(page.callbacks)), {"link": "?edges=selected"}))
    for _ in range(chance.randint(1, 3)):
        holder: Any = body
        while isinstance(holder, dict | list) and holder:
            key = chance.choice(list(holder)) if isinstance(holder, dict) else chance.randrange(len(holder))
            if not isinstance(holder[key], dict | list) or not holder[key] or chance.random() < 0.2:
                if isinstance(holder, dict) and chance.random() < 0.1:
                    del holder[key]
                else:
                    holder[key] = copy.deepcopy(chance.choice(VALUES))
                break
            holder = holder[key]
    return body


def _bytes(chance: random.Random, page: Page) -> bytes:
    """Bytes that are hardly HTTP."""
    if chance.random() < 0.2:
        return chance.randbytes(chance.randint(1, 300)) + b"\r\n\r\n"
    path, method = chance.choice(PATHS), chance.choice(METHODS)
    body = chance.choice((b"", b"{", b"\x80\x04N.", json.dumps(_body(chance, page)).encode()))
    head = [f"{method} {path} HTTP/{chance.choice(('1.1', '1.0', '9.9', '2', ''))}", "Host: 127.0.0.1"]
    head += chance.sample(HEADERS, chance.randint(0, 2))
    head += [f"Content-Length: {len(body)}"] if chance.random() < 0.7 else []
    whole = "\r\n".join(head).encode("latin-1") + b"\r\n\r\n" + body
    return whole[: chance.randrange(len(whole))] if chance.random() < 0.2 else whole
