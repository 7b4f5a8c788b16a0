"""The front of a report answers to the pointer, the keyboard and its address."""

import re
from pathlib import Path
from typing import Any

import pytest

from browser.built import ends
from browser.conftest import Open, answer_of

LAST = 6
"""Plans of the front; `test_the_best_plan_is_shown_first` counts them."""


def front() -> list[Any]:
    return list(answer_of("front")["front"]["plans"])


def dot(page: Any, number: int) -> Any:
    return page.locator(f'[data-key="front-{number}"]')


def shown(page: Any) -> str:
    """The heading of the plan in the panel; there is exactly one."""
    return page.locator("#panel .record.shown h3").inner_text()


def begins(number: int) -> str:
    return f"Plan {number} of {LAST}"


def announced(page: Any) -> str:
    return page.locator("#live").text_content()


def test_the_best_plan_is_shown_first(opened: Open) -> None:
    page = opened()
    assert shown(page).startswith(f"{begins(1)} (the best plan)")
    assert page.locator("[data-key^=front-]").count() == len(front()) == LAST


def test_pointing_at_a_point_shows_its_plan_for_as_long(opened: Open) -> None:
    page = opened()
    dot(page, 3).hover()
    assert shown(page).startswith(begins(3))
    page.mouse.move(1, 1)
    assert shown(page).startswith(begins(1))


def test_a_click_pins_the_plan_in_full(opened: Open) -> None:
    page = opened()
    dot(page, 3).click()
    page.mouse.move(1, 1)
    assert shown(page).startswith(begins(3))
    assert dot(page, 3).get_attribute("aria-pressed") == "true"
    assert dot(page, 1).get_attribute("aria-pressed") == "false"
    page.wait_for_url(ends("#front-3"))
    assert announced(page).startswith(f"Chosen: {begins(3)}")
    words = page.locator("#panel .record.shown").inner_text()
    assert f"{front()[2]['clock']:g} of nominal" in words
    for part in ("step time", "energy per step", "memory per chip", "compute", "activations"):
        assert part in words
    assert page.locator("tr.chosen").get_attribute("data-row") == "front-3"


def test_the_keyboard_walks_along_the_front(opened: Open) -> None:
    page = opened()
    for _ in range(60):
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement.dataset.key || ''"):
            break
    assert page.evaluate("document.activeElement.dataset.key") == "front-1"
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowRight")
    assert page.evaluate("document.activeElement.dataset.key") == "front-3"
    assert shown(page).startswith(begins(3))
    assert announced(page).startswith(begins(3))
    page.keyboard.press("ArrowLeft")
    assert shown(page).startswith(begins(2))
    page.keyboard.press("End")
    assert shown(page).startswith(begins(LAST))
    page.keyboard.press("ArrowRight")
    assert shown(page).startswith(begins(LAST))
    page.keyboard.press("Enter")
    page.wait_for_url(ends(f"#front-{LAST}"))
    page.keyboard.press("Home")
    page.keyboard.press(" ")
    page.wait_for_url(ends("#front-1"))
    page.keyboard.press("End")
    page.keyboard.press("Enter")
    page.keyboard.press("Escape")
    assert shown(page).startswith(begins(1))
    page.wait_for_url(lambda address: "#" not in address)
    assert announced(page).startswith("Back to")


def test_one_point_alone_is_on_the_way_of_the_tab_key(opened: Open) -> None:
    page = opened()
    assert page.locator('[data-key][tabindex="0"]').count() == 1


@pytest.mark.parametrize("number", [2, LAST])
def test_the_address_chooses_a_plan(opened: Open, number: int) -> None:
    page = opened(place=f"#front-{number}")
    assert shown(page).startswith(begins(number))
    page.evaluate("location.hash = '#front-1'")
    page.wait_for_function("document.querySelector('.record.shown h3').id === 'front-1-name'")


@pytest.mark.parametrize("place", ["#front-99", "#%E0%A4%A", "#front-", "#provenance"])
def test_other_addresses_change_nothing(opened: Open, place: str) -> None:
    assert shown(opened(place=place)).startswith(begins(1))


def test_the_number_of_a_plan_in_the_table_leads_to_it(opened: Open) -> None:
    page = opened()
    page.get_by_role("link", name="Plan 4", exact=True).click()
    assert shown(page).startswith(begins(4))
    assert page.evaluate("document.activeElement.id") == "front-4-name"
    page.wait_for_url(ends("#front-4"))


def column(page: Any, at: int) -> list[float]:
    values = page.locator("table[data-sortable] tbody tr").evaluate_all(
        "(rows, at) => rows.map(row => Number(row.cells[at].dataset.value))", at
    )
    return [float(value) for value in values]


def test_the_table_is_sorted_by_its_headers(opened: Open) -> None:
    page = opened()
    heads = page.locator("table[data-sortable] thead th")
    names = [re.sub(r"\W+$", "", text) for text in heads.all_inner_texts()]
    energy = names.index("energy/step")
    given = [point["energy_per_step_j"] for point in front()]
    assert column(page, energy) == pytest.approx(given)
    button = page.get_by_role("button", name="energy/step")
    button.click()
    assert column(page, energy) == sorted(given)
    assert heads.nth(energy).get_attribute("aria-sort") == "ascending"
    assert announced(page) == "Sorted by energy/step, ascending."
    button.press("Enter")
    assert column(page, energy) == sorted(given, reverse=True)
    assert heads.nth(energy).get_attribute("aria-sort") == "descending"
    page.get_by_role("button", name="#", exact=True).press(" ")
    assert column(page, 0) == [float(number) for number in range(1, LAST + 1)]
    assert heads.nth(energy).get_attribute("aria-sort") is None


