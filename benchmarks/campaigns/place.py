"""A folder with what commands read and write, for campaigns of commands that write."""

from __future__ import annotations

import functools
import importlib.util
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from campaigns.running import run
from campaigns.writers import COMMANDS, FORMATS, INPUTS, SMALL, STORES, Writes
from planner.evidence.own_columns import RUNS

OLD = b"what was here before\n"
OTHER = "other.txt"
"""A file in the folder of a command that no command writes."""
_NAMES = re.compile(rf"(?<![\w/.-])({'|'.join(map(re.escape, INPUTS))})(?![\w-])")
_RESULT = "result.json"
_OF_KIND: Mapping[str, bytes] = {
    "check": (",".join(RUNS.columns) + "\n").encode(),
    **dict.fromkeys(("sweep run", "fleet"), (FORMATS / "store-1.db").read_bytes()),
}
"""What lies where a command adds to a file, which has to be of its kind."""
STORE = ".db"
_OF_ARROW = {"--parquet", "--arrow"}
"""What the extra `sweep` writes: its library opens files by itself, and closes and writes them."""


def _named() -> Iterator[tuple[str, tuple[str, ...]]]:
    """Commands by name, each with the first words that write a file of an option."""
    done, names = set[tuple[str, str]](), set[str]()
    has_arrow = importlib.util.find_spec("pyarrow") is not None
    for one in (*COMMANDS, *STORES):
        new = [flag for flag in one.flags if (one.command, flag) not in done]
        if not new or (not has_arrow and _OF_ARROW & {*new}):
            continue
        done |= {(one.command, flag) for flag in new}
        name = f"{one.command} {new[0]}" if one.command in names else one.command
        names.add(name)
        files = (word for flag in new for word in (flag, _file(one, flag)))
        yield name, (*one.command.split(), *one.words, *files)


def _file(one: Writes, flag: str) -> str:
    """What a command writes; new folders, where it makes them."""
    ending = one.flags[flag]
    return f"OUT{flag if flag != '-o' else ''}{ending}" if ending[0] == "." else "OUT/n1"


WRITES: Mapping[str, tuple[str, ...]] = dict(_named())
"""Each command that writes, with every option of a file."""


@functools.cache
def _answer() -> bytes:
    """An answer of these databases, which a report takes."""
    return run("solve", *SMALL, "--json").out.encode()


class Place:
    """A folder with what commands read, and names for what they write."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.out = folder, folder / "out"
        self.out.mkdir()
        self._inside: dict[tuple[str, ...], list[str]] = {}
        for name, content in INPUTS.items():
            (folder / name).write_bytes(content)

    def words(self, command: Sequence[str]) -> list[str]:
        """A command that writes into the folder of its own."""
        new = str(self.out / "new")
        if _RESULT in command:
            (self.folder / _RESULT).write_bytes(_answer())
        return [
            word.replace("OUT", new) if word.startswith("OUT")
            else _NAMES.sub(lambda found: str(self.folder / found[1]), word)
            for word in command
        ]  # fmt: skip

    def cleared(self, command: Sequence[str], *, old: bool) -> None:
        """Nothing there, or old files where new ones go; in a folder also one that stays."""
        words = self.words(command)
        names = [Path(word) for word in words if word.startswith(str(self.out))]
        written: list[Path] = []
        for path in names if old else ():
            inside = (
                []
                if path.suffix
                else [path / OTHER, *map(self.out.joinpath, self._written(command))]
            )
            written += inside or [path]
        self._clear()
        kind = next((name for name in _OF_KIND if " ".join(words).startswith(f"{name} ")), "")
        adds = bool(kind) and any(path.suffix in (STORE, ".csv") for path in written)
        for path in written:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(_OF_KIND[kind] if adds else OLD)

    def _written(self, command: Sequence[str]) -> list[str]:
        """Names of the files that a command writes into its folder."""
        key = tuple(command)
        if key not in self._inside:
            self._clear()
            run(*self.words(command))
            self._inside[key] = [*self.files()]
        return self._inside[key]

    def _clear(self) -> None:
        for path in sorted(self.out.rglob("*"), reverse=True):
            path.rmdir() if path.is_dir() else path.unlink()

    def files(self) -> dict[str, bytes]:
        """What is in the folder."""
        return {
            str(path.relative_to(self.out)): path.read_bytes()
            for path in self.out.rglob("*") if path.is_file()
        }  # fmt: skip

    def entries(self) -> dict[str, bytes]:
        """What is in the folder, folders too, which end with a slash; stores by name alone.

        A store is never replaced: what it had from before a fault stays in it.
        """
        folders = (path for path in self.out.rglob("*") if path.is_dir())
        found = {f"{path.relative_to(self.out)}/": b"" for path in folders}
        return found | {
            name: b"" if name.endswith(STORE) else content for name, content in self.files().items()
        }
