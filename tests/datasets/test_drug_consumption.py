"""The real file where it is at hand, and a made-up one of the same shape that takes its place."""

import hashlib
import io
import socket
import subprocess
import sys
import threading
import zipfile
from dataclasses import FrozenInstanceError
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import networkx as nx
import numpy as np
import pytest

from contextualdag.datasets import drug_consumption
from contextualdag.datasets.drug_consumption import PUBLISHED_HIGH, PUBLISHED_LOW, load_drug_consumption
from contextualdag.errors import InvalidInputError, InvalidParameterError, PersistenceError

REAL = Path(__file__).parents[3] / "shared" / "datasets" / "drug_consumption.data"
SUBSTANCES = ["Alcohol", "Amphetamines", "Amyl nitrite", "Benzodiazepines", "Caffeine", "Cannabis", "Chocolate", "Cocaine"]
SUBSTANCES += ["Crack", "Ecstasy", "Heroin", "Ketamine", "Legal highs", "LSD", "Methadone", "Mushrooms", "Nicotine", "VSA"]
CONTEXT = ["neuroticism", "sensation seeking"]

real_file = pytest.mark.skipif(not REAL.exists(), reason=f"the published file is not at {REAL}")


def made_up_rows():
    rng = np.random.default_rng(0)
    ids = [i for i in range(1, 1889) if i not in (294, 299, 742)]
    scores = rng.normal(size=(1885, 12))
    classes = rng.integers(0, 7, size=(1885, 19))
    return [
        [str(i), *(f"{x:.5f}" for x in score), *(f"CL{c}" for c in levels)]
        for i, score, levels in zip(ids, scores, classes, strict=True)
    ]


def as_text(rows):
    return "\n".join(",".join(cells) for cells in rows).encode()


def as_zip(content, name="drug_consumption.data"):
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(name, content)
    return buffer.getvalue()


@pytest.fixture
def published(monkeypatch):
    """A made-up file that counts as the published one."""
    content = as_text(made_up_rows())
    values = drug_consumption._parse(content, "made up", 1885)
    monkeypatch.setattr(drug_consumption, "_SHA256", hashlib.sha256(values.tobytes()).hexdigest())
    return content


@pytest.fixture(autouse=True)
def _no_network(monkeypatch, tmp_path):
    """Whatever a test forgets to replace, it never meets UCI, a proxy or the user's own cache."""
    monkeypatch.setattr(drug_consumption, "URL", "http://127.0.0.1:9/never")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    monkeypatch.setenv("no_proxy", "*")


@pytest.fixture
def serve(monkeypatch):
    """Put a local server in UCI's place. It answers with the bytes, and breaks off before `missing` of them are sent."""
    servers = []

    def start(body, *, status=200, missing=0, announce=True):
        class Handler(BaseHTTPRequestHandler):
            def do_GET(self):
                server.requests += 1
                self.send_response(status)
                if announce:
                    self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body[: len(body) - missing])

            def log_message(self, *_):
                pass

        server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        server.requests = 0
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        servers.append((server, thread))
        monkeypatch.setattr(drug_consumption, "URL", f"http://127.0.0.1:{server.server_port}/drug.zip")
        return server

    yield start
    for server, thread in servers:
        server.shutdown()
        thread.join()
        server.server_close()


@real_file
def test_the_published_file():
    data = load_drug_consumption(REAL)
    assert data.X.shape == (1885, 18)
    assert list(data.X) == SUBSTANCES
    assert set(data.X.dtypes) == {np.dtype("float64")}
    assert set(data.X.to_numpy().ravel()) == set(range(7))
    assert data.Z.shape == (1885, 2)
    assert list(data.Z) == CONTEXT
    assert data.frame.shape == (1885, 32)
    # The first row of the file, by eye.
    assert data.X.iloc[0].tolist() == [5, 2, 0, 2, 6, 0, 5, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2, 0]
    assert data.Z.iloc[0].tolist() == [0.31287, -1.18084]
    assert data.frame["ID"].iloc[[0, -1]].tolist() == [1, 1888]
    # Over-claimers, and cases and means as UCI's description of the data gives them.
    assert (data.frame["Semeron"] > 0).sum() == 8
    assert (data.frame["age"] == -0.95197).sum() == 643
    assert (data.frame["gender"] == 0.48246).sum() == 942
    assert data.frame["age"].mean() == pytest.approx(0.03461, abs=5e-6)


@real_file
def test_the_published_file_is_not_touched():
    before = REAL.read_bytes(), REAL.stat().st_mtime_ns
    load_drug_consumption(REAL)
    assert (REAL.read_bytes(), REAL.stat().st_mtime_ns) == before
    assert hashlib.sha256(before[0]).hexdigest() == "67cba56cd0bd43a4fd6d9bd34cfe6f614f65d88e63b5907e5a8d6fd4f7758232"


