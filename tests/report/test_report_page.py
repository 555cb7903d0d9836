"""The report's page as text: one file, nothing from elsewhere, and no document can become markup."""

from __future__ import annotations

import copy
import json
import math
import re
from html.parser import HTMLParser
from typing import Any

import pytest
from report_data import HOSTILE, HOSTILE_NAME, UNSEEN_SHOWN, large_report_data, report_data

from textmix.report.page import plain_data, render_page, script_json


class Page(HTMLParser):
    """The elements of a page with their attributes, and the content of its scripts."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.scripts: list[tuple[dict[str, str | None], str]] = []
        self.feed(html)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        if tag == "script":
            self.scripts.append((dict(attrs), ""))

    def handle_data(self, data: str) -> None:
        if (
            self.elements
            and self.elements[-1][0] == "script"
            and self.lasttag == "script"
            and self.cdata_elem == "script"
        ):
            attributes, text = self.scripts[-1]
            self.scripts[-1] = (attributes, text + data)

    def embedded(self) -> Any:
        """The data in the page."""
        return json.loads(next(text for attributes, text in self.scripts if attributes.get("id") == "report-data"))


@pytest.fixture(scope="module")
def html() -> str:
    return render_page(report_data())


@pytest.fixture(scope="module")
def page(html: str) -> Page:
    return Page(html)


def test_nothing_is_loaded_from_anywhere(html: str, page: Page) -> None:
    addresses = [
        value
        for _, attributes in page.elements
        for name, value in attributes.items()
        if name in {"src", "href", "srcset", "action", "data", "poster"}
    ]
    assert addresses
    assert all(value is not None and value.startswith(("#", "data:")) for value in addresses)
    style = html[html.index("<style>") : html.index("</style>")]
    assert "@import" not in style
    assert "url(" not in style


def test_no_attribute_is_a_script(page: Page) -> None:
    assert not [name for _, attributes in page.elements for name in attributes if name.startswith("on")]


def test_only_our_own_elements_are_there(page: Page) -> None:
    tags = [tag for tag, _ in page.elements]
    assert "img" not in tags
    assert "b" in tags
    assert tags.count("script") == 3
    assert tags.count("title") == 1


def test_policy_names_the_scripts_and_no_address(page: Page) -> None:
    policy = next(attributes["content"] for _, attributes in page.elements if "http-equiv" in attributes)
    assert policy is not None
    assert policy.startswith("default-src 'none'; script-src 'sha256-")
    assert policy.count("'sha256-") == 2
    assert "unsafe-eval" not in policy
    assert "http" not in policy


def test_embedded_data_are_those_given(page: Page) -> None:
    assert page.embedded() == plain_data(report_data())


def test_embedded_texts_cannot_end_the_script(html: str) -> None:
    start = html.index('id="report-data">')
    embedded = html[start : html.index("</script>", start)].removeprefix('id="report-data">')
    assert not re.search("[<>&\u2028\u2029]", embedded)
    assert json.loads(embedded)["texts"]


def test_hostile_texts_survive_as_they_are(page: Page) -> None:
    shown = {text["text"] for text in page.embedded()["texts"]}
    assert shown.issuperset(HOSTILE.values())
    assert shown.issuperset(UNSEEN_SHOWN.values())


def test_page_can_be_written_in_utf_8(html: str) -> None:
    assert html.encode("utf-8").decode("utf-8") == html
    assert "\x00" not in html


def test_table_without_javascript(html: str) -> None:
    table = html[html.index("<noscript>") : html.index("</noscript>")]
    assert table.count("<tr>") == 1 + len(report_data()["clusters"])
    assert "&lt;/title&gt;&lt;img src=x onerror=alert(1)&gt;" in table
    assert HOSTILE_NAME not in html[: html.index('id="report-data">')]


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
def test_what_is_no_number_is_null(value: float) -> None:
    assert script_json(plain_data({"a": [value, 1.5]})) == '{"a":[null,1.5]}'


def test_keys_are_cleaned_too() -> None:
    assert plain_data({"\ud800": "\udfff\x00"}) == {"�": "�␀"}


def test_page_without_charts_is_small() -> None:
    html = render_page(large_report_data(1))
    assert not [attributes for attributes, _ in Page(html).scripts if attributes.get("id") == "plotly-source"]
    assert len(html) < 100_000


def test_size_is_that_of_plotly_and_the_data(html: str, page: Page) -> None:
    plotly = next(text for attributes, text in page.scripts if attributes.get("id") == "plotly-source")
    assert len(html) - len(plotly) - len(script_json(plain_data(report_data()))) < 100_000


def test_same_data_give_the_same_page(html: str) -> None:
    assert render_page(report_data()) == html


@pytest.mark.parametrize("absent", ["outliers", "hierarchy", "course", "labels"])
@pytest.mark.parametrize("null", [False, True])
def test_parts_may_be_absent(absent: str, null: bool) -> None:
    data = report_data()
    if null:
        data[absent] = None
    else:
        del data[absent]
    data["charts"] = {"map": None}
    tags = Page(render_page(data)).elements
    views = [attributes.get("href") for tag, attributes in tags if tag == "a"]
    assert (f"#{absent}" in views) is False


def test_data_are_not_changed() -> None:
    data = report_data()
    before = copy.deepcopy(data)
    render_page(data)
    assert repr(data) == repr(before)
