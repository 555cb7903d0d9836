"""The report's page in a real browser: what readers do with mouse and keyboard, in light and dark, wide and narrow."""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from itertools import combinations
from pathlib import Path
from typing import Any

import pytest
from report_data import HOSTILE, HOSTILE_NAME, UNSEEN_SHOWN, large_report_data, map_chart, report_data

import textmix
from textmix.report.page import render_page

pytest.importorskip("playwright", reason="the browser tests need playwright: pip install playwright")
from playwright.sync_api import Browser, BrowserContext, Dialog, Locator, Page, expect, sync_playwright

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
if CHROMIUM is None:
    pytest.skip("no Chromium in PATH", allow_module_level=True)

OPTIONS = (
    "--headless --no-sandbox --disable-gpu --no-first-run --disable-background-networking --disable-component-update "
    "--disable-sync"
)
VIEWS = ("overview", "clusters", "cluster-2", "cluster-16", "outliers", "hierarchy", "course", "labels", "times")
TIMEOUT = 20_000  # milliseconds, for machines that are busy
NARROW_CHART = re.compile(r"^3\d\d(\.\d+)?$")
WIDE, NARROW = {"width": 1280, "height": 860}, {"width": 390, "height": 844}


@pytest.fixture(scope="module")  # it holds the event loop of its process, and others need it after this file
def browser() -> Iterator[Browser]:
    expect.set_options(timeout=TIMEOUT)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=OPTIONS.split())
        yield browser
        browser.close()


@pytest.fixture(scope="session")
def data() -> dict[str, Any]:
    return report_data()


@pytest.fixture(scope="session")
def address(tmp_path_factory: pytest.TempPathFactory, data: dict[str, Any]) -> str:
    return written(tmp_path_factory.mktemp("report"), data)


def written(folder: Path, data: dict[str, Any]) -> str:
    """The address of a page with these data."""
    path = folder / "report.html"
    path.write_text(render_page(data), encoding="utf-8")
    return path.as_uri()


def watched(page: Page, troubles: list[str]) -> Page:
    """Notes what must not happen: a request to a server, an error, a dialog."""

    def requested(url: str) -> None:
        if not url.startswith(("file:", "data:", "blob:")):
            troubles.append(f"asked for {url}")

    def said(kind: str, text: str) -> None:
        if kind in {"error", "warning"}:
            troubles.append(f"{kind}: {text}")

    def asked(dialog: Dialog) -> None:
        troubles.append(f"dialog: {dialog.message}")
        dialog.dismiss()

    page.on("request", lambda request: requested(request.url))
    page.on("console", lambda message: said(message.type, message.text))
    page.on("pageerror", lambda error: troubles.append(f"page error: {error}"))
    page.on("dialog", asked)
    return page


@pytest.fixture
def open_page(browser: Browser) -> Iterator[Callable[..., Page]]:
    """Opens an address in a new window; at the end there may have been no trouble."""
    contexts: list[BrowserContext] = []
    troubles: list[str] = []

    def open_(address: str, **settings: Any) -> Page:
        context = browser.new_context(**{"viewport": WIDE, **settings})
        context.set_default_timeout(TIMEOUT)
        contexts.append(context)
        page = watched(context.new_page(), troubles)
        page.goto(address)
        return page

    yield open_
    for context in contexts:
        context.close()
    assert not troubles


@pytest.fixture(scope="session")
def address_without_charts(tmp_path_factory: pytest.TempPathFactory, data: dict[str, Any]) -> str:
    """The same page without Plotly, which takes most of the time."""
    return written(tmp_path_factory.mktemp("report"), {**data, "charts": {}})


@pytest.fixture
def page(open_page: Callable[..., Page], address_without_charts: str) -> Page:
    """The page without charts."""
    return open_page(address_without_charts)


@pytest.fixture(scope="module")
def window(browser: Browser, address: str) -> Iterator[tuple[Page, list[str]]]:
    """One window for all tests of charts, and its troubles: Plotly takes a second or two to start."""
    context = browser.new_context(viewport=WIDE)
    context.set_default_timeout(TIMEOUT)
    troubles: list[str] = []
    page = watched(context.new_page(), troubles)
    page.goto(address)
    yield page, troubles
    context.close()


