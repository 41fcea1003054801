"""What the tests share: one thread per process, the mark of slow tests, batches to try things on."""

import os
import re

# Processes that run tests side by side would otherwise compete for the cores with all their threads. Set before PyTorch is
# imported, and inherited by the programs that tests start.
if "PYTEST_XDIST_WORKER" in os.environ:
    os.environ.setdefault("OMP_NUM_THREADS", "1")

import pytest
import torch
from hypothesis import settings

if not torch.cuda.is_available():
    os.environ["TRITON_INTERPRET"] = "1"  # before any kernel is defined

# One fixed run of examples: a test that fails once fails always.
settings.register_profile("repeatable", derandomize=True, deadline=None, max_examples=40, print_blob=True)
settings.load_profile("repeatable")

# Tests that fit several models, start programs, browsers or clusters, interpret Triton's kernels, or project large graphs.
SLOW = re.compile(
    r"""
    ^README\.md
    | ^src/contextualdag/(estimators|experiments|paper|report|sweeps|model_report)
    | ^tests/(benchmarks|experiments|explorer|paper|sweeps)/
    | /test_(benchmark|benchmarks|captured|comparison_methods|constant_graph|contexts|demo|dispatch)\.py
    | /test_(members|model_report|report|reproduce|scikit_learn|triton)\.py
    | ^tests/plotting/.*models
    | ::\w*(another_process|compiled_model|dagma_package|forked|goes_on|kill|memory_of|mini_batches|paper_exact|serves_until)
    | ::test_(a_bar_on_a_terminal|frames_with_categories|number_of_threads|other_selections|paper_settings|readers_see_whole)
    | ::test_(same_seed_same_model|the_classes_of_five|the_examples_of_a_page|the_model_is_that_of|units_common_to_all)
    | ::test_(kernel_equals_twin|permuting_nodes_permutes_the_answer|default_is_acyclic)\w*\[(\d\.\d-)?(33|50|64)-
    | ::test_labels_do_not_overlap_and_stay_inside\[[25]0-
    """,
    re.VERBOSE,
)


@pytest.hookimpl(tryfirst=True)  # before -m looks at the marks
def pytest_collection_modifyitems(items):
    for item in items:
        if SLOW.search(item.nodeid):
            item.add_marker(pytest.mark.slow)


@pytest.fixture(autouse=True)
def _same_random_numbers():
    torch.manual_seed(0)


@pytest.fixture
def gaussian():
    """Make Gaussian matrices with a zero diagonal."""

    def make(n, p, dtype=torch.float64, density=1.0, seed=0):
        generator = torch.Generator().manual_seed(seed)
        W = torch.randn(n, p, p, dtype=dtype, generator=generator)
        W = W * (torch.rand(n, p, p, generator=generator) < density)
        W.diagonal(dim1=1, dim2=2).zero_()
        return W

    return make
