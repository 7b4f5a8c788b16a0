"""The folder of short launches: a framework's own files, the scripts that keep logs, a manifest."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Any

from frozen_records import dataclass
from planner.base.errors import InputError
from planner.base.messages import not_one_of
from planner.base.version import SCHEMA_VERSION, __version__
from planner.evidence.calibration.launches import manifest as names
from planner.evidence.calibration.launches.measured import READERS
from planner.evidence.calibration.launches.short import Short, short_launches
from planner.frameworks.registry import framework_of
from planner.frameworks.targets import TARGETS
from planner.frameworks.writing import Profiled, export_plan
from planner.plan import Plan
from planner.question.files.plan_text import plan_fields, plan_text
from planner.question.provenance import versions
from planner.question.resolved import Resolved
from strict_yaml.writing import dump

PROFILED = Profiled(steps=20, recorded=2)
"""Five steps warm up (`training_logs.log.WARM_UP`), the last two are recorded."""
_TESTS = ("all_gather", "reduce_scatter", "all_reduce", "alltoall", "sendrecv")


@dataclass(frozen=True, slots=True, kw_only=True)
class ToMeasure:
    """A launch to run.

    Attributes:
        name: Of its folder.
        tells: What it tells apart, in words.
        nodes, chips, layers, sequences: How large it is.
        command: What is typed on every node, in the folder of all.
        step_time_s: Predicted.
    """

    name: str
    tells: str
    nodes: int
    chips: int
    layers: int
    sequences: int
    command: str
    step_time_s: float


@dataclass(frozen=True, slots=True, kw_only=True)
class MeasureResult:
    """The answer of `planner measure`.

    Attributes:
        framework, home: What runs the launches, and the variable that says where it lies.
        chip, cluster: What is measured.
        launches: The launches, the first one the base of the others.
        nccl: The command of the tests of collectives; empty: the plan has none.
        remarks: What the launches leave to other settings, one sentence each.
        texts: Every file by its path in the folder.
    """

    framework: str
    home: str
    chip: str
    cluster: str
    launches: tuple[ToMeasure, ...]
    nccl: str
    remarks: tuple[str, ...]
    texts: dict[str, str]

    def to_dict(self, folder: str = "") -> dict[str, Any]:
        """JSON-ready data; see docs/json.md."""
        fields = {**asdict(self), "files": sorted(self.texts), "folder": folder}
        del fields["texts"]
        return {"schema_version": SCHEMA_VERSION, **fields, "versions": versions()}


def measurements(
    resolved: Resolved, plan: Plan, framework: str, folder: Path | None = None
) -> MeasureResult:
    """The short launches of a plan, as files; nothing is written.

    Args:
        resolved: Job and cluster of the plan.
        plan: The plan.
        framework: What runs them, a key of `READERS`.
        folder: Where the files will lie: the user's own files that lie in it are named from there.

    Raises:
        InputError: The framework cannot be measured or cannot run the launches, or none fits.
    """
    cost = resolved.cost
    _check_framework(framework, cost.job.framework.name)
    texts: dict[str, str] = {}
    written, entries, remarks = [], [], dict[str, None]()
    for short in short_launches(cost, plan):
        export = export_plan(
            short.cost, short.plan, TARGETS[framework], allow_lossy=False, profiled=PROFILED
        )
        texts |= {f"{short.name}/{file.name}": file.text for file in export.files}
        texts[f"{short.name}/{names.SCRIPT}"] = _script(export.files[0].name)
        remarks |= {f"{lost.field}: {lost.reason}": None for lost in export.lossy}
        written.append(_to_measure(short))
        entries.append(_entry(short))
    nccl = _nccl(plan, cost.cluster.node_chips)
    if nccl:
        texts[f"{names.NCCL}/{names.SCRIPT}"] = nccl
    comments = ["The plan whose step is to be predicted; planner calibrate --measurements reads it"]
    texts[names.PLAN] = plan_text(resolved, plan, comments, folder)
    nodes = sorted({one.nodes for one in written})
    texts[names.NAME] = _manifest(resolved, framework, entries, nodes if nccl else [])
    return MeasureResult(
        framework=framework,
        home=READERS[framework].home,
        chip=cost.chip.name,
        cluster=cost.cluster.name,
        launches=tuple(written),
        nccl=f"bash {names.NCCL}/{names.SCRIPT}" if nccl else "",
        remarks=tuple(remarks),
        texts=texts,
    )


def check_measured(framework: str) -> None:
    """Refuses frameworks whose logs are not read.

    Raises:
        InputError: It is one.
    """
    if framework not in READERS:
        raise InputError(f"framework: {not_one_of(framework, tuple(READERS))}")


def _check_framework(framework: str, profile: str) -> None:
    """Refuses frameworks whose logs are not read, and plans predicted for another one.

    Raises:
        InputError: It is one of these.
    """
    check_measured(framework)
    own = framework_of(profile)
    if own is None or TARGETS[framework] not in own.targets:
        raise InputError(
            f"framework: the plan is predicted for {profile}, not for {framework}; solve or "
            f"evaluate it with --framework {framework}"
        )


def _to_measure(short: Short) -> ToMeasure:
    return ToMeasure(
        name=short.name,
        tells=short.tells,
        nodes=short.nodes,
        chips=short.plan.chips,
        layers=short.layers,
        sequences=short.cost.job.global_batch,
        command=_command(short.name),
        step_time_s=short.predicted_s,
    )


def _command(name: str) -> str:
    return f"bash {name}/{names.SCRIPT}"


def _entry(short: Short) -> dict[str, Any]:
    """A launch as the manifest has it."""
    fields = plan_fields(short.plan)
    return {
        "name": short.name,
        "tells": short.tells,
        "nodes": short.nodes,
        "layers": short.layers,
        "global_batch_seqs": short.cost.job.global_batch,
        "plan": fields,
        "command": _command(short.name),
        "logs": names.LOGS,
        "traces": list(names.TRACES),
    }


def _manifest(
    resolved: Resolved, framework: str, entries: list[dict[str, Any]], nodes: list[int]
) -> str:
    cost = resolved.cost
    data: dict[str, Any] = {
        "schema_version": SCHEMA_VERSION,
        "framework": framework,
        "chip": cost.chip.name,
        "cluster": cost.cluster.name,
        "recorded_steps": PROFILED.recorded,
        "plan": names.PLAN,
        "launches": entries,
    }
    if nodes:
        command = _command(names.NCCL)
        data["nccl"] = {"command": command, "nodes": nodes, "logs": names.NCCL_LOGS}
    head = (
        f"# Short launches of planner {__version__}; planner calibrate --measurements reads them.\n"
    )
    return head + dump(data, leaves_in_flow=True, width=100)


def _script(main: str) -> str:
    """Runs the framework's script in its folder and keeps what it prints."""
    return (
        "#!/usr/bin/env bash\n"
        "# Runs the launch of this folder on this node, and keeps its log.\n"
        "set -euo pipefail\n"
        'cd "$(dirname "$0")"\n'
        f'bash {main} 2>&1 | tee "log-${{NODE_RANK:-${{SLURM_NODEID:-0}}}}.txt"\n'
    )