@pytest.fixture
def full_page(window: tuple[Page, list[str]]) -> Iterator[Page]:
    """The page with charts, at a view that has none."""
    page, troubles = window
    page.set_viewport_size(WIDE)
    page.emulate_media(color_scheme="light")
    show(page, "clusters")
    yield page
    found = troubles.copy()
    troubles.clear()
    assert not found


def show(page: Page, view: str) -> None:
    """Goes to a view and waits until its charts are drawn."""
    page.evaluate("view => { location.hash = view }", f"#{view}")
    section = page.locator("#view-cluster" if view.startswith("cluster-") else f"#view-{view}")
    expect(section).to_be_visible()
    for chart in section.locator("[data-chart]").all():
        expect(chart).to_have_attribute("data-drawn", "")


def rows(page: Page) -> Locator:
    return page.locator("#clusters-table tbody tr")


def column(page: Page, place: int) -> list[str]:
    return page.locator(f"#clusters-table tbody tr > :nth-child({place})").all_inner_texts()


def number(text: str) -> float:
    return float(text.replace("−", "-").replace(",", "").replace("%", ""))


# Views


def test_every_view_is_shown_by_its_address_alone(full_page: Page, data: dict[str, Any]) -> None:
    for view in VIEWS:
        show(full_page, view)
        expect(full_page.locator(".view:visible")).to_have_count(1)
        expect(full_page.locator(".view:visible h2")).not_to_be_empty()
    assert data["title"] in full_page.title()


def test_link_to_one_cluster_opens_it(
    open_page: Callable[..., Page], address_without_charts: str, data: dict[str, Any]
) -> None:
    page = open_page(f"{address_without_charts}#cluster-5")
    name = next(cluster["name"] for cluster in data["clusters"] if cluster["index"] == 5)
    expect(page.locator("#heading-cluster")).to_have_text(name)
    assert page.title().startswith(name)


def test_wrong_address_does_no_harm(open_page: Callable[..., Page], address_without_charts: str) -> None:
    page = open_page(f"{address_without_charts}#cluster-999")
    heading = page.locator(".view:visible h2")
    expect(heading).to_have_text("There is no such cluster")
    for wrong in ("cluster-x", "nothing", "main", "view-cluster", "cluster", "%3Cimg%20src=x%20onerror=alert(1)%3E"):
        show(page, "clusters")
        page.evaluate("view => { location.hash = view }", f"#{wrong}")
        expect(heading).to_have_text("Overview")


def test_only_views_that_have_something(open_page: Callable[..., Page], tmp_path: Path) -> None:
    page = open_page(written(tmp_path, large_report_data(3)))
    expect(page.get_by_role("navigation", name="Views").get_by_role("link")).to_have_text(["Overview", "Clusters"])
    show(page, "clusters")
    expect(page.locator("#clusters-table thead th")).to_have_text(["Name", "Texts", "Share", "Words"])
    show(page, "cluster-1")
    expect(page.locator("#heading-nearest")).to_be_hidden()


def test_report_without_clusters(open_page: Callable[..., Page], tmp_path: Path) -> None:
    data = large_report_data(0)
    data |= {"hierarchy": {"names": [], "sizes": [], "clusters": [], "pairs": [], "costs": []}, "charts": None}
    page = open_page(written(tmp_path, data))
    expect(page.locator("#view-overview")).to_be_visible()
    show(page, "clusters")
    expect(page.locator("#clusters-count")).to_have_text("0 clusters")


def test_focus_goes_to_the_heading_and_back_to_the_link(page: Page) -> None:
    show(page, "hierarchy")
    page.get_by_role("navigation", name="Views").get_by_role("link", name="Clusters").click()
    expect(page.locator("#heading-clusters")).to_be_focused()
    link = rows(page).nth(9).get_by_role("link")
    link.click()
    expect(page.locator("#heading-cluster")).to_be_focused()
    page.go_back()
    expect(link).to_be_focused()
    page.go_back()
    expect(page.locator("#view-hierarchy")).to_be_visible()


def test_charts_are_drawn_only_when_seen(open_page: Callable[..., Page], address: str) -> None:
    page = open_page(f"{address}#clusters")
    expect(page.locator("#view-clusters")).to_be_visible()
    assert page.evaluate("typeof window.Plotly") == "undefined"
    show(page, "overview")
    assert page.locator("[data-drawn]").count() == 1


# Overview


