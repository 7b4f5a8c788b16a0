"""Types of arrays, records of them, and distinct rows of tables of whole numbers.

Docstrings give the shapes. The rows are found faster than by sorting the rows themselves.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self, TypeVar

import numpy as np
import numpy.typing as npt

IntArray = npt.NDArray[np.int64]
FloatArray = npt.NDArray[np.float64]
BoolArray = npt.NDArray[np.bool_]
_Kind = TypeVar("_Kind", bound=np.generic)
_BITS = 62  # of a key of several columns


class ArrayRecord:
    """To be a base of frozen dataclasses with slots whose fields are n rows: arrays, or records."""

    __slots__: tuple[str, ...] = ()

    def take(self, index: Any) -> Self:
        """What an index of numpy picks of the rows of every field."""
        return type(self)(**{name: _taken(getattr(self, name), index) for name in self.__slots__})

    @classmethod
    def joined(cls, parts: Sequence[Self]) -> Self:
        """The rows of several, at least one, one after the other."""
        names = cls.__slots__
        return cls(**{name: _joined([getattr(one, name) for one in parts]) for name in names})


def _taken(rows: Any, index: Any) -> Any:
    return rows.take(index) if isinstance(rows, ArrayRecord) else rows[index]


def _joined(parts: Sequence[Any]) -> Any:
    first = parts[0]
    return type(first).joined(parts) if isinstance(first, ArrayRecord) else np.concatenate(parts)


def repeated(
    values: npt.NDArray[_Kind], times: IntArray, axis: int | None = None
) -> npt.NDArray[_Kind]:
    """`numpy.repeat`, which takes counts of 64 bits only where an index has as many.

    Args:
        values: (n, ...) what is repeated, along `axis` (None: flattened).
        times: (n,) how often each.
    """
    return np.repeat(values, times.astype(np.intp, copy=False), axis=axis)


def counted(values: IntArray, least: int = 0) -> IntArray:
    """(at least `least`,) how often each whole number from 0 occurs: `numpy.bincount`."""
    index = values.astype(np.intp, copy=False)
    counts: IntArray = np.bincount(index, minlength=least).astype(np.int64, copy=False)
    return counts


def ranges(first: IntArray, count: IntArray) -> IntArray:
    """(sum of counts,) the whole numbers of ranges, one after the other.

    Args:
        first: (n,) of each.
        count: (n,) how many each has.
    """
    whole: IntArray = np.arange(count.sum(), dtype=np.int64)
    return whole + repeated(first - np.cumsum(count) + count, count)


def distinct(columns: Sequence[IntArray]) -> tuple[IntArray, IntArray]:
    """(first row of each distinct combination, combination of each row).

    Combinations are in ascending order of the columns, the first column most significant, unless
    their ranges are so wide that they had to be ranked.

    Args:
        columns: At least one (n,) column.
    """
    if len(columns[0]) < 2:
        each = np.zeros(len(columns[0]), dtype=np.int64)
        return each, each.copy()
    key = packed_key(columns)
    order = key.argsort()
    ordered = key[order]
    starts = np.empty(len(key), dtype=np.bool_)
    starts[0] = True
    np.not_equal(ordered[1:], ordered[:-1], out=starts[1:])
    combination = np.empty(len(key), dtype=np.int64)
    combination[order] = starts.cumsum() - 1
    first: IntArray = np.minimum.reduceat(order, starts.nonzero()[0])
    return first, combination


def among(codes: IntArray, some: IntArray | Sequence[int]) -> BoolArray:
    """(n,) which codes, small and not negative, are among some."""
    wanted = np.asarray(some, dtype=np.int64)
    table = np.zeros(max(codes.max(initial=0), wanted.max(initial=0)) + 1, dtype=np.bool_)
    table[wanted] = True
    found: BoolArray = table[codes]
    return found


def packed_key(columns: Sequence[IntArray]) -> IntArray:
    """One integer per row that is equal where all columns are; ranks are re-packed when large."""
    held = [int(np.bitwise_or.reduce(column)) for column in columns]
    bits = [every.bit_length() for every in held]
    if min(held) < 0 or sum(bits) > _BITS:
        return _narrow_key(columns)
    key = columns[0].astype(np.int64)
    for column, width in zip(columns[1:], bits[1:], strict=True):
        key <<= width
        key |= column
    return key


def _narrow_key(columns: Sequence[IntArray]) -> IntArray:
    """`packed_key` of columns that are negative or take many bits: each takes its span alone."""
    key = np.zeros(len(columns[0]), dtype=np.int64)
    span = 1
    for values in columns:
        column = values
        low = int(np.minimum.reduce(column, initial=0))
        width = int(np.maximum.reduce(column, initial=0)) - low + 1
        if span * width > 2**_BITS:
            key, span = _ranked(key)
        if span * width > 2**_BITS:
            column, width = _ranked(column)
            low = 0
        key = key * width + (column - low)
        span *= width
    return key


def _ranked(values: IntArray) -> tuple[IntArray, int]:
    """(rank of each value among the distinct ones, how many there are)."""
    unique, ranks = np.unique(values, return_inverse=True)
    return ranks.ravel().astype(np.int64), len(unique)
