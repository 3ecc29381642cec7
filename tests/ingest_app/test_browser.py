"""From a dropped file to a changed what-if, in a real browser against a whole installation with its worker."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page, expect

from tests.services import ServedHouse

from .conftest import many

pytestmark = pytest.mark.browser
expect.set_options(timeout=60_000)
PASSWORD = "a long enough password"
PLAN = "/plan/?model=llama-3.1-70b&gpu=h100-sxm&gpu_count=8&inference.concurrency=64"
MAKE_USER = f"from accounts.models import User; User.objects.create_user('grace', password='{PASSWORD}')"


@pytest.fixture(scope="module")
def grace(served: ServedHouse) -> None:
    """Somebody who can sign in."""
    served.manage("shell", "-c", MAKE_USER)


@pytest.fixture
def page(browser: Any, served: ServedHouse, grace: None) -> Iterator[Page]:
    """Grace's page; it fails the test on any error of a script or of the content policy."""
    context = browser.new_context(base_url=served.url, viewport={"width": 1440, "height": 900})
    opened = context.new_page()
    faults: list[str] = []
    opened.on("pageerror", lambda error: faults.append(str(error)))
    opened.on("console", lambda line: faults.append(line.text) if "Content Security Policy" in line.text else None)
    opened.goto("/sign-in/?next=/measured/")
    opened.get_by_label("Username").fill("grace")
    opened.get_by_label("Password").fill(PASSWORD)
    opened.locator("main button[type=submit]").click()
    expect(opened).to_have_url(re.compile("/measured/$"))
    yield opened
    context.close()
    assert faults == []


def accessible(page: Page) -> None:
    results = Axe().run(page)
    assert results.violations_count == 0, results.generate_report()


def test_from_a_dropped_file_to_a_changed_what_if(page: Page, tmp_path: Path) -> None:
    page.goto(PLAN)
    answer = page.locator("#answer .answer")
    before = answer.inner_text()

    file = tmp_path / "serving.jsonl"
    file.write_bytes(many([1.25 + 0.002 * place for place in range(20)]))
    page.goto("/measured/")
    expect(page.locator(".chart .main-svg").first).to_be_visible()
    page.locator("#files").set_input_files(file)

    expect(page.locator(".answer")).to_contain_text("20 runs")
    expect(page.locator(".run-card").first).to_contain_text("to confirm")
    accessible(page)
    page.get_by_label("GPU", exact=True).fill("h100-sxm")
    page.get_by_label("GPUs", exact=True).fill("8")
    page.get_by_role("button", name="Confirm the ticked ones").click()
    expect(page.locator(".messages")).to_contain_text("20 confirmed")

    page.locator(".run-card a").first.click()
    compared = page.locator("main", has_text="Predicted / measured")
    for _attempt in range(60):
        if compared.count():
            break
        page.wait_for_timeout(500)
        page.reload()
    expect(compared).to_contain_text("TPOT")
    expect(page.locator(".answer")).to_contain_text("Others measured")
    accessible(page)

    page.goto("/measured/calibrations/")
    insist = page.get_by_label("Make it all the same")
    if insist.count():
        insist.check()
    accessible(page)
    page.get_by_role("button", name="Make", exact=True).click()
    expect(page.locator("main")).to_contain_text("Factor on every time")

    page.goto(PLAN)
    expect(answer).to_contain_text("Fits.")
    assert answer.inner_text() != before


@pytest.mark.parametrize(("width", "scheme"), [(1440, "light"), (1440, "dark"), (360, "light"), (360, "dark")])
@pytest.mark.parametrize(
    "address", ["/measured/", "/measured/uploads/", "/measured/waiting/", "/measured/calibrations/"]
)
def test_pages_are_accessible_and_do_not_overflow(page: Page, width: int, scheme: Any, address: str) -> None:
    page.set_viewport_size({"width": width, "height": 800})
    page.emulate_media(color_scheme=scheme)
    page.goto(address)
    accessible(page)
    assert page.evaluate("document.documentElement.scrollWidth") <= width
