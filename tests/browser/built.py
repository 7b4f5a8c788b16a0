"""The page in which the planner runs: the folder that `python web/build.py` built."""

import contextlib
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

WEB = Path(__file__).parents[2] / "web"
SCRIPTS = ("app.css", "app.js", "form.js", "icon.svg", "index.html", "kept.js", "sw.js")


def built() -> Path:
    """The folder that PLANNER_APP names; a test is skipped where it names none."""
    given = os.environ.get("PLANNER_APP")
    if not given:
        pytest.skip("PLANNER_APP names no folder that python web/build.py built")
    return Path(given)


def ends(place: str) -> Callable[[str], bool]:
    """What `page.wait_for_url` waits for: an address is told after the events of a key."""
    return lambda address: address.endswith(place)


@contextlib.contextmanager
def opening(
    browser: Any, address: str, ready: str = "body", wait_ms: int = 30_000
) -> Iterator[Any]:
    """Opens pages; no request may leave their server, nothing may fail or complain.

    Args:
        browser, address: Of the pages.
        ready: What a page has once it can be used.
        wait_ms: How long anything on it is waited for.
    """
    problems: list[str] = []
    contexts: list[Any] = []

    def open_page(place: str = "", script: str = "", **options: Any) -> Any:
        context = browser.new_context(**{"viewport": {"width": 1280, "height": 900}, **options})
        context.set_default_timeout(wait_ms)
        contexts.append(context)
        if script:
            context.add_init_script(script)
        page = context.new_page()
        page.on("dialog", lambda dialog: problems.append(f"says {dialog.message}"))

        def asked(request: Any) -> None:
            if not request.url.startswith((address, "blob:", "data:")):
                problems.append(f"asks for {request.url}")

        context.on("request", asked)
        page.on("console", lambda message: problems.append(f"{message.type}: {message.text}"))
        page.on("pageerror", lambda error: problems.append(f"fails: {error}"))
        page.goto(address + place)
        page.locator(ready).wait_for()
        return page

    yield open_page
    for context in contexts:
        context.close()
    assert not problems, problems
