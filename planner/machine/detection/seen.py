"""What outputs of tools say of a node, each number with its file and line."""

from __future__ import annotations

from functools import lru_cache
from typing import Generic, TypeVar

from frozen_records import dataclass
from planner.base.errors import InputError
from planner.base.messages import printable, shown
from planner.base.units import MOST_PRINTED, printed_number

T = TypeVar("T")

_LONGEST = 60


@dataclass(frozen=True, slots=True, kw_only=True)
class Fact(Generic[T]):
    """Something that a line of an output says.

    Attributes:
        value: It, in SI units.
        output: Name of the file, or the command.
        line: Of the output, from 1.
        text: The line, blanks folded, cut short.
    """

    value: T
    output: str
    line: int
    text: str

    @property
    def place(self) -> str:
        """`topo.txt line 2`."""
        return f"{self.output} line {self.line}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Output:
    """What a tool printed.

    Attributes:
        name: Of the file, or the command.
        text: Without the codes that colour terminals.
    """

    name: str
    text: str

    def lines(self) -> list[str]:
        """Its lines."""
        return _lines(self.text)

    def fact(self, value: T, line: int) -> Fact[T]:
        """What a line says; lines count from 0 here, and from 1 where people read."""
        words = printable(" ".join(self.lines()[line].split()))
        text = words if len(words) <= _LONGEST else f"{words[:_LONGEST]}..."
        return Fact(value=value, output=self.name, line=line + 1, text=text)

    def number(self, text: str, line: int, what: str) -> float:
        """The number that a line says; lines count from 0 here.

        Args:
            text: What stands there.
            line: Of the output.
            what: Names it in messages.

        Raises:
            InputError: It is none, or larger than any that can be meant.
        """
        value = printed_number(text)
        if value is None or value < 0:
            allowed = f"a number from 0 to {MOST_PRINTED:g}"
            raise self.mistake(line, f"{what} is {shown(text)}, not {allowed}")
        return value

    def mistake(self, line: int, words: str) -> InputError:
        """An error that names the file and the line, counted from 0 here."""
        return InputError(f"{self.name}: line {line + 1}: {words}")


@lru_cache(maxsize=2)
def _lines(text: str) -> list[str]:
    """The lines of an output, which facts ask for one by one."""
    return text.splitlines()


@dataclass(frozen=True, slots=True, kw_only=True)
class Wiring:
    """Links between the devices of a node.

    Attributes:
        medium: `NVLink` or `xGMI`.
        links: Between each pair of devices, 0 where only PCIe joins them; square.
        counted: Whether `links` counts them; else it holds 1 where there are any.
        switched: Whether they are known to end at switches; else that is not known.
        shown: Where it says so; the value is the number of devices.
    """

    medium: str
    links: tuple[tuple[int, ...], ...]
    counted: bool = True
    switched: bool = False
    shown: Fact[int]


@dataclass(frozen=True, slots=True, kw_only=True)
class Nic:
    """A network device of a node.

    Attributes:
        name: As the system calls it, e.g. mlx5_0.
        rate: Bytes per second, one direction, of its active ports; None: not said.
        near: Whether it shares a PCIe switch with a device; None: not said.
        ethernet: Whether its links are Ethernet; None: not said.
    """

    name: str
    rate: Fact[float] | None = None
    near: bool | None = None
    ethernet: bool | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class SchedulerNode:
    """A node with accelerators that a scheduler knows.

    Attributes:
        shown: Where; the value is its number of devices.
        gres: Its type of accelerator as the site calls it; empty: none is said.
        partitions: That it belongs to.
        usable: Whether it is neither down nor drained.
    """

    shown: Fact[int]
    gres: str
    partitions: tuple[str, ...]
    usable: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """What one output says; None or empty: nothing of it.

    Attributes:
        tool: What printed it.
        output: Name of the file, or the command.
        chip: Name of the chip as printed.
        memory: Bytes of one device.
        devices: Devices of one node.
        pcie: Bytes per second of a device's PCIe link, one direction.
        wiring: Links between devices.
        nics: Network devices.
        nodes: Nodes of the scheduler that have accelerators.
    """

    tool: str
    output: str
    chip: Fact[str] | None = None
    memory: Fact[float] | None = None
    devices: Fact[int] | None = None
    pcie: Fact[float] | None = None
    wiring: Wiring | None = None
    nics: tuple[Nic, ...] | None = None
    nodes: tuple[SchedulerNode, ...] = ()


def pcie_bytes_per_s(transfers_per_s: float, lanes: int) -> float:
    """Bytes per second of a PCIe link, one direction, of which 128 of 130 bits are data.

    Source: PCI Express Base Specification 3.0 to 5.0 (128b/130b encoding, 8, 16 and 32 GT/s); those
    before, with 8b/10b, and 6.0, in flits without encoding, are not far from it for our purpose.
    """
    return transfers_per_s * lanes * 128 / 130 / 8


def one_kind(output: Output, found: list[Fact[str]]) -> Fact[str] | None:
    """The name of the chip where all devices have one.

    Raises:
        InputError: They have different names.
    """
    for other in found:
        if other.value != found[0].value:
            raise InputError(
                f"{output.name}: chips of two kinds, {shown(found[0].value)} in line "
                f"{found[0].line}, {shown(other.value)} in line {other.line}; a cluster file has "
                "one kind"
            )
    return found[0] if found else None
