"""The live page in real Chromium while documents arrive."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from server_running import TOKEN, RunningServer, running, some_documents, wait_until

from textmix.stream.durable import DurableStream
from textmix.stream.records import StoredEvent
from textmix.stream.server.settings import Settings
from textmix.stream.server.writer import News

pytest.importorskip("playwright", reason="the browser tests need playwright: pip install playwright")
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, BrowserContext, Dialog, Page, expect, sync_playwright

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
if CHROMIUM is None:
    pytest.skip("no Chromium in PATH", allow_module_level=True)

OPTIONS = (
    "--headless --no-sandbox --disable-gpu --no-first-run --disable-background-networking --disable-component-update "
    "--disable-sync"
)
TIMEOUT = 20_000  # milliseconds, for machines that are busy
WIDE, NARROW = {"width": 1280, "height": 900}, {"width": 390, "height": 844}
HOSTILE = "<img src=x onerror=alert(1)><script>alert(2)</script> zebra\u0000 \u202egnirts {{7*7}} &amp; 'quoted\""
LOST = re.compile("ERR_CONNECTION_REFUSED|ERR_INCOMPLETE_CHUNKED_ENCODING|ERR_CONNECTION_RESET|401")


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    expect.set_options(timeout=TIMEOUT)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=OPTIONS.split())
        yield browser
        browser.close()


class Window:
    """A page, and what must not happen in it: requests elsewhere, errors, dialogs."""

    def __init__(self, context: BrowserContext, address: str) -> None:
        context.set_default_timeout(TIMEOUT)
        self._address = address
        self.troubles: list[str] = []
        self.requests: list[str] = []
        self.page = context.new_page()
        self.page.on("request", lambda request: self._requested(request.url))
        self.page.on("console", lambda message: self._said(message.type, message.text))
        self.page.on("pageerror", lambda error: self.troubles.append(f"page error: {error}"))
        self.page.on("dialog", self._asked)
        self.page.goto(address)

    def _requested(self, url: str) -> None:
        self.requests.append(url)
        if not url.startswith((self._address, "data:")):
            self.troubles.append(f"asked for {url}")

    def _said(self, kind: str, text: str) -> None:
        if kind in {"error", "warning"}:
            self.troubles.append(f"{kind}: {text}")

    def _asked(self, dialog: Dialog) -> None:
        self.troubles.append(f"dialog: {dialog.message}")
        dialog.dismiss()


@pytest.fixture
def context(browser: Browser) -> Iterator[BrowserContext]:
    context = browser.new_context(viewport=WIDE)
    yield context
    context.close()


@pytest.fixture
def served(tmp_path: Path) -> Iterator[RunningServer]:
    with DurableStream(tmp_path / "state") as stream, running(stream) as server:
        yield server


@pytest.fixture
def window(context: BrowserContext, served: RunningServer) -> Iterator[Window]:
    window = Window(context, f"{served.client.base_url}")
    yield window
    assert window.troubles == []


def add(client: httpx.Client, n: int, prefix: str) -> None:
    assert client.post("/documents", json={"documents": some_documents(n, prefix)}).status_code == 200


def is_live(page: Page) -> None:
    expect(page.locator("#connection")).to_have_attribute("data-state", "live")


def test_clusters_grow_and_new_ones_flash_up_while_documents_arrive(window: Window, served: RunningServer) -> None:
    page = window.page
    is_live(page)
    expect(page.locator("#clusters-rest")).to_have_text("None yet.")
    add(served.client, 30, "a")
    expect(page.locator("#n-documents")).to_have_text("30")
    rows = page.locator("#clusters > li")
    expect(rows).to_have_count(3)
    expect(rows.first).to_have_class("fresh")
    expect(rows.first).to_contain_text("10 texts")
    add(served.client, 60, "b")
    expect(page.locator("#n-documents")).to_have_text("90")
    expect(page.locator("#clusters .more-texts").first).to_have_text("+20")
    expect(rows.first).to_contain_text("30 texts")
    expect(page.locator("#rate")).to_have_text("90")
    expect(page.locator("#announcement")).to_contain_text("texts more")

    served.add("zebra giraffe elephant", prefix="strange")
    expect(page.locator("#n-clusters")).to_have_text("4")
    newest = page.locator("#newest > li").first
    expect(newest).to_contain_text("zebra")
    expect(newest).to_have_class("fresh")
    expect(page.locator("#outliers > li").first).to_contain_text("zebra giraffe elephant")
    expect(page.locator("#events > li").first).to_contain_text("New: elephant, giraffe, zebra")

    served.client.delete("/documents/strange0")
    expect(page.locator("#events > li").first).to_contain_text("has no texts any more")
    expect(page.locator("#newest > li")).to_have_count(3)
    expect(page.locator("#outliers > li", has_text="zebra")).to_have_count(0)


def test_texts_that_are_taken_out_or_replaced_leave_the_page_at_once(window: Window, served: RunningServer) -> None:
    page = window.page
    is_live(page)
    add(served.client, 30, "a")
    served.add("zebra giraffe elephant", "volcano lava ash", "telescope galaxy", prefix="s")
    outliers = page.locator("#outliers > li")
    expect(outliers.filter(has_text="zebra")).to_have_count(1)
    listed = outliers.count()
    expect(page.locator("#n-outliers")).to_have_text(str(listed))
    served.client.delete("/documents/s0")
    served.client.post("/documents", json={"documents": [{"id": "s1", "text": "penguin iceberg"}]})
    expect(outliers.first).to_contain_text("penguin iceberg")
    expect(outliers).to_have_count(listed - 1)
    expect(page.locator("#outliers")).not_to_contain_text("zebra")
    expect(page.locator("#outliers")).not_to_contain_text("volcano")
    expect(page.locator("#n-outliers")).to_have_text(str(listed - 1))

    row = page.locator("#clusters > li", has_text="parcel")
    row.locator(".opener").click()
    expect(row.locator(".examples > li")).to_have_count(5)
    served.client.post("/documents", json={"documents": [{"id": "a27", "text": "parcel courier depot, another"}]})
    expect(row.locator(".examples .text").first).to_have_text("parcel courier depot, another")
    expect(row.locator(".figure")).to_have_text("10 texts")
    page.reload()
    is_live(page)
    expect(page.locator("#n-outliers")).to_have_text(str(outliers.count()))
    expect(page.locator("#outliers")).not_to_contain_text("zebra")


def test_a_cluster_opens_by_keyboard_and_keeps_the_focus_while_rows_move(window: Window, served: RunningServer) -> None:
    page = window.page
    is_live(page)
    add(served.client, 29, "a")
    expect(page.locator("#clusters > li")).to_have_count(3)
    smallest = page.locator("#clusters > li").last
    cluster = smallest.get_attribute("data-cluster")
    row = page.locator(f"#clusters > li[data-cluster='{cluster}']")
    row.locator(".opener").focus()
    page.keyboard.press("Enter")
    expect(row.locator(".opener")).to_have_attribute("aria-expanded", "true")
    expect(row.locator(".examples > li")).to_have_count(5)
    text = row.locator(".examples .text").first.inner_text()
    more = [{"id": f"more{i}", "text": text} for i in range(20)]
    served.client.post("/documents", json={"documents": more})
    expect(page.locator("#clusters > li").first).to_have_attribute("data-cluster", cluster or "")
    expect(row.locator(".opener")).to_be_focused()
    expect(row.locator(".examples .about").first).to_contain_text("more")


def test_hostile_texts_are_shown_and_not_obeyed(window: Window, served: RunningServer) -> None:
    page = window.page
    is_live(page)
    add(served.client, 12, "a")
    served.add(HOSTILE, prefix="<b>id</b>")
    outlier = page.locator("#outliers > li", has_text="zebra")
    expect(outlier.locator(".text")).to_contain_text("<img src=x onerror=alert(1)><script>alert(2)</script> zebra␀")
    expect(outlier.locator(".about")).to_contain_text("<b>id</b>0")
    expect(page.locator("#newest > li")).to_have_count(4)
    newest = page.locator("#newest > li").first
    newest.locator(".opener").click()
    expect(newest.locator(".examples .text")).to_contain_text("<img src=x")
    assert page.locator("main img, main script, main b:has-text('id')").count() == 0


def test_narrow_screens_show_the_first_clusters_until_asked_for_more(window: Window, served: RunningServer) -> None:
    page = window.page
    is_live(page)
    for letter in "abcdefghijklmnop":
        served.add(f"{letter * 4} {letter * 5} {letter * 6}", prefix=letter)
    rows, button = page.locator("#clusters > li"), page.locator(".lengthen[aria-controls='clusters']")
    expect(page.locator("#n-clusters")).not_to_have_text("1")
    wait_until(lambda: rows.count() > 11 and page.locator("#n-clusters").inner_text() == str(rows.count()))
    n_clusters = rows.count()
    expect(button).to_be_hidden()
    expect(rows.last).to_be_visible()
    page.set_viewport_size(NARROW)
    expect(rows.nth(9)).to_be_visible()
    expect(rows.nth(10)).to_be_hidden()
    expect(button).to_have_text(f"Show {n_clusters - 10} more")
    button.focus()
    page.keyboard.press("Enter")
    expect(rows.last).to_be_visible()
    expect(button).to_have_attribute("aria-expanded", "true")
    expect(button).to_be_focused()
    page.keyboard.press("Enter")
    expect(rows.last).to_be_hidden()


def test_a_cluster_that_went_into_another_is_told_with_its_name(window: Window, served: RunningServer) -> None:
    page = window.page
    is_live(page)
    add(served.client, 30, "a")
    expect(page.locator("#clusters > li")).to_have_count(3)
    into = served.client.get("/clusters").json()["clusters"][0]
    time = "2024-03-04T06:02:53Z"
    merged = StoredEvent(served.service.writer.state.last_event + 1, time, "merged", 77, into["id"], 4, "old, one")
    unknown = merged._replace(number=merged.number + 1, into=987)
    state = served.service.writer.state._replace(last_event=unknown.number)
    served.service._pass_on(News(served.service.writer.version, state, [merged, unknown], []))
    expect(page.locator("#events > li").nth(1)).to_contain_text(f"old, one went into {into['name']} with 4 texts")
    expect(page.locator("#events > li").first).to_contain_text("old, one went into cluster 987 with 4 texts")
    heights = page.locator("#events time").evaluate_all("times => times.map((time) => time.getClientRects().length)")
    assert set(heights) == {1}


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing_serious_and_nothing_scrolls_sideways(
    browser: Browser, served: RunningServer, scheme: str
) -> None:
    context = browser.new_context(viewport=NARROW, color_scheme=scheme, reduced_motion="reduce")
    window = Window(context, f"{served.client.base_url}")
    is_live(window.page)
    add(served.client, 30, "a")
    served.add(HOSTILE, "x" * 500, prefix="strange")
    expect(window.page.locator("#outliers > li")).not_to_have_count(0)
    expect(window.page.locator("#clusters > li").first).to_be_visible()
    window.page.locator("#clusters .opener").first.click()
    expect(window.page.locator("#clusters .examples > li").first).to_be_visible()
    found = [
        each for each in Axe().run(window.page).response["violations"] if each["impact"] in {"serious", "critical"}
    ]
    assert [(each["id"], each["nodes"][0]["html"]) for each in found] == []
    assert window.page.evaluate("document.documentElement.scrollWidth") <= NARROW["width"]
    assert window.troubles == []
    context.close()


def test_the_page_asks_for_the_token_and_keeps_it_out_of_addresses(context: BrowserContext, tmp_path: Path) -> None:
    with DurableStream(tmp_path / "state") as stream, running(stream, Settings(token=TOKEN)) as served:
        window = Window(context, f"{served.client.base_url}")
        page = window.page
        expect(page.locator("#token")).to_be_focused()
        expect(page.locator("#connection")).to_have_text("Waiting for the token")
        page.set_viewport_size(NARROW)
        assert page.locator(".entry button").bounding_box()["height"] < 60  # on one line
        assert len(window.requests) == 1  # nothing is asked for without it
        page.keyboard.type("not-the-right-one")
        page.keyboard.press("Enter")
        expect(page.locator("#token-wrong")).to_have_text("The server does not know this token.")
        page.keyboard.type(TOKEN)
        page.keyboard.press("Enter")
        is_live(page)
        served.client.headers["authorization"] = f"Bearer {TOKEN}"
        add(served.client, 6, "a")
        expect(page.locator("#n-documents")).to_have_text("6")
        page.reload()
        is_live(page)
        assert not any(TOKEN in url for url in window.requests)
        assert page.evaluate("localStorage.length") == 0
        assert TOKEN not in page.content()
        assert [trouble for trouble in window.troubles if not LOST.search(trouble)] == []


def test_the_page_goes_on_after_the_server_was_started_anew(context: BrowserContext, tmp_path: Path) -> None:
    with DurableStream(tmp_path / "state") as stream:
        with running(stream) as served:
            window = Window(context, f"{served.client.base_url}")
            page = window.page
            is_live(page)
            add(served.client, 9, "a")
            expect(page.locator("#n-documents")).to_have_text("9")
        expect(page.locator("#connection")).to_have_attribute("data-state", "lost")
        with running(stream, port=served.client.base_url.port) as served:
            is_live(page)
            expect(page.locator("#n-documents")).to_have_text("9")
            expect(page.locator("#n-outliers")).to_have_text("0")
            expect(page.locator("#outliers > li")).to_have_count(0)
            served.add("zebra giraffe elephant", prefix="late")
            expect(page.locator("#events > li").first).to_contain_text("New: elephant, giraffe, zebra")
            numbers = page.locator("#events > li").evaluate_all(
                "items => items.map((item) => Number(item.dataset.key))"
            )
            assert numbers == sorted(set(numbers), reverse=True)
            assert [trouble for trouble in window.troubles if not LOST.search(trouble)] == []
