"""The page in a real browser, on four models.

Screenshots go to the folder CONTEXTUALDAG_SCREENSHOTS names, or to pytest's own.
"""

import json
import os
import shutil
import threading
import time
from dataclasses import replace
from pathlib import Path
from urllib.parse import urlsplit

import networkx as nx
import numpy as np
import pandas as pd
import pytest

from contextualdag.effects import total_effects
from contextualdag.explorer.app import listen, make_app
from contextualdag.explorer.callbacks import Answers
from contextualdag.explorer.elements import shown_edges, signed
from contextualdag.explorer.graphs import FittedGraphs
from contextualdag.explorer.view import Picked
from tests.explorer.browser_page import Page

CHROMIUM, DRIVER = (shutil.which(name) for name in ("chromium", "chromedriver"))
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not (CHROMIUM and DRIVER), reason="needs the programs chromium and chromedriver"),
]

FLAGS = (
    "--headless=new",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--remote-debugging-pipe",
    # There is no network but this machine, so whatever the page needs it must have brought along.
    "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",
)


MODELS = {"simulated": "model", "demo": "demo_model", "drugs": "drug_model", "sure": "bootstrap_model"}
# For what needs a category or certain names, and for what is the same with any model.
ON_SIMULATED = pytest.mark.parametrize("subject", ["simulated"], indirect=True)
ON_SURE = pytest.mark.parametrize("subject", ["sure"], indirect=True)
ON_DRUGS = pytest.mark.parametrize("subject", ["drugs"], indirect=True)
FEW = 10  # edges that do not lie on one another


@pytest.fixture(scope="module")
def driver(tmp_path_factory):
    from selenium import webdriver

    options = webdriver.ChromeOptions()
    options.binary_location = CHROMIUM
    for flag in (*FLAGS, f"--user-data-dir={tmp_path_factory.mktemp('profile')}"):
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    driver = webdriver.Chrome(options=options, service=webdriver.ChromeService(DRIVER))
    yield driver
    driver.quit()


@pytest.fixture(
    scope="module",
    params=["simulated", *(pytest.param(name, marks=pytest.mark.long) for name in ("demo", "drugs"))],
)
def subject(request):
    return request.param


@pytest.fixture(scope="module")
def fitted(request, subject):
    return request.getfixturevalue(MODELS[subject])


@pytest.fixture(scope="module")
def graphs(fitted):
    return FittedGraphs(fitted)


@pytest.fixture(scope="module")
def answers(graphs):
    return Answers(graphs)


@pytest.fixture(scope="module")
def page(driver, subject, fitted, tmp_path_factory):
    pictures = Path(os.environ.get("CONTEXTUALDAG_SCREENSHOTS") or tmp_path_factory.mktemp("screenshots"))
    pictures.mkdir(parents=True, exist_ok=True)
    downloads = tmp_path_factory.mktemp("downloads")
    driver.execute_cdp_cmd("Browser.setDownloadBehavior", {"behavior": "allow", "downloadPath": str(downloads)})
    server = listen(make_app(fitted), "127.0.0.1", 0)
    serving = threading.Thread(target=server.serve_forever)
    serving.start()
    try:
        yield Page(driver, f"http://127.0.0.1:{server.port}/", subject, pictures, downloads)
    finally:
        driver.get("about:blank")  # so that nothing more is asked of the server
        server.shutdown()
        serving.join()
        server.server_close()


@pytest.fixture(autouse=True)
def wide(page):
    page.screen(1400, 900)


def few_edges(graphs):
    """The level of the fit, or where that is dense one at which every edge can be clicked."""
    near = min(range(len(graphs.levels)), key=lambda position: abs(graphs.levels[position].n_edges - FEW))
    return min(near, graphs.default.level)


