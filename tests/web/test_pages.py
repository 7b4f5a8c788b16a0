"""The parts of the site: links of copies, generated pages, navigation, checks of what was built.

The whole site is built by `python web/documentation.py`, which `.ci/run` does.
"""

import importlib
import re
import shutil
import tomllib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from support.cases import each

import hardware_db
import models_db
from planner.question.asked import ASKED

WEB = Path(__file__).parents[2] / "web"
Part = Callable[[str], Any]


@pytest.fixture
def part(monkeypatch: pytest.MonkeyPatch) -> Part:
    """Loads a module of the site's builder, as its script does."""
    monkeypatch.syspath_prepend(str(WEB))
    return importlib.import_module


@each(("page", "text", "expected"), [
    ("docs/uneven.md", "[a](launch.md#x)", "[a](launch.md#x)"),
    ("docs/model/time.md", "[a](../rack/zero.md)", "[a](../rack/zero.md)"),
    ("docs/export.md", "[the readme](../README.md#racks)", "[the readme](tour.md#racks)"),
    ("README.md", "[a](docs/launch.md) [b](CHANGELOG.md)", "[a](launch.md) [b](changelog.md)"),
    ("docs/index.md", "[a](notebooks/1-first-plan.ipynb)", "[a](notebooks/1-first-plan.md)"),
    ("README.md", "[over two\nlines](docs/launch.md)", "[over two\nlines](launch.md)"),
    ("README.md", "![a](docs/pictures/plan.svg)", "![a](pictures/plan.svg)"),
    ("README.md", "[a](https://example.org/docs) [b](#racks)",
     "[a](https://example.org/docs) [b](#racks)"),
    ("README.md", "[a](CITATION.cff)", "[a](files/CITATION.cff.txt)"),
    ("docs/glossary.md", "[plan.py](../planner/plan/plan.py)", "`planner/plan/plan.py`"),
    ("README.md", "```\n[a](docs/launch.md)\n```\n", "```\n[a](docs/launch.md)\n```\n"),
    ("README.md", "    [a](docs/launch.md)\n", "    [a](docs/launch.md)\n"),
    ("README.md", "```sh\nplanner a   # example\nplanner b # exit 2\n```\n",
     "```sh\nplanner a\nplanner b # exit 2\n```\n"),
])  # fmt: skip
def test_links_of_copied_pages(
    page: str, text: str, expected: str, part: Part, tmp_path: Path
) -> None:
    assert part("pages.sources").relinked(text, page, tmp_path) == expected


def test_files_that_pages_link_to_are_copied(part: Part, tmp_path: Path) -> None:
    text = "[a](../hardware_db/data/examples/my-cluster.yaml)"
    found = part("pages.sources").relinked(text, "docs/files.md", tmp_path)
    assert (tmp_path / found.partition("](")[2].rstrip(")")).is_file()


def test_every_page_stands_in_the_navigation_once(part: Part, tmp_path: Path) -> None:
    navigation = part("pages.navigation")
    nodes = navigation.tree(
        {"files": ["schemas.md"], "commands": [], "python": [], "records": [], "notebooks": []}
    )
    written = [*part("pages.sources").copy(tmp_path), "schemas.md"]
    navigation.check(nodes, written)
    assert next(iter(navigation.placed(nodes))) == "index.md"
    twice = [*nodes, {"Again": "launch.md"}]
    for tree, pages, line in (
        (nodes, [*written, "new.md"], "new.md: stands nowhere"),
        (nodes, [page for page in written if page != "launch.md"], "launch.md: .*nobody wrote it"),
        (twice, written, "launch.md: stands in .* 2 times"),
    ):
        with pytest.raises(part("pages").PagesError, match=f"^{line}[^\n]*$"):
            navigation.check(tree, pages)


def test_navigations_are_written_as_toml(part: Part) -> None:
    nodes = ["a.md", {'B "b"': ["c.md", {"é": "d.md"}]}]
    text = part("pages.navigation").as_toml(nodes)
    assert tomllib.loads(f"nav = {text}")["nav"] == nodes


HEAD = '<title>A</title></head><body><h1 id="a">A</h1>'
GOOD = {
    "index.html": f'{HEAD}<a href="b/c.html#d">x</a><a href="#a">y</a><img src="p.svg" alt="p">',
    "b/c.html": f'{HEAD}<p id="d"><a href="../index.html">x</a><a href="https://a.org">y</a>',
    "p.svg": "<svg/>", "app/index.html": "<p>another's",
}  # fmt: skip


