"""The question of `planner collective export`: a schedule, renumbered, as a file for others."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from frozen_records import dataclass
from planner.base.errors import InputError
from planner.base.files import read_text
from planner.base.messages import Attempts, Origin, not_one_of
from planner.base.units import parse_bytes
from planner.collectives.files.schedule_file import MscclOptions, schedule_xml, write_schedule
from planner.collectives.machines.renumber import (
    order_for,
    parse_order,
    parse_topo,
    renumbered,
    renumbered_machine,
)
from planner.collectives.msccl.program import PROTOCOLS, from_xml
from planner.collectives.msccl.run import run
from planner.collectives.msccl.xml import MAX_BYTES
from planner.collectives.questions.answers import question_fields, row_name
from planner.collectives.questions.question import Question
from planner.network.topology.figures import parse_amount
from solvers.collectives.problem import ROOTED
from solvers.collectives.schedule import Schedule


@dataclass(frozen=True, slots=True, kw_only=True)
class ExportAnswer:
    """What was written.

    Attributes:
        question: Collective and machine, renumbered.
        schedule: What is in the file.
        path: The file.
        order: The GPU that takes the place of each chip; empty: not renumbered.
        thread_blocks, channels, most_instructions: Of an MSCCL algorithm: of the GPU with most,
            in all, and of the longest thread block; 0: no such file.
        checked: What was replayed.
    """

    question: Question
    schedule: Schedule
    path: Path
    order: tuple[int, ...]
    thread_blocks: int = 0
    channels: int = 0
    most_instructions: int = 0
    checked: str = ""

    def to_fields(self) -> dict[str, Any]:
        """JSON-ready, without the versions."""
        schedule = self.schedule
        return {
            **question_fields(self.question),
            "file": str(self.path),
            "chunks": schedule.chunks,
            "steps": schedule.steps,
            "rounds": schedule.total_rounds,
            "sends": len(schedule.sends),
            "order": list(self.order) or None,
            "thread_blocks": self.thread_blocks or None,
            "channels": self.channels or None,
            "most_instructions": self.most_instructions or None,
            "checked": self.checked,
        }

    @property
    def name(self) -> str:
        """`(6, 3, 7)`."""
        return row_name(self.schedule)


def renumbering(question: Question, ranks: str | None, topo: Path | None) -> tuple[int, ...]:
    """The GPU that takes the place of each chip; empty: they stay as they are.

    Args:
        question: Its machine is what the schedule was made for.
        ranks: The order as typed.
        topo: File with the output of `nvidia-smi topo -m`.

    Raises:
        InputError: Both are given, the order is none, or the links differ.
    """
    network = question.machine.network
    if ranks is not None and topo is not None:
        raise InputError("topo: --ranks and --topo each say the order; give one of them")
    if ranks is not None:
        return parse_order(ranks, network.nodes)
    if topo is not None:
        return order_for(network, parse_topo(read_text(topo), str(topo)))
    return ()


def options_of(given: Mapping[str, Any]) -> MscclOptions:
    """How an MSCCL file is to be written, from flags.

    Raises:
        InputError: One line per mistake.
    """
    attempts = Attempts(Origin(dashes=True), ("min_bytes", "max_bytes"))
    low = high = None
    if given.get("min_bytes") is not None:
        low = attempts.attempt(parse_bytes, str(given["min_bytes"]), "min-bytes")
    if given.get("max_bytes") is not None:
        high = attempts.attempt(parse_amount, str(given["max_bytes"]), "max-bytes")
    protocol = given.get("protocol") or PROTOCOLS[0]
    if protocol not in PROTOCOLS:
        attempts.add([f"protocol: {not_one_of(protocol, PROTOCOLS)}"])
    if attempts.problems:
        raise attempts.error()
    return MscclOptions(
        name=given.get("name") or "",
        protocol=protocol,
        in_place=bool(given.get("in_place")),
        combined=bool(given.get("combined")),
        min_bytes=int(low or 0),
        max_bytes=MAX_BYTES if high is None else int(high),
    )


def exported(
    question: Question,
    schedule: Schedule,
    order: tuple[int, ...],
    path: Path,
    options: MscclOptions,
) -> ExportAnswer:
    """Writes a schedule; an MSCCL algorithm is run by the interpreter before.

    Raises:
        InputError: A limit of the MSCCL runtime is exceeded, or the file cannot be written.
    """
    if order:
        root = order[question.root] if question.collective in ROOTED else 0
        machine = renumbered_machine(question.machine, order)
        question = replace(question, machine=machine, root=root)
        schedule = renumbered(schedule, order)
    facts: dict[str, Any] = {"checked": "replayed by the rules of the model"}
    if path.suffix.lower() == ".xml":
        text = schedule_xml(question.machine, schedule, root=question.root, options=options)
        facts = _algorithm_facts(text, str(path))
    write_schedule(path, question.machine, schedule, root=question.root, options=options)
    return ExportAnswer(question=question, schedule=schedule, path=path, order=order, **facts)


def _algorithm_facts(text: str, name: str) -> dict[str, Any]:
    """Sizes of an algorithm, once the interpreter has run it.

    Raises:
        InputError: It does not do what it should.
    """
    program = from_xml(text, name)
    found = run(program)
    if found.faults:
        raise InputError("\n".join(f"{name}: {fault}" for fault in found.faults[:4]))
    blocks = [block for gpu in program.gpus for block in gpu.blocks]
    return {
        "thread_blocks": max(len(gpu.blocks) for gpu in program.gpus),
        "channels": program.channels,
        "most_instructions": max(len(block.steps) for block in blocks),
        "checked": "replayed by the rules of the model, and run by an interpreter of MSCCL",
    }