def a_context_with_edges(graphs, level):
    """The default view but for its first feature, with an edge that is not there in other contexts."""
    first = graphs.features[0]
    grid, W = graphs.along(level, graphs.default.a)[0]
    inside = [i for i, value in enumerate(grid) if first.outside(value) is None]
    comes_and_goes = (W[inside] != 0).any(0) & ~(W[inside] != 0).all(0)
    there, j, k = np.unravel_index((np.abs(W[inside]) * comes_and_goes).argmax(), W[inside].shape)
    view = replace(graphs.default, level=level, a=(first.rounded(grid[inside[there]]), *graphs.default.a[1:]))
    assert graphs.graph(level, view.a)[j, k]
    return view, Picked(int(j), int(k))


def drawn(graphs, view, side="a"):
    """The edges that the page is to draw."""
    shown = [graphs.graph(view.level, values) for values in view.contexts]
    W = shown["ab".index(side)]
    strongest = shown_edges([graph * graphs.units for graph in shown], view.picked)
    return {f"edge-{j}-{k}" for j, k in np.argwhere((W != 0) & strongest)}


def test_sliders_redraw_the_graph_with_nodes_in_place(page, graphs):
    page.open()
    view, first = graphs.default, graphs.features[0]
    assert page.edges() == drawn(graphs, view)
    places, before = page.places(), page.text("#caption-a")
    page.press(".feature .side-a [role=slider]", "\ue010")  # End
    page.until("return document.querySelector('#caption-a').innerText != arguments[0]", before)
    high = first.bounds[1]
    page.until("return new URLSearchParams(location.search).get(arguments[0]) == arguments[1]", f"a.{first.name}", str(high))
    assert page.edges() == drawn(graphs, replace(view, a=(high, *view.a[1:])))
    assert page.places() == places
    assert f"Outside the training range: {first.name} = " in page.text("#caption-a")
    page.picture("outside")
    page.press("#level [role=slider]", "\ue011")  # Home
    page.until("return document.getElementById('graph-a')._cyreg.cy.edges().length == 0")
    assert "0 edges on average" in page.text("#level-label")


@ON_SIMULATED
def test_categories_redraw_the_graph(page, graphs):
    page.open()
    view = graphs.default
    other = next(category for category in graphs.features[2].shares if category != view.a[2])
    page.click_element(f".side-a .menu input[value='{other}']")
    page.until("return new URLSearchParams(location.search).get('a.site') == arguments[0]", other)
    assert page.edges() == drawn(graphs, replace(view, a=(*view.a[:2], other)))


@ON_DRUGS
def test_of_very_many_edges_the_strongest_are_drawn(page, graphs, answers):
    view = replace(graphs.default, level=len(graphs.levels) - 1)
    n_edges = int((graphs.graph(view.level, view.a) != 0).sum())
    page.open(answers.links.write(view))
    assert page.edges() == drawn(graphs, view)
    assert len(page.edges()) == 100
    assert f"{n_edges} edges, {n_edges - 100} weaker ones not drawn" in page.text("#caption-a")
    page.picture("dense")


def test_clicks_on_edge_and_node(page, graphs, answers):
    view, picked = a_context_with_edges(graphs, few_edges(graphs))
    page.open(answers.links.write(view))
    page.tap(picked.key)
    edge = f"{graphs.names[picked.node]} → {graphs.names[picked.target]}"
    page.until("return document.querySelector('#details h3').innerText == arguments[0]", edge)
    page.until("return document.querySelectorAll('#curves .xaxislayer-above, #curves .xy').length > 0")
    assert page.query()["from"] == graphs.names[picked.node]
    page.picture("edge")
    page.tap(f"node-{picked.node}")
    page.until("return document.querySelector('#details h3').innerText == arguments[0]", graphs.names[picked.node])
    assert graphs.names[picked.target] in page.text("#details")
    assert page.run("return document.getElementById('curves-box').offsetHeight") == 0
    page.picture("node")


