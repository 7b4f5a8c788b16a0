"""The planner in a browser: solve, mistakes, stop, links, files, offline, keys, narrow and dark.

`python web/build.py` builds the page, and PLANNER_APP names its folder; `.ci/run` does both.
"""

import functools
import json
import shutil
import subprocess
import threading
from collections.abc import Iterator
from typing import Any

import pytest
from cli.command import planner

from browser.built import WEB, built
from planner.base.units import show_seconds
from planner.web.serving import server_of

QUESTION = {"model": "gpt3-125m", "hardware": "h100-sxm5-80", "chips": "8"}
LINK = "#model=gpt3-125m&hardware=h100-sxm5-80&chips=8"
WAIT = 60_000


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    server = server_of(built(), 0)
    with server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/"
        server.shutdown()


@pytest.fixture
def app(browser: Any, address: str) -> Iterator[Any]:
    """Opens the page; no request may leave its server, nothing may fail or complain."""
    problems: list[str] = []
    contexts: list[Any] = []

    def open_page(place: str = "", **options: Any) -> Any:
        context = browser.new_context(**{"viewport": {"width": 1280, "height": 900}, **options})
        context.set_default_timeout(WAIT)
        contexts.append(context)
        page = context.new_page()

        def asked(request: Any) -> None:
            if not request.url.startswith((address, "blob:", "data:")):
                problems.append(f"asks for {request.url}")

        context.on("request", asked)
        page.on("console", lambda message: problems.append(f"{message.type}: {message.text}"))
        page.on("pageerror", lambda error: problems.append(f"fails: {error}"))
        page.goto(address + place)
        page.locator("#f-model").wait_for()
        return page

    yield open_page
    for context in contexts:
        context.close()
    assert not problems, problems


def asked(page: Any, **fields: str) -> None:
    for name, value in (QUESTION | fields).items():
        page.fill(f"#f-{name}", value)
    page.click("#solve")


def answer(page: Any) -> str:
    page.locator(".said table").first.wait_for()
    return str(page.locator(".said").last.inner_text())


def quiet(page: Any) -> None:
    page.get_by_text("Done.", exact=True).wait_for()


@functools.cache
def known() -> Any:
    flags = [word for name, value in QUESTION.items() for word in (f"--{name}", value)]
    return planner("solve", *flags, "--json").document


def test_a_question_its_report_and_its_files(app: Any) -> None:
    page = app()
    asked(page)
    text = answer(page)
    assert "status optimal, gap 0 %" in text
    assert page.url.endswith(LINK)
    page.click(".answer .page summary")
    frame = page.frame_locator("iframe")
    frame.get_by_text("The best plan", exact=True).first.wait_for()
    assert frame.locator("svg").count() > 3
    quiet(page)
    page.click(".answer .export summary")
    page.click(".write")
    page.locator(".file pre").first.wait_for()
    with page.expect_download() as download:
        page.locator(".file").nth(1).get_by_text("Download").click()
    assert download.value.suggested_filename == "run.sh"


def test_a_link_gives_the_answer_of_the_command_line(app: Any) -> None:
    page = app(LINK)
    text = answer(page)
    assert f"\t{show_seconds(known()['best']['step_time_s'])} (" in text
    assert page.locator(".command code").inner_text() == (
        "planner solve --model gpt3-125m --hardware h100-sxm5-80 --chips 8"
    )


def test_two_answers_beside_each_other_and_a_mistake(app: Any) -> None:
    page = app(LINK)
    answer(page)
    quiet(page)
    page.click("#keep")
    asked(page, model="gpt3-350m")
    page.locator(".said table").nth(3).wait_for()
    quiet(page)
    left, right = (page.locator(".answer").nth(at).bounding_box() for at in (0, 1))
    assert left["x"] + left["width"] <= right["x"]
    asked(page, model="gpt3-35m")
    page.get_by_role("alert").get_by_text("unknown model").wait_for()
    assert "gpt3-350m" in page.get_by_role("alert").last.inner_text()


def test_a_chip_is_pasted(app: Any) -> None:
    page = app()
    page.locator(".field", has=page.locator("#f-hardware")).get_by_role("button").click()
    page.fill("textarea[name=hardware]", "like: h100-sxm5-80\nname: mine\n")
    page.fill("#f-model", "gpt3-125m")
    page.fill("#f-chips", "8")
    page.click("#solve")
    assert "mine" in answer(page)
    assert "name" in page.url
    assert "mine" in page.url


def test_stop_ends_a_search(app: Any) -> None:
    page = app()
    page.get_by_text("Ready.", exact=True).wait_for()
    asked(page, model="llama3.1-405b", chips="16384")
    page.click("#stop")
    page.get_by_text("stopped", exact=True).wait_for()
    page.get_by_text("Ready.", exact=True).wait_for()
    asked(page)
    assert "optimal" in answer(page)


def test_without_a_network(app: Any) -> None:
    page = app()
    page.evaluate("navigator.serviceWorker.ready.then(() => true)")
    page.get_by_text("Ready.", exact=True).wait_for()
    page.context.set_offline(True)
    page.reload()
    page.locator("#f-model").wait_for()
    asked(page)
    assert "optimal" in answer(page)


def test_keys_alone(app: Any) -> None:
    page = app()
    for _ in range(3):
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement.id") == "f-model":
            break
    page.keyboard.type(QUESTION["model"])
    for _ in range(30):
        page.keyboard.press("Tab")
        here = page.evaluate("document.activeElement.id")
        if here in ("f-hardware", "f-chips"):
            page.keyboard.type(QUESTION[here.removeprefix("f-")])
        if here == "solve":
            break
    page.keyboard.press("Enter")
    assert "optimal" in answer(page)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_narrow_in_both_colours_and_by_axe(app: Any, axe: str, scheme: str) -> None:
    page = app(LINK, viewport={"width": 360, "height": 740}, color_scheme=scheme)
    answer(page)
    quiet(page)
    page.click("#more > summary")
    page.click(".answer .export summary")
    assert page.evaluate("document.documentElement.scrollWidth") <= 360
    page.evaluate(axe)
    found = page.evaluate("axe.run().then((all) => all.violations)")
    assert not found, json.dumps([(one["id"], one["nodes"][0]["html"]) for one in found], indent=1)


@pytest.fixture(scope="module")
def axe(tmp_path_factory: pytest.TempPathFactory) -> str:
    """axe-core, by the hash in the page's lock file."""
    folder = tmp_path_factory.mktemp("axe")
    for name in ("package.json", "package-lock.json"):
        shutil.copy(WEB / name, folder / name)
    words = ["npm", "ci", "--no-audit", "--no-fund", "--ignore-scripts", "--silent"]
    subprocess.run(words, cwd=folder, check=True, capture_output=True)
    return (folder / "node_modules" / "axe-core" / "axe.min.js").read_text(encoding="utf-8")
