"""The page in headless Chromium: it opens without a network, sorts, and shows every figure."""

import shutil

import pytest

pytest.importorskip("matplotlib")
pytest.importorskip("jinja2")
pytest.importorskip("selenium", reason="needs selenium: pip install 'rerank[browser]'")

from selenium import webdriver
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support.wait import WebDriverWait
from small_judging import every_pair
from small_pages import METRICS, experiment, scored

from rerank.report.page import write_page

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
DRIVER = shutil.which("chromedriver")
pytestmark = pytest.mark.skipif(not (CHROMIUM and DRIVER), reason="needs chromium and chromedriver")

FLAGS = (
    *("headless=new", "no-sandbox", "disable-gpu", "disable-quic", "no-first-run", "disable-dev-shm-usage"),
    *("disable-background-networking", "disable-component-update", "disable-sync"),
)
BOXES = """
return [...document.querySelectorAll("figure svg[role=img]")].map((svg) => {
  const box = svg.getBoundingClientRect();
  const texts = [...svg.querySelectorAll("text")].filter((one) => one.textContent.trim());
  return [box.width, box.height, svg.getAttribute("aria-label").length, texts.length];
});
"""
LOADED = "return location.href === arguments[0] && document.readyState === 'complete'"
# Texts of figures that reach out of their panel, and widths of the page and the window.
OVERFLOW = """
const out = [];
for (const figure of document.querySelectorAll("figure")) {
  const box = figure.getBoundingClientRect();
  for (const text of figure.querySelectorAll("svg[role=img] text")) {
    const own = text.getBoundingClientRect();
    if (own.left < box.left - 1 || own.right > box.right + 1) out.push(text.textContent);
  }
}
return [out, document.documentElement.scrollWidth, document.documentElement.clientWidth];
"""


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    options = webdriver.ChromeOptions()
    options.binary_location = CHROMIUM
    for flag in (*FLAGS, f"user-data-dir={tmp_path_factory.mktemp('profile')}"):
        options.add_argument(f"--{flag}")
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    driver = webdriver.Chrome(options=options, service=Service(DRIVER))
    driver.execute_cdp_cmd("Network.enable", {})
    driver.execute_cdp_cmd(
        "Network.emulateNetworkConditions",
        {"offline": True, "latency": 0, "downloadThroughput": 0, "uploadThroughput": 0},
    )
    yield driver
    driver.quit()


@pytest.fixture(scope="module")
def pages(tmp_path_factory):
    folder = tmp_path_factory.mktemp("pages")
    metrics = (*METRICS, "oracle2.WER", "oracle3.WER")
    write_page(experiment(metrics=metrics), str(folder / "whole.html"))
    write_page(every_pair(scored(3, ("WER",), baseline="0.scores")), str(folder / "scored.html"))
    return folder


@pytest.fixture(params=["whole", "scored"])
def opened(request, browser, pages):
    return open_page(browser, pages / f"{request.param}.html")


def open_page(browser, path, width=1200, scheme="light"):
    size = {"width": width, "height": 800, "deviceScaleFactor": 1, "mobile": False}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
    feature = {"name": "prefers-color-scheme", "value": scheme}
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [feature]})
    browser.get("about:blank")  # a page that is opened again counts as loaded before it has gone
    for kind in ("browser", "performance"):
        browser.get_log(kind)
    browser.get(path.as_uri())
    WebDriverWait(browser, 30).until(lambda it: it.execute_script(LOADED, path.as_uri()))
    return browser


def column(browser, table, place):
    rows = browser.find_elements(By.CSS_SELECTOR, "table")[table].find_elements(
        By.CSS_SELECTOR, "tbody.rows tr"
    )
    return [row.find_elements(By.CSS_SELECTOR, "th, td")[place].text for row in rows]


def head(browser, table, place):
    return browser.find_elements(By.CSS_SELECTOR, "table")[table].find_elements(By.CSS_SELECTOR, "thead th")[
        place
    ]


def numbers(cells):
    return [float(cell.replace("−", "-").split(" ")[0]) for cell in cells]


def test_it_opens_without_errors_and_asks_for_nothing_else(opened):
    assert opened.get_log("browser") == []
    asked = [entry["message"] for entry in opened.get_log("performance")]
    sent = [text for text in asked if '"Network.requestWillBeSent"' in text and '"url":"data:' not in text]
    assert len(sent) == 1
    assert '"url":"file://' in sent[0]