def point_on(page: Page, place: int) -> dict[str, float]:
    """The middle of a point of the map, which is in sight then."""
    show(page, "overview")
    point = page.locator(".map .point").nth(place)
    point.scroll_into_view_if_needed()
    box = point.bounding_box()
    assert box is not None
    return {"x": box["x"] + box["width"] / 2, "y": box["y"] + box["height"] / 2}


def test_click_on_a_point_of_the_map_opens_its_cluster(full_page: Page, data: dict[str, Any]) -> None:
    place = 6
    cluster = data["clusters"][place]
    point = point_on(full_page, place)
    full_page.mouse.move(**point)
    expect(full_page.locator(".hovertext")).to_contain_text(cluster["name"])
    expect(full_page.locator(".hovertext")).to_contain_text(f"{cluster['size']} texts")
    full_page.mouse.click(**point)
    expect(full_page.locator("#heading-cluster")).to_have_text(cluster["name"])
    assert full_page.url.endswith(f"#cluster-{cluster['index']}")


def test_overview_has_the_numbers_and_the_ten_largest(page: Page) -> None:
    expect(page.locator("#view-overview")).to_be_visible()
    expect(page.locator("#largest > li")).to_have_count(10)
    expect(page.locator(".tiles")).to_contain_text("1,204")
    expect(page.locator(".tiles")).to_contain_text("41%")


def test_charts_follow_the_colour_scheme(full_page: Page) -> None:
    show(full_page, "times")
    tick = full_page.locator("[data-chart=times] .xtick text").first
    colour = "element => getComputedStyle(element).fill"
    light = tick.evaluate(colour)
    full_page.emulate_media(color_scheme="dark")
    expect(tick).not_to_have_css("fill", light)
    expect(tick).to_have_css("fill", full_page.locator("html").evaluate("element => getComputedStyle(element).color"))


def test_charts_become_narrower_with_the_window(full_page: Page) -> None:
    show(full_page, "overview")
    show(full_page, "times")
    full_page.set_viewport_size(NARROW)
    expect(full_page.locator("[data-chart=times] .main-svg").first).to_have_attribute("width", NARROW_CHART)
    show(full_page, "overview")  # drawn when the window was wide
    expect(full_page.locator("[data-chart=map] .main-svg").first).to_have_attribute("width", NARROW_CHART)


# Clusters


def test_search_narrows_by_name_words_and_texts(page: Page, data: dict[str, Any]) -> None:
    show(page, "clusters")
    count, n = page.locator("#clusters-count"), len(data["clusters"])
    expect(count).to_have_text(f"{n} clusters")
    search = page.get_by_label("Find in names, words and the texts shown")
    search.fill("GIFT")
    expect(count).not_to_have_text(f"{n} clusters")
    expected = {
        cluster["index"]
        for cluster in data["clusters"]
        if "gift" in str(cluster["telling"] + cluster["probable"])
        or any("gift" in data["texts"][place]["text"].lower() for place in cluster["typical"] + cluster["unusual"])
    }
    expect(count).to_have_text(f"{len(expected)} of {n} clusters")
    expect(rows(page)).to_have_count(len(expected))
    expect(rows(page).locator(".hits").filter(has_text="in its name or words")).not_to_have_count(0)
    search.fill("concierge investigation")  # both in one text only
    expect(rows(page)).to_have_count(1)
    expect(rows(page).locator(".hits")).to_have_text("in 1 text")
    rows(page).get_by_role("link").click()
    expect(page.locator("#view-cluster .document").filter(has=page.locator(".found"))).to_contain_text(["concierge"])
    page.go_back()
    for not_shown in ("arriving", "T-0271", "login_password"):  # a text that is in no cluster's page, an id, a label
        search.fill(not_shown)
        expect(rows(page)).to_have_count(0)
    search.fill("zzzz")
    expect(page.locator("#clusters-nothing")).to_be_visible()
    search.fill("")
    expect(rows(page)).to_have_count(n)


@pytest.mark.parametrize(("header", "place"), [("Texts", 2), ("Coherence", 4), ("Agreed", 5)])
def test_sort_by_number(page: Page, header: str, place: int) -> None:
    show(page, "clusters")
    button = page.locator("#clusters-table thead").get_by_role("button", name=header)
    heading = page.locator("#clusters-table thead th").filter(has_text=header)
    if header != "Texts":  # sorted by size at first
        button.click()
    expect(heading).to_have_attribute("aria-sort", "descending")
    falling = [number(value) for value in column(page, place) if value != "–"]
    assert falling == sorted(falling, reverse=True)
    button.click()
    expect(heading).to_have_attribute("aria-sort", "ascending")
    rising = column(page, place)
    assert [number(value) for value in rising if value != "–"] == sorted(falling)
    assert "–" not in rising[:-1]  # without a value: last
    expect(page.locator("#clusters-table [aria-sort]")).to_have_count(1)


