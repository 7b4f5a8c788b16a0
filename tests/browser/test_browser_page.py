"""Reports on screens of all kinds, on paper, to screen readers and without JavaScript."""

from itertools import pairwise
from typing import Any

import pytest

from browser.built import ends
from browser.conftest import Open

NAMED = ("button", "link", "image", "img", "region", "navigation", "heading", "table")
PAGES = ("front", "pipeline", "infeasible")

# Contrast of every word to what is behind it (WCAG 2.2, 1.4.3); words in bars have a halo.
CONTRAST = """() => {
  const rgba = (text) => {
    const parts = text.match(/[\\d.]+/g).map(Number);
    return parts.length < 4 ? [...parts, 1] : parts;
  };
  const light = (rgb) => rgb.slice(0, 3)
    .map((c) => c / 255).map((c) => (c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4))
    .reduce((sum, c, at) => sum + c * [0.2126, 0.7152, 0.0722][at], 0);
  const behind = (element) => {
    for (let at = element; at; at = at.parentElement) {
      const own = rgba(getComputedStyle(at).backgroundColor);
      if (own[3] > 0) { return own; }
    }
    return [255, 255, 255, 1];
  };
  const found = [];
  for (const element of document.querySelectorAll("body *")) {
    const words = [...element.childNodes]
      .filter((node) => node.nodeType === 3 && node.textContent.trim());
    const hidden = element.closest("title, desc, script, style, noscript, .inside, .unseen, .skip");
    if (!words.length || hidden || !element.getClientRects().length) { continue; }
    const style = getComputedStyle(element);
    const ink = rgba(element.closest("svg") ? style.fill : style.color);
    const [a, b] = [light(ink), light(behind(element))].sort((x, y) => y - x);
    const ratio = (a + 0.05) / (b + 0.05);
    if (ratio < 4.5) { found.push([ratio.toFixed(2), element.textContent.slice(0, 40)]); }
  }
  return found;
}"""


@pytest.mark.parametrize("name", PAGES)
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_every_word_can_be_read_on_light_and_dark_screens(
    opened: Open, name: str, scheme: str
) -> None:
    page = opened(name, color_scheme=scheme)
    assert page.evaluate(CONTRAST) == []
    paper = page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert (paper == "rgb(255, 255, 255)") == (scheme == "light")


def test_the_colours_are_changed_by_a_button_and_kept_nowhere(opened: Open) -> None:
    page = opened(color_scheme="light")
    paper = "getComputedStyle(document.body).backgroundColor"
    before = page.evaluate(paper)
    page.get_by_role("button", name="Dark colours").click()
    assert page.evaluate(paper) != before
    assert page.evaluate(CONTRAST) == []
    page.get_by_role("button", name="Light colours").click()
    assert page.evaluate(paper) == before
    page.get_by_role("button", name="Dark colours").click()
    page.reload()
    assert page.evaluate(paper) == before


@pytest.mark.parametrize("name", PAGES)
@pytest.mark.parametrize("width", [400, 320, 1280])
def test_no_screen_is_too_narrow(opened: Open, name: str, width: int) -> None:
    page = opened(name, viewport={"width": width, "height": 800})
    assert page.evaluate("document.documentElement.scrollWidth") <= width


# Of each figure: by how many pixels its picture is wider, and the height of its smallest letters.
FIGURES = """() => [...document.querySelectorAll('figure')].map((figure) => {
  const svg = figure.querySelector('svg');
  const scale = svg.getBoundingClientRect().width / svg.viewBox.baseVal.width;
  const sizes = [...svg.querySelectorAll('text')]
    .map((e) => parseFloat(getComputedStyle(e).fontSize));
  return [figure.scrollWidth - figure.clientWidth, scale * Math.min(...sizes)];
})"""


