"""Check the built site: links, what it would fetch, errors, contrast, narrow windows, and ten searches.

    python scripts/site/check.py site

Needs Chromium and its driver. Prints each fault, and exits with 1 if there is one.
"""

from __future__ import annotations

import contextlib
import shutil
import sys
import tempfile
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from html.parser import HTMLParser
from itertools import chain, repeat
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

from selenium import webdriver
from selenium.common.exceptions import TimeoutException
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.common.by import By
from selenium.webdriver.support import expected_conditions
from selenium.webdriver.support.wait import WebDriverWait

FLAGS = (
    *("headless=new", "no-sandbox", "disable-gpu", "no-first-run", "disable-dev-shm-usage", "disable-sync"),
    *("disable-background-networking", "disable-component-update", "allow-file-access-from-files"),
)
BROWSERS = 3
WIDTHS, SCHEMES = (390, 1280), ("default", "slate")
FETCHED = ("script", "link", "img", "iframe")  # tags whose addresses a browser opens by itself
CONTRAST = (Path(__file__).parent / "contrast.js").read_text(encoding="ascii")
FIRST = 3  # results of a search among which the page must be
# What a reader would type, and the page that answers.
SEARCHES = {
    "fuse two runs": "docs/tutorials/fuse-runs.html",
    "tune moses bleu": "docs/tutorials/tune-decoder.html",
    "best of n": "docs/tutorials/best-of-n.html",
    "rerank parses": "docs/tutorials/rerank-parses.html",
    "compare two systems": "docs/tutorials/compare-systems.html",
    "export model sql": "docs/tutorials/model-elsewhere.html",
    "data larger than memory": "docs/tutorials/large-data.html",
    "which learner": "docs/learners.html",
    "missing values": "docs/training.html",
    "word error rate kaldi": "reference/formats/kaldi.html",
    "own metric": "notebooks/your-own-metric.html",
    "p-value holm": "docs/metrics.html",
    "confidence interval": "docs/metrics.html",
    "lightgbm": "docs/exchange.html",
    "cross-validation": "docs/training.html",
    "csv file": "docs/formats.html",
    "install": "index.html",
    "pandas dataframe": "docs/python.html",
    "ndcg": "reference/metrics/nDCG.html",
    "trec run": "docs/retrieval.html",
    "scikit-learn": "docs/python.html",
    "feature importance": "docs/importance.html",
    "tree kernel": "extensions/parsing/trees.html",
    "glossary": "docs/glossary.html",
}
SCHEME = """
document.head.insertAdjacentHTML("beforeend", "<style>* { transition: none !important }</style>")
document.body.setAttribute("data-md-color-scheme", arguments[0])
"""
# Results that an earlier search has left are marked, so that they are not taken for the next one's.
SEARCH = """
document.querySelectorAll(".md-search-result__item").forEach(item => item.setAttribute("data-old", ""))
arguments[0].value = arguments[1]
arguments[0].dispatchEvent(new Event("keyup"))
"""
RESULTS = ".md-search-result__item:not([data-old]) > .md-search-result__link"
WIDE = """
const width = document.documentElement.clientWidth
return document.documentElement.scrollWidth > width ? document.documentElement.scrollWidth : 0
"""


