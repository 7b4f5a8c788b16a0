"""The text that nccl-tests and rccl-tests print, as collectives with their times.

A line that starts with `#` is a comment. Comments give the devices (one line per rank, with the
host it runs on), the name of the test (since version 2.17) and the columns:

    #       size         count      type   redop    root     time   algbw   busbw  #wrong     time
    #        (B)    (elements)                               (us)  (GB/s)  (GB/s)             (us)

The first `time` is out of place, the second in place; older versions say `error` for `#wrong` and
have no `root`. `size` is the whole buffer: what a rank ends with after an all-gather, or starts
with before a reduce-scatter or an all-to-all. Launchers put `[1,0]<stdout>:` or `0: ` before
lines. Several tests may stand in one log, each with its own devices, name and columns above its
results.

Source: NVIDIA nccl-tests, README.md, doc/PERFORMANCE.md and src/util.cu,
https://github.com/NVIDIA/nccl-tests.
"""

from __future__ import annotations

import re
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

from frozen_records import dataclass
from planner.base.errors import InputError
from planner.base.files import read_text
from planner.base.messages import one_line, shown
from planner.base.numerals import number_of

COLLECTIVES = ("all_reduce", "all_gather", "reduce_scatter", "alltoall", "sendrecv")
"""Tests that can be used; each is the name of its program without `_perf`."""
_OTHERS = ("broadcast", "reduce", "gather", "scatter", "hypercube", "alltoallv", "bisection")
_LEAST_BYTES = 1024  # training sends no smaller messages
_MOST_DIGITS = 20
_PREFIX = re.compile(r"^\s*(?:\[[0-9]+,[0-9]+\]<std(?:out|err)>:\s?|[0-9]+: )")
_RANK = re.compile(
    r"#\s+Rank\s+([0-9]+)\s+(?:Group\s+([0-9]+)\s+)?Pid\s+[0-9]+\s+on\s+(\S+)\s+device\s+[0-9]+\s+\[\S+\]\s+(.*)"
)
_TEST = re.compile(r"\b([a-z_]+)_perf(?:_mpi)?\b")
_ENDED = "Collective test concluded"
"""In the name of a test that stands below its results."""
_NUMBER = re.compile(r"^[0-9]+$")


@dataclass(frozen=True, slots=True, kw_only=True)
class CollectiveTime:
    """One collective of one size.

    Attributes:
        collective: One of `COLLECTIVES`.
        ranks: Members.
        nodes: Hosts that they run on.
        size_bytes: The whole buffer, see above.
        time_s: Mean time of the faster of out of place and in place.
    """

    collective: str
    ranks: int
    nodes: int
    size_bytes: float
    time_s: float


@dataclass(frozen=True, slots=True, kw_only=True)
class NcclLog:
    """A log: its collectives, and the names of the devices of each of its tests that says them."""

    times: tuple[CollectiveTime, ...]
    devices: tuple[str, ...]


class _Test(NamedTuple):
    """The numbered lines of one test: what stands above its results, and these."""

    head: list[tuple[int, str]]
    data: list[tuple[int, list[str]]]


def read_nccl(path: Path, ranks: int | None = None, nodes: int | None = None) -> NcclLog:
    """The collectives of a log, which may hold several tests.

    Args:
        path: The log.
        ranks, nodes: Where the log does not list its devices.

    Raises:
        InputError: It is no such log, or lines of it are wrong; one line per fault.
    """
    return parse_nccl(read_text(path), str(path), ranks, nodes)


def parse_nccl(text: str, name: str, ranks: int | None = None, nodes: int | None = None) -> NcclLog:
    """As `read_nccl`, of the text of a log whose file has that name."""
    label = one_line(name)
    lines = [_PREFIX.sub("", line.rstrip()) for line in text.splitlines()]
    if not any(line.strip() for line in lines):
        raise InputError(f"{label}: is empty")
    times: list[CollectiveTime] = []
    devices: list[str] = []
    faults: list[str] = []
    tests = _tests(lines)
    for one in tests:
        where = label if len(tests) == 1 else f"{label}: line {one.data[0][0]}"
        try:
            found = _read(one, label, where, Path(name).name, (ranks, nodes))
        except InputError as error:
            faults += str(error).split("\n")
            continue
        times += found.times
        devices += found.devices
    if faults:
        raise InputError("\n".join(faults))
    if not times:
        raise InputError(f"{label}: all sizes are below {_LEAST_BYTES:,} bytes; give -e 1G")
    return NcclLog(times=tuple(times), devices=tuple(dict.fromkeys(devices)))


def _tests(lines: list[str]) -> list[_Test]:
    """The tests of a log: results below names of columns of their own are those of the next one."""
    tests: list[_Test] = []
    head: list[tuple[int, str]] = []
    for number, line in enumerate(lines, start=1):
        cells = line.split()
        if not cells or not _NUMBER.match(cells[0]) or len(cells) <= 5:
            head.append((number, line))
            continue
        if not tests or any(_is_columns(one) for _, one in head):
            tests.append(_Test(head, []))
        tests[-1].data.append((number, cells))
        head = []
    return tests or [_Test(head, [])]