@pytest.mark.parametrize("name", ["front", "pipeline", "explained"])
@pytest.mark.parametrize("width", [1600, 1200, 1100, 420])
def test_letters_of_pictures_can_be_read(opened: Open, name: str, width: int) -> None:
    page = opened(name, viewport={"width": width, "height": 800})
    figures = page.evaluate(FIGURES)
    assert figures
    for wider, letters in figures:
        assert 8.4 <= letters <= 15
        assert wider <= 0 or width < 1000, "a screen of usual width needs no scrolling"
    assert page.evaluate("document.documentElement.scrollWidth") <= width


@pytest.mark.parametrize("name", PAGES)
def test_ids_are_unique_and_links_inside_lead_somewhere(opened: Open, name: str) -> None:
    page = opened(name)
    twice = page.evaluate(
        "[...document.querySelectorAll('[id]')].map(e => e.id)"
        ".filter((id, at, all) => all.indexOf(id) !== at)"
    )
    assert twice == []
    lost = page.evaluate(
        "[...document.querySelectorAll('a[href^=\"#\"]')].map(a => a.hash.slice(1))"
        ".filter(id => !document.getElementById(id))"
    )
    assert lost == []
    named = page.evaluate(
        "[...document.querySelectorAll('[aria-labelledby],[aria-describedby]')]"
        ".flatMap(e => [e.getAttribute('aria-labelledby'), e.getAttribute('aria-describedby')])"
        ".filter(id => id && !document.getElementById(id))"
    )
    assert named == []


def tree(page: Any) -> list[dict[str, Any]]:
    """What screen readers are told."""
    session = page.context.new_cdp_session(page)
    nodes = session.send("Accessibility.getFullAXTree")["nodes"]
    return [node for node in nodes if not node["ignored"]]


@pytest.mark.parametrize("name", PAGES)
def test_screen_readers_are_told_what_everything_is(opened: Open, name: str) -> None:
    page = opened(name)
    nodes = tree(page)
    nameless = [
        node["role"]["value"]
        for node in nodes
        if node["role"]["value"] in NAMED and not node.get("name", {}).get("value")
    ]
    assert nameless == []
    roles = [node["role"]["value"] for node in nodes]
    assert roles.count("main") == roles.count("navigation") == roles.count("status") == 1
    levels = [int(level) for level in page.evaluate(
        "[...document.querySelectorAll('h1,h2,h3')].filter(e => e.getClientRects().length)"
        ".map(e => e.localName[1])"
    )]  # fmt: skip
    assert levels[0] == 1
    assert levels.count(1) == 1
    assert all(later - earlier <= 1 for earlier, later in pairwise(levels))


def test_the_front_is_a_group_of_buttons_with_words(opened: Open) -> None:
    page = opened()
    front = page.get_by_role("group", name="Exact Pareto front")
    buttons = front.get_by_role("button")
    assert buttons.count() == front.locator("[data-key]").count() > 3
    for button in buttons.all():
        assert "per chip, MFU" in button.get_attribute("aria-label")


def test_pictures_of_the_plan_have_words(opened: Open) -> None:
    page = opened("pipeline")
    pictures = [node for node in tree(page) if node["role"]["value"] in ("image", "img")]
    assert len(pictures) > 5
    for node in pictures:
        assert len(node["description"]["value"]) > 20, node
    assert page.locator("svg").count() >= len(pictures)


@pytest.mark.parametrize("name", PAGES)
def test_it_prints(opened: Open, name: str) -> None:
    page = opened(name, color_scheme="dark")
    page.emulate_media(media="print")
    assert not page.locator("#theme").is_visible()
    assert not page.locator("nav").is_visible()
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    assert page.evaluate(CONTRAST) == []
    content = page.pdf(prefer_css_page_size=True)
    assert content.startswith(b"%PDF")
    assert len(content) < 5e6
    assert page.locator("details[open]").count() == 0  # closed again afterwards


