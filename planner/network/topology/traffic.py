"""Traffic matrices: bytes from every chip to every other, from a pattern or a file."""

from __future__ import annotations

import io
import tokenize
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import numpy as np
from numpy.lib import format as npy

from planner.base.arrays import FloatArray
from planner.base.errors import InputError
from planner.base.files import read_bytes, read_text, read_yaml, without_advice
from planner.base.messages import not_one_of, one_line, shown
from planner.base.numerals import number_of
from planner.network.topology.figures import LEAST, MOST
from planner.network.topology.wiring import Wiring

PATTERNS = ("uniform", "all-gather", "ring", "pipeline", "opposite", "permutation")
_ENDINGS = (".csv", ".yaml", ".yml", ".npy")
_NUMBERS = "biuf"  # kinds of a numpy array: truth values, whole and real numbers
_MOST_HEADER = 1024  # characters; that of a matrix of numbers has about 120
_LONGEST = 200
# What numpy and the parser of Python that it calls raise for a header that is none.
_BAD_ARRAYS = (
    ValueError, TypeError, LookupError, AttributeError, ArithmeticError, EOFError, MemoryError,
    RecursionError, SyntaxError, tokenize.TokenError,
)  # fmt: skip


def traffic_matrix(pattern: str, chips: int, amount_bytes: float, seed: int = 0) -> FloatArray:
    """A traffic matrix by the name of its pattern.

    uniform: each chip sends so many bytes in all, evenly to the others (all-to-all).
    all-gather: that many bytes lie in equal shards on the chips; each sends its shard to every
    other one (the weight fetches of ZeRO stage 3).
    ring, pipeline: each chip sends them to the next one; the last to the first, or not.
    opposite: each chip sends them to the one N/2 further on.
    permutation: each chip sends them to a random other one, no two to the same.

    Args:
        pattern: One of `PATTERNS`.
        chips: The number of chips N.
        amount_bytes: Bytes, as above.
        seed: Of a permutation.

    Returns:
        (N, N) bytes from row to column; the diagonal is 0.

    Raises:
        InputError: The pattern is unknown, or the bytes are not positive.
    """
    if pattern not in PATTERNS:
        raise InputError(f"traffic: {not_one_of(pattern, PATTERNS)}, nor a file")
    if not 0 < amount_bytes < np.inf:
        raise InputError(f"bytes: {shown(amount_bytes)} must be greater than 0 and finite")
    return _MATRICES[pattern](chips, seed) * amount_bytes


def _uniform(chips: int, _: int) -> FloatArray:
    return (1.0 - np.eye(chips)) / (chips - 1)


def _all_gather(chips: int, _: int) -> FloatArray:
    return (1.0 - np.eye(chips)) / chips


def _to(targets: FloatArray) -> FloatArray:
    """One byte from each chip to its target."""
    matrix = np.zeros((len(targets), len(targets)))
    matrix[np.arange(len(targets)), targets.astype(np.int64)] = 1.0
    return matrix


def _shifted(chips: int, by: int) -> FloatArray:
    return _to((np.arange(chips, dtype=np.float64) + by) % chips)


def _pipeline(chips: int, _: int) -> FloatArray:
    return np.eye(chips, k=1)


def _permutation(chips: int, seed: int) -> FloatArray:
    """One random cycle through all chips, so that none sends to itself (Sattolo, 1986)."""
    order = np.random.default_rng(seed).permutation(chips)
    targets = np.empty(chips)
    targets[order] = np.roll(order, -1)
    return _to(targets)


