"""What the browser tests do with a page: look, press, tap, take pictures."""

import base64
import time
from urllib.parse import parse_qs, urlsplit

import numpy as np


class Page:
    """A browser that looks at the explorer; pictures are named after the model."""

    def __init__(self, driver, address, subject, pictures, downloads):
        self.driver, self.address, self.subject = driver, address, subject
        self.pictures, self.downloads = pictures, downloads

    def open(self, query=""):
        self.driver.get(self.address + query)
        # A page just loaded asks for graphs of its own size: before these are drawn, what a test would click still moves.
        self.until(
            "const screen = window.dash_component_api.getLayout('screen');"
            "return screen && screen.props.data && !window.store.getState().isLoading && location.search.length > 1"
            " && document.getElementById('graph-a')._cyreg.cy.nodes().length"
        )

    def run(self, script, *arguments):
        return self.driver.execute_script(script, *arguments)

    def until(self, script, *arguments, seconds=15):
        end = time.monotonic() + seconds
        while True:
            try:
                found = self.run(script, *arguments)
            except Exception:
                if time.monotonic() > end:
                    raise
                found = None
            if found:
                return found
            assert time.monotonic() < end, f"{script} is still {found!r}. On the page: {self.text('#page')[:500]}"
            time.sleep(0.03)

    def text(self, selector):
        return self.run("return (document.querySelector(arguments[0]) || {}).innerText || ''", selector)

    def query(self):
        return {key: values[0] for key, values in parse_qs(urlsplit(self.driver.current_url).query).items()}

    def edges(self, side="a"):
        script = "return document.getElementById('graph-' + arguments[0])._cyreg.cy.edges().not('.ghost').map(e => e.id())"
        return set(self.run(script, side))

    def places(self):
        return self.run("return document.getElementById('graph-a')._cyreg.cy.nodes().map(n => [n.id(), n.position()])")

    def press(self, selector, key, times=1):
        thumb = self.driver.find_element("css selector", selector)
        for _ in range(times):
            thumb.send_keys(key)

    def click_element(self, selector):
        self.driver.find_element("css selector", selector).click()

    def tap(self, element):
        """Click the middle of a node of the first graph, or an edge where no other and no node is near."""
        self.run("document.getElementById('graph-a').scrollIntoView({block: 'center'})")
        x, y = self.place_of_node(element) if element.startswith("node") else self.place_on_edge(element)
        corner = self.run("return document.getElementById('graph-a').getBoundingClientRect()")
        # Not by Selenium's offsets, which count from the middle of what it takes to be visible.
        at = {"x": float(x + corner["left"]), "y": float(y + corner["top"])}
        for kind in ("mouseMoved", "mousePressed", "mouseReleased"):
            button = {} if kind == "mouseMoved" else {"button": "left", "clickCount": 1}
            self.driver.execute_cdp_cmd("Input.dispatchMouseEvent", {"type": kind, **at, **button})

    def place_of_node(self, key):
        at = self.run("return document.getElementById('graph-a')._cyreg.cy.getElementById(arguments[0]).position()", key)
        return at["x"], at["y"]

    def place_on_edge(self, key):
        ends = self.run(
            "const point = at => [at.x, at.y];"
            "return document.getElementById('graph-a')._cyreg.cy.edges().map(e => [e.id(), ["
            "point(e.sourceEndpoint()), point((e.controlPoints() || [e.midpoint()])[0]), point(e.targetEndpoint())]])"
        )
        t = np.linspace(0.1, 0.9, 81)[:, None]
        curves = {
            one: (1 - t) ** 2 * np.array(a) + 2 * t * (1 - t) * np.array(b) + t**2 * np.array(c) for one, (a, b, c) in ends
        }
        own = curves.pop(key)
        boxes = self.run("return document.getElementById('graph-a')._cyreg.cy.nodes().map(n => n.boundingBox())")
        sides = [(np.linspace(box["x1"], box["x2"], 7), np.linspace(box["y1"], box["y2"], 7)) for box in boxes]
        covered = [np.stack(np.meshgrid(*pair), -1).reshape(-1, 2) for pair in sides]
        others = np.concatenate([*curves.values(), *covered])
        return own[np.linalg.norm(own[:, None] - others[None], axis=2).min(1).argmax()]

    def screen(self, width, height, dark=False):
        size = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False}
        self.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [scheme]})

    def picture(self, name):
        clip = self.run("return {x: 0, y: 0, width: innerWidth, height: document.documentElement.scrollHeight, scale: 1}")
        taken = self.driver.execute_cdp_cmd("Page.captureScreenshot", {"captureBeyondViewport": True, "clip": clip})
        self.keep(f"{name}.png", base64.b64decode(taken["data"]))

    def keep(self, name, content):
        (self.pictures / f"{self.subject}-{name}").write_bytes(content)

    def complaints(self):
        """What the console says, but for a remark about the mouse wheel that Cytoscape always makes."""
        return [entry["message"] for entry in self.driver.get_log("browser") if "wheel sensitivity" not in entry["message"]]
