"""Every public name says in its docstring just the parameters that it takes, and shows an example."""

import inspect
import re

import pytest

from contextualdag import diagnostics, effects, graphs, projection

PUBLIC = [
    getattr(module, name) for module in (effects, graphs, projection) for name in module.__all__ if name != "check_batch"
]
PUBLIC += [diagnostics.check_table, diagnostics.check_model, diagnostics.falsify]


@pytest.mark.parametrize("thing", PUBLIC, ids=lambda thing: thing.__name__)
def test_documented_parameters_are_the_real_ones(thing):
    text = inspect.getdoc(thing)
    section = re.search(r"Parameters\n-+\n(.*?)(?:\n\n[A-Z]\w+\n-+\n|\Z)", text, re.DOTALL)
    documented = re.findall(r"^(\w+) : ", section[1], re.MULTILINE)
    assert documented == list(inspect.signature(thing).parameters)
    assert ">>> " in text
