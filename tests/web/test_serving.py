"""`planner web` serves a folder to this machine, with the types that browsers ask of modules."""

import os
import threading
import urllib.error
import urllib.request
from pathlib import Path

import pytest
from cli.command import refused

from planner.web.serving import server_of

PAGE = Path(__file__).parents[2] / "web" / "app" / "index.html"


def test_files_and_nothing_else(tmp_path: Path) -> None:
    (tmp_path / "index.html").write_text("<p>here")
    (tmp_path / "empty").mkdir()
    (tmp_path / "a.mjs").write_text("1")
    server = server_of(tmp_path, 0)
    assert server.server_address[0] == "127.0.0.1"
    address = f"http://127.0.0.1:{server.server_port}"
    with server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        assert urllib.request.urlopen(f"{address}/").read() == b"<p>here"
        kind = urllib.request.urlopen(f"{address}/a.mjs").headers["Content-Type"]
        assert kind == "text/javascript"
        for place in ("empty/", "../etc/passwd", "none", "%00", "a%00.mjs"):
            with pytest.raises(urllib.error.HTTPError, match="404"):
                urllib.request.urlopen(f"{address}/{place}")
        assert refused("web", tmp_path, "--port", server.server_port)[0].startswith(
            f"port: {server.server_port} cannot be used"
        )
        server.shutdown()


def test_pipes_and_links_out_of_the_folder_are_not_there(tmp_path: Path) -> None:
    """A pipe would keep a request for ever, and a link would serve any file of its owner."""
    folder, beside = tmp_path / "site", tmp_path / "beside"
    for name in ("site/piped", "site/linked", "site/own", "beside"):
        (tmp_path / name).mkdir(parents=True)
    (beside / "index.html").write_text("secret")
    (folder / "index.html").write_text("<p>here")
    (folder / "own" / "index.html").symlink_to(folder / "index.html")
    (folder / "linked" / "index.html").symlink_to(beside / "index.html")
    (folder / "out.js").symlink_to(beside / "index.html")
    (folder / "out").symlink_to(beside)
    (folder / "circle").symlink_to("circle")
    os.mkfifo(folder / "pipe.js")
    os.mkfifo(folder / "piped" / "index.html")
    (folder / "piped" / "a.js").write_text("1")
    with server_of(folder, 0) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        address = f"http://127.0.0.1:{server.server_port}/"
        for place in ("", "own/", "piped/a.js"):
            assert urllib.request.urlopen(address + place, timeout=5).status == 200
        for place in ("pipe.js", "piped/", "out.js", "out/", "out/index.html", "linked/", "circle"):
            with pytest.raises(urllib.error.HTTPError, match="404"):
                urllib.request.urlopen(address + place, timeout=5)
        server.shutdown()


def test_the_policy_of_a_page_is_a_header_of_its_files(tmp_path: Path) -> None:
    """Also where the page is part of a site; declared in the page alone."""
    page = PAGE.read_text(encoding="utf-8")
    (tmp_path / "index.html").write_text("<p>here")
    (tmp_path / "app" / "runtime").mkdir(parents=True)
    (tmp_path / "app" / "index.html").write_text(page, encoding="utf-8")
    (tmp_path / "app" / "worker.js").write_text("1")
    (tmp_path / "app" / "runtime" / "a.mjs").write_text("1")
    with server_of(tmp_path, 0) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        address = f"http://127.0.0.1:{server.server_port}/"
        sent = {
            place: urllib.request.urlopen(address + place).headers["Content-Security-Policy"]
            for place in ("", "app/", "app/worker.js", "app/runtime/a.mjs")
        }
        for place in ("app/none", "x" * 300):
            with pytest.raises(urllib.error.HTTPError, match="404"):
                urllib.request.urlopen(address + place)
        server.shutdown()
    assert sent.pop("") is None
    (policy,) = {*sent.values()}
    assert f'content="{policy}"' in page
    assert "script-src 'self' 'wasm-unsafe-eval';" in policy


def test_a_folder_without_a_page(tmp_path: Path) -> None:
    assert refused("web", tmp_path) == [
        f"folder: {tmp_path} has no index.html; build it with: python web/build.py -o {tmp_path}"
    ]


def test_a_reader_who_leaves_is_no_error(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A page that is loaded again in the middle ends its connections; others are errors still."""
    (tmp_path / "index.html").write_text("<p>here")
    with server_of(tmp_path, 0) as server:
        for error, said in ((ConnectionResetError(), False), (ValueError(), True)):
            try:
                raise error
            except (ConnectionError, ValueError):
                server.handle_error(None, ("127.0.0.1", 1))
            assert bool(capsys.readouterr().err) == said
