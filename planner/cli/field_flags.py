"""Flags of commands that are fields of the question, and what they say as fields."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterator, Mapping
from typing import Annotated, Any, get_type_hints

from planner.base.errors import InputError
from planner.cli.completing import completer_of
from planner.cli.options import option
from planner.question.asked import BY_NAME, Asked
from planner.question.asked.flags import ON, field_in

_VALUES: dict[str, Any] = {"switch": bool | None, "texts": list[str] | None}
_VALUES["choices"] = _VALUES["changes"] = _VALUES["phases"] = _VALUES["texts"]
Command = Callable[..., None]


def with_fields(
    *names: str,
    replacing: bool = False,
    said: Mapping[str, str] | None = None,
    panel: str | None = None,
    into: str = "asked",
) -> Callable[[Command], Command]:
    """Gives a command flags of fields of the question in the place of one of its parameters.

    The command gets a mapping from the names of those that are given to their values.

    Args:
        names: Of the fields, in the order of `--help`.
        replacing: They replace what a plan file says; help says so, in no panel.
        said: Help of this command, by name.
        panel: Of `--help`, of those in `said`; None: the first.
        into: The parameter.
    """
    fields = [BY_NAME[name] for name in names]
    others = said or {}

    def decorate(command: Command) -> Command:
        flags = [
            flag
            for field in fields
            for flag in _flags(field, others.get(field.name), panel, replacing=replacing)
        ]

        @functools.wraps(command)
        def asking(*given: Any, **values: Any) -> None:
            for field in fields:
                _one_of_both(field, values)
            asked = {field.name: field_in(field, values.pop(field.name)) for field in fields}
            asked = {name: value for name, value in asked.items() if value is not None}
            command(*given, **{into: asked}, **values)

        signature = inspect.Signature([*_parameters(command, into, flags)])
        asking.__signature__ = signature  # type: ignore[attr-defined]
        asking.__annotations__ = {one.name: one.annotation for one in signature.parameters.values()}
        return asking

    return decorate


def field_option(name: str) -> Any:
    """What annotates a parameter of a command that is the flag of a field."""
    return _option(BY_NAME[name], None, None, replacing=False)


def _parameters(
    command: Command, into: str, flags: list[inspect.Parameter]
) -> Iterator[inspect.Parameter]:
    """The parameters of a command, with flags in the place of one."""
    hints = get_type_hints(command, include_extras=True)
    for one in inspect.signature(command).parameters.values():
        if one.name == into:
            yield from flags
        else:
            yield one.replace(annotation=hints[one.name])


def _flags(
    field: Asked, said: str | None, panel: str | None, *, replacing: bool
) -> Iterator[inspect.Parameter]:
    """A field as parameters of a command: two, of a switch whose flag takes a word."""
    value = str | None if field.also else _VALUES.get(field.kind, str | None)
    yield _parameter(field.name, value, _option(field, said, panel, replacing=replacing))
    if field.also:
        words = f"The opposite of --{field.name.replace('_', '-')} {ON}."
        off = option(words, field.panel, field.off)
        yield _parameter(_off(field), bool, off, default=False)


def _parameter(name: str, value: Any, flag: Any, default: Any = None) -> inspect.Parameter:
    """A parameter that is a flag."""
    return inspect.Parameter(
        name,
        inspect.Parameter.KEYWORD_ONLY,
        default=default,
        annotation=Annotated[value, flag],
    )


def _off(field: Asked) -> str:
    """The parameter of a switch that turns it off."""
    return f"no_{field.name}"


def _one_of_both(field: Asked, values: dict[str, Any]) -> None:
    """A switch whose flag takes a word, from its two parameters.

    Raises:
        InputError: Both are given, or the word is another one.
    """
    if not field.also:
        return
    from planner.base.messages import shown  # noqa: PLC0415  (pydantic; not for --help)

    off, word = values.pop(_off(field)), values[field.name]
    if off and word is not None:
        raise InputError(
            f"{field.name}: --{field.name} {shown(word)} and {field.off} contradict one another; "
            "leave one out"
        )
    if word not in (None, ON, field.also):
        raise InputError(
            f"{field.name}: {shown(word)} is not {ON} or {field.also}; {field.off} turns them off"
        )
    if off or word == ON:
        values[field.name] = word == ON


def _option(field: Asked, said: str | None, panel: str | None, *, replacing: bool) -> Any:
    """A field as a flag in a panel of `--help`."""
    names = (field.flag,) if field.kind == "switch" and not field.also else ()
    if said is not None or (replacing and field.replacing):
        text = said or f"{field.replacing}."
    else:
        text, panel = field.flag_help, field.panel
    complete = completer_of(field.name)
    metavar = f"{ON}|{field.also}" if field.also else field.metavar
    return option(text, panel, *names, metavar=metavar, complete=complete)
