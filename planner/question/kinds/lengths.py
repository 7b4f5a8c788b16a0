"""Lengths that attention spans inside of sequences: packed documents, or a warm-up of sequences.

Attention of a document of l tokens takes l^2, so that only the tokens' mean of l counts: a
sequence with documents of l_i tokens takes sum(l_i^2) in the place of S^2 (Krell et al., Efficient
Sequence Packing without Cross-contamination, arXiv:2107.02027, section 3). A run whose sequences
grow while the tokens of a step stay has the same mean, over its tokens (Li et al., The
Stability-Efficiency Dilemma, arXiv:2108.06084, section 4).
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import Any

from planner.base.fields import plain, refusal
from planner.base.messages import shown
from planner.base.numerals import is_digits, number_of
from planner.cost.job import LONGEST_SEQUENCE

MEAN, SPREAD = "mean", "cv"
_FORMS = "2048=0.25,8192=0.75 (tokens: share of the tokens) or mean=600,cv=1.2"
_MOST_LENGTHS = 4096
_MOST_SPREAD = 5.0
_NODES = 48  # of the quadrature: moments of lognormal lengths to 1e-9 up to the largest spread


def read_lengths(value: Any) -> Any:
    """`2048=0.25,8192=0.75`, `mean=600,cv=1.2`, or a mapping, as a mapping to numbers."""
    if isinstance(value, str):
        pairs = [part.partition("=")[::2] for part in value.split(",")]
        if not all(number.strip() for _, number in pairs):
            raise refusal(f"{shown(value)} is not of the form {_FORMS}")
        if len({name.strip() for name, _ in pairs}) < len(pairs):
            raise refusal(f"{shown(value)} has a length twice")
        value = {name.strip(): number.strip() for name, number in pairs}
    if not isinstance(value, Mapping) or not 0 < len(value) <= _MOST_LENGTHS:
        raise refusal(f"{shown(value)} is not of the form {_FORMS}")
    given = {str(plain(name)): _number(name, number) for name, number in value.items()}
    if given.keys() & {MEAN, SPREAD}:
        return _moments(given)
    for name in given:
        if not (is_digits(name) and 1 <= int(name[:12]) <= LONGEST_SEQUENCE):
            raise refusal(f"{shown(name)} is not a length from 1 to {LONGEST_SEQUENCE:,}: {_FORMS}")
    return given


def _moments(given: dict[str, float]) -> dict[str, float]:
    """A mean and a coefficient of variation, both in their ranges."""
    if given.keys() != {MEAN, SPREAD}:
        raise refusal(f"{', '.join(given)}: give both mean and cv and nothing else: {_FORMS}")
    if not 1 <= given[MEAN] <= LONGEST_SEQUENCE:
        raise refusal(f"mean: {given[MEAN]:g} is not in 1..{LONGEST_SEQUENCE}")
    if given[SPREAD] > _MOST_SPREAD:
        raise refusal(f"cv: {given[SPREAD]:g} is not in 0..{_MOST_SPREAD:g}")
    return given


def _number(name: Any, number: Any) -> float:
    """A share, a mean or a spread; only a spread may be 0."""
    try:
        found = number_of(plain(number))
    except (TypeError, ValueError):
        found = math.nan
    least = 0.0 if name == SPREAD else math.ulp(0.0)
    if not least <= found < math.inf or isinstance(number, bool):
        raise refusal(f"{shown(name)}: {shown(number)} is not a positive number; {_FORMS}")
    return found


def lengths_schema() -> dict[str, Any]:
    """The JSON Schema of such a mapping, or of its text."""
    share = {"type": "number", "exclusiveMinimum": 0}
    spread = {"type": "number", "minimum": 0, "maximum": _MOST_SPREAD}
    lengths = {
        "type": "object",
        "patternProperties": {"^[1-9][0-9]*$": share},
        "additionalProperties": False,
        "minProperties": 1,
    }
    moments = {
        "type": "object",
        "properties": {MEAN: {"type": "number", "minimum": 1}, SPREAD: spread},
        "required": [MEAN, SPREAD],
        "additionalProperties": False,
    }
    text = {"type": "string", "pattern": r"^\s*[a-z0-9]+\s*=\s*[0-9.eE+-]+\s*(,.*)?$"}
    return {"anyOf": [lengths, moments, text]}


def lengths_in(
    given: Mapping[str, float] | None, seq_len: float
) -> tuple[tuple[float, float], ...]:
    """(tokens, share of the tokens) of what attention spans in sequences of `seq_len` tokens.

    Documents that are longer than a sequence are cut into sequences and a rest. Of a mean and a
    coefficient of variation documents are lognormal, an assumption that matters where windows or
    cuts do: else only the two moments count.
    """
    if not given:
        return ()
    found: defaultdict[float, float] = defaultdict(float)
    listed = _lognormal(given) if MEAN in given else ((float(n), s) for n, s in given.items())
    for tokens, share in listed:
        whole, rest = divmod(tokens, seq_len)
        for length, held in ((seq_len, whole * seq_len), (rest, rest)):
            if held:
                found[float(length)] += share * held / tokens
    total = sum(found.values())
    return tuple((length, share / total) for length, share in sorted(found.items()))


def _lognormal(given: Mapping[str, float]) -> Iterable[tuple[float, float]]:
    """Lengths with the tokens in them, by Gauss-Hermite quadrature over the logarithm."""
    from numpy.polynomial.hermite_e import hermegauss  # noqa: PLC0415  (only where moments are given)

    variance = math.log1p(given[SPREAD] ** 2)
    middle = math.log(given[MEAN]) - variance / 2
    if not variance:
        return [(given[MEAN], 1.0)]
    nodes, weights = hermegauss(_NODES)
    lengths = (math.exp(middle + math.sqrt(variance) * float(node)) for node in nodes)
    pairs = zip(lengths, weights.tolist(), strict=True)
    return [(length, weight * length) for length, weight in pairs]