def test_sort_by_name(page: Page) -> None:
    show(page, "clusters")
    button = page.locator("#clusters-table thead").get_by_role("button", name="Name")
    button.click()
    rising = rows(page).locator("th .name").all_inner_texts()
    assert rising[1:] == sorted(rising[1:], key=str.casefold)
    button.click()
    assert rows(page).locator("th .name").all_inner_texts() == rising[::-1]


def test_words_most_telling_or_most_frequent(page: Page, data: dict[str, Any]) -> None:
    show(page, "clusters")
    cluster = data["clusters"][0]
    first = rows(page).first.locator(".chips li")
    expect(first).to_have_text([word for word, _ in cluster["telling"][:7]])
    page.locator("#view-clusters").get_by_label("most frequent").check()
    expect(first).to_have_text([word for word, _ in cluster["probable"][:7]])
    show(page, f"cluster-{cluster['index']}")
    expect(page.locator("#view-cluster").get_by_label("most frequent")).to_be_checked()
    expect(page.locator("#cluster-words .word")).to_have_text([word for word, _ in cluster["probable"]])
    page.locator("#view-cluster").get_by_label("most telling").check()
    expect(page.locator("#cluster-words .word")).to_have_text([word for word, _ in cluster["telling"]])


def test_a_thousand_clusters(open_page: Callable[..., Page], tmp_path: Path) -> None:
    page = open_page(written(tmp_path, large_report_data(1000)))
    show(page, "clusters")
    expect(rows(page)).to_have_count(200)
    page.get_by_role("button", name="Show 200 more of 1,000").click()
    expect(rows(page)).to_have_count(400)
    expect(rows(page).nth(200).get_by_role("link")).to_be_focused()
    page.locator("#filter").fill("subject99")
    expect(page.locator("#clusters-count")).to_have_text("11 of 1,000 clusters")


# One cluster


def test_words_of_the_cluster_are_marked(page: Page, data: dict[str, Any]) -> None:
    cluster = next(cluster for cluster in data["clusters"] if "gift" in cluster["name"])
    show(page, f"cluster-{cluster['index']}")
    text = page.locator("#cluster-typical .text").first
    expect(text).to_have_text(data["texts"][cluster["typical"][0]]["text"])
    marks = page.locator("#cluster-typical mark").all_inner_texts()
    assert {mark.lower() for mark in marks} <= set(cluster["highlight"])
    assert "gift card" in {mark.lower() for mark in marks}


def test_marks_end_at_the_ends_of_words(open_page: Callable[..., Page], tmp_path: Path) -> None:
    data = large_report_data(1)
    data["clusters"][0] |= {"highlight": ["art", "über", "東京", "don't", "i̇zmir"], "typical": [0], "unusual": []}
    data["texts"][0]["text"] = "Art, start; ÜBER überall art_art 東京都 Don’t don't"
    page = open_page(f"{written(tmp_path, data)}#cluster-0")
    expect(page.locator("mark")).to_have_text(["Art", "ÜBER", "art", "art", "東京", "Don’t", "don't"])


def test_nearest_previous_and_next(page: Page, data: dict[str, Any]) -> None:
    first, second = data["clusters"][:2]
    show(page, f"cluster-{first['index']}")
    expect(page.locator("#cluster-previous")).to_be_hidden()
    nearest = page.locator("#cluster-nearest > li")
    expect(nearest).to_have_count(len(first["nearest"]))
    expect(nearest.first).to_contain_text("<i>door</i>")
    page.locator("#cluster-next").click()
    expect(page.locator("#heading-cluster")).to_have_text(second["name"])
    page.locator("#cluster-nearest a").first.click()
    expect(page.locator("#heading-cluster")).not_to_have_text(second["name"])


