"""The planner in a browser: solve, mistakes, stop, links, files, offline, keys, narrow and dark.

`python web/build.py` builds the page, and PLANNER_APP names its folder; `.ci/run` does both.
"""

import contextlib
import functools
import json
import os
import shutil
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import pytest
from cli.command import planner

from browser.built import built, ends, opening
from planner.base.units import show_seconds
from planner.web.form import EXAMPLES
from planner.web.serving import server_of

QUESTION = {"model": "gpt3-125m", "hardware": "h100-sxm5-80", "chips": "8"}
LINK = "#model=gpt3-125m&hardware=h100-sxm5-80&chips=8"
WAIT = 240_000  # a busy machine boots it in a minute


@contextlib.contextmanager
def served(folder: Path) -> Iterator[str]:
    server = server_of(folder, 0)
    with server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/"
        server.shutdown()


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    with served(built()) as place:
        yield place


@pytest.fixture
def app(browser: Any, address: str) -> Iterator[Any]:
    """Opens pages of its own, each of which loads the planner anew."""
    with opening(browser, address, "#f-model", WAIT) as open_page:
        yield open_page


@pytest.fixture(scope="module")
def visited(browser: Any, address: str) -> Iterator[Any]:
    """One page for the tests that may come one after the other, as a reader's questions do."""
    with opening(browser, address, "#f-model", WAIT) as open_page:
        yield open_page()


@pytest.fixture
def page(visited: Any) -> Any:
    """That page with an empty form."""
    visited.evaluate("history.replaceState(null, '', location.pathname); onhashchange()")
    visited.wait_for_function("document.getElementById('f-model').value === ''")
    return visited


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


def test_a_question_its_report_and_its_files(page: Any) -> None:
    asked(page)
    text = answer(page)
    assert "status optimal, gap 0 %" in text
    page.wait_for_url(ends(LINK))
    page.click(".answer .page summary")
    frame = page.frame_locator("iframe")
    frame.get_by_text("The best plan", exact=True).first.wait_for()
    assert frame.locator("svg").count() > 3
    quiet(page)
    frame.locator("svg [data-key=front-2]").press("Enter")
    page.wait_for_function("document.querySelector('.row').value === '2'")
    kept = "caches.open('planner / answers').then((all) => all.keys()).then((all) => all.length)"
    assert page.evaluate(kept) == 0
    page.click(".answer .export summary")
    page.click(".write")
    page.locator(".file pre").first.wait_for()
    with page.expect_download() as download:
        page.locator(".file").nth(1).get_by_text("Download").click()
    assert download.value.suggested_filename == "run.sh"


WITHOUT = "Object.defineProperty(Navigator.prototype, 'serviceWorker', { get: () => undefined });"


def test_a_link_gives_the_answer_of_the_command_line_also_where_no_pages_are_kept(app: Any) -> None:
    """An address without https has no service worker: the report is there to be saved."""
    page = app(LINK, WITHOUT)
    text = answer(page)
    assert f"\t{show_seconds(known()['best']['step_time_s'])} (" in text
    assert page.locator(".command code").inner_text() == (
        "planner solve --model gpt3-125m --hardware h100-sxm5-80 --chips 8"
    )
    page.click(".answer .page summary")
    page.get_by_text("save the page, and open it").wait_for()
    with page.expect_download() as download:
        page.get_by_text("Save the page").click()
    assert "The best plan" in Path(download.value.path()).read_text(encoding="utf-8")


HOSTILE = "<img src=x onerror=alert(1)><script>alert(1)</script>"