def test_comparing_two_contexts(page, graphs):
    page.open()
    assert not page.run("return document.getElementById('panel-b').offsetHeight")
    page.click_element("#comparing input")
    page.until("return document.getElementById('panel-b').offsetHeight > 0 && location.search.includes('b.')")
    view = replace(graphs.default, comparing=True)
    page.until("return document.getElementById('graph-b')._cyreg.cy.nodes().length == arguments[0]", len(graphs.names))
    assert [page.edges(side) for side in "ab"] == [drawn(graphs, view, side) for side in "ab"]
    differing = page.run("return document.getElementById('graph-a')._cyreg.cy.edges('.only, .reversed, .ghost').length")
    assert differing > 0
    assert "only in" in page.text("#edges")
    page.picture("compare")


def test_links_bring_back_the_view(page, graphs, answers):
    view, picked = a_context_with_edges(graphs, len(graphs.levels) - 1)
    b = tuple(one.rounded(one.quantiles[15]) if one.is_number else min(one.shares) for one in graphs.features)
    axes = tuple(range(len(graphs.features)))[:-3:-1]  # the last two, the last one first
    view = replace(view, comparing=True, b=b, picked=picked, axes=axes)
    link = answers.links.write(view)
    page.open(link)
    page.until("return location.search == arguments[0]", link)
    page.until("return document.getElementById('panel-b').offsetHeight > 0")
    assert page.edges("b") == drawn(graphs, view, "b")
    # Details come after the graph.
    page.until("return document.querySelector('#details h3').innerText.split('→').length == 2")
    assert page.text("#message") == ""
    assert page.run("return document.getElementById('link').href") == page.driver.current_url


@ON_SIMULATED
@pytest.mark.parametrize("dark", [False, True])
def test_a_cause_is_chosen_and_moved(page, graphs, dark):
    page.screen(1400, 900, dark)
    page.open()
    assert not page.run("return document.getElementById('shift-box').offsetHeight")
    places = page.places()
    reaches = total_effects(graphs.graph(graphs.default.level, graphs.default.a)[None])[0] != 0
    cause = int(reaches.sum(1).argmax())
    menu = page.driver.find_element("id", "cause")
    menu.send_keys("\ue007")  # Enter
    page.until("return document.querySelectorAll('.dash-dropdown-content [role=option]').length == 5")
    page.run("[...document.querySelectorAll('.dash-dropdown-content [role=option]')][arguments[0]].click()", cause)
    page.until("return new URLSearchParams(location.search).get('cause') == arguments[0]", graphs.names[cause])
    assert page.places() == places
    reached = "return document.getElementById('graph-a')._cyreg.cy.nodes('.reached').map(n => n.id())"
    assert set(page.run(reached)) == {f"node-{k}" for k in np.flatnonzero(reaches[cause])}
    page.until("return document.getElementById('shift-box').offsetHeight > 0")
    page.press("#shift [role=slider]", "\ue014", times=6)  # right
    page.until("return document.getElementById('shift-label').innerText == '1.5 spreads above its mean'")
    view = replace(graphs.default, cause=cause, shift=1.5)
    after = signed(float(graphs.response(view, view.a).after[cause]))
    page.until("return document.querySelector('#effects tbody td:last-child').innerText == arguments[0]", after)
    assert page.run("return document.querySelector('#shift [role=slider]').getAttribute('aria-label')") == "Set it"
    page.picture(f"effects-{'dark' if dark else 'light'}")
    page.click_element("#comparing input")
    page.until("return document.querySelectorAll('#effects h4').length == 2")
    page.picture(f"effects-compared-{'dark' if dark else 'light'}")
    page.click_element("#reset")
    page.until("return document.getElementById('graph-a')._cyreg.cy.nodes('.reached, .unreached, .cause').length == 0")