def test_long_text_is_shown_in_part_at_first(page: Page) -> None:
    show(page, "cluster-16")
    item = page.locator("#cluster-typical .document").last
    short = len(item.locator(".text").inner_text())
    item.get_by_role("button", name="Show more of it").click()
    expect(item.locator(".text")).to_contain_text("the text goes on")
    assert len(item.locator(".text").inner_text()) > 3 * short


# Sliders


def test_outlier_threshold_by_keyboard(page: Page, data: dict[str, Any]) -> None:
    show(page, "outliers")
    outliers, count = data["outliers"], page.locator("#outliers-count")
    place = outliers["steps"].index(outliers["threshold"])
    n = data["documents"]["n"]
    expect(count).to_have_text(f"{outliers['counts'][place]} of {n} texts fit nowhere at 0.65")
    slider = page.get_by_role("slider", name="Threshold")
    slider.focus()
    page.keyboard.press("ArrowRight")
    expect(count).to_have_text(f"{outliers['counts'][place + 1]} of {n} texts fit nowhere at 0.70")
    listed = page.locator("#outliers-list > li")
    expect(listed).to_have_count(outliers["counts"][place + 1])
    page.keyboard.press("End")
    expect(listed).to_have_count(1)  # alone in its cluster, without a score
    expect(listed).to_contain_text("alone")
    expect(listed).not_to_contain_text("score")
    page.keyboard.press("Home")
    expect(listed).to_have_count(100)
    page.get_by_role("button", name="Show 100 more of 400").click()
    expect(listed).to_have_count(200)


def test_outliers_without_a_threshold(open_page: Callable[..., Page], tmp_path: Path, data: dict[str, Any]) -> None:
    fixed = {"threshold": None, "steps": [], "counts": [], "texts": [0, 1], "meaning": "Alone."}
    page = open_page(f"{written(tmp_path, {**data, 'outliers': fixed})}#outliers")
    expect(page.get_by_role("slider")).to_have_count(0)
    expect(page.locator("#outliers-list > li")).to_have_count(2)


def test_number_of_clusters_by_keyboard(page: Page, data: dict[str, Any]) -> None:
    show(page, "hierarchy")
    tree, n = data["hierarchy"], len(data["hierarchy"]["names"])
    slider, groups = page.get_by_role("slider", name="Number of clusters"), page.locator("#hierarchy-list > li")
    slider.focus()
    page.keyboard.press("End")
    expect(page.locator("#hierarchy-count")).to_have_text(f"{n} clusters, as found")
    expect(groups).to_have_count(n)
    expect(page.locator("#hierarchy-last")).to_have_text("Nothing is joined yet.")
    page.keyboard.press("ArrowLeft")
    expect(groups).to_have_count(n - 1)
    into, gone = tree["pairs"][0]
    expect(page.locator("#hierarchy-last")).to_contain_text(tree["names"][gone])
    expect(page.locator("#hierarchy-last")).to_contain_text(tree["names"][into])
    page.keyboard.press("Home")
    expect(groups).to_have_count(1)
    expect(groups).to_contain_text(f"{sum(tree['sizes'])} texts")
    expect(groups.get_by_role("link")).to_have_count(n)


def test_single_texts_do_not_swamp_the_hierarchy(
    open_page: Callable[..., Page], tmp_path: Path, data: dict[str, Any]
) -> None:
    tree = {"names": ["parcels", "refunds", "a", "b", "c"], "sizes": [9, 5, 1, 1, 1], "clusters": [0, 1, 90, 91, 92]}
    tree |= {"pairs": [[0, 3], [0, 4], [0, 2], [0, 1]], "costs": [1, 2, 3, 4]}
    page = open_page(f"{written(tmp_path, {**data, 'hierarchy': tree, 'charts': {}})}#hierarchy")
    groups, alone = page.locator("#hierarchy-list > li"), page.locator("#hierarchy-alone")
    page.get_by_role("slider").focus()
    page.keyboard.press("End")
    expect(groups).to_have_count(2)
    expect(alone).to_have_text("and 3 texts alone, each a cluster of its own")
    page.keyboard.press("ArrowLeft")
    page.keyboard.press("ArrowLeft")
    expect(groups.first).to_contain_text("2 texts that were alone")
    expect(alone).to_have_text("and 1 text alone, a cluster of its own")
    page.keyboard.press("Home")
    expect(groups).to_have_count(1)
    expect(groups).to_contain_text("and 3 texts that were alone")
    expect(alone).to_be_empty()


# Keyboard