def test_hostile_words_are_words(page: Any) -> None:
    """In the form, in the address, as the name of a field, and a megabyte of them."""
    asked(page, model=HOSTILE)
    page.get_by_role("alert").get_by_text("unknown model '<img src=x").wait_for()
    page.evaluate("name => { location.hash = new URLSearchParams({ [name]: name }); }", HOSTILE)
    page.get_by_role("alert").get_by_text(f"{HOSTILE}: unknown field").wait_for()
    page.evaluate("location.hash = 'modle=x&chips=8'")
    page.get_by_role("alert").get_by_text("did you mean 'model'?").wait_for()
    page.evaluate("location.hash = `chips=8&model=${'x'.repeat(1e6)}`")
    page.get_by_role("alert").get_by_text("unknown model 'xxx").wait_for()
    assert page.locator("img, main script").count() == 0


def test_the_way_past_the_head_is_no_question(page: Any) -> None:
    page.fill("#f-model", "gpt3-125m")
    page.focus(".skip")
    page.keyboard.press("Enter")
    assert page.evaluate("document.activeElement.id") == "f-model"
    assert page.input_value("#f-model") == "gpt3-125m"


def test_without_webassembly_the_page_says_so(browser: Any, address: str) -> None:
    context = browser.new_context()
    source = (built() / "worker.js").read_text(encoding="utf-8")
    body = source.replace("const booted", "delete globalThis.WebAssembly;\nconst booted", 1)
    context.route(
        "**/worker.js", lambda route: route.fulfill(body=body, content_type="text/javascript")
    )
    page = context.new_page()
    page.goto(address)
    page.get_by_text("it has no WebAssembly, or that is turned off").wait_for()
    context.close()


def test_a_newer_build_is_taken_whole_when_its_reader_says_so(browser: Any, tmp_path: Path) -> None:
    """Files of two builds never meet: all are of the old one until then, also after a reload."""
    names = (
        "app.css",
        "app.js",
        "form.js",
        "form.json",
        "icon.svg",
        "index.html",
        "kept.js",
        "sw.js",
    )
    for name in names:
        shutil.copy(built() / name, tmp_path / name)
    (tmp_path / "worker.js").write_text("postMessage({ kind: 'ready' })")
    form = (tmp_path / "form.json").read_text(encoding="utf-8")

    def release(version: str) -> None:
        text = json.dumps(json.loads(form) | {"version": version})
        (tmp_path / "form.json").write_text(text, encoding="utf-8")
        listed = {"version": version, "names": ["./", *names, "worker.js", "files.js"]}
        files = tmp_path / "files.js"
        files.write_text(f"self.FILES = {json.dumps(listed)};")
        later = time.time() + 60 * len(version)  # servers tell files apart by the second
        os.utime(files, (later, later))

    release("one")
    with served(tmp_path) as place:
        context = browser.new_context()
        page = context.new_page()
        page.goto(place)
        page.evaluate("navigator.serviceWorker.ready.then(() => true)")
        page.reload()
        release("second")
        page.reload()
        page.get_by_text("There is a newer page.").wait_for()
        assert page.locator("#version").inner_text() == "planner one"
        page.get_by_text("Take it").click()
        page.get_by_text("planner second").wait_for()
        stored = page.evaluate("caches.keys()")
        assert [name for name in stored if name != "planner / answers"] == ["planner / second"]
        context.close()


def test_two_answers_beside_each_other_and_a_mistake(page: Any) -> None:
    asked(page)
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
    page.click("#keep")


def test_the_way_back_leads_to_the_question_before(page: Any) -> None:
    asked(page)
    answer(page)
    quiet(page)
    asked(page, chips="4")
    page.get_by_text("gpt3-125m · h100-sxm5-80 · 4 chips").wait_for()
    quiet(page)
    page.go_back()
    page.get_by_text("gpt3-125m · h100-sxm5-80 · 8 chips").wait_for()
    quiet(page)
    assert page.input_value("#f-chips") == "8"
    page.wait_for_url(ends(LINK))


