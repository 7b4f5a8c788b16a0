"""Every picture of the documentation is what its command draws, and its caption says so.

What a page must have for each picture of docs/pictures (CONTRIBUTING.md says it for people):

- the command that makes it, in a fenced block or in backticks anywhere on the page: the one that
  names the picture's file, `planner ... --plot NAME`; or, for pictures that take minutes, a
  `python benchmarks/NAME.py ...` before it or in its caption;
- for each number of the caption (the paragraph in italics after the picture) that the command
  does not contain, a phrase of the picture or of what the command prints, in a comment that ends
  the caption: `<!-- says: "hidden up to 6" -->`. A phrase has words, so that no tick of an axis
  is taken for a figure. Numbers of the alternative text may be anywhere in either.

The command runs again here (with PLANNER_DRAW_PICTURES=1 it replaces the file first). The
file must be the same bytes. What a benchmark draws is not drawn again: the figures of its caption
are those of the page, between the lines that it writes.
"""

import os
import re
from dataclasses import dataclass
from html import unescape
from pathlib import Path

import pytest
from cli.command import planner
from support.cases import each

from docs.reading import FENCE, PAGES, ROOT, arguments_of, commands_in, write_files

PICTURES = ROOT / "docs" / "pictures"
IMAGE = re.compile(r"!\[(?P<alt>[^\]]*)\]\((?P<to>[^)\s]*pictures/(?P<name>[^)\s/]+))\)")
SPAN = re.compile(r"`((?:planner|python)\s[^`]+)`")
SAYS = re.compile(r"<!-- says: (.*?) -->", re.DOTALL)
BENCHMARK = re.compile(r"(?<=[`\n])python benchmarks/\w+\.py[^`\n]*")
NUMBER = re.compile(r"\d[\d,]*(?:\.\d+)?(?:e[+-]?\d+)?")
NAMED = re.compile(r"[A-Za-z]+[-_]?\d\w*")  # H100, x16


@dataclass(frozen=True, slots=True, kw_only=True)
class Shown:
    """A picture on a page.

    Attributes:
        page: Name of the page, from the root of the repository.
        name: Of the file.
        alt, caption: What is said of it; without code and comments.
        command: What makes it; empty: nothing is said.
        says: Phrases that vouch for the numbers of the caption.
        tables: What the page has between the marks of a benchmark.
    """

    page: str
    name: str
    alt: str
    caption: str
    command: str
    says: tuple[str, ...] = ()
    tables: str = ""

    @property
    def by_benchmark(self) -> bool:
        """Whether it takes minutes to draw."""
        return self.command.startswith("python")


def plain(text: str) -> str:
    """Words without boxes, each one space apart."""
    return " ".join(re.sub(r"[│╭╮╰╯─┃━]", " ", text).split())


def numbers(text: str) -> set[str]:
    """The numbers of a text, without commas between thousands."""
    found = (number.replace(",", "") for number in NUMBER.findall(text))
    return set(found)


def shown_on(text: str, page: str = "page") -> list[Shown]:
    """The pictures of a page in reading order."""
    spans = [" ".join(span.split()) for span in SPAN.findall(FENCE.sub("", text))]
    lines = [*(line.split("#")[0].strip() for line in commands_in(text)), *spans]
    tables = "".join(re.findall(r"<!-- begin: \S+ -->\n(.*?)<!-- end:", text, re.DOTALL))
    found = []
    for image in IMAGE.finditer(text):
        after = text[image.end() :]
        caption = after.strip().split("\n\n")[0] if re.match(r"\n\n\*(?!\*)", after) else ""
        mine = [line for line in lines if image["name"] in line.split()]
        mine = mine or BENCHMARK.findall(text[: image.end()] + caption)[-1:]
        said = SAYS.search(caption)
        found.append(
            Shown(
                page=page,
                name=image["name"],
                alt=image["alt"],
                caption=SPAN.sub("", SAYS.sub("", caption)),
                command=" ".join(mine[0].split()) if mine else "",
                says=tuple(re.findall(r'"([^"]+)"', said[1])) if said else (),
                tables=tables or text.replace(caption, ""),
            )
        )
    return found


def texts_of(svg: str) -> list[str]:
    """The words of a picture: texts, titles, descriptions."""
    marked = re.findall(r"<(text|title|desc)\b[^>]*>(.*?)</\1>", svg, re.DOTALL)
    return [plain(unescape(re.sub(r"<[^>]+>", "", words))) for _, words in marked]


def faults(shown: Shown, sources: list[str]) -> list[str]:
    """What is wrong with the words of a picture, given what its command draws and prints."""
    wrong = [f"{phrase!r} is nowhere" for phrase in shown.says
             if not any(phrase in source for source in sources)]  # fmt: skip
    wrong += [f"{phrase!r} is but a number" for phrase in shown.says
              if not re.search(r"[A-Za-z]{2}", phrase)]  # fmt: skip
    vouched = numbers(" ".join([shown.command, *shown.says]))
    stale = numbers(NAMED.sub("", shown.caption)) - vouched
    wrong += [f"caption: {number}: nothing says so" for number in sorted(stale)]
    seen = vouched | numbers(" ".join(sources))
    stale = numbers(NAMED.sub("", shown.alt)) - seen
    return wrong + [f"alternative text: {number}: nothing says so" for number in sorted(stale)]


