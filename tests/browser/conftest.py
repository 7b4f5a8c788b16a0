"""Reports in a headless Chromium.

Playwright is the one library that is needed: its driver comes in its wheel, and it waits for what a
page does, listens to its console and its requests, prints, and imitates dark screens and screens
without JavaScript, all of which Selenium leaves to its user. The browser is the system's own.
"""

import functools
import json
import os
import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from cli.command import planner, solve
from cli.jobs import H100, JOBS
from explanation.cases import answer

from browser.built import WEB
from planner.report.charts.explain import explain_picture
from planner.report.pages.picture_file import write_picture

NAMES = ("chromium", "chromium-browser", "google-chrome", "chrome")
FLAGS = [
    "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync",
]  # fmt: skip
ASKED = {
    "front": ("--model", "gpt3-125m", *H100, "--chips-at-most", "8"),
    "pipeline": JOBS["dense, GPU, pipeline"],
}
Open = Callable[..., Any]


@functools.cache
def answer_of(name: str) -> Any:
    """The answer that a report shows."""
    return solve(*ASKED[name])


def _missing(what: str) -> None:
    """Skips a test, or fails it where a browser must be there."""
    if os.environ.get("PLANNER_REQUIRE_BROWSER") == "1":
        pytest.fail(f"{what}, and PLANNER_REQUIRE_BROWSER=1 asks for a browser")
    pytest.skip(what)


def chromium() -> str | None:
    """The browser: the one that PLANNER_CHROMIUM names, or the first on the path."""
    return os.environ.get("PLANNER_CHROMIUM") or next(filter(None, map(shutil.which, NAMES)), None)


@pytest.fixture(scope="package")
def browser() -> Iterator[Any]:
    """A browser for the tests of this folder."""
    path = chromium()
    if path is None:
        _missing(f"no browser: none of {', '.join(NAMES)} is on the path")
    try:
        from playwright.sync_api import sync_playwright  # noqa: PLC0415  (an extra)
    except ImportError:
        _missing("Playwright is not installed: pip install 'parallelism-planner[browser]'")
    with sync_playwright() as started:
        running = started.chromium.launch(executable_path=path, args=FLAGS)
        yield running
        running.close()


@pytest.fixture(scope="package")
def axe(tmp_path_factory: pytest.TempPathFactory) -> Callable[[Any], list[str]]:
    """What axe-core, by the hash in the page's lock file, finds wrong on a page: a line each."""
    folder = tmp_path_factory.mktemp("axe")
    for name in ("package.json", "package-lock.json"):
        shutil.copy(WEB / name, folder / name)
    words = ["npm", "ci", "--no-audit", "--no-fund", "--ignore-scripts", "--silent"]
    subprocess.run(words, cwd=folder, check=True, capture_output=True)
    script = (folder / "node_modules" / "axe-core" / "axe.min.js").read_text(encoding="utf-8")

    def mistakes(page: Any) -> list[str]:
        page.evaluate(script)
        found = page.evaluate("axe.run().then((all) => all.violations)")
        return [f"{one['id']}: {at['html'][:200]}" for one in found for at in one["nodes"]]

    return mistakes


@pytest.fixture(scope="package")
def reports(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Pages by name, each written by the command."""
    folder = tmp_path_factory.mktemp("reports")
    pages = {}
    for name in ASKED:
        result = folder / f"{name}.json"
        result.write_text(json.dumps(answer_of(name)), encoding="utf-8")
        outcome = planner("report", result)
        assert (outcome.code, outcome.err) == (0, ""), outcome.err
        pages[name] = result.with_suffix(".html")
    none = planner("solve", "--model", "gpt3-175b", "--hardware", "h100-sxm5-80", "--chips", 8,
                   "--json")  # fmt: skip
    assert none.code == 3, none.err
    (folder / "infeasible.json").write_text(none.out, encoding="utf-8")
    assert planner("report", folder / "infeasible.json").code == 0
    pages["infeasible"] = folder / "infeasible.html"
    pages["explained"] = folder / "explained.html"
    write_picture(explain_picture(answer()), pages["explained"])
    return pages


@pytest.fixture
def opened(browser: Any, reports: dict[str, Path]) -> Iterator[Open]:
    """Opens a report; at the end nothing may have been loaded, complained or failed."""
    problems: list[str] = []
    contexts: list[Any] = []

    def open_page(name: str = "front", place: str = "", **options: Any) -> Any:
        settings = {"viewport": {"width": 1280, "height": 900}, **options}
        context = browser.new_context(**settings)
        context.set_default_timeout(5000)
        contexts.append(context)
        page = context.new_page()
        address = reports["front"].with_name(f"{name}.html").as_uri()

        def asked(request: Any) -> None:
            if request.url.partition("#")[0] != address:
                problems.append(f"asks for {request.url}")

        page.on("console", lambda message: problems.append(f"{message.type}: {message.text}"))
        page.on("pageerror", lambda error: problems.append(f"fails: {error}"))
        page.on("request", asked)
        page.goto(address + place)
        return page

    yield open_page
    for context in contexts:
        context.close()
    assert not problems, problems
