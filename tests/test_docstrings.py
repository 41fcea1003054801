"""Every public name says in its docstring just the parameters that it takes, and shows an example."""

import inspect
import re

import pytest

from contextualdag import datasets, diagnostics, effects, graphs, projection

PUBLIC = [
    getattr(module, name) for module in (effects, graphs, projection) for name in module.__all__ if name != "check_batch"
]
PUBLIC += [diagnostics.check_table, diagnostics.check_model, diagnostics.falsify]


PUBLIC += [thing for thing in map(vars(datasets).get, datasets.__all__) if inspect.isfunction(thing)]


@pytest.mark.parametrize("thing", PUBLIC, ids=lambda thing: thing.__name__)
def test_documented_parameters_are_the_real_ones(thing):
    text = inspect.getdoc(thing)
    section = re.search(r"Parameters\n-+\n(.*?)(?:\n\n[A-Z]\w+\n-+\n|\Z)", text, re.DOTALL)
    lines = re.findall(r"^(\w+(?:, \w+)*)(?: : .*)?$", section[1] if section else "", re.MULTILINE)
    documented = [name for line in lines for name in line.split(", ")]
    parameters = list(inspect.signature(thing).parameters)
    if any(", " in line for line in lines):  # what is said elsewhere comes first
        documented, parameters = sorted(documented), sorted(parameters)
    assert documented == parameters
    assert ">>> " in text


def test_documented_defaults_of_simulations_are_the_real_ones():
    for simulate in (datasets.make_varying_dag, datasets.make_fixed_dag):
        said = dict(re.findall(r"^(\w+) : .*default=(.*)$", inspect.getdoc(simulate), re.MULTILINE))
        for name, default in said.items():
            known = inspect.signature(simulate).parameters[name].default
            assert known == float(default) if isinstance(known, float) else str(known) == default.strip('"'), name