@ON_SURE
@pytest.mark.parametrize("dark", [False, True])
def test_how_sure_edges_are(page, graphs, dark):
    """The pointer tells it at an edge, and a slider hides edges."""
    page.screen(1400, 900, dark)
    page.open()
    level = len(graphs.levels) - 1
    page.open(f"?edges={graphs.levels[level].key}")
    W, P = graphs.graph(level, graphs.default.a), graphs.probabilities(level, graphs.default.a)
    page.until("return document.getElementById('graph-a')._cyreg.cy.edges('.unsure').length > 0")
    edge = min(page.edges())
    corner = page.run("return document.getElementById('graph-a').getBoundingClientRect()")
    x, y = page.place_on_edge(edge)
    for shift in (2, 0):  # the second of two moves, as the first only enters the panel
        at = {"x": float(x + corner["left"] + shift), "y": float(y + corner["top"])}
        page.driver.execute_cdp_cmd("Input.dispatchMouseEvent", {"type": "mouseMoved", **at})
    j, k = (int(part) for part in edge.split("-")[1:])
    said = f"{graphs.names[j]} → {graphs.names[k]}: weight {signed(W[j, k])}, probability {P[j, k]:.2f}"
    page.until("return document.querySelector('.hint:not(.hidden)')?.textContent == arguments[0]", said)
    page.picture("dark" if dark else "light")
    assert page.run("return document.getElementById('least-label').offsetHeight") > 0
    page.press("#least [role=slider]", "\ue014", times=10)  # right
    page.until("return new URLSearchParams(window.location.search).get('least') == '0.5'")
    page.until("return document.getElementById('graph-a')._cyreg.cy.edges('.unsure').length == 0")
    assert page.edges() == {f"edge-{j}-{k}" for j, k in np.argwhere((W != 0) & (P >= 0.5))}
    page.until("return document.querySelectorAll('.hint:not(.hidden)').length == 0")


@ON_SIMULATED
def test_what_the_model_is_can_be_unfolded(page, graphs):
    page.open()
    sentence = graphs.remarks[0]
    assert sentence not in page.text("#about")
    page.click_element("#about summary")
    assert sentence in page.text("#about")
    assert page.run("return document.getElementById('least-label').offsetHeight") == 0


@ON_SIMULATED
def test_nonsense_links_are_explained(page, graphs):
    page.open("?a.age=young&node=../../etc/passwd")
    page.until("return document.getElementById('message').innerText")
    assert page.text("#message").startswith(
        "This link does not match the model, so this is the default view. 'age' must be a n"
    )
    assert page.edges() == drawn(graphs, graphs.default)
    page.click_element("#reset")
    page.until("return !document.getElementById('message').innerText")


@ON_SIMULATED
def test_a_click_on_the_map_goes_there(page, graphs):
    from selenium.webdriver.common.action_chains import ActionChains

    page.open()
    page.until("return document.querySelector('#map .heatmaplayer image')")
    before = page.query()
    area = page.driver.find_element("css selector", "#map .nsewdrag")
    ActionChains(page.driver).move_to_element_with_offset(area, -40, 50).click().perform()
    page.until("return location.search != arguments[0]", "?" + urlsplit(page.driver.current_url).query, seconds=10)
    after = page.query()
    across, up, *others = (f"a.{feature.name}" for feature in graphs.features)
    assert float(after[across]) < float(before[across])
    assert float(after[up]) < float(before[up])
    assert [after[key] for key in others] == [before[key] for key in others]


def test_downloads(page, graphs, answers):
    view, _ = a_context_with_edges(graphs, graphs.default.level)
    edges = {f"edge-{j}-{k}" for j, k in np.argwhere(graphs.graph(view.level, view.a))}  # files have all of them
    page.open(answers.links.write(view))
    names = {"PNG": "graph-a.png", "SVG": "graph-a.svg", "GraphML": "graph-a.graphml", "CSV": "edges-a.csv"}
    content = {}
    for kind, name in names.items():
        page.run("[...document.querySelectorAll('#panel-a button')].find(b => b.innerText == arguments[0]).click()", kind)
        path, end = page.downloads / name, time.monotonic() + 15
        while not (path.exists() and path.stat().st_size) and time.monotonic() < end:
            time.sleep(0.05)
        time.sleep(0.1)
        content[kind] = path.read_bytes()
    assert content["PNG"].startswith(b"\x89PNG")
    assert b"<svg" in content["SVG"]
    assert graphs.names[1].encode() in content["SVG"]
    assert nx.parse_graphml(content["GraphML"].decode()).number_of_edges() == len(edges)
    table = pd.read_csv(page.downloads / "edges-a.csv")
    names = graphs.names
    assert {
        f"edge-{names.index(j)}-{names.index(k)}" for j, k in zip(table["source"], table["target"], strict=True)
    } == edges
    page.keep("download.png", content["PNG"])


