"""How the chips of a cluster are wired, as a decision: words such as `ring` or `torus:2x4`.

A word rewires the innermost scale-up level from the links that each chip has there; with
`scale-out=` before it, the levels that are reached through network cards. What a wiring gets:

    switch           all links go to switches, as the record has it
    direct           links // ports of them on each port; one hop from neighbour to neighbour
    network cards    the rate of a card divided among its ports

Energy and latency of a hop are those of the record over the hops of its own wiring (two through a
switch), so a neighbour costs one hop. Switches need power, direct links do not; a chip with
network cards keeps its own end of the optics. Bytes of all-to-alls over a direct wiring travel
more than one hop: their time says so, and their energy where it is that of components only; the
split of a calibrated total among its causes counts one hop. Gathers count one hop per member and
messages one, also where members lie further apart; under uniform traffic all take average hops.
What a dragonfly gives is assumed: `planner.machine.card_wiring.Routing`.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import replace
from itertools import product
from typing import Any

from frozen_records import dataclass
from hardware_db import Cluster, Level
from hardware_db.cluster import TorusRules
from hardware_db.torus import Shape, cubic_shape
from planner.base.errors import InputError
from planner.base.fields import refusal
from planner.base.messages import not_one_of, shown
from planner.base.numerals import is_digits
from planner.machine import card_wiring
from planner.machine.ports import degree

MACHINE_FIELDS = ("pes", "scale", "topology")
"""Fields of a job that say what its machine is."""

SCALE_UP, SCALE_OUT = "scale-up", "scale-out"
UP_WIRINGS = (
    "switch", "ring", "linear", "fully-connected", "torus", "torus3d", "mesh", "mesh3d",
    "hypercube",
)  # fmt: skip
OUT_WIRINGS = ("fat-tree", "leaf-spine", "dragonfly", "ring", "torus", "torus3d")
_SHAPED = ("torus", "torus3d", "mesh", "mesh3d")
_LONGEST_AXIS = 4096


@dataclass(frozen=True, slots=True, kw_only=True)
class Wiring:
    """One word.

    Attributes:
        level: `scale-up` or `scale-out`.
        name: One of `UP_WIRINGS` or `OUT_WIRINGS`.
        shape: Lengths of the axes, where they are given.
    """

    level: str
    name: str
    shape: Shape = ()

    @property
    def word(self) -> str:
        """As it is written: `torus:2x4`, `scale-out=ring`."""
        shape = ":" + "x".join(map(str, self.shape)) if self.shape else ""
        return f"{SCALE_OUT}=" * (self.level == SCALE_OUT) + self.name + shape


def read_wirings(value: Any) -> Any:
    """Words of a flag or a file in their plain form; `scale-out=` holds for what follows a comma.

    >>> read_wirings("ring, torus:4x2")
    ('ring', 'torus:2x4')
    >>> read_wirings(["scale-out=ring,dragonfly", "switch"])
    ('scale-out=ring', 'scale-out=dragonfly', 'switch')
    """
    given = [value] if isinstance(value, str) else value
    if not isinstance(given, list | tuple) or not all(isinstance(text, str) for text in given):
        return value
    found: dict[str, None] = {}
    problems = []
    for text in given:
        level = SCALE_UP
        for part in text.split(","):
            before, equals, word = part.partition("=")
            level, word = (before.strip(), word) if equals else (level, part)
            try:
                found[_wiring(level, word.strip()).word] = None
            except InputError as error:
                problems.append(str(error))
    if problems or not found:
        raise refusal("\n".join(problems) or f"names none of {', '.join(UP_WIRINGS)}")
    return tuple(found)


def wirings_schema() -> dict[str, Any]:
    """The JSON Schema of `topology`."""
    shaped = "|".join(_SHAPED)
    up = f"({'|'.join(UP_WIRINGS)}|({shaped}):[0-9]+(x[0-9]+)*)"
    pattern = f"^((scale-up=)?{up}|scale-out=({'|'.join(OUT_WIRINGS)}))$"
    word = {"type": "string", "pattern": pattern}
    several = {"type": "string", "examples": ["ring,torus,switch", "scale-out=fat-tree,torus"]}
    return {"anyOf": [{"type": "array", "items": word, "minItems": 1}, several]}


def _wiring(level: str, word: str) -> Wiring:
    """The wiring of a word.

    Raises:
        InputError: It is none.
    """
    name, colon, lengths = word.partition(":")
    if level not in (SCALE_UP, SCALE_OUT):
        raise InputError(not_one_of(level, (SCALE_UP, SCALE_OUT)))
    names = UP_WIRINGS if level == SCALE_UP else OUT_WIRINGS
    if name not in names:
        raise InputError(not_one_of(name, names))
    if not colon:
        return Wiring(level=level, name=name)
    if level == SCALE_OUT or name not in _SHAPED:
        raise InputError(
            f"{shown(word)}: only {', '.join(_SHAPED)} of the {SCALE_UP} level have a shape"
        )
    parts = lengths.split("x")
    if not all(is_digits(part) and 1 < int(part[:5]) <= _LONGEST_AXIS for part in parts):
        raise InputError(f"{shown(word)}: a shape is lengths of at least 2, e.g. {name}:4x2")
    return Wiring(level=level, name=name, shape=tuple(sorted(map(int, parts))))


def wiring_of(word: str) -> Wiring:
    """The wiring of a word in its plain form."""
    level, equals, rest = word.partition("=")
    return _wiring(level, rest) if equals else _wiring(SCALE_UP, word)


def rewired(cluster: Cluster, words: Iterable[str]) -> Cluster:
    """The cluster wired as words say, at most one for each kind of level.

    Raises:
        InputError: The links of a chip, the chips of a domain or the record do not allow it.
    """
    for word in words:
        wiring = wiring_of(word)
        change = _scale_up if wiring.level == SCALE_UP else _scale_out
        try:
            cluster = change(cluster, wiring)
        except InputError as error:
            raise InputError(f"topology: {word}: {error}") from error
    return cluster


def shape_of(wiring: Wiring, size: int) -> Shape:
    """Lengths of the axes of a torus, mesh or hypercube of `size` chips; () elsewhere.

    Raises:
        InputError: The given lengths hold another number, or `size` is no power of two.
    """
    if wiring.shape:
        if math.prod(wiring.shape) != size:
            raise InputError(
                f"{'x'.join(map(str, wiring.shape))} = {math.prod(wiring.shape):,} chips, but a "
                f"domain has {size:,}; the most cubic is {'x'.join(map(str, cubic_shape(size, 2)))}"
            )
        return wiring.shape
    if wiring.name == "hypercube":
        if size & (size - 1):
            near = 1 << (size.bit_length() - 1)
            raise InputError(f"{size:,} chips are no power of two; nearest: {near:,} {2 * near:,}")
        return (2,) * (size.bit_length() - 1)
    if wiring.name in _SHAPED:
        shape = cubic_shape(size, 3 if wiring.name.endswith("3d") else 2)
        return tuple(axis for axis in shape if axis > 1) or (1,)
    return ()


def _scale_up(cluster: Cluster, wiring: Wiring) -> Cluster:
    level = cluster.levels[0]
    if level.kind != SCALE_UP:
        raise InputError(f"{cluster.name} has no {SCALE_UP} level")
    if level.torus is not None and level.torus.cube_edge:
        raise InputError(
            f"{cluster.name} is built of cubes of a torus; other wirings of it are not modelled; "
            "leave it out"
        )
    size = level.domain_chips or 1
    same = wiring.name == level.topology and not wiring.shape
    if same and level.torus is None:
        return cluster
    if wiring.name == "switch":
        raise InputError(
            f"the record of {cluster.name} wires its {level.name} as {level.topology} and has no "
            "switch to tell its power by; give a cluster file"
        )
    if level.topology != "switch" and level.bandwidth_by_group:
        raise InputError(
            f"the record of {cluster.name} gives its {level.name} rates by group of chips, not "
            "by link; give a cluster file"
        )
    shape = shape_of(wiring, size)
    direct = _direct(level, wiring.name, size, shape)
    saved = level.switch_power_in_host_w_per_chip or 0.0
    chip = replace(
        cluster.chip,
        host_w=max(cluster.chip.host_w - saved, 0.0),
        host_liquid_w=None
        if cluster.chip.host_liquid_w is None
        else max(cluster.chip.host_liquid_w - saved, 0.0),
    )
    return replace(
        cluster,
        name=f"{cluster.name} with {level.name} as {_named(wiring.name, shape)}",
        record_name=cluster.record_name or cluster.name,
        chip=chip,
        levels=(direct, *cluster.levels[1:]),
    )


def _named(name: str, shape: Shape) -> str:
    return f"{name.removesuffix('3d')} {'x'.join(map(str, shape))}" if shape else name


def _direct(level: Level, name: str, size: int, shape: Shape) -> Level:
    """A switched level, or another direct one, with its links from chip to chip."""
    ports = degree(name, size, shape)
    per_port = _links_per_port(level, ports)
    used = ports * per_port
    hops = card_wiring.ROUTING.switch_hops if level.topology == "switch" else 1
    return replace(
        level,
        topology={"torus3d": "torus", "mesh3d": "mesh"}.get(name, name),
        bandwidth_bytes_per_s=used,
        links=0,
        link_bandwidth_bytes_per_s=per_port,
        links_per_pair=1 if name == "fully-connected" else 0,
        peer_bandwidth_bytes_per_s=per_port,
        latency_s=level.latency_s / hops,
        energy_j_per_byte=level.energy_j_per_byte / hops,
        in_network_reduction="none",
        in_network_gain=1.0,
        in_network_min_group=0,
        switch_power_w_per_chip=0.0,
        switch_power_in_host_w_per_chip=0.0,
        oversubscription=1.0,
        **_rules(name, shape),
    )


def _links_per_port(level: Level, ports: int) -> float:
    """Bytes per second of one port: whole links, where the record tells them apart.

    Raises:
        InputError: There are fewer links than ports.
    """
    if not level.links or not level.link_bandwidth_bytes_per_s:
        return level.bandwidth_bytes_per_s / ports
    if level.links < ports:
        raise InputError(f"needs {ports} ports on each chip; its {level.name} has {level.links}")
    return level.links // ports * level.link_bandwidth_bytes_per_s


def _rules(name: str, shape: Shape) -> dict[str, Any]:
    """The torus of a level with that shape, whose every box can be had."""
    if not shape:
        return {"torus": None, "torus_dims": (), "torus_wrap": ()}
    wraps = name.startswith("torus")
    boxes = {tuple(sorted(box)) for box in product(*(range(1, axis + 1) for axis in shape))}
    rules = TorusRules(
        pod=shape,
        cube_edge=0,
        wrap_rule="axis-equals-pod" if wraps else "never",
        slices=tuple(sorted(boxes)),
        largest_slice_chips=math.prod(shape),
        smallest_multislice_chips=math.prod(shape),
        max_slices=10**6,
    )
    return {
        "torus": rules,
        "torus_dims": shape,
        "torus_wrap": tuple(wraps and axis > 2 for axis in shape),
    }


def _scale_out(cluster: Cluster, wiring: Wiring) -> Cluster:
    outer = [level for level in cluster.levels if level.kind == SCALE_OUT]
    inner = cluster.levels[: len(cluster.levels) - len(outer)]
    if not outer or not inner:
        raise InputError(f"{cluster.name} does not have both {SCALE_UP} and {SCALE_OUT} levels")
    if any(level.topology != "fat-tree" for level in outer):
        raise InputError(
            f"the record of {cluster.name} has no fat tree to tell ports and optics apart by; "
            "give a cluster file"
        )
    if wiring.name == "fat-tree":
        return cluster
    if len(outer) < 2:
        raise InputError(
            f"the fat tree of {cluster.name} has one level; ports and optics cannot be told apart"
        )
    most, levels = cluster.max_chips, []
    if wiring.name == "leaf-spine":
        levels = outer[:2]
        most = min(most, outer[1].domain_chips or most)
    else:
        named = wiring.name
        build = card_wiring.dragonfly if named == "dragonfly" else card_wiring.card_torus(named)
        levels = build(cluster, outer[0], outer[1])
        most = min(most, levels[-1].domain_chips or most)
        levels[-1] = replace(levels[-1], domain_chips=None)
    return replace(
        cluster,
        name=f"{cluster.name}, {SCALE_OUT} as {wiring.name}",
        record_name=cluster.record_name or cluster.name,
        max_chips=most,
        levels=(*inner, *levels),
    )