def test_what_is_folded_is_open_on_paper(opened: Open) -> None:
    page = opened("pipeline")
    page.evaluate("dispatchEvent(new Event('beforeprint'))")
    assert page.locator("details:not([open])").count() == 0
    page.evaluate("dispatchEvent(new Event('afterprint'))")
    assert page.locator("details[open]").count() == 0


@pytest.mark.parametrize("name", PAGES)
def test_without_javascript_everything_can_be_read(opened: Open, name: str) -> None:
    page = opened(name, java_script_enabled=False)
    assert page.locator("h1").is_visible()
    assert page.locator("nav").is_visible()
    assert page.locator("#theme").count() == 0
    for section in page.locator("main section").all():
        assert section.is_visible()
    if name == "infeasible":
        return
    records = page.locator("details.record")
    assert records.count() > 1
    table = records.nth(1).locator("table").first
    assert not table.is_visible()
    records.nth(1).locator("summary").click()
    assert table.is_visible()


def test_a_plan_that_is_linked_to_opens_without_javascript(opened: Open) -> None:
    page = opened(java_script_enabled=False)
    page.locator("tr[data-row='front-3'] a").click()
    page.wait_for_url(ends("#front-3"))


def test_the_link_past_the_head_works(opened: Open) -> None:
    page = opened()
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.textContent") == "Skip to the content"
    page.keyboard.press("Enter")
    assert page.evaluate("document.activeElement.id") == "main"


def test_a_table_that_is_opened_can_be_scrolled_with_the_keyboard(opened: Open) -> None:
    page = opened("pipeline", viewport={"width": 320, "height": 700})
    page.evaluate("document.querySelectorAll('details').forEach(one => { one.open = true; })")
    page.wait_for_timeout(50)
    lost = page.evaluate(
        "[...document.querySelectorAll('.scroll')]"
        ".filter(box => box.scrollWidth > box.clientWidth + 1 && box.tabIndex !== 0).length"
    )
    wide = page.evaluate(
        "[...document.querySelectorAll('details .scroll')]"
        ".filter(box => box.scrollWidth > box.clientWidth + 1).length"
    )
    assert wide > 0
    assert lost == 0


def test_what_is_printed_twice_is_folded_again(opened: Open) -> None:
    page = opened("pipeline")
    for event in ("beforeprint", "beforeprint", "afterprint"):
        page.evaluate(f"dispatchEvent(new Event('{event}'))")
    assert page.locator("details[open]").count() == 0


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_forced_colours_are_those_of_the_system(opened: Open, scheme: str) -> None:
    """Words of pictures too; what is chosen is told by more than a colour."""
    page = opened(forced_colors="active", color_scheme=scheme)
    canvas, ink = page.evaluate(
        "(() => { const one = document.createElement('i'); document.body.append(one);"
        " one.style.forcedColorAdjust = 'none'; one.style.backgroundColor = 'Canvas';"
        " one.style.color = 'CanvasText'; const style = getComputedStyle(one);"
        " return [style.backgroundColor, style.color]; })()"
    )
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == canvas
    fill = "getComputedStyle(document.querySelector('.chart text:not([class])')).fill"
    assert page.evaluate(fill) == ink
    assert not page.locator("#theme").is_visible()
    chosen = "getComputedStyle(document.querySelector('tr.chosen td')).borderBottomWidth"
    assert page.evaluate(chosen) == "3px"


def test_nothing_moves_by_itself(opened: Open) -> None:
    page = opened()
    page.locator('[data-key="front-3"]').click()
    assert page.evaluate("document.getAnimations().length") == 0
    assert (
        page.evaluate(
            "[...document.querySelectorAll('*')].filter(e => getComputedStyle(e).transitionDuration"
            " !== '0s' || getComputedStyle(e).scrollBehavior === 'smooth').length"
        )
        == 0
    )


def test_the_button_for_colours_is_reached_in_the_order_that_it_is_seen(opened: Open) -> None:
    page = opened()
    page.keyboard.press("Tab")
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.id") == "theme"
