"""Wheel and source distribution: built, compared with a second build, and looked into."""

import hashlib
import os
import subprocess
import tarfile
import zipfile
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[1]
EPOCH = "315532800"  # 1980, the first year that a wheel can hold, where nothing else is given
FOREIGN = ("tests", "attack", "release", "benchmarks", "docs", "results", "examples")
IN_SDIST = ("pyproject.toml", "LICENSE", "README.md", "CHANGELOG.md", "SECURITY.md", "CONTRIBUTING.md", "CITATION.cff",
            "Makefile", "constraints.txt", "constraints-lowest.txt")  # fmt: skip


def build(python: Path, out: Path) -> tuple[Path, Path]:
    """Build wheel and source distribution twice, the second time the wheel from the source distribution.

    Parameters
    ----------
    python : Path
        A Python with hatchling.
    out : Path
        Folder for the result.

    Returns
    -------
    tuple of Path
        Wheel and source distribution.
    """
    wheel, sdist = _built(python, ROOT, out)
    other_wheel, other_sdist = _built(python, ROOT, out / "again")
    unpacked = out / "unpacked"
    with tarfile.open(sdist) as archive:
        archive.extractall(unpacked, filter="data")
    (source,) = unpacked.iterdir()
    from_sdist, _ = _built(python, source, out / "from-sdist")
    for one, other in ((wheel, other_wheel), (sdist, other_sdist), (wheel, from_sdist)):
        if digest(one) != digest(other):
            raise SystemExit(f"{one} and {other} differ: the build cannot be repeated.")
    problems = [*_wheel_problems(wheel), *_sdist_problems(sdist)]
    if problems:
        raise SystemExit("\n".join(problems))
    return wheel, sdist


def digest(file: Path) -> str:
    """SHA-256 of a file."""
    return hashlib.sha256(file.read_bytes()).hexdigest()


def _built(python: Path, source: Path, out: Path) -> tuple[Path, Path]:
    environment = {**os.environ, "SOURCE_DATE_EPOCH": os.environ.get("SOURCE_DATE_EPOCH", EPOCH)}
    command = [str(python), "-m", "hatchling", "build", "-d", str(out.resolve())]
    subprocess.run(command, cwd=source, env=environment, check=True, stdout=subprocess.DEVNULL)
    (wheel,), (sdist,) = out.glob("*.whl"), out.glob("*.tar.gz")
    return wheel, sdist


def _wheel_problems(wheel: Path) -> Iterator[str]:
    with zipfile.ZipFile(wheel) as archive:
        names = set(archive.namelist())
    package = ROOT / "src" / "contextualdag"
    ours = {file.relative_to(package.parent).as_posix() for file in package.rglob("*") if file.is_file()}
    ours = {name for name in ours if "__pycache__" not in name and not name.endswith((".nbi", ".nbc"))}
    yield from (f"The wheel lacks {name}." for name in sorted(ours - names))
    for name in sorted(names - ours):
        if ".dist-info/" not in name or name.split("/")[0] in FOREIGN:
            yield f"The wheel has {name}, which is not of the package."
    licences = {name.rpartition("/")[2] for name in names if ".dist-info/licenses/" in name}
    yield from (f"The wheel lacks the licence file {name}." for name in sorted({"LICENSE", "LICENSES.md"} - licences))
    if "contextualdag/py.typed" not in names:
        yield "The wheel lacks py.typed, so that type checkers would not read its types."


def _sdist_problems(sdist: Path) -> Iterator[str]:
    with tarfile.open(sdist) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    yield from (f"The source distribution lacks {name}." for name in IN_SDIST if name not in names)
    if not any(name.startswith("tests/") for name in names):
        yield "The source distribution lacks the tests."
