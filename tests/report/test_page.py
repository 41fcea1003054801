from html.parser import HTMLParser

import pandas as pd
from matplotlib.figure import Figure

from contextualdag.report import page


class Tags(HTMLParser):
    def __init__(self):
        super().__init__()
        self.names, self.links = set(), []

    def handle_starttag(self, tag, attrs):
        self.names.add(tag)
        self.links += [value for name, value in attrs if name in ("src", "href") and not value.startswith("#")]


def test_a_page_needs_nothing_but_itself_and_shows_text_as_text(tmp_path):
    figure = Figure()
    figure.subplots().plot([0, 1])
    parts = [
        page.heading("<script>alert(1)</script>"),
        page.paragraph("a & b"),
        page.table(pd.DataFrame({"<b>": [0.123456], "name": ["<i>"]})),
        page.picture(figure, "A line."),
    ]
    path = page.write_page(tmp_path / "new" / "page.html", "A <title>", parts, "end")
    text = path.read_text(encoding="utf-8")
    tags = Tags()
    tags.feed(text)
    assert not {"script", "b", "i"} & tags.names
    assert "svg" in tags.names
    assert tags.links == []
    assert "a &amp; b" in text
    assert "0.123<" in text
    assert [file.name for file in path.parent.iterdir()] == ["page.html"]


def test_pictures_are_the_same_each_time():
    pages = []
    for _ in range(2):
        figure = Figure()
        figure.subplots().plot([0, 1])
        pages.append(page.picture(figure, ""))
    assert pages[0] == pages[1]
