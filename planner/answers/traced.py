"""A plan file as execution traces in Chakra's format: the answer of `planner export --chakra`."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Unpack

from frozen_records import dataclass
from planner.answers.exported import check_one_kind
from planner.base.errors import InputError
from planner.base.progress import Progress
from planner.cost.chakra.trace import GROUPS_FILE, MOST_NODES, Traces, traces_of
from planner.frameworks.rules import violations
from planner.plan import PlanTable
from planner.question.asked.typed import ExportFields
from planner.question.facility import under_limit
from planner.question.files.plan_file import read_plan_file
from planner.question.provenance import job_fields, stamped
from planner.question.resolved import resolve


@dataclass(frozen=True, slots=True, kw_only=True)
class ChakraResult:
    """Traces of a plan.

    Attributes:
        name: What the names of traces begin with.
        traces: Their ranks and nodes.
        job: The job, as results show it.
        files: Every file by its name.
    """

    name: str
    traces: Traces
    job: dict[str, Any]
    files: dict[str, bytes]

    def to_dict(self, folder: str = "") -> dict[str, Any]:
        """JSON-ready data; see docs/json.md."""
        traces = self.traces
        return stamped(
            {
                "job": self.job,
                "folder": folder,
                "name": self.name,
                "chips": traces.plan.chips,
                "ranks": list(traces.written),
                "nodes": traces.nodes,
                "nodes_by_stage": [len(nodes) for nodes in traces.stages],
                "groups": GROUPS_FILE,
                "files": sorted(self.files),
                "bytes": sum(map(len, self.files.values())),
            }
        )


def chakra_file(
    path: str | Path,
    *,
    every_rank: bool = False,
    max_nodes: int | None = None,
    row: int | None = None,
    on_progress: Progress | None = None,
    **fields: Unpack[ExportFields],
) -> ChakraResult:
    """The execution traces of a plan file; nothing is written.

    Args:
        path: A plan file, or a front.
        every_rank: Of all ranks; else of the first of each stage, to which the others are alike.
        max_nodes: Nodes of all files that may not be exceeded; None: `MOST_NODES`.
        row: Which plan of a front, from 1.
        on_progress: Called with (what, done, of).
        **fields: Fields of the job that replace those of the file.

    Raises:
        InputError: The file is none, the plan breaks a rule of arithmetic or has no trace, there
            are too many nodes, or protobuf is missing; a line each.
    """
    request, plan, origin, _ = read_plan_file(Path(path), fields, flags=True, row=row)
    check_one_kind(request)
    resolved = resolve(request, origin, plan.chips)
    model = resolved.cost
    plan = under_limit(plan, model.clock_limit)
    if broken := violations(model, PlanTable.from_plans([plan]), arithmetic_only=True):
        raise InputError("\n".join(f"plan: {line}" for line in broken))
    model.allocation(plan.chips)
    traces = traces_of(model, plan, every_rank=every_rank, most=max_nodes or MOST_NODES)
    name, files = model.job.model.name, {}
    for done, (file, content) in enumerate(traces.files(name)):
        files[file] = content
        if on_progress is not None:
            on_progress("traces", done + 1, len(traces.written) + 1)
    job = {**job_fields(resolved), "chips": plan.chips}
    return ChakraResult(name=name, traces=traces, job=job, files=files)
