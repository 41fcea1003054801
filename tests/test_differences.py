import numpy as np

from contextualdag.differences import differences, edge_changes

A = np.array([[0, 0.5, 0, 0], [0, 0, -1.0, 0.3], [0, 0, 0, 0], [0, 0, 0, 0]])
B = np.array([[0, 0, 0, 0], [0.5, 0, 1.0, 0], [0, 0, 0, 0.2], [0, 0, 0, 0]])


def test_changes_of_edges():
    before, after = np.zeros((4, 4)), np.zeros((4, 4))
    before[0, 1], after[0, 1] = 1.0, 1.02
    before[0, 2], after[0, 2] = 1.0, -1.0
    before[1, 2], after[2, 1] = 0.5, 0.5
    before[0, 3], after[1, 3] = 0.3, 0.3
    found = {kind: np.argwhere(edges).tolist() for kind, edges in edge_changes(before, after).items()}
    assert found == {"gained": [[1, 3]], "lost": [[0, 3]], "reversed": [[2, 1]], "changed": [[0, 2]], "same": [[0, 1]]}


def test_every_edge_has_its_kind():
    found = {(one.source, one.target): one.kind for one in differences(A, B)}
    assert found == {
        (0, 1): "reversed",
        (1, 0): "reversed",
        (1, 2): "other sign",
        (1, 3): "only in A",
        (2, 3): "only in B",
    }


def test_strength_is_compared_with_the_largest_weight():
    first, second = np.zeros((4, 4)), np.zeros((4, 4))
    first[0, 1], second[0, 1] = 2.0, 1.5
    first[0, 2], second[0, 2] = 0.1, 0.2  # a small change, though the weight doubles
    first[0, 3], second[0, 3] = 1.0, 1.3
    found = differences(first, second)
    assert [(one.target, one.kind) for one in found] == [(1, "stronger in A"), (3, "stronger in B"), (2, "same")]
    changes = edge_changes(first, second)
    assert [changes["changed"][0, one.target] for one in found] == [True, True, False]


def test_graphs_without_edges_do_not_differ():
    assert differences(np.zeros((3, 3)), np.zeros((3, 3))) == []
