"""How fast the page is in which the planner runs, beside the same questions on this machine.

    python web/build.py -o app && python benchmarks/browser.py app

Chromium (as `tests/browser` finds it) opens the page anew for each run: its first paint, the time
and the CPU seconds of all its processes until the planner is ready, and those of questions, one
after the other on one page. Beside them stands the CPU time of the same questions here: of the
first one that of a whole command, as the page loads what solves with it, of the others that of a
process that has answered one. Medians are printed.
"""

from __future__ import annotations

import math
import os
import shutil
import statistics
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import measuring
from measuring import Report, Table
from startup import program, run_once

import planner
from planner.web.serving import server_of

NAMES = ("chromium", "chromium-browser", "google-chrome", "chrome")
FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--no-first-run"]
WAIT_MS = 240_000.0
QUESTIONS: dict[str, dict[str, Any]] = {
    "llama2-13b on 4,096": {"model": "llama2-13b", "chips": 4096},
    "llama3-70b on 512 H100": {"model": "llama3-70b", "hardware": "h100-sxm5-80", "chips": 512},
    "llama3.1-405b on 16,384 H100": {
        "model": "llama3.1-405b", "hardware": "h100-sxm5-80", "chips": 16384
    },
}  # fmt: skip
GOALS = (
    ("first paint", "s", 1.0),
    ("ready", "CPU s of the browser", 8.0),
    ("llama2-13b on 4,096", "times as much", 3.0),
)
PAINTED = """() => new Promise((done) => {
  const seen = () => performance.getEntriesByName("first-contentful-paint")[0];
  const look = () => seen() ? done(seen().startTime) : setTimeout(look, 20);
  look();
})"""


@contextmanager
def served(folder: Path) -> Iterator[str]:
    """The address of a folder on this machine."""
    with server_of(folder, 0) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/"
        server.shutdown()


@contextmanager
def chromium() -> Iterator[Any]:
    """A browser that has visited nothing.

    Raises:
        SystemExit: There is none.
    """
    path = os.environ.get("PLANNER_CHROMIUM") or next(filter(None, map(shutil.which, NAMES)), None)
    if path is None:
        raise SystemExit(f"error: no browser: none of {', '.join(NAMES)} is on the path")
    from playwright.sync_api import sync_playwright  # noqa: PLC0415  (an extra)

    with sync_playwright() as started:
        running = started.chromium.launch(executable_path=path, args=FLAGS)
        yield running
        running.close()


def cpu_s(browser: Any) -> float:
    """CPU seconds of all processes of a browser so far."""
    found = browser.new_browser_cdp_session().send("SystemInfo.getProcessInfo")["processInfo"]
    return float(sum(one["cpuTime"] for one in found))


def timed(browser: Any, work: Callable[[], object]) -> tuple[float, float]:
    """Seconds of a clock and CPU seconds of a browser."""
    clock, spent = time.perf_counter(), cpu_s(browser)
    work()
    return time.perf_counter() - clock, cpu_s(browser) - spent


def asked(page: Any, fields: Mapping[str, Any]) -> None:
    """Asks one question by its address and waits until its answer is shown."""
    page.evaluate("words => { location.hash = words }", urlencode(fields))
    page.locator(".answer h2", has_text=f"{fields['model']} · ").wait_for()
    page.get_by_text("Done.", exact=True).wait_for()


def visit(address: str) -> dict[str, tuple[float, float]]:
    """What one visit takes: seconds and CPU seconds by what is done."""
    with chromium() as browser:
        page = browser.new_context().new_page()
        page.set_default_timeout(WAIT_MS)

        def opened() -> None:
            page.goto(address)
            page.get_by_text("Ready.", exact=True).wait_for()

        ready = timed(browser, opened)
        found = {"first paint": (page.evaluate(PAINTED) / 1e3, math.nan), "ready": ready}
        for name, fields in QUESTIONS.items():
            found[name] = timed(browser, partial(asked, page, fields))
    return found


def answered(fields: Mapping[str, Any]) -> dict[str, Any]:
    """The document of an answer."""
    return planner.solve(**fields).to_dict()


def native(runs: int) -> dict[str, float]:
    """Median CPU seconds of a command with the first question, and of the others once warm."""
    (first, *others) = QUESTIONS
    words = [word for name, value in QUESTIONS[first].items() for word in (f"--{name}", str(value))]
    commands = [run_once([*program(), "solve", *words]).cpu_s for _ in range(runs)]
    answered(QUESTIONS[first])
    return {first: statistics.median(commands)} | {
        name: statistics.median(
            measuring.cpu_seconds(partial(answered, QUESTIONS[name]), runs).seconds
        )
        for name in others
    }


def main() -> None:
    """Prints the table."""
    parser = measuring.parser(__doc__ or "")
    parser.add_argument("app", type=Path, help="the folder that web/build.py wrote")
    parser.add_argument("--runs", type=measuring.positive, default=3)
    options = parser.parse_args()
    with served(options.app) as address:
        visits = [visit(address) for _ in range(options.runs)]
    here = native(options.runs)
    rows: list[dict[str, Any]] = []
    for name in visits[0]:
        seconds, spent = (statistics.median(one[name][at] for one in visits) for at in (0, 1))
        known = here.get(name)
        rows.append({
            "what": name,
            "s": seconds,
            "CPU s of the browser": None if math.isnan(spent) else spent,
            "CPU s here": known,
            "times as much": None if known is None else spent / known,
        })  # fmt: skip
    title = f"Median of {options.runs} visits"
    report = Report(name="browser", tables=[Table(title=title, rows=rows)])
    for name, column, most in GOALS:
        (value,) = (row[column] for row in rows if row["what"] == name)
        met = "met" if value <= most else "missed"
        report.notes.append(f"{name}, {column}: at most {most:g}: {met}.")
    measuring.show(report, options)


if __name__ == "__main__":
    main()
