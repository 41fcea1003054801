"""What is looked for in wheels and source distributions, and the bill of materials."""

import io
import tarfile
import zipfile

import pytest

from release.artefacts import IN_SDIST, ROOT, _sdist_problems, _wheel_problems
from release.sbom import bill

PACKAGE = ROOT / "src" / "contextualdag"


@pytest.fixture
def wheel(tmp_path):
    """Make a wheel of the package without some files and with others."""

    def make(without=(), more=()):
        path = tmp_path / "one.whl"
        names = {
            file.relative_to(PACKAGE.parent).as_posix() for file in PACKAGE.rglob("*.*") if "__pycache__" not in str(file)
        }
        names |= {f"contextualdag-1.dist-info/licenses/{name}" for name in ("LICENSE", "LICENSES.md")}
        with zipfile.ZipFile(path, "w") as archive:
            for name in (names - set(without)) | set(more):
                archive.writestr(name, "")
        return path

    return make


def test_a_whole_wheel(wheel):
    assert list(_wheel_problems(wheel())) == []


@pytest.mark.parametrize(
    ("without", "more", "said"),
    [
        (["contextualdag/py.typed"], [], "lacks py.typed"),
        (["contextualdag/graphs.py"], [], "lacks contextualdag/graphs.py"),
        (["contextualdag/explorer/assets/explorer.js"], [], "lacks contextualdag/explorer/assets/explorer.js"),
        (["contextualdag-1.dist-info/licenses/LICENSES.md"], [], "lacks the licence file LICENSES.md"),
        ([], ["tests/test_graphs.py"], "has tests/test_graphs.py"),
        ([], ["contextualdag/notes.txt"], "has contextualdag/notes.txt"),
    ],
)
def test_what_is_wrong_with_a_wheel(wheel, without, more, said):
    assert any(said in problem for problem in _wheel_problems(wheel(without, more)))


def test_what_is_wrong_with_a_source_distribution(tmp_path):
    path = tmp_path / "one.tar.gz"
    with tarfile.open(path, "w:gz") as archive:
        for name in [name for name in IN_SDIST if name != "LICENSE"]:
            archive.addfile(tarfile.TarInfo(f"contextualdag-1/{name}"), io.BytesIO())
    assert list(_sdist_problems(path)) == [
        "The source distribution lacks LICENSE.",
        "The source distribution lacks the tests.",
    ]


def test_the_files_of_the_source_distribution_are_there():
    assert all((ROOT / name).is_file() for name in IN_SDIST)


def test_the_bill_of_materials_names_each_package_once_and_what_it_needs(monkeypatch):
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "0")
    document = bill()
    assert document == bill()
    assert document["metadata"]["timestamp"] == "1970-01-01T00:00:00Z"
    assert document["metadata"]["component"]["name"] == "contextualdag"
    names = [one["name"] for one in document["components"]]
    assert len(names) == len(set(names))
    assert {"torch", "scikit-learn", "pandas"} <= set(names)
    refs = {one["bom-ref"] for one in document["components"]} | {document["metadata"]["component"]["bom-ref"]}
    assert all(need in refs for one in document["dependencies"] for need in one["dependsOn"])
    (ours,) = [one for one in document["dependencies"] if "contextualdag@" in one["ref"]]
    assert any("pypi/torch@" in need for need in ours["dependsOn"])