ALL = [
    shown
    for page in PAGES
    for shown in shown_on(page.read_text(encoding="utf-8"), str(page.relative_to(ROOT)))
]
DRAWN = [shown for shown in ALL if shown.command and not shown.by_benchmark]


def name_of(shown: Shown) -> str:
    return f"{shown.page}-{shown.name}"


def test_every_picture_is_shown_and_every_command_is_known() -> None:
    assert {shown.name for shown in ALL} == {path.name for path in PICTURES.iterdir()}
    assert not [name_of(shown) for shown in ALL if not shown.command]
    assert not [name_of(shown) for shown in ALL if not shown.alt]
    for shown in ALL:
        if shown.by_benchmark:
            assert (ROOT / shown.command.split()[1]).is_file(), shown.command


def drawn(command: str, name: str, folder: Path) -> tuple[bytes, str]:
    """The picture that a command draws and what it prints."""
    arguments = arguments_of(command)
    assert arguments is not None, command
    outcome = planner(*arguments)
    assert outcome.code == 0, (command, outcome.err[-500:])
    return (folder / name).read_bytes(), plain(outcome.out)


@pytest.mark.parametrize("shown", DRAWN, ids=name_of)
def test_a_picture_is_what_its_command_draws(
    shown: Shown, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    write_files((ROOT / shown.page).read_text(encoding="utf-8"), tmp_path)
    if os.environ.get("PLANNER_DRAW_PICTURES"):
        now, _ = drawn(shown.command, shown.name, tmp_path)
        (PICTURES / shown.name).write_bytes(now)
    before = (PICTURES / shown.name).read_bytes()
    now, printed = drawn(shown.command, shown.name, tmp_path)
    texts = texts_of(now.decode())
    assert texts == texts_of(before.decode())
    assert now == before, "same words, other shapes: draw it again"
    assert not faults(shown, [*texts, printed])


@each("shown", [shown for shown in ALL if shown.by_benchmark])
def test_the_caption_of_a_benchmark_has_the_figures_of_its_page(shown: Shown) -> None:
    texts = texts_of((PICTURES / shown.name).read_text(encoding="utf-8"))
    assert not faults(shown, [*texts, plain(shown.tables)])


PAGE = """
![Latency on 2 to 12 GPUs](docs/pictures/a.svg)

*Hidden up to 6 in a line of H100s. Made by
`planner rack zero --figure 8 --plot a.svg`.*
<!-- says: "hidden up to 6" -->

Elsewhere 7.
"""


def test_the_reading_of_captions() -> None:
    (shown,) = shown_on(PAGE)
    assert shown.command == "planner rack zero --figure 8 --plot a.svg"
    assert (shown.name, shown.says) == ("a.svg", ("hidden up to 6",))
    sources = ["2", "12", "hidden up to 6"]
    assert faults(shown, sources) == []
    assert faults(shown, ["2", "12", "hidden up to 7"]) == ["'hidden up to 6' is nowhere"]
    assert faults(shown, sources[1:]) == ["alternative text: 2: nothing says so"]
    (other,) = shown_on(PAGE.replace("Hidden up to 6", "Hidden up to 9"))
    assert faults(other, ["9", *sources]) == ["caption: 9: nothing says so"]
    (bare,) = shown_on(PAGE.replace('"hidden up to 6"', '"6"'))
    assert faults(bare, ["6", *sources]) == ["'6' is but a number"]
    (none,) = shown_on(PAGE.replace("a.svg`", "b.svg`"))
    assert none.command == ""


def test_the_reading_of_pages_with_commands_elsewhere() -> None:
    table = "| ![A](pictures/a.svg) |\n| `planner rack zero --plot a.svg` |\n"
    (shown,) = shown_on(table)
    assert (shown.command, shown.caption) == ("planner rack zero --plot a.svg", "")
    fence = "```sh\nplanner x --plot a.svg  # example\n```\n\n![A](pictures/a.svg)\n\n# Next\n"
    (shown,) = shown_on(fence)
    assert (shown.command, shown.caption) == ("planner x --plot a.svg", "")
    slow = "![A](pictures/a.svg)\n\n*By `python benchmarks/scaling.py`: 3 s.*\n\n"
    (shown,) = shown_on(slow + "<!-- begin: x -->\ntook 3 s\n<!-- end: x -->\n")
    assert shown.by_benchmark
    assert shown.tables == "took 3 s\n"
    assert faults(shown, ["took 3 s"]) == ["caption: 3: nothing says so"]
