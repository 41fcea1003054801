"""Chromium on pages of models with hostile names: no alert, no request to elsewhere, no error on its console."""

import itertools
import json
import shutil
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlsplit

import pandas as pd

from attack.models import estimator, tables
from attack.names import ALLOWED
from attack.program import Case, Found
from attack.server import explorer

TITLE = "Chromium on hostile names and links"
ACTING = (
    "elements of HTML",
    "attributes of HTML",
    "ends of elements",
    "elements of SVG",
    "entities",
    "templates",
    "formulas",
)
LINKS = (
    *("", "?edges=selected", "?node=<script>alert(1)</script>", "?a=javascript:alert(1)", "?least=1e999", "?from=0&to=0"),
    *(
        "?cause=%00",
        "?" + "a" * 3000,
        "?map.x=__proto__",
        "?edges=%22%3E%3Cimg%20src=x%20onerror=alert(1)%3E",
        "#<svg onload=alert(1)>",
    ),
)
FLAGS = ("--headless=new", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking",
         "--disable-component-update", "--disable-sync", "--remote-debugging-pipe",
         "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1")  # fmt: skip
SEEN = "return document.getElementById('graph-a') && document.getElementById('graph-a')._cyreg.cy.nodes().length > 3"


def cases(short: bool) -> Iterator[Case]:
    """Names that could act on a page, then all the others."""
    for names in itertools.islice((*ACTING, *(one for one in ALLOWED if one not in ACTING)), 1 if short else None):
        yield {"names": names}


def check(case: Case, scratch: Path) -> Found:
    """Open the page and some links, click, and read the log of the browser."""
    chromium, driver = shutil.which("chromium"), shutil.which("chromedriver")
    if not (chromium and driver):
        return Found({}, skipped="the programs chromium and chromedriver are missing")
    from selenium import webdriver

    options = webdriver.ChromeOptions()
    options.binary_location = chromium
    for flag in (*FLAGS, f"--user-data-dir={scratch / 'profile'}"):
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    options.set_capability("unhandledPromptBehavior", "ignore")
    names = ALLOWED[case["names"]]
    X, Z = tables()
    X = pd.DataFrame(X.to_numpy(), columns=pd.Index(names, dtype=object))
    Z = pd.DataFrame({names[2]: Z["age"].to_numpy(), names[3]: Z["site"].map({"u": names[0], "v": names[1]}).to_numpy()})
    model = scratch / "model"
    shutil.rmtree(model, ignore_errors=True)
    estimator("varying").fit(X, Z).save(model)
    browser = webdriver.Chrome(options=options, service=webdriver.ChromeService(driver))
    try:
        with explorer(model, scratch) as running:
            found = list(_visited(browser, f"http://127.0.0.1:{running.port}/", names))
            found += [running.complaints()] * bool(running.complaints())
    finally:
        browser.quit()
    return Found({"pages": float(len(LINKS)) + 1}, f"{case['names']}: {'; '.join(found[:5])}" if found else "")


def _visited(browser: Any, address: str, names: tuple[str, ...]) -> Iterator[str]:
    from selenium.common.exceptions import NoAlertPresentException, WebDriverException

    for link in (*LINKS, f"?node={quote(names[0], safe='')}"):
        browser.get(address + link)
        end = time.monotonic() + 20
        while True:
            try:
                if browser.execute_script(SEEN):
                    break
            except WebDriverException as error:
                if "alert" in str(error):
                    yield f"an alert at {link}"
                    return
            if time.monotonic() > end:
                yield f"no graph at {link[:80]}"
                break
            time.sleep(0.05)
        try:
            yield f"an alert at {link}: {browser.switch_to.alert.text}"
            return
        except NoAlertPresentException:
            pass
    for entry in browser.get_log("performance"):
        message = json.loads(entry["message"])["message"]
        if message["method"] == "Network.requestWillBeSent":
            asked = urlsplit(message["params"]["request"]["url"])
            if asked.scheme not in ("data", "blob", "chrome", "about") and asked.hostname != "127.0.0.1":
                yield f"a request to {asked.geturl()[:200]}"
    for entry in browser.get_log("browser"):
        if entry["level"] == "SEVERE" and "favicon" not in entry["message"]:
            yield f"on the console: {entry['message'][:300]}"
