"""Many cases of one rule in one test, which names every case that fails and prints their number.

A quick run takes some of them: `support.quick`.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import update_wrapper
from itertools import product
from math import prod
from typing import Any

import pytest

from support.quick import spread


@dataclass(frozen=True, slots=True)
class _Cases:
    """Values of some arguments of a check."""

    names: tuple[str, ...]
    values: Sequence[Any]

    def __iter__(self) -> Iterator[dict[str, Any]]:
        for value in self.values:
            row = (value,) if len(self.names) == 1 else tuple(value)
            yield dict(zip(self.names, row, strict=True))


def each(names: str | Sequence[str], values: Iterable[Any]) -> Callable[[Any], Any]:
    """Makes one test of a check and its cases; more than one `each` takes all combinations.

    The arguments are those of `pytest.mark.parametrize`, which makes a test per case. The fixtures
    of the check are made once for all cases; only `tmp_path` is a new folder for each.
    """
    listed = tuple(part.strip() for part in names.split(",")) if isinstance(names, str) else names
    cases = _Cases(tuple(listed), tuple(values))

    def made(check: Any) -> Any:
        inner: tuple[_Cases, ...] = getattr(check, "cases", ())
        return _test(getattr(check, "check", check), (cases, *inner))

    return made


def _test(check: Any, cases: tuple[_Cases, ...]) -> Any:
    """A test that calls a check with each combination of cases."""

    def test(**fixtures: Any) -> None:
        failed, skipped, count = [], [], 0
        every = list(product(*cases))
        most = getattr(test, "most", len(every))
        for count, parts in enumerate(spread(every, most), start=1):
            case = {name: value for part in parts for name, value in part.items()}
            if "tmp_path" in fixtures:
                case["tmp_path"] = fixtures["tmp_path"] / f"case-{count}"
                case["tmp_path"].mkdir()
            try:
                check(**{**fixtures, **case})
            except pytest.skip.Exception as reason:
                skipped.append(reason)
            except (Exception, pytest.fail.Exception) as error:
                error.add_note(", ".join(f"{k}={v!r}"[:200] for k, v in case.items()))
                failed.append(error)
        of_all = f" of {len(every)}" * (count < len(every))
        print(f"{count} cases{of_all}" + f", {len(skipped)} of them skipped" * bool(skipped))
        assert count, "no cases"
        if failed:
            raise BaseExceptionGroup(f"{len(failed)} of {count} cases fail", failed)
        if len(skipped) == count:
            raise skipped[0]

    update_wrapper(test, check)
    del test.__wrapped__  # type: ignore[attr-defined]
    given = {name for part in cases for name in part.names}
    wanted = inspect.signature(check).parameters.values()
    fixtures = [one.replace(kind=one.KEYWORD_ONLY) for one in wanted if one.name not in given]
    test.__signature__ = inspect.Signature(fixtures)  # type: ignore[attr-defined]
    test.check, test.cases = check, cases  # type: ignore[attr-defined]
    test.combinations = prod(len(part.values) for part in cases)  # type: ignore[attr-defined]
    return test
