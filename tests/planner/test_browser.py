"""The pages in a real browser, against a whole installation with its worker."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page, expect

from tests.services import ServedHouse

pytestmark = pytest.mark.browser
expect.set_options(timeout=30_000)
PAGES = [
    "/",
    "/plan/?gpu_count=8",
    "/plan/?workload=training&gpu_count=64&training.total_tokens=1e12",
    "/plan/?gpu_count=1",
    "/plan/?gpu=b20",
    "/rank/",
    "/scenarios/",
    "/compare/?q=gpu_count%3D8&q=gpu%3Dh200-sxm%26gpu_count%3D8",
    "/case-studies/",
    "/sweep/?gpu=h100-sxm,h200-sxm&inference.concurrency=1..64%20x2",
    "/audit/?workload=training&model_size.params_b=70&gpu_count=64&claim.tokens_per_s_per_gpu=1923",
    "/accuracy/",
    "/no-such-page/",
]


@pytest.fixture
def page(browser: Any, served: ServedHouse) -> Iterator[Page]:
    """A page that fails the test on any error of a script or of the content policy."""
    context = browser.new_context(base_url=served.url, viewport={"width": 1440, "height": 900})
    opened = context.new_page()
    faults: list[str] = []
    opened.on("pageerror", lambda error: faults.append(str(error)))
    opened.on("console", lambda line: faults.append(line.text) if "Content Security Policy" in line.text else None)
    yield opened
    context.close()
    assert faults == []


def answered(page: Page) -> Any:
    return page.locator("#answer .answer")


def test_a_what_if_answers_as_one_types(page: Page) -> None:
    page.goto("/plan/")
    expect(answered(page)).to_contain_text("Fits.")
    page.get_by_label("GPUs", exact=True).fill("8")
    expect(page).to_have_url(re.compile(r"/plan/\?gpu_count=8$"))
    expect(page.locator("#answer h2")).to_contain_text("8 ×")
    page.get_by_label("Weights").select_option("fp8")
    expect(page).to_have_url(re.compile(r"inference\.weights=fp8"))
    expect(page.locator(".chart .main-svg").first).to_be_visible()


def test_a_wrong_value_turns_red_and_the_last_answer_stays_grey(page: Page) -> None:
    page.goto("/plan/?gpu_count=8")
    before = answered(page).inner_text()
    page.get_by_label("GPU", exact=True).fill("h1000")
    expect(page.locator('[data-path="gpu"] .error')).to_contain_text("There is no")
    expect(page.locator("#answer")).to_have_class(re.compile("stale"))
    assert answered(page).inner_text() == before
    page.get_by_label("GPU", exact=True).fill("h200-sxm")
    expect(page.locator("#answer")).not_to_have_class(re.compile("stale"))
    expect(page.locator('[data-path="gpu"] .error')).to_have_text("")


def test_what_would_fit_is_one_click_away(page: Page) -> None:
    page.goto("/plan/?gpu_count=1")
    expect(answered(page)).to_contain_text("Does not fit")
    page.locator(".changes a").first.click()
    expect(answered(page)).to_contain_text("Fits.")


def test_training_is_one_click_away(page: Page) -> None:
    page.goto("/plan/?gpu_count=64")
    page.get_by_label("Training").check()
    expect(page).to_have_url(re.compile(r"workload=training"))
    expect(answered(page)).to_contain_text("MFU")


def test_a_sweep_runs_while_one_watches(page: Page) -> None:
    page.goto("/sweep/?gpu=h100-sxm,h200-sxm&inference.weights=bf16,fp8&inference.concurrency=1..256%20x2")
    expect(page.locator("#answer")).to_contain_text("36 combinations")
    page.get_by_role("button", name="Start").click()
    expect(page.locator("#sweep-status")).to_contain_text("36 of 36")
    expect(page.locator(".chart .main-svg").first).to_be_visible()
    page.locator("table.data a").first.click()
    expect(page.locator("#answer")).to_be_visible()


def test_two_what_ifs_are_put_side_by_side(page: Page) -> None:
    page.goto("/plan/?gpu_count=8")
    page.get_by_role("link", name="Compare +").click()
    expect(page.locator("thead th")).to_have_count(2)
    page.goto("/plan/?gpu=h200-sxm&gpu_count=8")
    page.get_by_role("link", name="Compare +").click()
    expect(page.locator("table.data").first.locator("thead th")).to_have_count(3)
    expect(page.locator("table.data").first).to_contain_text("h200-sxm")


def test_the_menu_opens_on_a_narrow_screen(page: Page) -> None:
    page.set_viewport_size({"width": 390, "height": 844})
    page.goto("/plan/")
    button = page.get_by_role("button", name="Menu")
    expect(page.get_by_role("link", name="Rank", exact=True)).to_be_hidden()
    button.click()
    expect(page.get_by_role("link", name="Rank", exact=True)).to_be_visible()
    assert button.get_attribute("aria-expanded") == "true"


@pytest.mark.parametrize("address", PAGES)
def test_anybody_can_use_it_on_any_screen(page: Page, address: str) -> None:
    page.goto(address)
    for scheme in ("light", "dark"):
        page.emulate_media(color_scheme=scheme)
        found = Axe().run(page).response["violations"]
        assert [(scheme, fault["id"], fault["nodes"][0]["html"][:200]) for fault in found] == []
    for width in (360, 2560):
        page.set_viewport_size({"width": width, "height": 900})
        assert page.evaluate("document.documentElement.scrollWidth") <= width
