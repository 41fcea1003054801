"""`python -m release`: build, compare, look into, install and try what is released; the result is in dist/.

With --lowest, the quick tests run in an environment of the oldest supported versions instead.
"""

import argparse
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from release.artefacts import ROOT, build, digest
from release.installed import environment, try_out

TESTED = ("pytest", "hypothesis", "polars")


def main() -> None:
    """Build and try."""
    parser = argparse.ArgumentParser(prog="python -m release", description=__doc__)
    parser.add_argument("--out", type=Path, default=ROOT / "dist", help="folder for wheel, source, SBOM and versions")
    parser.add_argument("--lowest", action="store_true", help="run the quick tests with the oldest supported versions")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="release-") as scratch:
        wheel, sdist = build(environment(Path(scratch) / "builder", "hatchling"), Path(scratch) / "built")
        if given.lowest:
            _test_lowest(wheel, Path(scratch))
            return
        python = environment(Path(scratch) / "clean", f"{wheel}[explorer,parquet,sweeps]")
        tried = Path(scratch) / "tried"
        tried.mkdir()
        try_out(python, tried)
        bill = subprocess.run([str(python), str(ROOT / "release" / "sbom.py")], check=True, capture_output=True).stdout
        versions = subprocess.run(
            [str(python), "-m", "pip", "freeze", "--exclude", "contextualdag"], check=True, capture_output=True
        ).stdout
        given.out.mkdir(parents=True, exist_ok=True)
        for file in (wheel, sdist):
            shutil.copy(file, given.out)
            print(f"{digest(file)}  {file.name}")
        (given.out / "sbom.json").write_bytes(bill)
        (given.out / "constraints-tried.txt").write_bytes(versions)


def _test_lowest(wheel: Path, scratch: Path) -> None:
    """The tests that take moments, against the installed wheel."""
    extras = f"{wheel}[explorer,parquet,sweeps]"
    python = environment(scratch / "lowest", extras, *TESTED, constraints="constraints-lowest.txt")
    # Old versions of other packages use what has been deprecated since, which is not our concern.
    options = ["-q", "-m", "not slow and not long and not gpu", "-o", "filterwarnings=default", "-p", "no:cacheprovider"]
    sys.exit(subprocess.run([str(python), "-m", "pytest", *options, "tests"], cwd=ROOT, check=False).returncode)


if __name__ == "__main__":
    main()
