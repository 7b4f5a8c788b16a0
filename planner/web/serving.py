"""A folder of plain files, served to this machine alone."""

from __future__ import annotations

import contextlib
import functools
import os
import re
import sys
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from planner.base.errors import InputError

_LOOPBACK = "127.0.0.1"
_TYPES = {".mjs": "text/javascript", ".js": "text/javascript", ".wasm": "application/wasm"}
_PAGES = ("index.html", "index.htm")
_POLICY = re.compile(r'<meta http-equiv="Content-Security-Policy" content="([ !#-%\'-~]+)">')


def _is_ours(path: Path, root: Path) -> bool:
    """Whether a path leads to a regular file inside the folder: no pipe, no link out of it."""
    try:
        real = path.resolve(strict=True)
        return real.is_file() and real.is_relative_to(root.resolve())
    except (OSError, ValueError, RuntimeError):  # none, a name that no file has, links in a circle
        return False


def _policy(path: Path, root: Path) -> str:
    """The content security policy of the page that a file belongs to: the nearest above it."""
    for folder in (path, *path.parents):
        page = folder / "index.html"
        with contextlib.suppress(OSError, ValueError):  # none that can be read
            if _is_ours(page, root):
                found = _POLICY.search(page.read_text(encoding="utf-8"))
                return found[1] if found else ""
        if folder == root:
            break
    return ""


class _Files(SimpleHTTPRequestHandler):
    """Files of the folder, with the types that browsers ask of modules."""

    extensions_map = SimpleHTTPRequestHandler.extensions_map | _TYPES

    def end_headers(self) -> None:
        path = Path(self.translate_path(getattr(self, "path", "/")))  # none: it could not be read
        if policy := _policy(path, Path(self.directory)):
            self.send_header("Content-Security-Policy", policy)
        self.send_header("X-Content-Type-Options", "nosniff")
        self.send_header("Cache-Control", "no-cache")
        super().end_headers()

    def send_head(self) -> Any:
        path = Path(self.translate_path(self.path))
        pages = [path / name for name in _PAGES if os.path.lexists(path / name)]
        served = pages if os.path.isdir(path) else [path]
        if not served or not all(_is_ours(one, Path(self.directory)) for one in served):
            return self.send_error(404, "There is no page")
        return super().send_head()

    def list_directory(self, path: Any) -> None:
        """Folders without a page are not listed."""
        self.send_error(404, "There is no page")

    def log_message(self, format: str, *args: Any) -> None:
        """Nothing is said of each request."""


class _Server(ThreadingHTTPServer):
    """A server to which it is no error that a browser ends what it no longer wants."""

    def handle_error(self, request: Any, client_address: Any) -> None:
        if not isinstance(sys.exception(), ConnectionError):
            super().handle_error(request, client_address)


def server_of(folder: Path, port: int) -> ThreadingHTTPServer:
    """A server that is bound and not started.

    Args:
        folder: Has an `index.html`.
        port: 0: a free one, `server_port` of the server.

    Raises:
        InputError: The folder has no page, or the port is taken.
    """
    if not (folder / "index.html").is_file():
        raise InputError(
            f"folder: {folder} has no index.html; build it with: python web/build.py -o {folder}"
        )
    try:
        return _Server((_LOOPBACK, port), functools.partial(_Files, directory=str(folder)))
    except OSError as error:
        raise InputError(
            f"port: {port} cannot be used ({error.strerror}); take another, or 0 for a free one"
        ) from None
