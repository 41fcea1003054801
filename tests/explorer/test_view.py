"""Links to views of the page."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from contextualdag.explorer.view import Picked

pytestmark = pytest.mark.slow


def views(graphs):
    default = graphs.default
    return [
        default,
        replace(default, comparing=True),
        replace(default, a=(71.0, 0.3, "Lisbon"), level=0),
        replace(default, a=(default.a[0], default.a[1], "Oslo & environs"), picked=Picked(3)),
        replace(default, picked=Picked(4, 3), axes=(2, 0), level=len(graphs.levels) - 1),
        replace(default, cause=3),
        replace(default, cause=0, shift=-1.25),
    ]


@pytest.mark.parametrize("which", range(7))
def test_there_and_back(graphs, answers, which):
    view = views(graphs)[which]
    link = answers.links.write(view)
    again, complaint = answers.links.read(link)
    assert complaint is None
    assert again == (view if view.comparing else replace(view, b=graphs.default.b))
    assert answers.links.write(again) == link


@pytest.mark.parametrize(
    ("query", "why"),
    [
        ("?a.age=young", "'age' must be a number. Got 'young'."),
        ("?a.age=1e999", "'age' must be a number. Got inf."),
        ("?a.age=9999", "'age' must be from 19 to 71 here. Got 9999."),
        ("?a.site=Rome", "'site' must be one of"),
        ("?a.agee=3", "There is no parameter 'a.agee'. Did you mean 'a.age'?"),
        ("?edges=-3", "'edges' must be one of 0, 1,"),
        ("?node=moood", "There is no variable 'moood'. Did you mean 'mood'?"),
        ("?from=sleep", "A link must name either a 'node', or an edge"),
        ("?from=sleep&to=sleep", "A link must name either a 'node', or an edge"),
        ("?map.x=ages", "There is no context feature 'ages'. Did you mean 'age'?"),
        ("?cause=moood", "There is no variable 'moood'. Did you mean 'mood'?"),
        ("?cause=mood&shift=4", "A cause can be moved by -3 to 3 spreads."),
        ("?cause=mood&shift=nan", "A cause can be moved by -3 to 3 spreads."),
        ("?shift=1", "A link with a 'shift' must name the 'cause' that it moves."),
        ("?a.age=40&a.age=41", "A parameter is given twice."),
        ("?%ff=%00&&&===", "There is no parameter"),
        ("?" + "a" * 30_000, "at most 20000 characters"),
        (None, "A link must be a text"),
        ({"a": 1}, "A link must be a text"),
    ],
)
def test_nonsense_gives_a_sentence_and_the_default(graphs, answers, query, why):
    view, complaint = answers.links.read(query)
    assert view == graphs.default
    assert complaint.startswith("This link does not match the model, so this is the default view. ")
    assert why in complaint
    assert len(complaint) < 300


@given(st.text())
def test_no_text_breaks_it(answers, query):
    view, complaint = answers.links.read(query)
    assert (view == answers.graphs.default) or complaint is None


def test_an_empty_link_is_the_default(graphs, answers):
    for query in ("", "?"):
        assert answers.links.read(query) == (graphs.default, None)