def test_every_figure_is_shown_and_described(opened):
    boxes = opened.execute_script(BOXES)
    assert len(boxes) > 3
    assert all(width > 200 and height > 50 and alt > 20 and texts > 2 for width, height, alt, texts in boxes)


@pytest.mark.parametrize("width", [400, 800, 1600])
def test_only_tables_scroll(browser, pages, width):
    for name in ("whole", "scored"):
        cut, page, window = open_page(browser, pages / f"{name}.html", width).execute_script(OVERFLOW)
        assert page <= window
        assert cut == []


def test_a_click_sorts_by_numbers_and_again_the_other_way(browser, pages):
    open_page(browser, pages / "whole.html")
    before = numbers(column(browser, 0, 1))
    for order, expected in (("descending", sorted(before, reverse=True)), ("ascending", sorted(before))):
        head(browser, 0, 1).find_element(By.TAG_NAME, "button").click()
        assert head(browser, 0, 1).get_attribute("aria-sort") == order
        assert numbers(column(browser, 0, 1)) == expected
    head(browser, 0, 0).find_element(By.TAG_NAME, "button").click()
    assert column(browser, 0, 0)[0].startswith("listnet")
    assert [head(browser, 0, place).get_attribute("aria-sort") for place in (0, 1)] == ["ascending", "none"]


def test_rows_without_a_number_stay_last(browser, pages):
    """The baseline has no difference, p or wins; differences have signs, p a leading dot or <."""
    open_page(browser, pages / "whole.html")
    heads = [
        one.text
        for one in browser.find_elements(By.CSS_SELECTOR, "table")[0].find_elements(
            By.CSS_SELECTOR, "th[scope=col]"
        )
    ]
    for place, text in enumerate(heads):
        if not text.startswith(("Difference", "p", "Won")):
            continue
        for _ in range(2):
            head(browser, 0, place).find_element(By.TAG_NAME, "button").click()
            cells = column(browser, 0, place)
            assert cells[-1] == "–"
            assert cells.count("–") == 1


def test_the_keyboard_sorts(browser, pages):
    open_page(browser, pages / "whole.html")
    buttons = browser.find_elements(By.CSS_SELECTOR, "thead button")
    buttons[0].send_keys(Keys.TAB)
    assert browser.switch_to.active_element == buttons[1]
    for key, order in ((Keys.ENTER, "descending"), (Keys.SPACE, "ascending")):
        browser.switch_to.active_element.send_keys(key)
        assert head(browser, 0, 1).get_attribute("aria-sort") == order


def test_the_pointer_shows_values(browser, pages):
    open_page(browser, pages / "whole.html")
    mark = browser.find_elements(By.CSS_SELECTOR, "figure svg [data-tip]")[0]
    tip = browser.find_element(By.ID, "tip")
    assert not tip.is_displayed()
    browser.execute_script("arguments[0].scrollIntoView({block: 'center'})", mark)
    webdriver.ActionChains(browser).move_to_element(mark).perform()
    assert tip.is_displayed()
    assert tip.text == mark.get_attribute("data-tip")
    assert browser.find_elements(By.CSS_SELECTOR, "svg title") == []


def test_figures_follow_the_colours_of_the_page(browser, pages):
    found = []
    for scheme in ("light", "dark"):
        open_page(browser, pages / "whole.html", scheme=scheme)
        text = browser.find_element(By.CSS_SELECTOR, "figure svg text")
        found.append(
            (
                text.value_of_css_property("fill"),
                browser.find_element(By.TAG_NAME, "body").value_of_css_property("background-color"),
            )
        )
    (dark_ink, light_page), (light_ink, dark_page) = found
    assert len({dark_ink, light_ink}) == len({light_page, dark_page}) == 2


def test_everything_is_printed(browser, pages):
    open_page(browser, pages / "whole.html")
    closed = len(browser.find_elements(By.CSS_SELECTOR, "details:not([open])"))
    assert closed
    assert len(browser.print_page()) > 10_000
    assert browser.find_elements(By.CSS_SELECTOR, "details:not([open])") == []
