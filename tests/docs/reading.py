"""What stands in the pages of the documentation: commands, files, examples, and screens.

A *screen* is a fenced block of the language `screen`: what a command of the page prints. The
command is the last one in a fenced block above it; where the paragraph right above ends in a colon
and names one in backticks, that one (`planner solve ...` is the last one above that begins so). A
screen may be an excerpt: its lines follow each other in what is printed, `...` on a line of its own
stands for any lines. Words are compared, so that a line may be wrapped elsewhere; run times ("in
0.3 s") are not.
"""

import difflib
import doctest
import re
import shlex
import textwrap
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

from cli.command import Outcome, planner

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
FENCE = re.compile(r"^(?P<mark>```+|~~~+)[ ]*(?P<language>\S*).*?\n(?P<body>.*?)^(?P=mark)[ ]*$",
                   re.MULTILINE | re.DOTALL)  # fmt: skip
SKIPPED = ("# slow", "# example")
SHELLS = ("", "sh", "bash", "shell", "console", "text")
COLUMNS = 100  # of what a page shows
LEFT_OUT = "..."
_RUN_TIME = re.compile(r"\bin \d[\d.,]* (?:ms|s|min)\b")
_ALIKE = 0.6  # of two lines whose digits are hidden: the least that one may replace the other


@dataclass(frozen=True, slots=True, kw_only=True)
class Screen:
    """What a page shows of the output of a command.

    Attributes:
        command: The command line.
        body: The lines shown.
    """

    command: str
    body: str

    def parts(self) -> list[list[str]]:
        """Its lines, parted where some are left out."""
        lines = self.body.splitlines()
        marks = [i for i, line in enumerate(lines) if line.strip() == LEFT_OUT]
        parts = [lines[a + 1 : b] for a, b in pairwise([-1, *marks, len(lines)])]
        return [part for part in parts if part]

    def missing_in(self, printed: str) -> list[str]:
        """The first part that is not printed, after those before it."""
        rest = f" {words_of(printed)} "
        for part in self.parts():
            _, found, rest = rest.partition(f" {words_of(' '.join(part))} ")
            if not found:
                return part
            rest = f" {rest}"
        return []

    def as_printed(self, printed: str) -> str:
        """The lines shown, as they are printed now: each part from its first line to its last."""
        now, at, lines = printed.splitlines(), 0, self.body.splitlines()
        kept: list[str] = []
        for part in self.parts():
            first = _nearest(part[0], now, at, at)
            last = _nearest(part[-1], now, first, first + len(part) - 1)
            fresh, at = now[first : last + 1], last + 1
            same = [words_of(line) for line in part] == [words_of(line) for line in fresh]
            kept += [LEFT_OUT] * bool(kept) + (part if same else [line.rstrip() for line in fresh])
        before = [LEFT_OUT] * (lines[:1] == [LEFT_OUT])
        after = [LEFT_OUT] * (lines[-1:] == [LEFT_OUT])
        return "\n".join([*before, *kept, *after]) + "\n"


def words_of(text: str) -> str:
    """Words one space apart, without run times."""
    return _RUN_TIME.sub("in a while", " ".join(text.split()))


def _nearest(line: str, lines: list[str], start: int, likely: int) -> int:
    """Which of some lines from `start` on a line has become: the likeliest of those most alike."""

    def shape(text: str) -> str:
        return re.sub(r"\d[\d.,]*", "0", " ".join(text.split()))

    def alike(i: int) -> tuple[bool, float, int]:
        same = words_of(lines[i]) == words_of(line)
        matcher = difflib.SequenceMatcher(None, shape(line), shape(lines[i]), autojunk=False)
        return same, matcher.ratio(), -abs(i - likely)

    best = max(range(start, len(lines)), key=alike, default=None)
    if best is None or (not alike(best)[0] and alike(best)[1] < _ALIKE):
        raise AssertionError(f"nothing like {line!r} is printed; mend the page by hand")
    return best


def placed_commands(text: str) -> list[tuple[int, str]]:
    """The planner command lines of fenced blocks, each with where its block ends."""
    found = []
    for block in FENCE.finditer(text):
        if block["language"] not in SHELLS:
            continue
        body = re.sub(r"\\\n\s*", " ", block["body"])
        for line in body.splitlines():
            for part in re.split(r"\s(?:&&|;)\s", line.strip().removeprefix("$ ")):
                words = part.split()
                if words and re.fullmatch(r"(\S*/)?planner", words[0]):
                    found.append((block.end(), part.strip()))
    return found


def commands_in(text: str) -> list[str]:
    """The planner command lines of the fenced blocks of a page, continuation lines joined."""
    return [line for _, line in placed_commands(text)]


