"""Writing files whole or not at all, and reading YAML with clear messages."""

from __future__ import annotations

import contextlib
import os
import warnings
from collections.abc import Iterator, Mapping
from itertools import takewhile
from pathlib import Path
from typing import Any

from planner.base import apart
from planner.base.errors import InputError
from planner.base.log import DEBUG, INFO, log
from planner.base.messages import did_you_mean, one_line
from planner.base.replacement import (
    BAD_PATHS,
    all_or_none,
    despite_signals,
    made_folder,
    name_beside,
    new_file,
    reason_of,
    remove,
    rename,
    rights_of,
)
from strict_yaml import contents
from strict_yaml.errors import YamlError
from strict_yaml.limits import larger_than, largest
from strict_yaml.text import YamlText

LARGEST_FILE_BYTES = 10 * 2**20
DEEPEST = 40
_END = "..."  # the mark that ends a YAML document
_WHOLE = "# whole only if its last line is three dots"

YAML_SUFFIXES = (".yaml", ".yml")


def names_a_file(value: object) -> bool:
    """Whether a name is the path of a user's YAML file."""
    return isinstance(value, str) and value.lower().endswith(YAML_SUFFIXES)


def write_atomically(path: Path, text: str) -> None:
    """Writes a text file by way of a temporary one, so that it is never half there.

    Raises:
        InputError: The folder does not exist or cannot be written to; the path is a folder, a
            device or a pipe.
    """
    write_all({path: text})


def write_bytes(path: Path, content: bytes) -> None:
    """Writes a file that is no text as `write_atomically` does, with the same errors."""
    write_all({path: content})


def write_all(texts: Mapping[Path, str | bytes]) -> None:
    """Writes files, each whole; none of them where one cannot be written.

    Files that were there are then there again as they were. Only what ends the program at once
    (SIGKILL, a power cut) between two of the renames leaves some new and some old ones. A symbolic
    link is written through; another name (hard link) of a file keeps the old content. A new file
    gets the mode that the umask asks for, an existing one keeps its own, and its owner and group
    where the process may give them; a group that is not its own gets no more than everybody has.

    Raises:
        InputError: See `write_atomically`.
    """
    with contextlib.ExitStack() as stack:
        ready = []
        for path, text in texts.items():
            with naming_file(path, len(texts)):
                ready.append((path, *stack.enter_context(_prepared(path, text))))
        files = stack.enter_context(all_or_none())
        for path, _, target in ready if len(ready) > 1 else ():
            with naming_file(path, len(ready)):
                files.keep(target)
        for path, temporary, target in ready:
            with naming_file(path, len(ready)):
                files.replace(temporary, target)
            log(__name__, INFO, "written", file=path, characters=len(texts[path]))


def write_folder(folder: Path, texts: Mapping[Path, str | bytes], flag: str = "output") -> None:
    """Writes files into a folder as `write_all` does, and makes the folders that are missing.

    Folders that were made are gone again where a file cannot be written.

    Args:
        folder: Of all files.
        texts: Files in it, or in folders of it.
        flag: Names the folder in messages.

    Raises:
        InputError: The folder is a file, or cannot be made; see `write_atomically`.
    """
    with contextlib.ExitStack() as stack:
        try:
            if folder.exists() and not folder.is_dir():
                raise InputError(f"{flag}: {folder} is a file; name a folder")
            for one in dict.fromkeys((folder, *(path.parent for path in texts))):
                stack.enter_context(made_folder(one))
        except BAD_PATHS as error:
            raise InputError(f"{flag}: {folder} cannot be made ({reason_of(error)})") from error
        write_all(texts)


@contextlib.contextmanager
def being_written(path: Path) -> Iterator[Path]:
    """A temporary file to write to piece by piece, which replaces the file at the end.

    Raises:
        InputError: See `write_atomically`.
    """
    with naming_file(path), _prepared(path, "") as (temporary, target):
        yield Path(temporary)
        with open(temporary, "rb+") as file:
            os.fsync(file.fileno())  # what the caller wrote, perhaps by way of a library
        rename(temporary, target)
        log(__name__, INFO, "written", file=path)


def check_writable(*paths: Path) -> None:
    """Finds out before a long search that its answer could not be written.

    Raises:
        InputError: See `write_atomically`; one line per path.
    """
    problems = []
    for path in paths:
        try:
            with naming_file(path), _prepared(path, ""):
                pass
        except InputError as error:
            problems.append(str(error))
    if problems:
        raise InputError("\n".join(problems))


@contextlib.contextmanager
def naming_file(path: Path, of: int = 1) -> Iterator[None]:
    """Says which file cannot be written; `of`: how many are written together, or none."""
    try:
        yield
    except BAD_PATHS as error:
        beside = f"; none of the {of} files is written" if of > 1 else ""
        raise InputError(
            f"{_name(path)}: cannot be written ({reason_of(error)}){beside}"
        ) from error


@contextlib.contextmanager
def _prepared(path: Path, content: str | bytes) -> Iterator[tuple[str, str]]:
    """A temporary file beside the target with the content in it; gone at the end if it still is."""
    apart.writing(path)
    target = os.path.realpath(path)
    like = rights_of(target)
    temporary = name_beside(target)
    try:  # a signal may come as soon as the file is there
        with new_file(temporary, like) as file:
            file.write(content.encode("utf-8") if isinstance(content, str) else content)
        yield temporary, target
    finally:
        despite_signals(lambda: remove(temporary))