@real_file
def test_line_ends_and_trailing_zeros_do_not_matter(tmp_path):
    text = REAL.read_text()
    variants = [text + "\n", text.replace("\n", "\r\n") + "\r\n", "\ufeff" + text, text.replace("0.12600", "0.126")]
    for variant in variants:
        assert variant != text
        file = tmp_path / "copy.csv"
        file.write_bytes(variant.encode())
        assert load_drug_consumption(file).frame.equals(load_drug_consumption(REAL).frame)
        assert file.read_bytes() == variant.encode()


@real_file
def test_one_changed_value_is_noticed(tmp_path):
    file = tmp_path / "drug_consumption.data"
    file.write_text(REAL.read_text().replace("0.31287", "0.31288", 1))
    with pytest.raises(InvalidInputError, match="is not the published file: it has the right shape, but other values"):
        load_drug_consumption(file)


def test_parsing_a_few_rows():
    rows = [
        ["1", *["0.5"] * 12, *["CL0"] * 18, "CL6"],
        ["2", *["-1e-3"] * 12, "CL3", *["CL1"] * 18],
    ]
    values = drug_consumption._parse(as_text(rows), "two rows", 2)
    np.testing.assert_array_equal(values[0], [1, *[0.5] * 12, *[0] * 18, 6])
    np.testing.assert_array_equal(values[1], [2, *[-0.001] * 12, 3, *[1] * 18])
    for other in (as_text(rows) + b"\n", as_text(rows).replace(b"\n", b"\r\n"), as_text(rows).replace(b",", b", ")):
        np.testing.assert_array_equal(drug_consumption._parse(other, "two rows", 2), values)


def test_tables(published, tmp_path):
    file = tmp_path / "drug_consumption.data"
    file.write_bytes(published)
    data = load_drug_consumption(str(file))
    assert list(data.X) == SUBSTANCES
    assert list(data.frame)[:7] == ["ID", "age", "gender", "education", "country", "ethnicity", "neuroticism"]
    assert list(data.frame)[13:] == [*SUBSTANCES[:-1], "Semeron", "VSA"]
    np.testing.assert_array_equal(data.X, data.frame[SUBSTANCES])
    np.testing.assert_array_equal(data.Z, data.frame[CONTEXT])
    data.X.iloc[0, 0] = data.Z.iloc[0, 0] = 99
    assert not (data.frame == 99).iloc[0, 1:].any()  # none is a view of another
    with pytest.raises(FrozenInstanceError):
        data.X = None


@pytest.mark.parametrize("name", ["drug_consumption.data", "drug+consumption+quantified/drug_consumption.data"])
@pytest.mark.parametrize("file_name", ["drug.zip", "no_ending"])
def test_zip(published, tmp_path, name, file_name):
    file = tmp_path / file_name
    packed = as_zip(published, name)
    file.write_bytes(packed)
    assert load_drug_consumption(file).X.shape == (1885, 18)
    assert file.read_bytes() == packed
    assert list(tmp_path.iterdir()) == [file]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"<html>", r"drug\.zip is not a zip file: it begins with b'<html>'"),
        (as_zip(b"x" * 1000)[:60], r"drug\.zip is a broken zip file"),
        (as_zip(b"x", "readme.txt"), r"must hold one drug_consumption.data. It holds 0 of them \(readme.txt\)"),
        (as_zip(b"x" * 9_000_000), "it has over 8000000 bytes"),
    ],
    ids=["no zip", "broken", "other file", "too large"],  # a zip file holds the time at which it was made
)
def test_bad_zip(tmp_path, content, message):
    file = tmp_path / "drug.zip"
    file.write_bytes(content)
    with pytest.raises(InvalidInputError, match=f"{message}.*Get it from http"):
        load_drug_consumption(file)


def test_any_broken_byte_of_a_zip_is_an_error_or_harmless():
    content = b"1,2\n3,4\n" * 20
    packed = as_zip(content)
    errors = 0
    for place in range(2, len(packed)):  # without the first two it is not taken for a zip file
        broken = bytearray(packed)
        broken[place] ^= 0xFF
        try:
            unpacked = drug_consumption._unpack(bytes(broken), "it", must_be_zip=True)
        except InvalidInputError:
            errors += 1
        else:
            assert unpacked == content
    assert errors > 0