def tab_to(page: Page, target: Locator) -> None:
    """Presses Tab until the element has the focus."""
    for _ in range(60):
        if target.evaluate("element => element === document.activeElement"):
            return
        page.keyboard.press("Tab")
    raise AssertionError("Tab does not lead there")


def test_tour_by_keyboard_alone(open_page: Callable[..., Page], address_without_charts: str) -> None:
    page = open_page(f"{address_without_charts}#hierarchy")
    page.keyboard.press("Tab")
    expect(page.locator("#skip")).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.locator("#main")).to_be_focused()
    page.keyboard.press("Shift+Tab")
    tab_to(page, page.get_by_role("navigation", name="Views").get_by_role("link", name="Clusters"))
    page.keyboard.press("Enter")
    expect(page.locator("#heading-clusters")).to_be_focused()
    tab_to(page, page.locator("#filter"))
    assert page.evaluate("getComputedStyle(document.activeElement).outlineStyle") == "solid"
    page.keyboard.type("voucher")
    expect(page.locator("#clusters-count")).to_contain_text(" of ")
    link = rows(page).first.get_by_role("link")
    name = link.inner_text()
    tab_to(page, link)
    page.keyboard.press("Enter")
    expect(page.locator("#heading-cluster")).to_have_text(name)
    page.go_back()  # Alt and ←, which is the browser's own, does nothing where it has no window
    expect(page.locator("#view-clusters")).to_be_visible()
    expect(page.locator("#filter")).to_have_value("voucher")
    expect(link).to_be_focused()


# Hostile documents


def test_hostile_documents_are_shown_as_they_are(full_page: Page) -> None:
    show(full_page, "cluster-16")
    for button in full_page.get_by_role("button", name="Show more of it").all()[::-1]:
        button.click()
    shown = full_page.locator("#cluster-typical .text").evaluate_all("nodes => nodes.map((node) => node.textContent)")
    assert set(shown).issuperset(HOSTILE.values())
    assert set(shown).issuperset(UNSEEN_SHOWN.values())
    expect(full_page.locator("#heading-cluster")).to_have_text(HOSTILE_NAME)
    for view in VIEWS:
        show(full_page, view)
    assert full_page.locator("img").count() == 0


def test_direction_of_a_text_stays_its_own(page: Page) -> None:
    show(page, "cluster-16")
    foreign = page.locator("#cluster-typical .text")
    arabic = foreign.filter(has_text=HOSTILE["arabic"].strip("\u202e")[:5])
    expect(arabic).to_have_css("direction", "rtl")
    expect(arabic).to_have_css("unicode-bidi", "isolate")
    expect(page.locator("#cluster-typical .about").first).to_have_css("direction", "ltr")
    assert page.locator("#view-cluster bdi:not([dir=auto])").count() == 0


def test_markup_in_names_is_literal_in_charts(full_page: Page, data: dict[str, Any]) -> None:
    show(full_page, "times")
    legend = full_page.locator("[data-chart=times] .legendtext")
    expect(legend.filter(has_text="<b>“names”</b>")).to_have_count(1)
    place = next(i for i, cluster in enumerate(data["clusters"]) if cluster["name"] == HOSTILE_NAME)
    full_page.mouse.move(**point_on(full_page, place))
    expect(full_page.locator(".hovertext")).to_contain_text("<img src=x onerror=alert(1)> & <b>“names”</b>")


# Looks


def test_page_never_scrolls_sideways(full_page: Page) -> None:
    for view in VIEWS:
        full_page.set_viewport_size(WIDE)
        show(full_page, view)
        for size in (WIDE, NARROW, {"width": 320, "height": 640}):
            full_page.set_viewport_size(size)
            expect(full_page.locator("html")).to_have_js_property("scrollWidth", size["width"])


def lie_over_each_other(one: dict[str, float], other: dict[str, float]) -> bool:
    across = min(one["right"], other["right"]) - max(one["left"], other["left"])
    down = min(one["bottom"], other["bottom"]) - max(one["top"], other["top"])
    return across > 1 and down > 4  # boxes of letters have some air