def screens_in(text: str) -> list[Screen]:
    """The screens of a page, in order."""
    found = []
    for block in FENCE.finditer(text):
        if block["language"] != "screen":
            continue
        above = [line for end, line in placed_commands(text) if end <= block.start()]
        paragraph = text[: block.start()].rstrip().rpartition("\n\n")[2]
        named = re.findall(r"`(planner\s[^`]+)`", paragraph) if paragraph.endswith(":") else []
        command = above[-1] if above else ""
        if named:
            command = " ".join(named[-1].split())
            if command.endswith(" ..."):
                start = command.removesuffix("...")
                command = next(
                    (line for line in reversed(above) if line.startswith(start)), command
                )
        found.append(Screen(command=command, body=block["body"]))
    return found


def arguments_of(line: str) -> list[str] | None:
    """The arguments of a command line, or None where it says that it does not run here."""
    if line.rstrip().endswith(SKIPPED):
        return None
    words = shlex.split(line, comments=True)
    ends = [words.index(word) for word in ("|", ">", ">>", "2>") if word in words]
    words = words[: min(ends)] if ends else words
    if any("..." in word or re.search(r"[<>{}]|^\[.*\]$", word) for word in words):
        return None  # a pattern, not a command
    return words[1:]


def printed_by(outcome: Outcome) -> str:
    """What a command printed, errors last, whose lines are as long as they come."""
    return outcome.out + textwrap.fill(outcome.err, COLUMNS)


def run(line: str, arguments: list[str]) -> Outcome:
    """Runs a command line; what it sends to a file is there afterwards."""
    outcome = planner(*arguments)
    if kept := re.search(r"\s>\s*(\S+)$", line.partition(" #")[0].rstrip()):
        Path(kept[1]).write_text(outcome.out, encoding="utf-8")
    return outcome


def write_files(text: str, folder: Path) -> None:
    """Writes the YAML and text blocks of a page that say which file they are."""
    for name, body in re.findall(
        r"^```(?:yaml|text)\n# file: (\S+)\n(.*?)^```$", text, re.M | re.S
    ):
        path = folder / name
        path.parent.mkdir(exist_ok=True, parents=True)
        path.write_text(body, encoding="utf-8")


def examples_in(text: str) -> str:
    """The Python blocks of a page on their own lines, everything else blank."""
    kept = [""] * text.count("\n")
    for block in FENCE.finditer(text):
        if block["language"] in ("python", "pycon"):
            first = text.count("\n", 0, block.start("body"))
            lines = block["body"].splitlines()
            kept[first : first + len(lines)] = lines
    return "\n".join(kept)


@dataclass(frozen=True, slots=True, kw_only=True)
class Examples:
    """What the examples of a page say, and the page with what they say now."""

    said: list[str]
    text: str


class _Runner(doctest.DocTestRunner):
    """Keeps what each example prints that prints something else than the page says."""

    def __init__(self) -> None:
        super().__init__(optionflags=doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE)
        self.printed: list[tuple[doctest.Example, str]] = []

    def report_failure(self, out, test, example, got):  # type: ignore[no-untyped-def]
        """An example whose output differs."""
        self.printed.append((example, got))
        super().report_failure(out, test, example, got)


def names_from(page: Path) -> dict[str, object]:
    """The names that the examples of a page go on from: those of another page's first block."""
    found = re.search(r"^<!-- names: (\S+) -->$", page.read_text(encoding="utf-8"), re.MULTILINE)
    if not found:
        return {}
    text = (page.parent / found[1]).read_text(encoding="utf-8")
    first = next(block for block in FENCE.finditer(text) if block["language"] == "python")
    block = doctest.DocTestParser().get_doctest(first["body"], {}, found[1], found[1], 0)
    outcome = doctest.DocTestRunner().run(block, out=lambda _: None, clear_globs=False)
    assert outcome.failed == 0, found[1]
    return dict(block.globs)


def examples_of(text: str, name: str, names: dict[str, object] | None = None) -> Examples:
    """Runs the examples of a page in order, with names that are known before."""
    known = {} if names is None else names
    page = doctest.DocTestParser().get_doctest(examples_in(text), known, name, name, 0)
    runner = _Runner()
    said: list[str] = []
    runner.run(page, out=said.append)
    lines = text.splitlines(keepends=True)
    for example, got in reversed(runner.printed):
        first = example.lineno + example.source.count("\n")
        fresh = [f"{line or '<BLANKLINE>'}\n" for line in got.splitlines()]
        lines[first : first + example.want.count("\n")] = fresh
    return Examples(said=said, text="".join(lines))


def replaced(text: str, before: Screen, body: str) -> str:
    """A page with another body of a screen."""
    fence = "```screen\n"
    return text.replace(f"{fence}{before.body}", f"{fence}{body}", 1)