def real_path(path: Path) -> Path:
    """Where a path leads through symbolic links; itself where no file can have such a path."""
    try:
        return Path(os.path.realpath(path))
    except BAD_PATHS:
        return path


def path_as_text(path: str) -> str:
    """A path as UTF-8 text, whatever the locale with which the program read it."""
    return os.fsencode(path).decode("utf-8", "replace")


def text_as_path(text: str) -> str:
    """A path from a UTF-8 file, as the locale of this program spells it; undoes `path_as_text`.

    It does not where the path was no UTF-8.
    """
    try:
        return os.fsdecode(text.encode("utf-8"))
    except ValueError:  # half a character, which no file name has
        return text


def _name(path: Path) -> str:
    return one_line(str(path))


def read_yaml(path: Path) -> dict[str, Any]:
    """The mapping in a YAML file; see `read_yaml_text`."""
    return read_yaml_text(path)[0]


def read_yaml_text(path: Path, content: bytes | None = None) -> tuple[dict[str, Any], YamlText]:
    """The mapping in a YAML file, and the text itself for messages about its fields.

    Args:
        path: The file.
        content: What it holds, where it was read before.

    Raises:
        InputError: The file is missing, too large, not text, not YAML, or not a mapping; aliases
            and keys that are no text are refused, as their content could be of any size.
    """
    from strict_yaml.reading import load  # noqa: PLC0415  (not needed when all is in flags)

    name = _name(path)
    content = read_bytes(path) if content is None else content
    if _cut_off(content.decode("utf-8", "replace")):
        raise InputError(f"{name}: is cut off: the line of three dots that ends it is missing")
    try:
        data = load(content, max_bytes=LARGEST_FILE_BYTES, max_depth=DEEPEST)
    except YamlError as error:
        lines = [f"{name}: {mistake}" for mistake in error.mistakes]
        raise InputError("\n".join(lines)) from error
    if not isinstance(data, dict):
        raise InputError(f"{name}: must be a mapping of fields to values")
    return data, YamlText(name, content)


def with_end(comments: str, yaml_text: str) -> str:
    """A YAML file whose last line is a mark, and a comment that says so; see `_cut_off`."""
    return f"{comments}{_WHOLE}\n{yaml_text}{_END}\n"


def _cut_off(text: str) -> bool:
    """Whether a file that `with_end` wrote has lost its end; other files have no such mark."""
    lines = text.removeprefix("\ufeff").splitlines()
    head = takewhile(lambda line: not line.strip() or line.startswith("#"), lines)
    if _WHOLE not in (line.rstrip() for line in head):
        return False
    return next(line.strip() for line in reversed(lines) if line.strip()) != _END


def read_text(path: Path, content: bytes | None = None) -> str:
    """The content of a text file, a pipe or standard input; `content`: it was read before.

    Raises:
        InputError: The file is missing, too large or not text.
    """
    content = read_bytes(path) if content is None else content
    try:
        return content.decode("utf-8")
    except UnicodeDecodeError as error:
        raise InputError(
            f"{_name(path)}: not a text file (byte {error.start} is not UTF-8)"
        ) from error


def read_bytes(path: Path, usual: int = LARGEST_FILE_BYTES) -> bytes:
    """The content of a file, a pipe or standard input.

    Args:
        path: The file.
        usual: Bytes above which it is not read, unless more are allowed.

    Raises:
        InputError: The file is missing or too large.
    """
    name = _name(path)
    apart.reading(path)
    try:
        limit = largest(usual)
        with path.open("rb") as file:
            too_large = os.fstat(file.fileno()).st_size > limit
            content = b"" if too_large else file.read(limit + 1)
    except BAD_PATHS as error:
        contents.holds(path, None)
        raise InputError(
            f"{name}: cannot be read ({reason_of(error)}){similar_file(path)}"
        ) from error
    contents.holds(path, content, whole=not too_large)
    if too_large or len(content) > limit:
        raise InputError(f"{name}: {larger_than(limit)}")
    log(__name__, DEBUG, "read", file=path, bytes=len(content))
    return content


@contextlib.contextmanager
def without_advice() -> Iterator[None]:
    """Inside of it libraries do not say how a user's file could be written otherwise.

    numpy, networkx and the parser of Python warn of what they read nevertheless.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def is_file(path: Path) -> bool:
    """Whether a file is there; False for names that no file can have."""
    try:
        return path.is_file()
    except BAD_PATHS:
        return False


def is_special(path: Path) -> bool:
    """Whether a pipe, a device or a socket is there, of which reading may not end."""
    try:
        return path.exists() and not (path.is_file() or path.is_dir())
    except BAD_PATHS:
        return False


def is_folder(path: Path) -> bool:
    """Whether a folder is there; False for names that no folder can have."""
    try:
        return path.is_dir()
    except BAD_PATHS:
        return False


def similar_file(path: Path) -> str:
    """For a path that does not exist: a hint at a file of a similar name in the same folder."""
    try:
        if path.exists():
            return ""
        names = [entry.name for entry in path.parent.iterdir() if entry.is_file()]
    except BAD_PATHS:
        return ""
    return one_line(did_you_mean(path.name, names))