class Page(HTMLParser):
    """The anchors of a page, where it links to, and what a browser fetches for it."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.ids: set[str] = set()
        self.links: list[tuple[str, str]] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        for name, value in attrs:
            if name in ("id", "name") and value:
                self.ids.add(value)
            elif name in ("href", "src") and value:
                self.links.append((tag, value))


def broken_links(site: Path) -> Iterator[str]:
    """Yield links that lead nowhere, and addresses of other machines that a browser would open by itself."""
    pages = {path: Page(path.read_text(encoding="utf-8")) for path in sorted(site.rglob("*.html"))}
    for path, page in pages.items():
        if path.name == "404.html":
            continue
        for tag, link in page.links:
            parts, name = urlsplit(link), path.relative_to(site)
            if parts.scheme in ("http", "https") or link.startswith("//"):
                if tag in FETCHED and "canonical" not in link:
                    yield f"{name}: fetches {link}"
            elif not parts.scheme:
                target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
                target = target / "index.html" if target.is_dir() else target
                if not target.exists():
                    yield f"{name}: no such page: {link}"
                elif parts.fragment and target in pages and unquote(parts.fragment) not in pages[target].ids:
                    yield f"{name}: no such anchor: {link}"


@contextlib.contextmanager
def browser() -> Iterator[Any]:
    """Open Chromium without a network, with a profile of its own."""
    options = webdriver.ChromeOptions()
    options.binary_location = shutil.which("chromium") or shutil.which("chromium-browser") or ""
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    with tempfile.TemporaryDirectory() as profile:
        for flag in (*FLAGS, f"user-data-dir={profile}"):
            options.add_argument(f"--{flag}")
        driver = webdriver.Chrome(options=options, service=Service(shutil.which("chromedriver")))
        try:
            driver.execute_cdp_cmd("Network.enable", {})
            offline = {"offline": True, "latency": 0, "downloadThroughput": 0, "uploadThroughput": 0}
            driver.execute_cdp_cmd("Network.emulateNetworkConditions", offline)
            yield driver
        finally:
            driver.quit()


def looks(site: Path) -> Iterator[str]:
    """Yield errors of the console, pages wider than the window, and texts that are hard to see.

    Every page is opened once, by one of several browsers. Pages of the reference share one template: the
    contrast of one of each kind stands for the others.
    """
    kinds = set()
    pages = []
    for path in sorted(site.rglob("*.html")):
        if path.name != "404.html":  # its links are those of the site's address
            is_alike = path.relative_to(site).parts[0] == "reference" and path.parent in kinds
            kinds.add(path.parent)
            pages.append((path, is_alike))
    with ThreadPoolExecutor(BROWSERS) as pool:
        parts = [pages[i::BROWSERS] for i in range(BROWSERS)]
        for faults in pool.map(looks_of, parts, repeat(site)):
            yield from faults


def looks_of(pages: Iterable[tuple[Path, bool]], site: Path) -> list[str]:
    """Return the faults of some pages, which are opened in a browser of their own."""
    faults = []
    with browser() as driver:
        for path, is_alike in pages:
            name = path.relative_to(site)
            driver.get(path.as_uri())
            for width in WIDTHS[: 1 if is_alike else None]:
                size = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": False}
                driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
                if wide := driver.execute_script(WIDE):
                    faults.append(f"{name}: {wide} pixels wide in a window of {width}")
                for scheme in () if is_alike else SCHEMES:
                    driver.execute_script(SCHEME, scheme)
                    found = driver.execute_script(CONTRAST)
                    faults += [f"{name}, {scheme}, {width} pixels: contrast {one}" for one in found]
            errors = [entry for entry in driver.get_log("browser") if entry["level"] in ("SEVERE", "WARNING")]
            faults += [f"{name}: {entry['message']}" for entry in errors]
    return faults


def searches(site: Path) -> Iterator[str]:
    """Yield searches whose first results lack the page that answers."""
    with browser() as driver:
        driver.get((site / "index.html").as_uri())
        driver.execute_script("document.querySelector('[data-md-toggle=search]').click()")
        field = driver.find_element(By.CSS_SELECTOR, "[data-md-component=search-query]")
        WebDriverWait(driver, 60).until(expected_conditions.visibility_of(field))
        for text, page in SEARCHES.items():
            driver.execute_script(SEARCH, field, text)
            try:
                results = WebDriverWait(driver, 60).until(
                    lambda found: found.find_elements(By.CSS_SELECTOR, RESULTS)
                )
            except TimeoutException:
                yield f"search {text!r}: no results"
                continue
            first = [one.get_attribute("href") for one in results[:FIRST]]
            if not any(urlsplit(link).path.endswith(f"/{page}") for link in first):
                found = [link.partition(f"{site.as_posix()}/")[2] for link in first]
                yield f"search {text!r}: {page} is not among {found}"


def main() -> int:
    """Print the faults of the site that the command line names."""
    site = Path(sys.argv[1]).resolve()
    faults = 0
    for fault in chain(broken_links(site), searches(site), looks(site)):
        print(fault, flush=True)
        faults += 1
    print(f"{faults} faults")
    return min(faults, 1)


if __name__ == "__main__":
    sys.exit(main())
