import numpy as np

from contextualdag.report.warnings import find_warnings


def test_warnings(model):
    dense, sparse, empty = np.triu(np.ones((3, 9, 9)), 1), np.zeros((3, 4, 4)), np.zeros((3, 4, 4))
    sparse[:, 0, 1] = 1
    assert any("very dense: 100 %" in text for text in find_warnings(model, dense))
    assert any("No graph has an edge" in text for text in find_warnings(model, empty))
    border = "densest of the path"
    densest = model.select(l1_budget=float(model.path_["l1_budget"].max()))
    middle = model.select(l1_budget=float(model.path_["l1_budget"].iloc[2]))
    assert any(border in text for text in find_warnings(densest, sparse))
    assert find_warnings(middle, sparse) == []
    outside = find_warnings(middle, sparse, model.typical_context().assign(age=9.0))
    assert len(outside) == 1
    assert "age\N{NO-BREAK SPACE}=\N{NO-BREAK SPACE}9," in outside[0]