def _nccl(plan: Plan, node_chips: int) -> str:
    """Runs nccl-tests (rccl-tests) for the collectives of a plan; empty: one chip has none."""
    if plan.chips == 1:
        return ""
    wanted = [
        plan.dp * plan.fsdp * plan.tp * plan.cp > 1,
        plan.dp * plan.fsdp * plan.tp * plan.cp > 1,
        plan.dp * plan.fsdp * plan.tp > 1,
        plan.ep > 1 or (plan.cp > 1 and plan.cp_mode == "all-to-all"),
        plan.pp > 1 or (plan.cp > 1 and plan.cp_mode == "ring"),
    ]
    tests = [name for name, needed in zip(_TESTS, wanted, strict=True) if needed]
    chips = min(node_chips, plan.chips)
    return (
        "#!/usr/bin/env bash\n"
        "# nccl-tests (rccl-tests on AMD) of the collectives of the plan, on one node, or with\n"
        "# NODES=2 over two of them, where they were built with MPI=1.\n"
        "set -euo pipefail\n"
        'cd "$(dirname "$0")"\n'
        "NODES=${NODES:-1}\n"
        f"for test in {' '.join(tests)}; do\n"
        '  program="${NCCL_TESTS_HOME:-.}/build/${test}_perf"\n'
        "  options=(-b 64K -e 1G -f 4)\n"
        '  if [ "$NODES" = 1 ]; then\n'
        f'    "$program" "${{options[@]}}" -g {chips}\n'
        "  else\n"
        f'    mpirun -np "$((NODES * {chips}))" -N {chips} "$program" "${{options[@]}}" -g 1\n'
        '  fi | tee "${test}_perf-$NODES.txt"\n'
        "done\n"
    )
