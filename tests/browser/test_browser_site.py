"""The site in a browser: search, both colours, a phone, its way to the planner, no other host.

`python web/documentation.py` builds it, and PLANNER_SITE names the folder; `.ci/run` does both.
"""

import os
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from browser.built import opening
from planner.web.serving import server_of

CHIP = "reference/chips/h100-sxm5-80.html"


@pytest.fixture(scope="module")
def folder() -> Path:
    given = os.environ.get("PLANNER_SITE")
    if not given:
        pytest.skip("PLANNER_SITE names no folder that python web/documentation.py built")
    return Path(given)


@pytest.fixture(scope="module")
def address(folder: Path) -> Iterator[str]:
    server = server_of(folder, 0)
    with server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/"
        server.shutdown()


@pytest.fixture
def site(browser: Any, address: str) -> Iterator[Any]:
    """Opens a page; no request may leave the server, nothing may complain."""
    with opening(browser, address) as open_page:

        def sized(place: str, width: int = 1280, scheme: str = "light") -> Any:
            view = {"width": width, "height": 800}
            return open_page(place, viewport=view, color_scheme=scheme)

        yield sized


def test_the_search_finds_a_chip(site: Any) -> None:
    page = site("index.html")
    page.wait_for_load_state("networkidle")  # a key that comes before the search is there is lost
    page.keyboard.press("/")
    page.locator("input:focus").wait_for()
    page.keyboard.type("mi300x")
    page.locator('a[href*="reference/chips/mi300x.html"]').first.click()
    page.wait_for_url("**/reference/chips/mi300x.html*")
    assert page.locator("h1").inner_text().startswith("AMD")


def test_the_front_page_leads_to_the_planner(site: Any, folder: Path) -> None:
    page = site("index.html")
    links = page.locator('a[href$="app/index.html"]')
    assert links.count() == (folder / "app").is_dir()
    if links.count():
        links.click()
        page.locator("#f-model").wait_for()
        page.get_by_role("link", name="Documentation").click()
        links.wait_for()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_phone_in_both_colours(site: Any, scheme: str) -> None:
    for place in ("index.html", "tour.html", CHIP, "reference/commands/solve.html"):
        page = site(place, width=360, scheme=scheme)
        assert page.evaluate("document.documentElement.scrollWidth") <= 360, place
    colour = page.evaluate("getComputedStyle(document.body).backgroundColor")
    light = sum(map(float, colour.strip("rgba()").split(",")[:3])) > 3 * 128
    assert light == (scheme == "light")


def test_commands_are_folded_between_words(site: Any) -> None:
    page = site("tour.html", width=360)
    code = page.locator(".language-sh code").first
    box = "one => [one.scrollWidth, one.parentElement.clientWidth]"
    assert code.evaluate(box)[0] <= code.evaluate(box)[1]
    words = page.locator(".language-sh .whole")
    assert {"--model", "llama2-13b", "h100-sxm5-80"} <= {*words.all_text_contents()}
    lines = "all => all.filter((one) => one.getClientRects().length > 1).length"
    assert words.evaluate_all(lines) == 0
    assert "planner solve --model llama2-13b --chips 4096\n" in code.text_content() + "\n"


def test_pictures_are_shown(site: Any) -> None:
    page = site("ridgeline.html")
    widths = page.evaluate("[...document.querySelectorAll('main img')].map(i => i.naturalWidth)")
    assert len(widths) >= 5
    assert min(widths) > 0


PLACES = ("index.html", "tour.html", "files.html", CHIP, "reference/commands/solve.html",
          "reference/python/planner.html", "notebooks/1-first-plan.html")  # fmt: skip


@pytest.mark.parametrize(("scheme", "width"), [("light", 1280), ("dark", 360)])
def test_pages_by_axe(site: Any, axe: Any, scheme: str, width: int) -> None:
    found = {}
    for place in PLACES:
        page = site(place, width, scheme)
        page.wait_for_load_state("networkidle")  # the theme puts buttons into the page
        found[place] = axe(page)
        page.context.close()
    assert not {place: lines for place, lines in found.items() if lines}