@each(("name", "text", "expected"), [
    ("index.html", f'{HEAD}<a href="c.html">', ["index.html: c.html leads nowhere"]),
    ("index.html", f'{HEAD}<a href="b/">', ["index.html: b/ leads nowhere"]),
    ("index.html", f'{HEAD}<a href="b/c.html#e">',
     ["index.html: b/c.html#e names a place that the page does not have"]),
    ("b/c.html", f'{HEAD}<p id="d"><a href="../../x.html">',
     ["b/c.html: ../../x.html leads out of the site"]),
    ("index.html", f'{HEAD}<img src="q.svg" alt="q">', ["index.html: q.svg leads nowhere"]),
    ("index.html", f'{HEAD}<img src="p.svg">',
     ["index.html: the picture p.svg has no description"]),
    ("index.html", f'{HEAD}<script src="https://cdn.org/a.js"></script>',
     ["index.html: https://cdn.org/a.js is loaded from another host"]),
    ("index.html", f'{HEAD}<link rel="stylesheet" href="//cdn.org/a.css">',
     ["index.html: //cdn.org/a.css is loaded from another host"]),
    ("index.html", "<title></title><h1>A</h1>", ["index.html: has no title"]),
    ("index.html", "<title>A</title>",
     ["index.html: has 0 headings of the first level, not one"]),
    ("index.html", f"{HEAD}<h1>B</h1>",
     ["index.html: has 2 headings of the first level, not one"]),
])  # fmt: skip
def test_mistakes_of_built_pages(
    name: str, text: str, expected: list[str], part: Part, tmp_path: Path
) -> None:
    site = tmp_path / "site"
    for place, content in {**GOOD, "../x.html": "", name: text}.items():
        (site / place).parent.mkdir(parents=True, exist_ok=True)
        (site / place).write_text(content, encoding="utf-8")
    mistakes = part("pages.checks").mistakes
    assert mistakes(site, ["index.md", "b/c.md"]) == expected
    (site / name).write_text(GOOD[name], encoding="utf-8")
    assert mistakes(site, ["index.md", "b/README.md"]) == ["b/index.html: was not built"]


def told() -> None:
    """Says what it is."""


def untold() -> None:
    pass


@dataclass
class Made:
    """Has a docstring, and a method without one."""

    width: int

    def grow(self) -> None:
        pass

    @property
    def area(self) -> int:
        return self.width

    def _hidden(self) -> None:
        pass


@dataclass
class Silent:
    width: int


def test_public_names_without_a_docstring_are_found(part: Part) -> None:
    modules = part("pages.modules")
    found = [line for thing in (told, untold, Made, Silent) for line in modules.undocumented(thing)]
    assert [re.sub(r"^.*test_pages\.", "", line) for line in found] == [
        "untold has no docstring", "Made.grow has no docstring", "Made.area has no docstring",
        "Silent has no docstring",
    ]  # fmt: skip


def test_the_pages_of_python(part: Part, tmp_path: Path) -> None:
    for name in part("pages.modules").write(tmp_path):
        listed = re.findall(r"^::: (\S+)$", (tmp_path / name).read_text("utf-8"), re.MULTILINE)
        assert len(listed) == len(set(listed)) >= 3
    (text,) = (tmp_path / "reference/python").glob("planner.md")
    assert "::: planner.answers.api.solve\n" in text.read_text("utf-8")


def test_the_pages_of_commands(part: Part, tmp_path: Path) -> None:
    names = part("pages.commands").write(tmp_path)
    assert len(names) == len(set(names)) > 30
    text = (tmp_path / "reference/commands/solve.md").read_text("utf-8")
    shown = set(re.findall(r"<td><code>(?:-\w, )?(--[a-z0-9-]+)", text))
    assert {f"--{field.name.replace('_', '-')}" for field in ASKED} <= shown
    assert "planner solve --model llama2-13b --chips 4096\n" in text
    assert not re.search(r"\{\w+\}", text), "a name that only registries know"


@each(("folder", "name", "numbers"), [
    ("chips", "h100-sxm5-80", hardware_db.describe("h100-sxm5-80")),
    ("models", "llama3-8b", models_db.describe("llama3-8b")),
])  # fmt: skip
def test_the_page_of_a_record(folder: str, name: str, numbers: Any, part: Part) -> None:
    records = part("pages.records")
    text = {"chips": records._chip, "models": records._model}[folder](name)
    rows = re.findall(r"<tr><td><code>(.*?)</code></td>(.*?)</tr>", text)
    assert [path for path, _ in rows] == [row.path for row in numbers]
    for row, (_, cells) in zip(numbers, rows, strict=True):
        assert f"<td>{row.kind}</td>" in cells
        assert len(re.findall(r'href="#source-\d+"', cells)) == len(row.sources)
    assert set(re.findall(r'href="#(source-\d+)"', text)) == set(re.findall(r'id="(\S+)"', text))
    assert '<a href="https://' in text


def test_only_a_site_is_replaced(part: Part, tmp_path: Path) -> None:
    (tmp_path / "mine.txt").write_text("keep", encoding="utf-8")
    documentation = part("documentation")
    with pytest.raises(part("pages").PagesError, match="is no site that could be replaced"):
        documentation.build(tmp_path, None, with_app=False)
    assert [path.name for path in tmp_path.iterdir()] == ["mine.txt"]


def test_the_app_in_a_site_leads_back_to_it(part: Part, tmp_path: Path) -> None:
    """And its service worker knows that it is another page than without the link."""
    app, documentation = tmp_path / "app", part("documentation")
    app.mkdir()
    shutil.copy(WEB / "app" / "index.html", app)
    part("build").listed(app)
    before = (app / "files.js").read_text("utf-8")
    documentation._with_app(tmp_path / "site", app)
    page = (tmp_path / "site" / "index.html").read_text("utf-8")
    assert page.count('<a href="../index.html">') == 1
    after = (tmp_path / "site" / "files.js").read_text("utf-8")
    assert after != before
    assert re.sub('"version": "[^"]*"', "", after) == re.sub('"version": "[^"]*"', "", before)
