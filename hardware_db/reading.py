"""From a shipped or a user's YAML file to plain Python data, refusing what is not clean YAML."""

from __future__ import annotations

import functools
import re
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hardware_db.errors import HardwareError, nearest

if TYPE_CHECKING:
    import yaml

MAX_BYTES = 1024 * 1024
MAX_DEPTH = 30
MAX_DIGITS = 640  # of a number; Python reads so many whatever its settings
# What PyYAML's constructors raise for values that contradict their tags, e.g. `!!bool x`.
_BAD_SCALARS = (ValueError, TypeError, LookupError, AttributeError, ArithmeticError, RecursionError)
_NO_SUCH_VALUE = "a date that does not exist, or a value that contradicts its tag"
_EXPONENT = re.compile(r"^[-+]?[0-9][0-9_]*(\.[0-9_]*)?[eE][-+]?[0-9]+$")


@functools.cache
def record_names(folder: str) -> tuple[str, ...]:
    """Names of the records that the package ships in a folder of its data, sorted."""
    entries = resources.files("hardware_db").joinpath("data", folder).iterdir()
    names = (entry.name for entry in entries)
    return tuple(sorted(name[:-5] for name in names if name.endswith(".yaml")))


def read_record(folder: str, name: object) -> dict[str, Any]:
    """The content of a shipped record.

    Raises:
        HardwareError: There is no record of that name; names the nearest.
    """
    names = record_names(folder)
    if not isinstance(name, str) or name not in names:
        what = {"chips": "chip", "clusters": "cluster"}.get(folder, folder)
        hint = nearest(name, names) or f"; known: {', '.join(names)}"
        raise HardwareError(f"{what}: unknown name {name!r}{hint}")
    file = resources.files("hardware_db").joinpath("data", folder, f"{name}.yaml")
    return parse(file.read_bytes(), f"{folder}/{name}.yaml", trusted=True)


def read_file(path: Path) -> dict[str, Any]:
    """The content of a user's file.

    Raises:
        HardwareError: The file cannot be read or is not a YAML mapping.
    """
    try:
        with path.open("rb") as stream:
            content = stream.read(MAX_BYTES + 1)
    except (OSError, ValueError) as error:  # ValueError: a path with a NUL in it
        reason = getattr(error, "strerror", None) or str(error)
        raise HardwareError(f"{path}: cannot be read ({reason})") from error
    return parse(content, str(path))


def parse(content: bytes, origin: str, trusted: bool = False) -> dict[str, Any]:
    """The mapping in the bytes of a YAML file; `trusted` skips the scan for hostile structure.

    Raises:
        HardwareError: Too large, not UTF-8, not YAML, a duplicate key, an alias, or no mapping.
    """
    import yaml  # noqa: PLC0415  (kept out of `import hardware_db`)

    if len(content) > MAX_BYTES:
        raise HardwareError(f"{origin}: larger than {MAX_BYTES} bytes; not a hardware record")
    try:
        text = content.decode("utf-8")
        fault = "" if trusted else _check_structure(text)
        if fault:
            raise HardwareError(f"{origin}: {fault}")
        loader = _loader_class()(text)
        try:
            data = loader.get_single_data()
        finally:
            loader.dispose()
    except UnicodeDecodeError as error:
        raise HardwareError(
            f"{origin}: not a text file (byte {error.start} is not UTF-8)"
        ) from None
    except yaml.MarkedYAMLError as error:
        where = f"line {error.problem_mark.line + 1}: " if error.problem_mark else ""
        raise HardwareError(f"{origin}: {where}not valid YAML ({error.problem})") from None
    except yaml.reader.ReaderError:
        raise HardwareError(f"{origin}: {_odd_character(text)}") from None
    except yaml.YAMLError as error:
        line = " ".join(str(error).split())
        raise HardwareError(f"{origin}: not valid YAML ({line})") from None
    except _BAD_SCALARS:
        raise HardwareError(f"{origin}: not valid YAML ({_NO_SUCH_VALUE})") from None
    if loader.found:
        raise HardwareError([f"{origin}: {problem}" for problem in loader.found])
    if not isinstance(data, dict):
        what = "empty" if data is None else "not a mapping of field names to values"
        raise HardwareError(f"{origin}: the file is {what}")
    return data


def _odd_character(text: str) -> str:
    """Where a file is not text, in words: the loader only knows the place in its buffer."""
    import yaml  # noqa: PLC0415

    odd = yaml.reader.Reader.NON_PRINTABLE.search(text)
    if odd is None:
        return "not valid YAML (a character is not text)"
    line = text.count("\n", 0, odd.start()) + 1
    return f"line {line}: not valid YAML (the character U+{ord(odd[0]):04X} is not text)"


@functools.cache
def _loader_class() -> Any:
    """A safe YAML loader that reports duplicate keys and numbers that are too long."""
    import yaml  # noqa: PLC0415

    base: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)

    class Loader(base):  # type: ignore[misc]
        """Collects the keys that occur twice in a mapping, and long numbers, in `found`."""

        def __init__(self, stream: str) -> None:
            super().__init__(stream)
            self.found: list[str] = []

        def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> Any:
            seen: set[str] = set()
            for key_node, _ in node.value:
                key = str(key_node.value)
                if key in seen:
                    line = key_node.start_mark.line + 1
                    self.found.append(f"line {line}: the key {key!r} occurs twice")
                seen.add(key)
            return super().construct_mapping(node, deep)

    def number(loader: Any, node: yaml.ScalarNode) -> Any:
        digits = sum(str(char).isdigit() for char in node.value)
        if digits > MAX_DIGITS:
            line = node.start_mark.line + 1
            loader.found.append(f"line {line}: a number of {digits:,} digits is too long; at most "
                                f"{MAX_DIGITS} are read")  # fmt: skip
            return None
        return base.yaml_constructors[node.tag](loader, node)

    for tag in ("tag:yaml.org,2002:int", "tag:yaml.org,2002:float"):
        Loader.add_constructor(tag, number)
    # YAML 1.1 reads an exponent without a dot, such as 3e-6, as text.
    Loader.add_implicit_resolver("tag:yaml.org,2002:float", _EXPONENT, list("-+0123456789"))
    return Loader


def _check_structure(text: str) -> str:
    """What a scan of the file's events finds before anything is built from them, or ''.

    Deep nesting would exhaust the parser's stack; aliases can grow a small file without bound.
    """
    import yaml  # noqa: PLC0415

    depth = 0
    for event in yaml.parse(text, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader)):
        mark = event.start_mark
        line = mark.line + 1 if mark else 0
        if isinstance(event, yaml.AliasEvent):
            return f"line {line}: YAML aliases (*name) are not used here"
        depth += isinstance(event, yaml.CollectionStartEvent)
        depth -= isinstance(event, yaml.CollectionEndEvent)
        if depth > MAX_DEPTH:
            return f"line {line}: nested deeper than {MAX_DEPTH} levels"
    return ""
