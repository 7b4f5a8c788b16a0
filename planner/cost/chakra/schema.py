"""The messages of a Chakra trace, made from the text of its public schema.

`et_def.proto` is kept as it was published (mlcommons/chakra, schema/protobuf/et_def.proto,
21585d8f2d of 2026-05-20, Apache License 2.0). It uses a small part of proto3: messages with scalar
and message fields, `repeated`, one `oneof`, enumerations. This reader knows that part and refuses
the rest; protobuf's own runtime does everything else.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import cache
from importlib import resources
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

from planner.base.libraries import library

if TYPE_CHECKING:
    from google.protobuf.descriptor_pb2 import DescriptorProto, FileDescriptorProto

NAME = "et_def.proto"
_WORDS = re.compile(r"[A-Za-z_][\w.]*|[0-9]+|[{}=;]|\"[^\"]*\"")
_COMMENT = re.compile(r"//[^\n]*")
_SCALARS = (
    "double", "float", "int64", "uint64", "int32", "fixed64", "fixed32", "bool", "string", "bytes",
    "uint32", "sfixed32", "sfixed64", "sint32", "sint64",
)  # fmt: skip


def schema_text() -> str:
    """The public schema."""
    return resources.files("planner.cost.chakra").joinpath(NAME).read_text(encoding="utf-8")


@cache
def messages() -> SimpleNamespace:
    """The classes of the messages, by name, and the numbers of enumerations.

    Raises:
        InputError: protobuf is not installed.
    """
    lacking = "chakra: needs the package protobuf; pip install 'parallelism-planner[chakra]'"
    library("google.protobuf", lacking)
    from google.protobuf import descriptor_pool, message_factory  # noqa: PLC0415  (an extra)

    file = file_of(schema_text())
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    found = SimpleNamespace()
    for message in file.message_type:
        described = pool.FindMessageTypeByName(f"{file.package}.{message.name}")
        setattr(found, message.name, message_factory.GetMessageClass(described))
    for enumeration in file.enum_type:
        for value in enumeration.value:
            setattr(found, value.name, value.number)
    return found


def file_of(text: str) -> FileDescriptorProto:
    """The descriptor of a schema of the form that the module describes."""
    from google.protobuf.descriptor_pb2 import FileDescriptorProto  # noqa: PLC0415  (an extra)

    file = FileDescriptorProto(name=NAME, syntax="proto3")
    words = iter(_WORDS.findall(_COMMENT.sub("", text)))
    named = {name: word for word, name in re.findall(r"\b(enum|message) (\w+)", text)}
    for word in words:
        if word == "syntax":
            _expect(words, "=", '"proto3"', ";")
        elif word == "package":
            file.package = next(words)
            _expect(words, ";")
        elif word == "enum":
            _enumeration(file, words)
        elif word == "message":
            message = file.message_type.add(name=next(words))
            _expect(words, "{")
            _fields(message, words, f".{file.package}.", named)
        else:
            raise ValueError(f"{NAME}: {word!r} is not read")
    return file


def _expect(words: Iterator[str], *wanted: str) -> None:
    for one in wanted:
        if (found := next(words, "")) != one:
            raise ValueError(f"{NAME}: {found!r} stands where {one!r} should")


def _enumeration(file: FileDescriptorProto, words: Iterator[str]) -> None:
    enumeration = file.enum_type.add(name=next(words))
    _expect(words, "{")
    while (name := next(words)) != "}":
        _expect(words, "=")
        enumeration.value.add(name=name, number=int(next(words)))
        _expect(words, ";")


def _fields(
    message: DescriptorProto, words: Iterator[str], package: str, named: dict[str, str]
) -> None:
    """The fields of a message, up to its closing brace; those of a oneof know it."""
    open_at: int | None = None
    while True:
        word = next(words)
        if word == "}":
            if open_at is None:
                return
            open_at = None
        elif word == "oneof":
            message.oneof_decl.add(name=next(words))
            _expect(words, "{")
            open_at = len(message.oneof_decl) - 1
        else:
            repeated = word == "repeated"
            kind = next(words) if repeated else word
            _field(message, kind, words, _typing(kind, package, named), repeated, open_at)


def _field(
    message: DescriptorProto,
    kind: str,
    words: Iterator[str],
    typed: Callable[[Any], None],
    repeated: bool,
    oneof: int | None,
) -> None:
    name = next(words)
    _expect(words, "=")
    field = message.field.add(name=name, number=int(next(words)), json_name=_camel(name))
    _expect(words, ";")
    field.label = field.LABEL_REPEATED if repeated else field.LABEL_OPTIONAL
    typed(field)
    if oneof is not None:
        field.oneof_index = oneof


def _typing(kind: str, package: str, named: dict[str, str]) -> Callable[[Any], None]:
    """What sets the type of a field."""

    def typed(field: Any) -> None:
        if kind in _SCALARS:
            field.type = getattr(field, f"TYPE_{kind.upper()}")
        elif kind in named:
            field.type = getattr(field, f"TYPE_{named[kind].upper()}")
            field.type_name = package + kind
        else:
            raise ValueError(f"{NAME}: {kind!r} is no type that is read")

    return typed


def _camel(name: str) -> str:
    first, *rest = name.split("_")
    return first + "".join(word.capitalize() for word in rest)
