"""From the bytes of a YAML file to plain Python data, refusing what is not clean YAML."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any

from models_db.errors import ModelError, mistakes_message

if TYPE_CHECKING:
    import yaml

MAX_BYTES = 256 * 1024
MAX_DEPTH = 20
# What PyYAML's constructors raise for values that contradict their tags, e.g. `!!bool x`.
_BAD_SCALARS = (ValueError, TypeError, LookupError, AttributeError, ArithmeticError)
_NO_SUCH_VALUE = "a date that does not exist, or a value that contradicts its tag"
MAX_DIGITS = 640  # of a number; Python reads so many whatever its settings


@functools.cache
def _loader_class() -> type[yaml.SafeLoader]:
    """A safe YAML loader that reports duplicate keys and refuses numbers that are too long."""
    import yaml  # noqa: PLC0415  (kept out of `import models_db`)

    base: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)

    class Loader(base):  # type: ignore[misc]
        """Collects keys that occur twice in a mapping, all of them, with their lines."""

        def __init__(self, stream: str) -> None:
            super().__init__(stream)
            self.duplicates: list[tuple[str, str]] = []

        def construct_mapping(self, node: Any, deep: bool = False) -> Any:
            seen: set[str] = set()
            for key_node, _ in node.value:
                key = str(key_node.value)
                if key in seen:
                    line = key_node.start_mark.line + 1
                    self.duplicates.append((f"line {line}", f"the key {key!r} occurs twice"))
                seen.add(key)
            return super().construct_mapping(node, deep)

    def number(loader: Any, node: Any) -> Any:
        digits = sum(str(char).isdigit() for char in node.value)
        if digits > MAX_DIGITS:
            raise yaml.YAMLError(
                f"a number of {digits:,} digits is too long; at most {MAX_DIGITS} are read "
                f"(line {node.start_mark.line + 1})"
            )
        return base.yaml_constructors[node.tag](loader, node)

    for tag in ("tag:yaml.org,2002:int", "tag:yaml.org,2002:float"):
        Loader.add_constructor(tag, number)
    return Loader


def _check_structure(text: str, origin: str) -> None:
    """Refuse deep nesting and YAML aliases before anything is built from them."""
    import yaml  # noqa: PLC0415

    depth = 0
    for event in yaml.parse(text, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader)):
        where = f"{origin}: line {event.start_mark.line + 1}" if event.start_mark else origin
        if isinstance(event, yaml.CollectionStartEvent):
            depth += 1
            if depth > MAX_DEPTH:
                raise ModelError(f"{where}: nested deeper than {MAX_DEPTH} levels")
        elif isinstance(event, yaml.CollectionEndEvent):
            depth -= 1
        elif isinstance(event, yaml.AliasEvent):
            raise ModelError(f"{where}: YAML aliases (*name) are not used here")


def parse_yaml(content: bytes, origin: str) -> dict[str, Any]:
    """Parse the content of a model file.

    Args:
        content: the bytes of the file.
        origin: the file, as messages name it.

    Returns:
        The mapping at the top of the file; keys are strings.

    Raises:
        ModelError: too large, empty, not UTF-8, not YAML, duplicate keys, not a mapping.
    """
    import yaml  # noqa: PLC0415

    if len(content) > MAX_BYTES:
        raise ModelError(f"{origin}: {len(content)} bytes; a model file has at most {MAX_BYTES}")
    try:
        text = content.decode("utf-8")
    except UnicodeDecodeError as error:
        raise ModelError(f"{origin}: not UTF-8 text (byte {error.start})") from None
    try:
        _check_structure(text, origin)
        loader: Any = _loader_class()(text)
        try:
            data = loader.get_single_data()
        finally:
            loader.dispose()
    except yaml.MarkedYAMLError as error:
        where = f"line {error.problem_mark.line + 1}: " if error.problem_mark else ""
        raise ModelError(f"{origin}: {where}not valid YAML: {error.problem}") from None
    except yaml.reader.ReaderError:
        raise ModelError(f"{origin}: not valid YAML: {_odd_character(text)}") from None
    except yaml.YAMLError as error:
        reason = " ".join(str(error).split())
        raise ModelError(f"{origin}: not valid YAML: {reason}") from None
    except _BAD_SCALARS:
        raise ModelError(f"{origin}: not valid YAML: {_NO_SUCH_VALUE}") from None
    if loader.duplicates:
        raise ModelError(mistakes_message(origin, loader.duplicates))
    return _mapping(data, origin)


def _odd_character(text: str) -> str:
    """Where a file is not text, in words: the loader only knows the place in its buffer."""
    import yaml  # noqa: PLC0415

    odd = yaml.reader.Reader.NON_PRINTABLE.search(text)
    if odd is None:
        return "a character is not text"
    line = text.count("\n", 0, odd.start()) + 1
    return f"the character U+{ord(odd[0]):04X} in line {line} is not text"


def _mapping(data: Any, origin: str) -> dict[str, Any]:
    """Refuse everything but a mapping with text keys."""
    if data is None:
        raise ModelError(f"{origin}: empty; a model file is a YAML mapping that starts with name:")
    if not isinstance(data, dict) or not all(isinstance(key, str) for key in data):
        raise ModelError(f"{origin}: a model file is a YAML mapping of names, not {_kind(data)}")
    return data


def _kind(data: object) -> str:
    """What was found instead of a mapping of names, in words."""
    if isinstance(data, dict):
        return "a mapping with other keys"
    return "a list" if isinstance(data, list) else "a single value"