def test_a_walk_does_not_move_a_plan_that_is_pinned(opened: Open) -> None:
    page = opened(place="#front-5")
    dot(page, 2).hover()
    assert shown(page).startswith(begins(2))
    page.mouse.move(1, 1)
    assert shown(page).startswith(begins(5))


def focus(page: Any) -> str:
    return str(page.evaluate("document.activeElement.dataset.key || ''"))


def test_coming_back_to_the_front_shows_the_plan_that_has_the_focus(opened: Open) -> None:
    page = opened()
    dot(page, 1).focus()
    page.keyboard.press("End")
    page.keyboard.press("Tab")
    assert shown(page).startswith(begins(1))
    page.keyboard.press("Shift+Tab")
    assert focus(page) == f"front-{LAST}"
    assert shown(page).startswith(begins(LAST))


def test_the_pointer_leaves_what_the_keyboard_shows(opened: Open) -> None:
    page = opened()
    dot(page, 1).focus()
    page.keyboard.press("ArrowRight")
    dot(page, 5).hover()
    page.mouse.move(1, 1)
    assert shown(page).startswith(begins(2))


def test_escape_takes_the_focus_back_too(opened: Open) -> None:
    """One Shift+Tab then leaves the front, and a walk that pinned nothing ends as well."""
    page = opened()
    dot(page, 1).focus()
    page.keyboard.press("End")
    page.keyboard.press("Escape")
    assert focus(page) == "front-1"
    assert shown(page).startswith(begins(1))
    page.keyboard.press("Shift+Tab")
    assert focus(page) == ""


@pytest.mark.parametrize("keys", ["Alt+ArrowRight", "Control+End", "Meta+ArrowRight"])
def test_shortcuts_of_the_browser_stay_its_own(opened: Open, keys: str) -> None:
    page = opened()
    dot(page, 1).focus()
    page.evaluate("addEventListener('keydown', e => { window.taken = e.defaultPrevented; })")
    page.keyboard.press(keys)
    assert focus(page) == "front-1"
    assert page.evaluate("window.taken") is False


def test_a_click_with_control_is_left_to_the_browser(opened: Open) -> None:
    page = opened()
    page.evaluate(
        "addEventListener('click', e => { window.taken = e.defaultPrevented; e.preventDefault(); })"
    )
    page.get_by_role("link", name="Plan 4", exact=True).click(modifiers=["Control"])
    assert page.evaluate("window.taken") is False
    assert shown(page).startswith(begins(1))


def test_the_heading_that_the_keyboard_leads_to_is_seen_to_have_the_focus(opened: Open) -> None:
    page = opened()
    page.get_by_role("link", name="Plan 4", exact=True).focus()
    page.keyboard.press("Enter")
    assert page.evaluate("document.activeElement.id") == "front-4-name"
    assert page.evaluate("getComputedStyle(document.activeElement).outlineStyle") == "solid"


def test_cells_without_a_number_are_sorted_behind_numbers(opened: Open) -> None:
    page = opened()
    page.evaluate(
        "document.querySelector('tr[data-row=front-3]').cells[0].removeAttribute('data-value')"
    )
    page.get_by_role("button", name="#", exact=True).click()
    rows = page.locator("table[data-sortable] tbody tr").evaluate_all(
        "rows => rows.map(row => row.dataset.row)"
    )
    assert rows == [f"front-{at}" for at in range(1, LAST + 1) if at != 3] + ["front-3"]


def test_a_front_whose_best_plan_is_not_drawn_can_be_reached(
    opened: Open, reports: dict[str, Path]
) -> None:
    text = reports["front"].read_text(encoding="utf-8")
    bare = reports["front"].with_name("bare.html")
    bare.write_text(text.replace('data-key="front-1"', ""), encoding="utf-8")
    page = opened("bare")
    assert page.locator('[data-key][tabindex="0"]').count() == 1


REACHED = """() => [...document.querySelectorAll('[data-key]')].map((dot) => {
  const box = dot.querySelector('.mark').getBoundingClientRect();
  const [x, y] = [box.x + box.width / 2, box.y + box.height / 2];
  const away = [0, 3, 5, 7, 9, 11], turns = [...Array(16).keys()].map((at) => at * Math.PI / 8);
  return away.some((far) => turns.some((turn) => {
    const found = document.elementFromPoint(x + far * Math.cos(turn), y + far * Math.sin(turn));
    return found && found.closest('[data-key]') === dot;
  }));
})"""


def test_dots_that_lie_on_one_another_can_all_be_pointed_at(opened: Open) -> None:
    page = opened()
    page.locator("#front-figure").scroll_into_view_if_needed()
    assert page.evaluate(REACHED) == [True] * LAST
