"""Records that say what they are like and what differs, and what else follows from a difference.

    like: h100-sxm5-80
    name: my-chip
    memory: {bandwidth: {value: 6.7e+12, unit: B/s, kind: assumed, note: twice the stacks}}

Numbers that say the same in another way follow in proportion, unless they are given too: the rate
of one link that of all links, a peak the clock, the FLOP per cycle a peak, the power of busy
kernels the rated one.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from frozen_records import dataclass
from hardware_db.errors import HardwareError, nearest
from hardware_db.provenance import is_quantity
from strict_yaml.merging import is_group, is_named, leaf_paths, merged, node_at
from strict_yaml.text import YamlText

LIKE = "like"
"""The field that names the record, or the file, that a file is like."""
LABELS = ("name", "title", "architecture", "year", "process", "note", "sources")
"""Fields at the top of a file from which nothing is computed."""
_CLUSTER_ONLY = ("levels", "chip", "node_chips", "max_chips")
_RATES = ("bandwidth", "link_bandwidth", "bidirectional", "peer_bandwidth", "bandwidth_by_group")
_LINKS = {
    "bandwidth": _RATES,
    "link_bandwidth": _RATES,
    "links": ("bandwidth", "bidirectional", "bandwidth_by_group"),
    "bidirectional": _RATES,
}
_MOST_LIKE = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class Whole:
    """The content of a record, of one that is like another with what that has.

    Attributes:
        data: As a file without `like` has it.
        text: The file itself, for messages.
        base: The record that it is like; None: none.
        changed: Dotted paths of what differs from that, labels left out.
        derived: Dotted paths of what no file says and follows from other numbers.
    """

    data: dict[str, Any]
    text: YamlText
    base: Whole | None = None
    changed: tuple[str, ...] = ()
    derived: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Parts:
    """What a cluster is made of.

    Attributes:
        cluster, chip: The content of their records.
        by_chip: Whether the chip was named, and its default cluster is of another one.
    """

    cluster: Whole
    chip: Whole
    by_chip: bool = False


def is_cluster(data: Mapping[str, Any]) -> bool:
    """Whether a file is about a cluster: it has fields that no chip has."""
    return bool(set(data) & set(_CLUSTER_ONLY))


def base_of(data: Mapping[str, Any], text: YamlText, seen: tuple[str, ...]) -> str:
    """What a file is like: a name, or a path seen from where the program runs.

    Raises:
        HardwareError: It names none, or a circle of files.
    """
    name = data[LIKE]
    if not isinstance(name, str) or not name.strip():
        raise HardwareError(text.located(f"{LIKE}: the name of a record or a file is required"))
    path = Path(text.name).parent / name
    base = str(path) if is_path(name) else name.strip().lower()
    if base in seen or len(seen) > _MOST_LIKE:
        raise HardwareError(text.located(f"{LIKE}: {name!r} leads back to itself"))
    return base


def is_path(name: str) -> bool:
    """Whether a name is the path of a file."""
    return name.endswith((".yaml", ".yml")) or "/" in name or "\\" in name


def like(base: Whole, over: Mapping[str, Any], text: YamlText) -> Whole:
    """A record that is like another.

    Args:
        base: The other.
        over: What differs, as a file has it.
        text: That file, for messages.

    Raises:
        HardwareError: It has no name of its own.
    """
    own = {key: node for key, node in over.items() if key != LIKE}
    changed = tuple(path for path in leaf_paths(own) if path.split(".")[0] not in LABELS)
    name = base.data.get("name")
    if own.get("name", name) == name and changed:
        raise HardwareError(
            f"{text}: name: what differs from {name} has a name of its own, e.g. my-{name}"
        )
    _check_levels(base.data.get("levels"), own.get("levels"), text)
    titled = {"title": own.get("name", name), **own}
    whole = _followed(base.data, own, merged(base.data, titled))
    if "chip" in own:  # of a cluster: that one, not a mixture
        whole["chip"] = own["chip"]
    outside = tuple(path for path in changed if path.split(".")[0] != "chip")
    return Whole(data=whole, text=text, base=base, changed=outside)


def _check_levels(known: Any, given: Any, text: YamlText) -> None:
    """Refuses a level that the base does not have and that says too little to be a new one."""
    if not (is_named(known) and is_named(given)):
        return
    names = [level["name"] for level in known]
    for at, level in enumerate(given):
        if level["name"] not in names and "kind" not in level:
            hint = nearest(level["name"], names) or f"; allowed: {', '.join(names)}"
            raise HardwareError(
                text.located(f"levels[{at}].name: {level['name']!r} is no level of the base{hint}")
            )


def _followed(base: Mapping[str, Any], own: Mapping[str, Any], data: Any) -> dict[str, Any]:
    """The data in which what says the same in another way follows."""
    found = {key: dict(part) if is_group(part) else part for key, part in data.items()}
    if is_group(base.get("scale_up")) and "scale_up" in own:
        found["scale_up"] = _links(base["scale_up"], own["scale_up"], data["scale_up"])
    if "levels" in base and is_named(own.get("levels")):
        found["levels"] = [
            _links(node_at(base, path), node_at(own, path), level)
            for level in data["levels"]
            for path in [f"levels.{level['name']}"]
        ]
    ratio = _ratio(base.get("clock"), own.get("clock"))
    peaks: Any = base.get("peak")
    if ratio is not None and is_group(peaks) and is_group(found["peak"]):
        _scale(found["peak"], peaks, own.get("peak"), peaks, ratio, "the clock")
    ratio = _ratio(node_at(base, "power.tdp"), node_at(own, "power.tdp"))
    if ratio is not None and is_group(found["power"]):  # kernels ask for more than either
        _scale(found["power"], base["power"], own["power"], ("busy",), ratio, "power.tdp")
    _mac(base, own, found)
    _widths(base, own, found)
    return found


def _links(base: Any, own: Any, data: Any) -> Any:
    """The rates of links, of a chip or of a level."""
    if not (is_group(base) and is_group(own) and is_group(data)):
        return data
    found = dict(data)
    for name, others in _LINKS.items():
        ratio = _ratio(base.get(name), own.get(name))
        if ratio is not None and not (name != "bandwidth" and "bandwidth" in own):
            _scale(found, base, own, others, ratio, name)
    return found


def _scale(
    found: dict[str, Any],
    base: Any,
    own: Any,
    names: Iterable[str],
    ratio: float,
    why: str,
) -> None:
    """Multiplies those numbers of the base that were not given themselves."""
    for name in names:
        node: Any = base.get(name) if is_group(base) else None
        if is_group(own) and name in own:
            continue
        if is_quantity(node):
            found[name] = _times(node, ratio, why)
        elif is_group(node) and name == "bandwidth_by_group":
            found[name] = {key: _times(part, ratio, why) for key, part in node.items()}


def _mac(base: Mapping[str, Any], own: Mapping[str, Any], found: dict[str, Any]) -> None:
    """The energy of a multiply-accumulate with that of the FLOP that hold it."""
    flops = node_at(own, "energy.flop")
    macs = node_at(base, "energy.mac")
    if not is_group(flops) or not is_group(macs):
        return
    if not is_group(found["energy"].get("mac")):
        return
    energies = dict(found["energy"]["mac"])
    for name in flops:
        ratio = _ratio(node_at(base, f"energy.flop.{name}"), flops[name])
        if ratio is not None:
            _scale(energies, macs, node_at(own, "energy.mac") or {}, (name,), ratio, "energy.flop")
    found["energy"]["mac"] = energies


def _widths(base: Mapping[str, Any], own: Mapping[str, Any], found: dict[str, Any]) -> None:
    """FLOP per cycle of a processing element, where its peak, the clock or their number differ.

    Where it is given itself, the peak follows it.
    """
    widths: Any = node_at(found, "pe.flop_per_clock")
    peaks: Any = found.get("peak")
    if not (is_group(widths) and is_group(peaks)):
        return
    count, clock = (_number(node_at(found, path)) for path in ("pe.count", "clock"))
    made = dict(widths)
    for name, width in widths.items():
        peak, was = node_at(found, f"peak.{name}"), node_at(base, f"peak.{name}")
        given = node_at(own, f"pe.flop_per_clock.{name}") is not None
        if given and node_at(own, f"peak.{name}") is None:
            ratio = _ratio(node_at(base, f"pe.flop_per_clock.{name}"), width)
            if ratio is not None and is_quantity(was):
                peaks[name] = _times(was, ratio, "pe.flop_per_clock")
        elif not given and peak != was and count and clock and _number(peak) and _number(width):
            ratio = (_number(peak) or 0.0) / (count * clock * (_number(width) or 1.0))
            made[name] = _times(width, ratio, f"peak.{name}")
    found["pe"] = {**found["pe"], "flop_per_clock": made}


def _number(node: Any) -> float | None:
    value = node.get("value") if isinstance(node, Mapping) else None
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else None


def _ratio(before: Any, after: Any) -> float | None:
    """How many times as large a number is; None: one of the two is none, or nothing differs."""
    old, new = _number(before), _number(after)
    return None if not old or not new or old == new else new / old


def _times(node: Mapping[str, Any], ratio: float, why: str) -> dict[str, Any]:
    """A quantity so many times as large, because of another one."""
    value = node["value"]
    if value is None:
        return dict(node)
    return {
        **{key: node[key] for key in ("unit", "source") if key in node},
        "value": value * ratio,
        "kind": "assumed",
        "note": f"{ratio:.6g} times that of the base, as {why} is given",
    }
