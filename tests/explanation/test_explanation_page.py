"""The figures on the page are those that its commands print."""

import re
import shlex
from pathlib import Path

import pytest
from cli.command import planner

from planner.report.tables.explain import meaning_words

ROOT = Path(__file__).parent.parent.parent
PAGE = ROOT / "docs" / "explain.md"


def squeezed(text: str) -> str:
    """Text with single blanks."""
    return " ".join(text.split())


def test_a_name_that_says_too_little_is_explained() -> None:
    (line,) = meaning_words(["peak.bf16", "era.megatron-core.zero3_overlap"])
    assert line.startswith("zero3_overlap: ")
    assert "zero2" in line
    assert meaning_words(["peak.bf16", "zero3_overlap.other"]) == []


def test_the_page_shows_what_the_commands_print(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    text = PAGE.read_text(encoding="utf-8")
    for name, body in re.findall(r"^```yaml\n# file: (\S+)\n(.*?)^```$", text, re.M | re.S):
        (tmp_path / name).write_text(body, encoding="utf-8")
    shell = "\n".join(re.findall(r"^```sh\n(.*?)^```$", text, re.M | re.S))
    printed = ""
    for line in shell.splitlines():
        outcome = planner(*shlex.split(line, comments=True)[1:])
        assert outcome.code == 0, outcome.err
        printed += outcome.out
    known = squeezed(printed)
    shown = re.findall(r"^```text\n(.*?)^```$", text, re.M | re.S)
    lines = [squeezed(line) for block in shown for line in block.splitlines()]
    assert len(lines) >= 9
    assert [line for line in lines if line not in known] == []
    caption = re.search(r"time of a token by (-[\d.]+ %)", text)
    assert caption is not None
    (row,) = re.findall(r"chip that computes twice as fast (?!would).*? (-[\d.]+ %)", known)
    assert row == caption.group(1)
    assert (tmp_path / "compare.svg").stat().st_size > 10_000