_MATRICES: dict[str, Callable[[int, int], FloatArray]] = {
    "uniform": _uniform,
    "all-gather": _all_gather,
    "ring": lambda chips, _: _shifted(chips, 1),
    "pipeline": _pipeline,
    "opposite": lambda chips, _: _shifted(chips, chips // 2),
    "permutation": _permutation,
}


def read_traffic(path: Path, wiring: Wiring) -> FloatArray:
    """A traffic matrix from a file.

    .csv: a row per sending chip, a column per receiving one. .npy: the same as a numpy array.
    .yaml: `bytes: [[0, 1e6], [1e6, 0]]`, or `pairs:` with `from`, `to` (names of chips) and
    `bytes`, added up.

    Raises:
        InputError: The file cannot be read, its size is not that of the graph, or an entry is
            negative, not finite, or from a chip to itself.
    """
    ending = path.suffix.lower()
    if ending not in _ENDINGS:
        raise InputError(f"traffic: {path}: files end in {', '.join(_ENDINGS)}")
    read = {".csv": _csv, ".npy": _npy}.get(ending, _yaml)
    return _checked(read(path, wiring), path, wiring)


def _check_size(shape: tuple[int, ...], path: Path, chips: int) -> None:
    if shape != (chips, chips):
        size = " x ".join(map(shown, shape)) or "a single number"
        raise InputError(f"traffic: {path}: is {size}; {chips} chips need {chips} x {chips}")


def _checked(matrix: FloatArray, path: Path, wiring: Wiring) -> FloatArray:
    chips = wiring.chips
    _check_size(matrix.shape, path, chips)
    bad = ~(np.isfinite(matrix) & (matrix >= 0)) | (np.eye(chips, dtype=bool) & (matrix != 0))
    if bad.any():
        i, j = np.argwhere(bad)[0]
        pair = f"from {wiring.labels[i]} to {wiring.labels[j]}"
        rule = "a chip sends nothing to itself" if i == j else "bytes are finite and at least 0"
        raise InputError(f"traffic: {path}: {matrix[i, j]:g} {pair}: {rule}")
    if matrix.max() > MOST["bytes"]:
        raise InputError(
            f"traffic: {path}: {matrix.max():g} must be at most {MOST['bytes']:g} bytes"
        )
    if not matrix.any():
        raise InputError(f"traffic: {path}: no chip sends anything")
    if matrix.max() < LEAST:
        raise InputError(f"traffic: {path}: {matrix.max():g} must be at least {LEAST:g} bytes")
    return matrix


def _csv(path: Path, _: Wiring) -> FloatArray:
    text = read_text(path)
    lines = enumerate(text.splitlines(), start=1)
    rows = {at: line.split(",") for at, line in lines if line.strip()}
    if len({len(row) for row in rows.values()}) != 1:
        raise InputError(f"traffic: {path}: the lines must have equally many numbers")
    if not text.isascii() or "_" in text:  # numpy reads numbers that nobody means
        _refuse_words(rows, path)
    try:
        return np.asarray(list(rows.values()), dtype=np.float64)
    except ValueError:
        _refuse_words(rows, path)
        raise


def _refuse_words(rows: Mapping[int, Sequence[str]], path: Path) -> None:
    """Names the first cell that is no number."""
    for at, row in rows.items():
        for word in map(str.strip, row):
            if not _is_number(word):
                shown_word = one_line(repr(word))[:_LONGEST]
                raise InputError(
                    f"traffic: {path}: line {at}: {shown_word} is not a number of bytes"
                )


def _is_number(word: str) -> bool:
    try:
        number_of(word)
    except ValueError:
        return False
    return True


def _npy(path: Path, wiring: Wiring) -> FloatArray:
    """A matrix as `numpy.save` writes it.

    Its header may claim any size and type: both are checked before anything is built from them.
    """
    file = io.BytesIO(read_bytes(path))
    try:
        shape, dtype = _npy_header(file)
        _check_size(shape, path, wiring.chips)
        if dtype.kind in _NUMBERS:
            file.seek(0)
            with without_advice():
                array = npy.read_array(file, allow_pickle=False, max_header_size=_MOST_HEADER)
            return np.asarray(array, np.float64)
    except _BAD_ARRAYS as error:
        raise _no_array(path) from error
    raise _no_array(path)


def _no_array(path: Path) -> InputError:
    return InputError(f"traffic: {path}: is no numpy array of numbers, as numpy.save writes it")


def _npy_header(file: io.BytesIO) -> tuple[tuple[int, ...], np.dtype[np.generic]]:
    """Shape and type that the header of an array claims."""
    read = {(1, 0): npy.read_array_header_1_0, (2, 0): npy.read_array_header_2_0}
    with without_advice():
        shape, _, dtype = read[npy.read_magic(file)](file, max_header_size=_MOST_HEADER)
    return shape, dtype


def _yaml(path: Path, wiring: Wiring) -> FloatArray:
    data = read_yaml(path)
    if set(data) - {"bytes", "pairs"} or len(data) != 1:
        raise InputError(f"traffic: {path}: needs one of the fields bytes, pairs")
    try:
        if "bytes" in data:
            return np.asarray(data["bytes"], dtype=np.float64)
        return _of_pairs(data["pairs"], path, wiring)
    except (ValueError, TypeError, KeyError, OverflowError) as error:
        example = "[{from: 0, to: 1, bytes: 1e6}]" if "pairs" in data else "[[0, 1e6], [1e6, 0]]"
        field = next(iter(data))
        raise InputError(f"traffic: {path}: {field}: write it like {example}") from error


def _of_pairs(pairs: list[dict[str, object]], path: Path, wiring: Wiring) -> FloatArray:
    names = {label: at for at, label in enumerate(wiring.labels[: wiring.chips])}
    matrix = np.zeros((wiring.chips, wiring.chips))
    for pair in pairs:
        ends = [str(pair["from"]), str(pair["to"])]
        if unknown := [end for end in ends if end not in names]:
            raise InputError(f"traffic: {path}: chip {not_one_of(unknown[0], list(names)[:12])}")
        matrix[names[ends[0]], names[ends[1]]] += float(str(pair["bytes"]))
    return matrix
