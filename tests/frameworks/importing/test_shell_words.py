"""Words, values and sums of shell text: equal to what bash makes of them, or not known."""

import shutil
from pathlib import Path

import pytest
from support.shell_cases import agrees, of_bash, of_reader

CASES = Path(__file__).with_name("shell_words.txt")
NOT_ALL_KNOWN = 12
"""Of the cases; each more is one that was followed."""


def test_each_line_is_what_bash_makes_of_it(tmp_path: Path) -> None:
    """Each line is a script of its own."""
    bash = shutil.which("bash")
    if bash is None:
        pytest.skip("there is no bash")
    lines = CASES.read_text(encoding="utf-8").splitlines()
    wrong, unknown = [], 0
    for line, wanted in zip(lines, of_bash(bash, lines, tmp_path), strict=True):
        found, noted = of_reader(line)
        unknown += any("$" in word for words in found for word in words) or noted
        if not agrees(found, wanted, noted):
            wrong.append((line, found, wanted))
    assert wrong == []
    assert unknown <= NOT_ALL_KNOWN
