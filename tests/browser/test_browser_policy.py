"""The page on a server that sends no headers: its policy, what it keeps, and loads that fail."""

import contextlib
import functools
import json
import re
import shutil
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from browser.built import SCRIPTS, WEB, built

WAIT = 240_000  # a busy machine boots it in a minute
READY = "postMessage({ kind: 'ready' })"
WITHOUT = "Object.defineProperty(Navigator.prototype, 'serviceWorker', { get: () => undefined });"
UNEVEN = "model=gpt3-125m&hardware=h100-sxm5-80&chips=8&layout=uneven"
TRIED = """async (other) => {
  const tried = (work) => new Promise((done) => setTimeout(async () => {
    try { await work(); done("runs"); } catch (error) { done(error.name); }
  }));
  return {
    fetch: await tried(() => fetch(other, { mode: "no-cors" })),
    import: await tried(() => import(other)),
    eval: await tried(() => eval("1")),
    Function: await tried(() => new Function("1")()),
  };
}"""
"""Tried in tasks of their own: what a debugger evaluates may evaluate."""
REFUSED = {
    "fetch": "TypeError",
    "import": "TypeError",
    "eval": "EvalError",
    "Function": "EvalError",
}


@dataclass
class Plain:
    """A static server: what it was asked for, and names that it does not give."""

    address: str = ""
    seen: list[str] = field(default_factory=list)
    refuses: set[str] = field(default_factory=set)


@contextlib.contextmanager
def plain(folder: Path) -> Iterator[Plain]:
    server = Plain()

    class Files(SimpleHTTPRequestHandler):
        def do_GET(self) -> None:
            server.seen.append(self.path)
            if self.path.rpartition("/")[2] in server.refuses:
                self.send_error(503)
            else:
                super().do_GET()

        def end_headers(self) -> None:
            self.send_header("Access-Control-Allow-Origin", "*")  # it is not what refuses
            super().end_headers()

        def log_message(self, format: str, *args: Any) -> None:
            """Nothing is said of each request."""

    handler = functools.partial(Files, directory=str(folder))
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as running:
        threading.Thread(target=running.serve_forever, daemon=True).start()
        server.address = f"http://127.0.0.1:{running.server_port}/"
        yield server
        running.shutdown()


@pytest.fixture
def page(browser: Any) -> Iterator[Any]:
    context = browser.new_context()
    context.set_default_timeout(WAIT)
    yield context.new_page()
    context.close()


def shell(folder: Path, version: str) -> Path:
    """The page without its planner: a worker that is ready at once."""
    folder.mkdir()
    for name in SCRIPTS:
        shutil.copy(WEB / "app" / name, folder / name)
    (folder / "worker.js").write_text(READY)
    (folder / "form.json").write_text(json.dumps({"version": version, "fields": []}))
    listed = {"version": version, "names": ["./", *SCRIPTS, "worker.js", "form.json", "files.js"]}
    (folder / "files.js").write_text(f"self.FILES = {json.dumps(listed)};")
    return folder


def other_host(folder: Path) -> Path:
    folder.mkdir()
    (folder / "x.js").write_text("1")
    return folder


def test_without_a_policy_a_worker_may_do_all_of_it(page: Any, tmp_path: Path) -> None:
    """So what is refused below is refused by the policy."""
    folder = shell(tmp_path / "app", "one")
    text = (folder / "index.html").read_text(encoding="utf-8")
    open_one = re.sub(r"<meta http-equiv.*\n", "", text)
    assert open_one != text
    (folder / "index.html").write_text(open_one, encoding="utf-8")
    with plain(folder) as here, plain(other_host(tmp_path / "other")) as other:
        page.goto(here.address)
        page.get_by_text("Ready.", exact=True).wait_for()
        found = page.workers[0].evaluate(TRIED, f"{other.address}x.js")
        assert found == dict.fromkeys(REFUSED, "runs")
        assert other.seen


def test_the_planner_runs_under_the_policy_of_the_page(page: Any, tmp_path: Path) -> None:
    """No other host is asked, no text is run; SciPy loads, also after a load that failed."""
    page.add_init_script(WITHOUT)  # which would give more.packed from what it keeps
    with plain(built()) as here, plain(other_host(tmp_path / "other")) as other:
        here.refuses.add("more.packed")
        page.goto(f"{here.address}#{UNEVEN}")
        page.get_by_role("alert").get_by_text("more.packed: 503").wait_for()
        here.refuses.clear()
        page.click("#solve")
        page.locator(".said table").first.wait_for()
        assert "status optimal" in page.locator(".said").inner_text()
        assert page.workers[0].evaluate(TRIED, f"{other.address}x.js") == REFUSED
        assert other.seen == []


@pytest.mark.parametrize("name", ["planner.packed", "pyodide.asm.wasm", "worker.js"])
def test_a_load_that_failed_is_tried_again(page: Any, name: str) -> None:
    """The next question starts the planner anew."""
    page.add_init_script(WITHOUT)
    with plain(built()) as here:
        here.refuses.add(name)
        page.goto(here.address)
        page.get_by_text("The planner does not start in this browser").wait_for()
        here.refuses.clear()
        page.evaluate("location.hash = 'model=gpt3-125m&hardware=h100-sxm5-80&chips=8'")
        page.locator(".said table").first.wait_for()


def test_two_versions_on_one_host_keep_their_own_pages(page: Any, tmp_path: Path) -> None:
    for name in ("v1", "v2"):
        shell(tmp_path / name, name)
    names = "caches.keys().then((all) => all.filter((name) => !name.endsWith(' answers')).sort())"
    with plain(tmp_path) as here:
        for name in ("v1", "v2"):
            page.goto(f"{here.address}{name}/")
            page.evaluate("navigator.serviceWorker.ready.then(() => true)")
            page.wait_for_function("navigator.serviceWorker.controller")
        assert page.evaluate(names) == ["planner /v1/ v1", "planner /v2/ v2"]
        page.context.set_offline(True)
        for name in ("v1", "v2"):
            page.goto(f"{here.address}{name}/")
            page.get_by_text(f"planner {name}").wait_for()


def test_a_form_that_is_not_there_is_said(page: Any, tmp_path: Path) -> None:
    with plain(shell(tmp_path / "app", "one")) as here:
        here.refuses.add("form.json")
        page.goto(here.address)
        page.get_by_text(
            "The form cannot be loaded (form.json: 503). Load the page again."
        ).wait_for()
        assert page.locator("#solve").is_disabled()
