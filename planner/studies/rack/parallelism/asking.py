"""What `planner rack parallelism` is asked, as text, and its answer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import fields
from typing import Any

from frozen_records import dataclass
from planner.base.messages import Attempts, Origin
from planner.base.units import parse_whole
from planner.question.provenance import stamped
from planner.studies.rack.model.lists import whole_list
from planner.studies.rack.model.machine import FULL_BLOCK, parse_sram
from planner.studies.rack.parallelism.figures import FIGURES, Figure, figures
from planner.studies.rack.parallelism.setting import READINGS, Setting
from planner.studies.whatif import cluster_with, with_each_counted

HARDWARE = "c2c-ndr400-rack"
_NUMBERS = (
    "rack_chips", "memory_chips", "block_size", "micro_batches", "sequences", "seq_len", "hidden",
    "width", "pes",
)  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class ParallelismAnswer:
    """Figures of the report on energy and latency.

    Attributes:
        setting: What they are drawn for.
        figures: In the order of their numbers.
    """

    setting: Setting
    figures: tuple[Figure, ...]

    def to_dict(self) -> dict[str, Any]:
        """For JSON."""
        drawn = {str(figure.number): figure.to_dict() for figure in self.figures}
        return stamped({"setting": setting_words(self.setting), "figures": drawn})


def setting_words(setting: Setting) -> dict[str, Any]:
    """The setting as the command's flags name it."""
    names = (
        "block_size", "micro_batches", "sequences", "seq_len", "hidden", "width", "memory_chips",
        *READINGS,
    )  # fmt: skip
    chip = setting.machine.chip
    return {
        "hardware": setting.cluster.name,
        "rack_chips": setting.machine.rack_chips,
        "pes": setting.gpu_pes,
        "sram_bytes": chip.sram_bytes,
        "block_sizes": list(setting.block_sizes),
    } | {name: getattr(setting, name) for name in names}


def figures_asked(numbers: Sequence[str] | None, given: Mapping[str, Any]) -> ParallelismAnswer:
    """The figures that flags ask for.

    Args:
        numbers: Figures such as `2`, `2,5` or `2-4`, one text per flag; None: all.
        given: Flags of the setting by name, None where not given.

    Raises:
        InputError: One line per mistake.
    """
    texts = given.get("set")
    return with_each_counted(
        texts, lambda some: _drawn(numbers, {**given, "set": some}), ParallelismAnswer.to_dict
    )


def _drawn(numbers: Sequence[str] | None, given: Mapping[str, Any]) -> ParallelismAnswer:
    """The figures, whatever of them the changes move."""
    tried = Attempts(Origin(dashes=True), {"figure", *given})
    wanted = tried.attempt(_figures, numbers) if numbers else FIGURES
    setting = _setting(given, tried)
    if setting is None or wanted is None or tried.problems:
        raise tried.error()
    return ParallelismAnswer(setting=setting, figures=tuple(figures(setting, wanted)))


def _figures(numbers: Sequence[str]) -> tuple[int, ...]:
    return whole_list(list(numbers), "figure", FIGURES[0], FIGURES[-1], "2-4 or 2,5")


def _setting(given: Mapping[str, Any], tried: Attempts) -> Setting | None:
    """The setting of flags; its mistakes are noted."""
    asked = given.get("hardware")
    cluster = tried.attempt(cluster_with, HARDWARE if asked is None else asked, given.get("set"))
    known: dict[str, Any] = {name: text for name, text in given.items() if text is not None}
    known = {name: text for name, text in known.items() if name not in ("hardware", "set")}
    for name in _NUMBERS:
        if name in known:
            number = tried.attempt(parse_whole, known.pop(name), name.replace("_", "-"))
            known |= {} if number is None else {name: number}
    if "sram" in known:
        known["sram_bytes"] = tried.attempt(parse_sram, known.pop("sram"))
    if "block_sizes" in known:
        sizes = tried.attempt(whole_list, known.pop("block_sizes"), "block-sizes", 1, FULL_BLOCK)
        known |= {} if sizes is None else {"block_sizes": sizes}
    if cluster is None:
        return None
    assert set(known) <= {field.name for field in fields(Setting)}
    return tried.attempt(Setting, cluster=cluster, **known)