def _read(
    test: _Test, label: str, where: str, file: str, sizes: tuple[int | None, int | None]
) -> NcclLog:
    """The collectives of a test.

    Args:
        test: Its lines.
        label, where: What messages call the log, and the test.
        file: Name of the log.
        sizes: Ranks and nodes, where the test does not list its devices.
    """
    listed = [match for _, line in test.head if (match := _RANK.search(line))]
    group = [match for match in listed if (match[2] or "0") == "0"]
    ranks, nodes = _sizes(where, group, *sizes)
    header = _header(label, where, test.head)
    if not test.data:
        raise InputError(f"{where}: has no line of results; the test did not run to an end")
    times, faults = [], []
    collective = _collective(where, test, file, header)
    for number, cells in test.data:
        try:
            one = _time(cells, header, collective, ranks, nodes)
        except InputError as error:
            faults.append(f"{label}: line {number}: {error}")
            continue
        if one is not None:
            times.append(one)
    if faults:
        raise InputError("\n".join(faults))
    return NcclLog(times=tuple(times), devices=tuple(match[4].strip() for match in group[:1]))


def _sizes(
    label: str, group: list[re.Match[str]], ranks: int | None, nodes: int | None
) -> tuple[int, int]:
    """Ranks and nodes, of the log or as given.

    Raises:
        InputError: The log says neither, or contradicts what is given.
    """
    listed = len({match[1] for match in group})
    hosts = len({match[3] for match in group})
    if listed and ranks is not None and ranks != listed:
        raise InputError(f"{label}: lists {listed} ranks, not the {ranks} of --gpus; leave it out")
    ranks = listed or ranks
    if ranks is None:
        raise InputError(f"{label}: lists no ranks; say how many with --gpus (and --nodes)")
    nodes = nodes or hosts or 1
    if ranks < 2:
        raise InputError(f"{label}: ran on {ranks} rank; a collective has at least 2")
    if ranks % nodes:
        raise InputError(f"{label}: {ranks} ranks do not divide over {nodes} nodes")
    return ranks, nodes


def _is_columns(line: str) -> bool:
    """Whether a line names the columns."""
    words = line.lstrip("# ").split()
    return line.lstrip().startswith("#") and words[:1] == ["size"] and "time" in words


def _header(label: str, where: str, lines: list[tuple[int, str]]) -> list[str]:
    """Names of the columns, the last ones above the results.

    Raises:
        InputError: There is no such line, or its unit of time is not the usual one.
    """
    for (number, line), (_, units) in reversed(list(pairwise([*lines, (0, "")]))):
        if _is_columns(line):
            if "(us)" not in units:
                raise InputError(
                    f"{label}: line {number + 1}: times are not in (us), as nccl-tests prints them"
                )
            return line.lstrip("# ").split()
    raise InputError(
        f"{where}: is no output of nccl-tests: the line '# size count type ... time algbw busbw' "
        "is missing"
    )


def _collective(where: str, test: _Test, file: str, header: list[str]) -> str:
    """Which collective was tested: as the last line above says, its file, or its bandwidths.

    Raises:
        InputError: It cannot be told, or is none that can be used.
    """
    of_file = [name for name in COLLECTIVES if name in file.lower().replace("-", "_")]
    named = of_file if len(of_file) == 1 else []
    above = (line for _, line in test.head if _ENDED not in line)
    named += [match[1] for line in above for match in _TEST.finditer(line)]
    tested = [name for name in named if name in (*COLLECTIVES, *_OTHERS)]
    if tested:
        if tested[-1] not in COLLECTIVES:
            raise InputError(
                f"{where}: {tested[-1]}_perf is of no use here; use one of "
                f"{', '.join(f'{name}_perf' for name in COLLECTIVES)}"
            )
        return tested[-1]
    if "redop" in header and any("sum" in cells for _, cells in test.data):
        time = header.index("time")
        with_rates = [c for _, c in test.data if _value(c, time + 1) > 1]
        if with_rates:
            share = _value(with_rates[-1], time + 2) / _value(with_rates[-1], time + 1)
            return "all_reduce" if share >= 1 else "reduce_scatter"
    raise InputError(
        f"{where}: does not say which collective it is; name the file like all_gather_perf.txt"
    )


def _value(cells: list[str], index: int) -> float:
    try:
        return number_of(cells[index])
    except (ValueError, IndexError):
        return 0.0


def _time(
    cells: list[str], header: list[str], collective: str, ranks: int, nodes: int
) -> CollectiveTime | None:
    """The collective of a line; None where it is too small to matter.

    Raises:
        InputError: The line is cut off or its figures are impossible.
    """
    if len(cells[0]) > _MOST_DIGITS:
        raise InputError(f"size: {shown(cells[0])} is more than any message")
    size = int(cells[0])
    if size < _LEAST_BYTES:
        return None
    places = [index for index, name in enumerate(header) if name == "time"]
    if len(cells) <= places[0] + 2:
        raise InputError(f"is cut off after {len(cells)} of {len(header)} columns")
    times = []
    for place in places:
        if place + 2 >= len(cells):
            continue
        text = cells[place]
        try:
            seconds = number_of(text) * 1e-6
        except ValueError:
            raise InputError(f"time: {shown(text)} is not a number") from None
        if not 0 < seconds < 1e5:
            raise InputError(f"time: {shown(text)} us is not a time; it must be greater than 0")
        wrong = cells[place + 3] if place + 3 < len(cells) else "N/A"
        if header[place + 3 : place + 4] == ["#wrong"] and wrong not in ("0", "N/A"):
            raise InputError(f"#wrong: {wrong} elements are wrong; the test failed")
        times.append(seconds)
    return CollectiveTime(
        collective=collective, ranks=ranks, nodes=nodes, size_bytes=float(size), time_s=min(times)
    )
