"""Builds the site, strictly: the pages of docs/, the generated reference, the app.

  python web/documentation.py -o site               all of it
  python web/documentation.py -o site --no-app      without the page in which the planner runs
  python web/documentation.py -o site --app DIR     with that page from a folder of web/build.py

Takes the extra `docs` (zensical, mkdocstrings) and the planner itself. Broken links, missing
pictures, pages without a title, pages that stand nowhere in the navigation and undocumented public
names fail it; nothing is written then. The reference is generated in a temporary folder.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
from importlib.util import find_spec
from pathlib import Path

from build import listed
from pages import PagesError

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent
sys.path.insert(0, str(ROOT))
BUILDER = ("zensical", "mkdocstrings", "mkdocstrings_handlers")
_OURS = "search.json"  # of a folder that the builder wrote
_APP_MARK = "<!-- app -->"
_BACK_MARK = "<!-- documentation -->"
_BACK = ' <a href="../index.html">Documentation</a>.'
_READER = "griffe: "  # what mkdocstrings reads docstrings with, and says of those it cannot read
_COLOUR = re.compile(r"\x1b\[[0-9;]*m")


def build(output: Path, app: Path | None, *, with_app: bool) -> int:
    """Builds the site, whole or not at all.

    Args:
        output: The folder; what is there is replaced, if it is a site.
        app: A folder that web/build.py built; None builds it.
        with_app: Whether the site has the app.

    Returns:
        The number of its pages.

    Raises:
        PagesError: A page has a mistake, the app cannot be built, or the folder is no site.
    """
    if output.exists() and not _replaceable(output):
        raise PagesError(f"{output} is no site that could be replaced; name another folder")
    if app is not None and not (app / "index.html").is_file():
        raise PagesError(f"{app} has no index.html; python web/build.py -o {app} makes it")
    output.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=output.parent) as temporary:
        work = Path(temporary)
        pages = write(work, with_app=with_app)
        render(work)
        site = work / "site"
        if with_app:
            _with_app(site / "app", app)
        if found := _mistakes(site, pages):
            raise PagesError("\n".join(found))
        if output.exists():
            shutil.rmtree(output)
        site.rename(output)
    return len(pages)


def _replaceable(output: Path) -> bool:
    """Whether a folder is empty, or a site."""
    return output.is_dir() and ((output / _OURS).is_file() or not any(output.iterdir()))


def write(work: Path, *, with_app: bool) -> list[str]:
    """Writes all pages as Markdown into `docs` of a folder, and the settings beside it.

    Returns:
        The pages, as paths below `docs`.
    """
    from pages import commands, modules, navigation, notebooks, records, schemas, sources  # noqa: PLC0415

    docs = work / "docs"
    docs.mkdir()
    written = sources.copy(docs)
    generated = {
        "commands": commands.write(docs),
        "records": records.write(docs),
        "python": modules.write(docs),
        "files": [schemas.write(docs)],
        "notebooks": notebooks.write(docs),
    }
    nodes = navigation.tree(generated)
    navigation.check(nodes, [*written, *(page for kind in generated.values() for page in kind)])
    front = docs / "index.md"
    link = '<a class="app-link" href="app/index.html">Plan in this browser</a>' if with_app else ""
    front.write_text(front.read_text(encoding="utf-8").replace(_APP_MARK, link), encoding="utf-8")
    for name in ("style.css", "reading.js"):
        shutil.copy(HERE / "pages" / name, docs / name)
    settings = (HERE / "pages" / "zensical.toml").read_text(encoding="utf-8")
    settings = settings.replace("nav = []", f"nav = {navigation.as_toml(nodes)}")
    settings = settings.replace("paths = []", f"paths = {navigation.as_toml([str(ROOT)])}")
    (work / "zensical.toml").write_text(settings, encoding="utf-8")
    return sorted(path.relative_to(docs).as_posix() for path in docs.rglob("*.md"))


def render(work: Path) -> None:
    """Makes `site` of `docs`; any warning of the builder is a mistake.

    Raises:
        PagesError: There is one.
    """
    words = [sys.executable, "-m", "zensical", "build", "--strict"]
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "NO_COLOR": "1"}
    done = subprocess.run(
        words, cwd=work, env=environment, capture_output=True, text=True, check=False
    )
    said = _COLOUR.sub("", done.stdout + done.stderr)
    if done.returncode:
        raise PagesError(said.partition("Traceback")[0].strip())
    if found := [line for line in said.splitlines() if line.startswith(_READER)]:
        raise PagesError("\n".join(found))


def _with_app(into: Path, app: Path | None) -> None:
    """Puts the page in which the planner runs into the site, with a link back to it."""
    if app is not None:
        shutil.copytree(app, into)
    else:
        _app_built(into)
    page = into / "index.html"
    text = page.read_text(encoding="utf-8")
    page.write_text(text.replace(_BACK_MARK, _BACK), encoding="utf-8")
    listed(into)


def _app_built(into: Path) -> None:
    words = [sys.executable, str(HERE / "build.py"), "-o", str(into)]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    if done.returncode:
        raise PagesError(f"the app cannot be built (--no-app leaves it out): {done.stderr.strip()}")


def _mistakes(site: Path, pages: list[str]) -> list[str]:
    from pages import checks  # noqa: PLC0415

    return checks.mistakes(site, pages)


def main() -> None:
    """The command."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("-o", "--output", type=Path, default=ROOT / "site", help="the folder")
    of_app = parser.add_mutually_exclusive_group()
    of_app.add_argument("--app", type=Path, help="a folder that web/build.py built")
    of_app.add_argument("--no-app", action="store_true", help="leave the app out")
    given = parser.parse_args()
    if missing := [name for name in BUILDER if find_spec(name) is None]:
        sys.exit(f"error: {', '.join(missing)} cannot be imported; pip install '.[docs]'")
    try:
        count = build(given.output.resolve(), given.app, with_app=not given.no_app)
    except PagesError as error:
        sys.exit(f"error: {error}")
    except KeyboardInterrupt:
        sys.exit(130)
    print(f"{given.output}: {count} pages; any static server serves it, or planner web")


if __name__ == "__main__":
    main()