def test_a_chip_is_pasted(page: Any) -> None:
    page.locator(".field", has=page.locator("#f-hardware")).get_by_role("button").click()
    page.fill("textarea[name=hardware]", "like: h100-sxm5-80\nname: mine\n")
    page.fill("#f-model", "gpt3-125m")
    page.fill("#f-chips", "8")
    page.click("#solve")
    assert "mine" in answer(page)
    page.wait_for_url(lambda address: "name" in address and "mine" in address)


def test_a_pasted_chip_and_what_the_form_lacks_in_a_link(page: Any) -> None:
    """Line by line as it was pasted, with its file for the command; no value is left out."""
    link = urlencode(QUESTION | {"hardware": EXAMPLES["hardware"], "chips": "2"})
    page.evaluate(f"location.hash = '{link}'")
    assert "my-chip" in answer(page)
    assert "like: h100-sxm5-80" in page.evaluate(
        "new URLSearchParams(location.hash.slice(1)).get('hardware').split('\\n')"
    )
    with page.expect_download() as download:
        page.get_by_role("button", name="Save hardware.yaml for it").click()
    assert Path(download.value.path()).read_text(encoding="utf-8") == EXAMPLES["hardware"]
    page.evaluate(f"location.hash = '{urlencode(QUESTION | {'objective': 'bogus'})}'")
    page.get_by_role("alert").get_by_text("objective: 'bogus'").wait_for()
    assert page.evaluate("document.activeElement.id") == "f-objective"


def test_stop_ends_a_search(app: Any) -> None:
    page = app()
    page.get_by_text("Ready.", exact=True).wait_for()
    asked(page, model="llama3.1-405b", chips="16384")
    page.click("#stop")
    page.get_by_text("Stopped.", exact=True).wait_for()
    assert page.locator(".answer").count() == 0
    asked(page, model="llama3.1-405b", chips="16384")
    page.evaluate(f"location.hash = '{LINK}'")  # in the middle of that question
    assert "optimal" in answer(page)
    assert page.locator("h2").inner_text() == "gpt3-125m · h100-sxm5-80 · 8 chips"
    assert page.locator("#stop").is_hidden()


def memory_of_the_tab(browser: Any) -> tuple[int, int]:
    """Bytes of the largest process of pages: its own, and with the files that all of them share."""
    session = browser.new_browser_cdp_session()
    processes = session.send("SystemInfo.getProcessInfo")["processInfo"]
    found = [(0, 0)]
    for one in processes:
        status = Path(f"/proc/{one['id']}/status")
        if one["type"] == "renderer" and status.exists():
            words = dict(line.split(":", 1) for line in status.read_text().splitlines())
            own, all_of_it = (int(words[name].split()[0]) for name in ("RssAnon", "VmRSS"))
            found.append((own * 1024, all_of_it * 1024))
    return max(found)


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="Linux tells it there")
def test_memory_of_the_tab(app: Any, browser: Any) -> None:
    """Of a usual question, then of the largest of `test_app_questions`; -s prints it."""
    page = app("#model=llama3-70b&hardware=h100-sxm5-80&chips=512")
    quiet(page)
    usual = memory_of_the_tab(browser)
    page.evaluate(
        "location.hash = 'model=deepseek-v3&hardware=h100-sxm5-80&chips=16384&batch_tokens=60Mi'"
    )
    page.get_by_text("deepseek-v3 · h100-sxm5-80 · 16384 chips").wait_for()
    quiet(page)
    largest = memory_of_the_tab(browser)
    print(f"own bytes, all bytes: {usual} and then {largest}")
    assert all(0 < own < 400e6 for own, _ in (usual, largest))


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
def test_narrow_in_both_colours_and_by_axe(app: Any, axe: Any, scheme: str) -> None:
    page = app(LINK, viewport={"width": 360, "height": 740}, color_scheme=scheme)
    answer(page)
    quiet(page)
    page.click("#more > summary")
    page.click(".answer .export summary")
    assert page.evaluate("document.documentElement.scrollWidth") <= 360
    assert page.locator(".said table").first.bounding_box()["width"] <= 360
    assert axe(page) == []