def test_truncated(published, tmp_path):
    file = tmp_path / "drug_consumption.data"
    lines = published.splitlines(keepends=True)
    for content, rows in ((b"".join(lines[:900]), 900), (b"".join(lines[:900]) + lines[900][:30], 901), (b"", 0)):
        file.write_bytes(content)
        with pytest.raises(InvalidInputError, match=f"has {rows} rows, 1885 were expected. It seems to be truncated"):
            load_drug_consumption(file)
    file.write_bytes(published + b"\n" + lines[0])
    with pytest.raises(InvalidInputError, match=r"has 1886 rows, 1885 were expected\. Get it"):
        load_drug_consumption(file)
    file.write_bytes(published[:-40])
    with pytest.raises(InvalidInputError, match=r"Row 1885 of .* has \d+ columns, 32 were expected"):
        load_drug_consumption(file)


@pytest.mark.parametrize(
    ("row", "column", "cell", "message"),
    [
        (4, 0, "five", r"Row 5, column 1 \(ID\) of .* must be a finite number. Got 'five' instead"),
        (4, 6, "", r"Row 5, column 7 \(neuroticism\) of .* must be a finite number. Got '' instead"),
        (9, 12, "nan", r"Row 10, column 13 \(sensation seeking\) of .* must be a finite number. Got 'nan' instead"),
        (9, 12, "1e999", r"Got '1e999' instead"),
        (1884, 14, "CL7", r"Row 1885, column 15 \(Amphetamines\) of .* must be one of CL0 to CL6. Got 'CL7' instead"),
        (0, 30, "3", r"Row 1, column 31 \(Semeron\) of .* must be one of CL0 to CL6. Got '3' instead"),
        (0, 30, "CL0,CL0", r"Row 1 of .* has 33 columns, 32 were expected"),
        (2, 0, "7", r"is not the published file: row 3 must have the ID 3. Got 7 instead"),
        (2, 1, "0.125", r"is not the published file: it has the right shape, but other values"),
    ],
)
def test_corrupted_cell(published, tmp_path, row, column, cell, message):
    rows = made_up_rows()
    rows[row][column] = cell
    file = tmp_path / "drug_consumption.data"
    file.write_bytes(as_text(rows))
    with pytest.raises(InvalidInputError, match=message):
        load_drug_consumption(file)


def test_wrong_content_of_the_right_shape(tmp_path):
    file = tmp_path / "drug_consumption.data"
    file.write_bytes(as_text(made_up_rows()))
    with pytest.raises(
        InvalidInputError, match=r"is not the published file: .* must be 7328cf79\w+\. Got \w+ instead\. Get it"
    ):
        load_drug_consumption(file)


def test_not_a_text_file(tmp_path):
    file = tmp_path / "drug_consumption.data"
    file.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(InvalidInputError, match="is not a text file"):
        load_drug_consumption(file)


def test_missing_file(tmp_path):
    with pytest.raises(PersistenceError, match=r"There is no file .*nothing\.data; check the 'path'"):
        load_drug_consumption(tmp_path / "nothing.data")
    with pytest.raises(PersistenceError, match="cannot be read: Is a directory"):
        load_drug_consumption(tmp_path)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"path": 3}, "The 'path' parameter of load_drug_consumption must be a str or a path. Got 3 instead"),
        ({"cache": 3}, "The 'cache' parameter of load_drug_consumption must be a str or a path. Got 3 instead"),
        ({"download": "no"}, "The 'download' parameter of load_drug_consumption must be a bool. Got 'no' instead"),
        ({"path": "a", "cache": "b"}, "takes a 'path' or a 'cache', not both. Got 'a' and 'b'"),
    ],
)
def test_bad_arguments(arguments, message):
    with pytest.raises(InvalidParameterError, match=message):
        load_drug_consumption(**arguments)


def test_download_once(published, serve, tmp_path):
    server = serve(as_zip(published))
    cache = tmp_path / "deep" / "cache"
    first = load_drug_consumption(cache=cache)
    assert [file.name for file in cache.iterdir()] == ["drug_consumption.data"]
    assert (cache / "drug_consumption.data").read_bytes() == published
    second = load_drug_consumption(cache=str(cache))
    third = load_drug_consumption(cache=cache, download=False)
    assert server.requests == 1
    assert first.frame.equals(second.frame)
    assert first.frame.equals(third.frame)


def test_xdg_cache_home(published, serve, tmp_path, monkeypatch):
    serve(as_zip(published), announce=False)
    load_drug_consumption()
    assert (tmp_path / "xdg" / "contextualdag" / "drug_consumption.data").read_bytes() == published

    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    for ignored in ("", "relative"):
        monkeypatch.setenv("XDG_CACHE_HOME", ignored)
        with pytest.raises(PersistenceError, match=r"There is no .*/home/\.cache/contextualdag/drug_consumption\.data, and"):
            load_drug_consumption(download=False)
    with pytest.raises(PersistenceError, match=r"home/mine/drug_consumption\.data"):
        load_drug_consumption(cache="~/mine", download=False)
    with pytest.raises(
        PersistenceError, match=r"There is no home folder for ~nobody-of-this-name/mine .*give the 'cache' in full"
    ):
        load_drug_consumption(cache="~nobody-of-this-name/mine")


