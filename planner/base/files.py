"""Writing files whole or not at all, and reading YAML with clear messages."""

from __future__ import annotations

import contextlib
import os
import stat
import warnings
from collections.abc import Iterator, Mapping, Sequence
from itertools import takewhile
from pathlib import Path
from typing import Any

from planner.base import apart
from planner.base.errors import InputError
from planner.base.log import DEBUG, INFO, log
from planner.base.messages import did_you_mean, one_line
from strict_yaml import inputs
from strict_yaml.errors import YamlError
from strict_yaml.limits import larger_than, largest
from strict_yaml.text import YamlText

LARGEST_FILE_BYTES = 10 * 2**20
DEEPEST = 40
_NEW_FILE_MODE = 0o666  # less what the umask takes away
_BAD_PATHS = (OSError, ValueError)  # ValueError: a path with a NUL or half a character
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
    gets the mode that the umask asks for, an existing one keeps its own.

    Raises:
        InputError: See `write_atomically`.
    """
    with contextlib.ExitStack() as stack:
        ready = []
        for path, text in texts.items():
            with _writing(path, len(texts)):
                ready.append((path, *stack.enter_context(_prepared(path, text))))
        if len(ready) > 1:
            stack.enter_context(_all_or_none([target for _, _, target in ready]))
        for path, temporary, target in ready:
            with _writing(path, len(ready)):
                _renamed(temporary, target)
            log(__name__, INFO, "written", file=path, characters=len(texts[path]))


@contextlib.contextmanager
def _all_or_none(targets: Sequence[str]) -> Iterator[None]:
    """Brings all of several files back to what they were where one fails."""
    new: list[str] = []
    old: dict[str, str] = {}
    try:
        for target in targets:
            if os.path.lexists(target):
                with _writing(Path(target), len(targets)):
                    old[target] = _beside(target)
                    _kept(target, old[target])
            else:
                new.append(target)
        yield
    except BaseException:
        for target, copy in old.items():
            with contextlib.suppress(FileNotFoundError):  # it was not kept yet, nor replaced
                os.replace(copy, target)
        _remove(*new)
        raise
    finally:
        try:
            _remove(*old.values())
        except (KeyboardInterrupt, SystemExit):  # a signal as soon as it was called
            _remove(*old.values())
            raise


def _kept(target: str, copy: str) -> None:
    """Gives a file a second name; a copy where the system has no such names."""
    try:
        os.link(target, copy)
    except OSError:
        import shutil  # noqa: PLC0415  (hardly ever)

        shutil.copy2(target, copy)


def _renamed(temporary: str, target: str) -> None:
    """Puts a file in its place, and the folder on the disk, which a power cut may undo else."""
    os.replace(temporary, target)
    with contextlib.suppress(OSError):  # a system whose folders cannot be opened
        folder = os.open(os.path.dirname(target), os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)


def _beside(target: str) -> str:
    """A name for a temporary file in the folder of another."""
    import secrets  # noqa: PLC0415  (takes a millisecond or two; only when a file is written)

    return os.path.join(os.path.dirname(target), f".planner-{secrets.token_hex(8)}")


@contextlib.contextmanager
def being_written(path: Path) -> Iterator[Path]:
    """A temporary file to write to piece by piece, which replaces the file at the end.

    Raises:
        InputError: See `write_atomically`.
    """
    with _writing(path), _prepared(path, "") as (temporary, target):
        yield Path(temporary)
        with open(temporary, "rb+") as file:
            os.fsync(file.fileno())  # what the caller wrote, perhaps by way of a library
        _renamed(temporary, target)
        log(__name__, INFO, "written", file=path)


def check_writable(*paths: Path) -> None:
    """Finds out before a long search that its answer could not be written.

    Raises:
        InputError: See `write_atomically`; one line per path.
    """
    problems = []
    for path in paths:
        try:
            with _writing(path), _prepared(path, ""):
                pass
        except InputError as error:
            problems.append(str(error))
    if problems:
        raise InputError("\n".join(problems))


@contextlib.contextmanager
def _writing(path: Path, of: int = 1) -> Iterator[None]:
    """Says which file cannot be written; `of`: how many are written together, or none."""
    try:
        yield
    except _BAD_PATHS as error:
        beside = f"; none of the {of} files is written" if of > 1 else ""
        raise InputError(f"{_name(path)}: cannot be written ({_reason(error)}){beside}") from error


@contextlib.contextmanager
def _prepared(path: Path, content: str | bytes) -> Iterator[tuple[str, str]]:
    """A temporary file beside the target with the content in it; gone at the end if it still is."""
    apart.writing(path)
    target = os.path.realpath(path)
    mode = _mode_of(target)
    temporary = _beside(target)
    try:  # a signal may come as soon as the file is there
        private = _NEW_FILE_MODE if mode is None else stat.S_IRUSR | stat.S_IWUSR
        descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, private)
        with os.fdopen(descriptor, "wb") as file:
            if mode is not None:
                os.chmod(temporary, mode)  # before anything is in it
            file.write(content.encode("utf-8") if isinstance(content, str) else content)
            file.flush()
            os.fsync(file.fileno())  # else a crash of the machine may leave an empty file
        yield temporary, target
    finally:
        try:
            _remove(temporary)
        except (KeyboardInterrupt, SystemExit):  # a signal as soon as it was called
            _remove(temporary)
            raise


def _remove(*paths: str) -> None:
    """Removes files, where they are there.

    Raises:
        InputError: Some stay; a line for each.
    """
    stay = []
    for path in paths:
        try:
            os.unlink(path)
        except FileNotFoundError:
            pass
        except OSError as error:
            stay.append(f"{_name(Path(path))}: cannot be removed ({_reason(error)})")
    if stay:
        raise InputError("\n".join(stay))


def _mode_of(target: str) -> int | None:
    """Permissions of the file that is there already.

    Raises:
        OSError: It cannot be replaced by a file.
    """
    try:
        mode = os.stat(target).st_mode
    except FileNotFoundError:
        return None
    if stat.S_ISDIR(mode):
        raise OSError("it is a folder")
    if not stat.S_ISREG(mode):
        raise OSError("it is not a regular file")
    if not os.access(target, os.W_OK):
        raise OSError("the file there is read-only")
    return stat.S_IMODE(mode)


def real_path(path: Path) -> Path:
    """Where a path leads through symbolic links; itself where no file can have such a path."""
    try:
        return Path(os.path.realpath(path))
    except _BAD_PATHS:
        return path


def path_as_text(path: str) -> str:
    """A path as UTF-8 text, whatever the locale with which the program read it."""
    return os.fsencode(path).decode("utf-8", "replace")


def text_as_path(text: str) -> str:
    """A path from a UTF-8 file, as the locale of this program spells it; undoes `path_as_text`."""
    try:
        return os.fsdecode(text.encode("utf-8"))
    except ValueError:  # half a character, which no file name has
        return text


def _name(path: Path) -> str:
    return one_line(str(path))


def _reason(error: OSError | ValueError) -> str:
    words = error.strerror if isinstance(error, OSError) else None
    return one_line(words or str(error)).lower()


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
    except _BAD_PATHS as error:
        inputs.holds(path, None)
        raise InputError(
            f"{name}: cannot be read ({_reason(error)}){similar_file(path)}"
        ) from error
    inputs.holds(path, content, whole=not too_large)
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
    except _BAD_PATHS:
        return False


def is_special(path: Path) -> bool:
    """Whether a pipe, a device or a socket is there, of which reading may not end."""
    try:
        return path.exists() and not (path.is_file() or path.is_dir())
    except _BAD_PATHS:
        return False


def is_folder(path: Path) -> bool:
    """Whether a folder is there; False for names that no folder can have."""
    try:
        return path.is_dir()
    except _BAD_PATHS:
        return False


def similar_file(path: Path) -> str:
    """For a path that does not exist: a hint at a file of a similar name in the same folder."""
    try:
        if path.exists():
            return ""
        names = [entry.name for entry in path.parent.iterdir() if entry.is_file()]
    except _BAD_PATHS:
        return ""
    return one_line(did_you_mean(path.name, names))
