"""Layers per chunk of a pipeline as one line of text, in the order of the pipeline.

Two forms are read:

    Et*7|(t*8|)*14t*7L    Megatron-LM --pipeline-model-parallel-layout: chunks between `|`,
                          E embedding, t transformer layer, L loss
    7,8*14,7              layers per chunk

`*n` repeats what is before it: a character or a number, or several in parentheses, which do not
nest. Spaces (and the commas of the first form) mean nothing. Source: Megatron-LM
core/transformer/pipeline_parallel_layer_layout.py.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import groupby

from planner.base.errors import InputError
from planner.base.numerals import is_digits

_TOKEN = re.compile(r"\s*(?:([0-9]+)|([A-Za-z|])|([(),*])|(\S))")
_MOST = 1 << 20  # chunks and layers; more cannot be meant
_PREDICTION = "m (multi-token prediction, which costs nothing here; leave it out) stands"
EXAMPLES = ("Et*7|(t*8|)*14t*7L", "7,8*14,7")

_Token = tuple[str, int]
"""A number, a letter or a sign, and the position of its first character, from 1."""


def parse_layout(text: str, *, predictions: bool = False) -> tuple[int, ...]:
    """Layers per chunk of a pipeline.

    Args:
        text: The text.
        predictions: Whether modules of multi-token prediction may stand in it; they are no layers.

    Raises:
        InputError: It is no such text; one line with the position, counted from 1.
    """
    tokens = [_known(match, text) for match in _TOKEN.finditer(text)]
    if any(word.isalpha() or word == "|" for word, _ in tokens):
        letters = [token for token in _unrolled(tokens, text) if token[0] != ","]
        modules = [at for word, at in letters if word == "m"]
        if modules and not predictions:
            raise _wrong(text, modules[0], _PREDICTION)
        return _of_letters(letters, text)
    return _of_numbers(_unrolled(tokens, text), text)


def prediction_modules(text: str) -> tuple[int, ...]:
    """Modules of multi-token prediction in each chunk of a layout; layers per chunk have none.

    Raises:
        InputError: One stands before a layer, or see `parse_layout`.

    >>> prediction_modules("Et*3|(tt|)*3m|L"), prediction_modules("7,8*14,7")
    ((0, 0, 0, 0, 1, 0), ())
    """
    tokens = _unrolled([_known(match, text) for match in _TOKEN.finditer(text)], text)
    layers = [place for place, (word, _) in enumerate(tokens) if word == "t"]
    early = [at for word, at in tokens[: layers[-1]] if word == "m"] if layers else []
    if early:
        raise _wrong(text, early[0], "m (multi-token prediction) must come after the last layer")
    return tuple(_between_bars(tokens, "m")) if layers else ()


def layout_text(layers: Sequence[int]) -> str:
    """The text for Megatron-LM; inverse of `parse_layout`.

    >>> layout_text([7, 8, 8, 7]), layout_text([3]), layout_text([1, 2, 0])
    ('Et*7|(t*8|)*2t*7L', 'Et*3L', 'Et|tt|L')
    """
    *before, last = (_chunk(count) for count in layers)
    head, middle = before[:1], before[1:]
    parts = [f"{chunk}|" for chunk in head]
    for chunk, alike in groupby(middle):
        count = len(list(alike))
        parts.append(f"({chunk}|)*{count}" if count > 1 else f"{chunk}|")
    return f"E{''.join(parts)}{last}L"


def short_layout_text(layers: Sequence[int]) -> str:
    """The short text.

    >>> short_layout_text([7, 8, 8, 7])
    '7,8*2,7'
    """
    runs = [(count, len(list(alike))) for count, alike in groupby(layers)]
    return ",".join(f"{count}*{times}" if times > 1 else f"{count}" for count, times in runs)


def _chunk(layers: int) -> str:
    return f"t*{layers}" if layers > 2 else "t" * layers


def _wrong(text: str, at: int, problem: str) -> InputError:
    where = f"character {at}" if at <= len(text) else "the end"
    return InputError(
        f"layout: {problem} at {where} of {text[:80]!r}; e.g. {' or '.join(EXAMPLES)}"
    )


def _known(match: re.Match[str], text: str) -> _Token:
    word, at = match[match.lastindex or 0], match.start(match.lastindex or 0) + 1
    if match.lastindex == 4 or (match.lastindex == 2 and word not in "EtmL|"):
        raise _wrong(text, at, f"{word!r} is none of E, t, L, |, (, ), * and whole numbers")
    return word, at


def _unrolled(tokens: list[_Token], text: str) -> list[_Token]:
    """What is repeated written out, commas kept."""
    found: list[_Token] = []
    group: list[_Token] | None = None
    last: list[_Token] = []  # what a star would repeat
    position = 0
    while position < len(tokens):
        word, at = tokens[position]
        position += 1
        if word == "(":
            if group is not None:
                raise _wrong(text, at, "parentheses within parentheses")
            group, last = [], []
        elif word == ")":
            if group is None:
                raise _wrong(text, at, "a closing parenthesis without an opening one")
            found, last, group = found + group, group, None
        elif word == "*":
            times = _times(tokens, position, last, at, text)
            position += 1
            target = found if group is None else group
            size = len(last)
            del target[len(target) - size :]
            target += last * times
            last = []
        else:
            last = [] if word == "," else [(word, at)]
            (found if group is None else group).append((word, at))
        if len(found) > _MOST:
            raise _wrong(text, at, f"more than {_MOST:,} layers and chunks")
    if group is not None:
        raise _wrong(text, len(text) + 1, "a parenthesis is missing")
    return found


def _times(tokens: list[_Token], position: int, last: list[_Token], at: int, text: str) -> int:
    """How often a star repeats what is before it."""
    word = tokens[position][0] if position < len(tokens) else ""
    if not last:
        raise _wrong(text, at, "nothing to repeat")
    if not is_digits(word) or not 1 <= int(word[:8]) <= _MOST // len(last):
        after = tokens[position][1] if word else len(text) + 1
        raise _wrong(text, after, f"a whole number from 1 to {_MOST // len(last):,} must follow *")
    return int(word[:8])


def _of_letters(tokens: list[_Token], text: str) -> tuple[int, ...]:
    """Layers between the bars; the embedding comes first and the loss last, once each."""
    end = len(text) + 1
    for word, at in tokens:
        if is_digits(word):
            raise _wrong(text, at, f"{word} stands without *")
    for letter, what, place in (("E", "embedding", 0), ("L", "loss", -1)):
        found = [at for word, at in tokens if word == letter]
        if tokens[place][0] != letter or len(found) != 1:
            at = found[-1] if found else (1 if place == 0 else end)
            order = "first" if place == 0 else "last"
            raise _wrong(text, at, f"{letter} ({what}) must come {order} and once")
    return tuple(_between_bars(tokens))


def _between_bars(tokens: list[_Token], counted: str = "t") -> Iterator[int]:
    count = 0
    for word, _ in tokens:
        if word == "|":
            yield count
            count = 0
        count += word == counted
    yield count


def _of_numbers(tokens: list[_Token], text: str) -> tuple[int, ...]:
    """The numbers, with at most one comma between two."""
    numbers = [word for word, _ in tokens if word != ","]
    if not numbers:
        raise _wrong(text, 1, "no chunk")
    pairs = zip(tokens, [*tokens[1:], ("", len(text) + 1)], strict=True)
    for (word, at), (after, _) in pairs:
        if word == "," and (after in (",", "") or at == tokens[0][1]):
            raise _wrong(text, at, "a comma without a number")
        if word != "," and int(word[:8]) > _MOST:
            raise _wrong(text, at, f"more than {_MOST:,} layers")
    return tuple(int(word) for word in numbers)
