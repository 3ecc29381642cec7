"""The catalogue's pages in a real browser: no errors, no barriers, readable on a telephone."""

from __future__ import annotations

from typing import Any

import pytest
from axe_playwright_python.sync_playwright import Axe

from tests.services import ServedHouse

pytestmark = pytest.mark.browser
PAGES = [
    "/gpus/",
    "/gpus/h100-sxm5-80gb/",
    "/models/",
    "/models/Qwen/Qwen3-32B/",
    "/models/size/?params_b=70",
    "/offers/",
    "/sign-in/",
]


@pytest.fixture(scope="module")
def page(browser: Any) -> Any:
    context = browser.new_context(viewport={"width": 1280, "height": 800})
    yield context.new_page()
    context.close()


@pytest.mark.parametrize("path", PAGES)
def test_page_is_sound(page: Any, served: ServedHouse, path: str) -> None:
    faults: list[str] = []
    page.on("console", lambda message: faults.append(message.text) if message.type == "error" else None)
    page.on("pageerror", lambda error: faults.append(str(error)))
    page.goto(served.url + path, wait_until="networkidle")
    assert faults == []
    violations = Axe().run(page).response["violations"]
    assert [(found["id"], found["nodes"][0]["html"]) for found in violations] == []


@pytest.mark.parametrize("path", PAGES)
def test_page_fits_a_telephone(page: Any, served: ServedHouse, path: str) -> None:
    page.set_viewport_size({"width": 360, "height": 700})
    page.goto(served.url + path)
    assert page.evaluate("document.documentElement.scrollWidth") <= 360


def test_sorting_and_filtering_by_hand(page: Any, served: ServedHouse) -> None:
    page.set_viewport_size({"width": 1280, "height": 800})
    page.goto(f"{served.url}/gpus/")
    page.select_option("[name=vendor]", "AMD")
    page.click("text=Filter")
    page.click("th >> text=Memory, GB")
    assert page.inner_text("tbody tr:first-child td:nth-child(4)") == "288"
    assert "vendor=AMD" in page.url
    assert page.get_attribute("th:nth-child(4)", "aria-sort") == "descending"
