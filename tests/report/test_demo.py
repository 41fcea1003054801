from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

from contextualdag.report.demo import Demonstration, write_report

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def demo():
    truth, learned = np.zeros((2, 3, 3)), np.zeros((2, 3, 3))
    truth[0, 0, 1], truth[0, 1, 2] = 1.0, -0.5
    learned[0, 0, 1], learned[0, 2, 1] = 0.9, 0.4
    truth[1, 1, 0] = learned[1, 1, 0] = 1.0
    model = SimpleNamespace(names_=["x1", "x2", "x3"], path_=pd.DataFrame({"n_edges": [2.0], "selected": [True]}))
    return Demonstration(model, 100, 1.0, np.array([[-0.5, 0.5], [0.5, 0.5]]), truth, learned, (0, 1))


def test_wrong_edges_have_a_remark(demo):
    table = demo.edges(0)
    assert table["edge"].tolist() == ["x1 → x2", "x2 → x3", "x3 → x2"]
    assert table["true"].tolist() == [1.0, -0.5, 0.0]
    assert table["learned"].tolist() == [0.9, 0.0, 0.4]
    assert table[""].tolist() == ["", "missed", "not there"]
    assert demo.scores["graphs recovered exactly"] == 0.5


def test_the_caption_names_the_colours_that_are_drawn(demo, tmp_path):
    text = write_report(demo, tmp_path).read_text(encoding="utf-8")
    assert "Blue edges are positive, orange ones negative" in text
    assert "red" not in text.split("<figcaption>")[1].split("</figcaption>")[0].split()
