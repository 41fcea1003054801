"""Many readers of one explorer who move sliders, beside clients that send half a request and no more."""

import itertools
import socket
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from attack.models import saved
from attack.page import UPDATE, Connection, Page, drawn
from attack.program import Case, Found
from attack.server import Explorer, explorer

TITLE = "Explorer with 50 readers"
READERS, SILENT = 50, 400
MOST_SECONDS, MOST_MEGABYTES = 0.5, 50.0
WARM_UP = 4  # moves of each reader before memory is looked at
FOLLOWING = ("details.children", "effects.children", "map.figure")  # what the page asks for after a redraw


def cases(short: bool) -> Iterator[Case]:
    """Some moves, then 10 000 requests, then with silent clients beside. Quick cases do not judge times, see `busy`."""
    yield {"readers": READERS, "moves": 3, "silent": 50 if short else 0, "timed": not short}
    if not short:
        yield {"readers": READERS, "moves": 50, "silent": 0, "timed": True}
        yield {"readers": READERS, "moves": 5, "silent": SILENT, "timed": True}
        for moves in itertools.count(10, 10):
            yield {"readers": READERS, "moves": min(moves, 50), "silent": SILENT, "timed": True}


def check(case: Case, scratch: Path) -> Found:
    """The 99th percentile of the time of a redraw, the growth of memory and the number of threads."""
    with explorer(saved("varying", scratch), scratch) as running:
        silent = _silent(running.port, case["silent"])
        n_threads = running.n_threads
        page = Page.read(Connection(running.port))
        wrong: list[str] = []
        _moved(page, running, case["readers"], WARM_UP, wrong)
        before = running.megabytes
        seconds = _moved(page, running, case["readers"], case["moves"], wrong)
        grown, more = running.megabytes - before, running.n_threads - n_threads
        for client in silent:
            client.close()
        p99 = float(np.percentile(seconds, 99))
        counts = {"redraws": float(len(seconds)), "requests": float(len(seconds)) * (1 + len(FOLLOWING))}
        if case["timed"] and p99 > MOST_SECONDS:
            wrong.append(f"The 99th percentile of the time of a redraw is {p99:.2f} s.")
        if grown > MOST_MEGABYTES:
            wrong.append(f"{counts['requests']:.0f} requests took {grown:.0f} MB.")
        if more > 20:
            wrong.append(f"{more} more threads than at the start.")
        wrong += [running.complaints()] * bool(running.complaints())
        return Found(counts, " ".join(wrong[:5]), {"p99 in ms": 1000 * p99, "MB more": max(grown, 0.0)})


def _silent(port: int, count: int) -> list[socket.socket]:
    """Clients that send half of the head of a request."""
    clients = []
    for _ in range(count):
        client = socket.create_connection(("127.0.0.1", port), timeout=20)
        client.sendall(b"POST /_dash-update-component HTTP/1.1\r\nHost: loc")
        clients.append(client)
    return clients


def _moved(page: Page, running: Explorer, readers: int, moves: int, wrong: list[str]) -> list[float]:
    """Let all readers drag sliders, each the next step as soon as the last is drawn; seconds of each redraw."""
    seconds: list[float] = []

    def read(seed: int) -> None:
        connection = Connection(running.port)
        for changed in itertools.islice(page.moves(seed), moves):
            start = time.perf_counter()
            status, body = connection.ask(UPDATE, page.request("graph-a.elements", changed))
            seconds.append(time.perf_counter() - start)
            link, message = drawn(body) if status == 200 else ("", f"status {status}")
            if message or not link:
                wrong.append(f"A redraw is answered with {message or body[:200]!r}.")
            for callback in FOLLOWING:
                status, body = connection.ask(UPDATE, page.request(callback, changed | {"link": link}))
                if status not in (200, 204):
                    wrong.append(f"A request for {callback} is answered with {status}.")
        connection.close()

    threads = [threading.Thread(target=read, args=(seed,)) for seed in range(readers)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return seconds