@ON_SIMULATED
def test_the_menu_is_a_way_for_the_keyboard(page, graphs):
    page.open()
    menu = page.driver.find_element("id", "picked")
    menu.send_keys("\ue007")  # Enter
    page.until("return document.querySelector('.dash-dropdown-search')")
    page.driver.switch_to.active_element.send_keys("mood")
    page.until("return document.querySelectorAll('.dash-dropdown-content [role=option]').length >= 1")
    page.driver.switch_to.active_element.send_keys("\ue015", "\ue007")  # Down, Enter
    page.until(
        "return document.querySelector('#details h3') && document.querySelector('#details h3').innerText.includes('mood')"
    )


@pytest.mark.parametrize("dark", [False, True])
@pytest.mark.parametrize(("name", "width"), [("wide", 1400), ("narrow", 420)])
def test_nothing_is_cut_off(page, graphs, answers, name, width, dark):
    page.screen(width, 900, dark)
    view, picked = a_context_with_edges(graphs, graphs.default.level)
    page.open(answers.links.write(replace(view, picked=picked, comparing=True)))
    page.until("return document.querySelector('#map .heatmaplayer image')")
    assert page.run("return document.documentElement.scrollWidth") <= width
    box = page.run("const c = document.querySelector('#panel-a .canvas'); return [c.clientWidth, c.clientHeight]")
    page.until(
        "return document.getElementById('graph-a')._cyreg.cy.nodes().every(n => { const b = n.renderedBoundingBox();"
        "return b.x1 >= -2 && b.y1 >= -2 && b.x2 <= arguments[0] + 2 && b.y2 <= arguments[1] + 2 })",
        *box,
    )
    colour = page.run("return getComputedStyle(document.body).backgroundColor")
    assert (int(colour.split("(")[1].split(",")[0]) < 100) == dark
    page.picture(f"{name}-{'dark' if dark else 'light'}")


@ON_SIMULATED
def test_the_console_is_quiet_and_nothing_is_asked_elsewhere(page):
    page.complaints()
    page.open()
    page.click_element("#comparing input")
    page.until("return document.getElementById('panel-b').offsetHeight > 0")
    assert page.complaints() == []
    asked = page.run("return performance.getEntriesByType('resource').map(e => e.name)")
    assert asked
    assert all(name.startswith((page.address, "data:", "blob:")) for name in asked)


@pytest.mark.parametrize("subject", ["simulated", "drugs"], indirect=True)
def test_a_redraw_is_quick(page, graphs):
    page.open()
    took = page.driver.execute_async_script(
        """
        const done = arguments[0], caption = document.getElementById('caption-a'), took = [];
        const thumb = document.querySelector('.feature .side-a [role=slider]');
        function step() {
          if (took.length == 12) return done(took);
          const before = caption.innerText, begin = performance.now();
          const look = () => {
            if (caption.innerText == before) return requestAnimationFrame(look);
            requestAnimationFrame(() => { took.push(performance.now() - begin); setTimeout(step, 150); });
          };
          thumb.focus();
          thumb.dispatchEvent(new KeyboardEvent('keydown', {key: 'ArrowRight', code: 'ArrowRight', bubbles: true}));
          requestAnimationFrame(look);
        }
        step();
        """
    )
    page.keep("redraw.json", json.dumps(took).encode())
    # Far above what it takes, since other work may be going on at the same time; the file has the numbers.
    assert np.median(took) < 1000
