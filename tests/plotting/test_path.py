import pytest

from tests.plotting.conftest import assert_all_inside


def test_path_marks_the_selected_point(model):
    ax = model.plot_path()
    star = next(line for line in ax.lines if line.get_marker() == "*")
    row = model.path_[model.path_["selected"]].iloc[0]
    assert star.get_xydata().tolist() == [pytest.approx([row["refit_edges"], model.chosen_["loss"]])]
    assert model.chosen_["loss"] == pytest.approx(
        row["refit_loss"], rel=0.01
    )  # the threshold is not quite that of the smallest loss
    assert_all_inside(ax.figure)


def test_path_marks_a_point_selected_later(model):
    chosen = model.select(n_edges=2)
    assert chosen.chosen_["n_edges"] == pytest.approx(2, abs=0.7)
    star = next(line for line in chosen.plot_path().lines if line.get_marker() == "*")
    assert star.get_xdata()[0] == pytest.approx(chosen.chosen_["n_edges"])
