"""Commands whose `--help` shows the few options that most people use; `--help-all` shows all."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Annotated, Any, get_type_hints

import typer

from planner.cli.once import Once
from planner.question.asked.field import JOB, SEARCH

_FEW_EXAMPLES = 4
_EXAMPLES = "Examples:\n"
_ALL, _PARAMETER = "--help-all", "help_all"


def folded(**few: str) -> type[Once]:
    """The class of a command whose `--help` shows few options.

    Args:
        **few: Parameters that it shows, with the help of each there; empty: the usual help.
    """

    class Folded(_Folded):
        shown = few

    return Folded


class _Folded(Once):
    """A command with `--help-all`."""

    shown: Mapping[str, str] = {}

    whole = False

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """Shows the few options and the first examples, or everything."""
        if self.whole:
            super().format_help(ctx, formatter)
            return
        self._fill()
        with self._few():
            super().format_help(ctx, formatter)

    @contextmanager
    def _few(self) -> Iterator[None]:
        """Inside of it the other options are hidden, and the texts are short."""
        parameters: list[Any] = [*self.params]
        options = [one for one in parameters if hasattr(one, "hidden")]
        before = [(one, one.hidden, one.help, one.rich_help_panel) for one in parameters]
        help_text, epilog = self.help, self.epilog
        for one in options:
            one.hidden = one.name not in self.shown and _ALL not in one.opts
        for one in parameters:
            one.help = self.shown.get(one.name) or one.help
            if one.rich_help_panel == SEARCH:
                one.rich_help_panel = JOB
        self.help = _with_few_examples(help_text or "")
        self.epilog = f"{_ALL} shows all {sum(not one.is_eager for one in options)} options."
        try:
            yield
        finally:
            for one, hidden, text, panel in before:
                one.hidden, one.help, one.rich_help_panel = hidden, text, panel
            self.help, self.epilog = help_text, epilog


def _with_few_examples(text: str) -> str:
    """The help of a command with its first examples alone."""
    start, found, examples = text.partition(_EXAMPLES)
    return start + found + "\n\n".join(examples.split("\n\n")[:_FEW_EXAMPLES])


def with_help_all(command: Callable[..., None]) -> Callable[..., None]:
    """Gives a command the flag `--help-all`, which ends it."""

    @functools.wraps(command)
    def asked(*given: Any, **values: Any) -> None:
        values.pop(_PARAMETER)
        command(*given, **values)

    flag = typer.Option(
        _ALL, is_eager=True, callback=_say_all, help="Show every option, and all examples."
    )
    parameter = inspect.Parameter(
        _PARAMETER,
        inspect.Parameter.KEYWORD_ONLY,
        default=False,
        annotation=Annotated[bool, flag],
    )
    signature = inspect.signature(command)
    hints = get_type_hints(command, include_extras=True)
    own = [one.replace(annotation=hints[one.name]) for one in signature.parameters.values()]
    changed = inspect.Signature([*own, parameter])
    asked.__signature__ = changed  # type: ignore[attr-defined]
    asked.__annotations__ = {one.name: one.annotation for one in changed.parameters.values()}
    return asked


def _say_all(ctx: typer.Context, wanted: bool) -> None:
    """Prints all help and ends the command."""
    command: Any = ctx.command
    if wanted and not ctx.resilient_parsing:
        command.whole = True
        try:
            print(ctx.get_help())
        finally:
            command.whole = False
        raise typer.Exit
