"""Copies of the written pages, with links as the site has them."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
ELSEWHERE = {
    "README.md": "tour.md", "CONTRIBUTING.md": "contributing.md", "CHANGELOG.md": "changelog.md",
}  # fmt: skip
"""Pages that lie outside of `docs`, by their places on the site."""
_LINK = re.compile(r"(?<!!)\[(?P<text>[^\]]*)\]\((?P<target>[^)\s]+)\)")
_PICTURE = re.compile(r"!\[(?P<text>[^\]]*)\]\((?P<target>[^)\s]+)\)")
_FOR_TESTS = re.compile(r" +# (example|slow)$", re.MULTILINE)
"""What tells the tests of a page not to run a command, and its reader nothing."""
_FENCE = re.compile(r"^(```+|~~~+)")
_SHOWN = (".yaml", ".json", ".csv", ".cff", "")
"""Endings of files that a reader may want as they are; of code, its path is said."""


def copy(into: Path) -> list[str]:
    """Copies `docs` and the pages beside it.

    Returns:
        The pages, as paths on the site.
    """
    written = {path.relative_to(ROOT).as_posix() for path in (ROOT / "docs").rglob("*.md")}
    for name in sorted({*written, *ELSEWHERE}):
        page = into / place(name)
        page.parent.mkdir(parents=True, exist_ok=True)
        text = (ROOT / name).read_text(encoding="utf-8")
        page.write_text(relinked(text, name, into), encoding="utf-8")
    shutil.copytree(ROOT / "docs" / "pictures", into / "pictures")
    return sorted(place(name) for name in (*written, *ELSEWHERE))


def place(name: str) -> str:
    """Where on the site a file of the repository is; what is no page is below `files`."""
    if name in ELSEWHERE:
        return ELSEWHERE[name]
    if name.startswith("docs/"):
        return re.sub(r"\.ipynb$", ".md", name.removeprefix("docs/"))
    return f"files/{name}" if Path(name).suffix not in ("", ".cff") else f"files/{name}.txt"


def relinked(text: str, name: str, into: Path) -> str:
    """The text of a page, with links from its place on the site.

    A link to code becomes the path of the code. Other files are copied to where links lead.

    Args:
        text: Markdown.
        name: Path of the page in the repository.
        into: The folder of the site's pages.
    """

    def one(match: re.Match[str]) -> str:
        return _link(match, name, into)

    return "".join(
        _FOR_TESTS.sub("", part) if verbatim else _LINK.sub(one, _PICTURE.sub(one, part))
        for verbatim, part in _parts(text)
    )


def _parts(text: str) -> Iterator[tuple[bool, str]]:
    """Blocks of code of a page, true, and what is between them; links may go over lines."""
    fence, gathered = "", ""
    for line in text.splitlines(keepends=True):
        mark = _FENCE.match(line)
        verbatim = bool(fence or mark) or line.startswith("    ")
        if mark and (not fence or line.startswith(fence)):
            fence = "" if fence else mark[0]
        if verbatim:
            yield False, gathered
            yield True, line
        gathered = "" if verbatim else gathered + line
    yield False, gathered


def _link(match: re.Match[str], name: str, into: Path) -> str:
    target, _, anchor = match["target"].partition("#")
    if not target or re.match(r"[a-z]+:", target):
        return match[0]
    path = Path(os.path.normpath(Path(name).parent / target))
    known = path.as_posix() in ELSEWHERE or path.parts[0] == "docs"
    if not known and (path.suffix not in _SHOWN or (ROOT / path).is_dir()):
        return f"`{path.as_posix()}`"
    is_page = path.as_posix() in ELSEWHERE or path.suffix in (".md", ".ipynb", ".svg")
    if not is_page and (ROOT / path).is_file():
        copied = into / place(path.as_posix())
        copied.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / path, copied)
    there = os.path.relpath(place(path.as_posix()), Path(place(name)).parent)
    sign = "!" if match[0].startswith("!") else ""
    return f"{sign}[{match['text']}]({there}{'#' if anchor else ''}{anchor})"