@pytest.mark.parametrize(
    ("how", "message"),
    [
        ({"missing": 40_000}, r"only \d+ of \d+ bytes arrived"),
        ({"missing": 40_000, "announce": False}, "The answer is a broken zip file"),
        ({"status": 404}, "HTTP Error 404: Not Found"),
        ({"body": b"<html>Maintenance</html>"}, "The answer is not a zip file: it begins with b'<html>Maintenance</h'"),
        ({"body": as_zip(b"1,2,3")}, r"The answer has 1 rows, 1885 were expected\. It seems to be truncated"),
        ({"body": bytes(8_000_001)}, "The answer is not the published file: it has over 8000000 bytes"),
    ],
)
def test_failed_download_leaves_nothing_behind(published, serve, tmp_path, how, message):
    server = serve(**{"body": as_zip(published), **how})
    with pytest.raises(PersistenceError) as caught:
        load_drug_consumption(cache=tmp_path / "cache")
    assert caught.match(rf"The download from http://127.0.0.1:\d+/drug.zip failed: {message}")
    assert caught.match(rf"Put drug_consumption\.data at {tmp_path}/cache/drug_consumption\.data by hand")
    assert server.requests == 1
    assert list(tmp_path.iterdir()) == []


def test_no_network(tmp_path, monkeypatch):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))  # bound, but nobody listens
        monkeypatch.setattr(drug_consumption, "URL", f"http://127.0.0.1:{taken.getsockname()[1]}/drug.zip")
        with pytest.raises(PersistenceError, match=r"/drug\.zip failed: .*refused.*Put drug_consumption\.data at"):
            load_drug_consumption(cache=tmp_path / "cache")
    assert list(tmp_path.iterdir()) == []


def test_silent_server(tmp_path, monkeypatch):
    monkeypatch.setattr(drug_consumption, "TIMEOUT_SECONDS", 0.1)
    with socket.create_server(("127.0.0.1", 0)) as server:  # takes the connection and says nothing
        monkeypatch.setattr(drug_consumption, "URL", f"http://127.0.0.1:{server.getsockname()[1]}/drug.zip")
        with pytest.raises(PersistenceError, match="timed out"):
            load_drug_consumption(cache=tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_download_not_wanted(serve, published, tmp_path):
    server = serve(as_zip(published))
    with pytest.raises(PersistenceError, match=r"download=False forbids .*Put drug_consumption\.data at .*by hand"):
        load_drug_consumption(cache=tmp_path, download=False)
    assert server.requests == 0


def test_file_put_in_the_cache_by_hand(published, tmp_path):
    for content in (published, as_zip(published)):
        (tmp_path / "drug_consumption.data").write_bytes(content)
        assert load_drug_consumption(cache=tmp_path).X.shape == (1885, 18)


def test_broken_cache_is_named_and_kept(published, serve, tmp_path):
    server = serve(as_zip(published))
    file = tmp_path / "drug_consumption.data"
    file.write_bytes(published[:1000])
    with pytest.raises(
        InvalidInputError, match=r"seems to be truncated\. It is a cached copy: delete it to download it again\."
    ):
        load_drug_consumption(cache=tmp_path)
    assert file.read_bytes() == published[:1000]
    file.unlink()
    load_drug_consumption(cache=tmp_path)
    assert server.requests == 1
    with pytest.raises(PersistenceError, match="cannot be read: Not a directory"):
        load_drug_consumption(cache=file)


def test_cache_that_cannot_be_written(published, serve, tmp_path, monkeypatch):
    def full(*_):
        raise OSError(28, "No space left on device")

    serve(as_zip(published))
    monkeypatch.setattr("os.fsync", full)
    with pytest.warns(UserWarning, match=r"could not be cached at .*No space left.*Give a 'cache'") as caught:
        data = load_drug_consumption(cache=tmp_path)
    assert caught[0].filename == __file__
    assert data.X.shape == (1885, 18)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(("edges", "count"), [(PUBLISHED_LOW, 3), (PUBLISHED_HIGH, 11)])
def test_published_graphs(edges, count):
    assert len(set(edges)) == count
    assert {name for edge in edges for name in edge} <= set(SUBSTANCES)
    assert nx.is_directed_acyclic_graph(nx.DiGraph(edges))


def test_import_without_pandas():
    code = "import sys, contextualdag.datasets.drug_consumption; sys.exit('pandas' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0  # noqa: S603 - our own code