def test_telephone_in_the_dark(open_page: Callable[..., Page], address: str) -> None:
    page = open_page(address, viewport=NARROW, color_scheme="dark", is_mobile=True, has_touch=True)
    for view in VIEWS:
        show(page, view)
        assert page.evaluate("document.documentElement.scrollWidth <= 390 && innerWidth <= 390"), view
    show(page, "overview")
    names = page.locator(".map .annotation-text")
    assert names.count() >= 5
    boxes = names.evaluate_all("nodes => nodes.map((node) => node.getBoundingClientRect().toJSON())")
    assert all(box["left"] >= 0 and box["right"] <= NARROW["width"] for box in boxes)
    assert not [pair for pair in combinations(boxes, 2) if lie_over_each_other(*pair)]
    background = page.evaluate("getComputedStyle(document.documentElement).backgroundColor")
    assert all(int(part) < 60 for part in re.findall(r"\d+", background)[:3])


@pytest.mark.skipif(
    find_spec("axe_playwright_python") is None, reason="needs axe-playwright-python, which has axe-core"
)
@pytest.mark.parametrize(("scheme", "size"), [("light", WIDE), ("dark", NARROW)], ids=["light", "dark"])
def test_no_barriers(open_page: Callable[..., Page], tmp_path: Path, scheme: str, size: Any) -> None:
    spec = find_spec("axe_playwright_python")
    assert spec is not None
    assert spec.submodule_search_locations is not None
    axe = Path(spec.submodule_search_locations[0], "axe.min.js").read_text(encoding="utf-8")
    data = report_data()
    # Little of everything: axe takes its time for every element.
    data["clusters"] = [cluster for cluster in data["clusters"] if cluster["index"] in {0, 1, 2, 16}]
    data["charts"]["map"] = map_chart(data["clusters"])
    data["labels"]["rows"] = data["labels"]["rows"][:4]
    data["outliers"]["texts"] = data["outliers"]["texts"][:5]
    address = written(tmp_path, data)
    page = open_page(address, viewport=size, color_scheme=scheme, reduced_motion="reduce", bypass_csp=True)
    page.evaluate(axe)
    for view in VIEWS:
        show(page, view)
        part = "document" if view == VIEWS[0] else "{ include: ['.view:not([hidden])'] }"  # the frame once
        found = page.evaluate(f"axe.run({part}, {{ resultTypes: ['violations'], preload: false }})")["violations"]
        grave = [
            (view, violation["id"], [node["html"][:200] for node in violation["nodes"][:3]])
            for violation in found
            if violation["impact"] in {"serious", "critical"}
        ]
        assert not grave


def test_table_without_javascript(open_page: Callable[..., Page], address: str, data: dict[str, Any]) -> None:
    page = open_page(address, java_script_enabled=False)
    expect(page.locator("noscript table tbody tr")).to_have_count(len(data["clusters"]))
    expect(page.locator("noscript table")).to_contain_text(HOSTILE_NAME)


def test_a_clustering_of_hostile_texts_is_harmless(open_page: Callable[..., Page], tmp_path: Path) -> None:
    words = [
        "<script>alert(1)</script>",
        "<img src=x onerror=alert(2)>",
        "{{7*7}}",
        "\u202egnorts\u202c",
        "شكرا",
        "👩‍👩‍👧",
        "\ud800",
    ]
    texts = [f"{word} parcel courier late {i}" for i, word in enumerate(words * 4)] + ["refund money bank"] * 9
    texts += ["parcel " * 150_000, "</script><script>alert(3)</script>"]
    times = ["2024-03-04"] * len(texts)
    clustering = textmix.cluster(texts, language=None, labels=texts, ids=texts, times=times)
    name = "</script><script>alert(4)</script> <b>bold</b>"
    path = tmp_path / "report.html"
    clustering.rename(0, name).report(path, title=name)
    assert path.stat().st_size < 6_000_000
    page = open_page(path.as_uri())
    for view in ("overview", "clusters", "cluster-0", "outliers", "hierarchy", "course", "labels", "times"):
        show(page, view)
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), view
    show(page, "cluster-0")
    expect(page.locator("#heading-cluster")).to_have_text(name)
    assert page.locator("script").count() == clean_page(open_page, tmp_path).locator("script").count()


def clean_page(open_page: Callable[..., Page], folder: Path) -> Page:
    """The page of texts that mean no harm, with the same parts."""
    texts = ["parcel courier late"] * 9 + ["refund money bank"] * 9
    path = folder / "clean.html"
    textmix.cluster(texts, labels=texts, times=["2024-03-04"] * 18).report(path)
    page = open_page(path.as_uri())
    show(page, "times")
    return page
