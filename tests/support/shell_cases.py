"""Scripts of bash, and their commands `P` as bash starts them."""

import os
import subprocess
from collections.abc import Sequence
from pathlib import Path

from planner.base.errors import InputError
from planner.frameworks.reading.shell.run import Shell

_BEGINS = 'P() { for one in "$@"; do printf "%s\\036" "$one"; done; printf "\\n\\035\\n"; }\n'
Commands = list[list[str]]


def of_bash(bash: str, texts: Sequence[str], folder: Path) -> list[Commands]:
    """The arguments of each command `P` of each script."""
    for at, text in enumerate(texts):
        (folder / f"{at}.sh").write_text(f"{_BEGINS}{text}\n", encoding="utf-8")
    runs = "\n".join(
        f"{bash} --norc {at}.sh 2>/dev/null </dev/null; printf '\\034'" for at in range(len(texts))
    )
    environment = {"PATH": os.defpath, "HOME": "/root", "LC_ALL": "C.UTF-8"}
    found = subprocess.run(
        [bash, "-c", runs], env=environment, capture_output=True, cwd=folder, check=False
    )
    scripts = found.stdout.decode(errors="replace").split("\034")[:-1]
    return [[one.split("\036")[:-1] for one in own.split("\n\035\n")[:-1]] for own in scripts]


def of_reader(text: str) -> tuple[Commands, bool]:
    """The same as it is read, and whether something is left out with a note.

    What is refused is not known either.
    """
    try:
        read = Shell("x", exact=True).read(text)
    except InputError:
        return [], True
    return [one[1:] for one in read.commands if one[0] == "P"], bool(read.notes)


def _is_open(words: Sequence[str]) -> bool:
    return any("$" in one or "`" in one for one in words)


def _fits(words: Sequence[str], other: Sequence[str]) -> bool:
    same = len(words) == len(other) and all(
        one == two or _is_open([one]) for one, two in zip(words, other, strict=True)
    )
    return same or _is_open(words)


def agrees(found: Commands, wanted: Commands, noted: bool) -> bool:
    """Whether commands are those that are wanted, as far as they are known."""
    if not found:
        return noted or not wanted
    if wanted and _fits(found[0], wanted[0]) and agrees(found[1:], wanted[1:], noted):
        return True
    if _is_open(found[0]) and agrees(found[1:], wanted, noted):
        return True
    return noted and bool(wanted) and agrees(found, wanted[1:], noted)
