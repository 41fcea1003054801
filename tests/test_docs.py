"""The documentation is whole without being built: names in the reference, examples that compile, pages that run."""

import ast
import doctest
import importlib
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
DOCS, EXAMPLES = ROOT / "docs", sorted((ROOT / "examples").glob("plot_*.py"))
MODULES = (
    "contextualdag",
    "estimators",
    "projection",
    "datasets",
    "diagnostics",
    "metrics",
    "plotting",
    "graphs",
    "effects",
)
PAGES = sorted(page.relative_to(DOCS) for page in DOCS.glob("*.md"))


@pytest.mark.parametrize("name", MODULES)
def test_every_public_name_is_in_the_reference(name):
    module = importlib.import_module("contextualdag" if name == "contextualdag" else f"contextualdag.{name}")
    listed = set(re.findall(r"^   (\w+)$", (DOCS / "reference.rst").read_text(), re.MULTILINE))
    things = [public for public in module.__all__ if not public.startswith("__")]
    assert [public for public in things if callable(getattr(module, public)) and public not in listed] == []


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_an_example_compiles_and_has_a_title(path):
    tree = ast.parse(path.read_text(), str(path))
    title, line = ast.get_docstring(tree).splitlines()[:2]
    assert line == "=" * len(title)


@pytest.mark.slow
@pytest.mark.parametrize("name", [page.name for page in PAGES if ">>> " in (DOCS / page).read_text()])
def test_the_examples_of_a_page_run(name):
    page = (DOCS / name).read_text()
    test = doctest.DocTestParser().get_doctest(page, {}, name, str(DOCS / name), 0)
    outcome = doctest.DocTestRunner().run(test)
    assert outcome.attempted >= 5
    assert outcome.failed == 0


@pytest.mark.parametrize("page", PAGES, ids=str)
def test_links_between_pages_lead_somewhere(page):
    for target in re.findall(r"{doc}`([^`]+)`", (DOCS / page).read_text()):
        example = re.fullmatch(r"gallery/(plot_\w+)", target)
        found = [ROOT / "examples" / f"{example[1]}.py"] if example else [DOCS / f"{target}.md", DOCS / f"{target}.rst"]
        assert any(path.exists() for path in found), target


def test_every_command_has_its_help_on_the_page():
    from contextualdag.cli import COMMANDS

    page = (DOCS / "command-line.md").read_text()
    assert re.findall(r"{command-help} (\w+)", page) == [command.__name__ for command in COMMANDS]
