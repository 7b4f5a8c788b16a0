"""The certificate of a search over uniform plans as a document that stands alone."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from planner.base.arrays import IntArray
from planner.base.errors import InputError
from planner.base.version import __version__
from planner.plan import CP_MODES, RECOMPUTATIONS, SHARDINGS, SPLITS
from planner.plan.plan import offload_names
from planner.question.files.plan_text import asked_of, plan_fields
from planner.question.request import Request
from planner.question.resolved import resolve
from planner.results.plan import PlanResult
from planner.results.result import SolveResult
from planner.schedules import SCHEDULES
from planner.search.space import Inner, Pass, Trail
from planner.search.uniform.batch import Batch
from planner.search.uniform.engine import UniformSpace
from planner.search.uniform.mesh_memory import (
    NOTHING_FITS,
    least_recompute,
    searched_recomputes,
)
from planner.search.uniform.meshes import enumerate_meshes
from planner.search.uniform.space import PartialPlans
from planner.verification.asked import fingerprints, not_covered
from planner.verification.document import FORMAT, sealed, text_of
from planner.verification.stages.checking import not_covered as stages_not_covered

_MESH = ("tp", "cp", "pp", "dp", "fsdp", "ep", "etp")
ARCHIVE = ".zip"
"""Ending of proofs with integer programs, of stages that differ."""
_STAGES = ("factorizations", "meshes", "partial_plans", "plans")


def check_covered(request: Request, path: Path) -> None:
    """Refuses to certify what no certificate covers, before the search.

    Raises:
        InputError: The question is such, with the reason; or the file has another ending.
    """
    if path.suffix.lower() not in (".json", ARCHIVE):
        raise InputError(
            f"certificate: {path}: a certificate is written as .json, or of stages that differ and "
            f"of pools as {ARCHIVE}"
        )
    archived = path.suffix.lower() == ARCHIVE
    if why := stages_not_covered(request) if archived else not_covered(request):
        raise InputError(f"certificate: {why}")


def certificate_text(request: Request, trail: Trail, result: SolveResult) -> str:
    """The file; arguments and errors as of `certificate_document`."""
    return text_of(certificate_document(request, trail, result))


def certificate_document(request: Request, trail: Trail, result: SolveResult) -> dict[str, Any]:
    """The certificate of an answer.

    Args:
        request: The question.
        trail: Of its search.
        result: The answer.

    Raises:
        InputError: Time ran out before the space was listed, or it is not the one asked for.
    """
    asked = 0 if result.best is None else -1  # what was searched instead has no plan either
    last = trail.passes[asked] if trail.passes else None
    if last is None or last.solution is None:
        raise InputError("certificate: time ran out before there was anything to certify")
    space = last.space
    assert isinstance(space, UniformSpace)
    resolved = resolve(request)
    if space.options.runnable_in != resolved.runners.targets:
        raise InputError(
            f"certificate: no plan runs in {resolved.runners.words}, and the answer is of all "
            "plans; ask for these with --runnable-in any"
        )
    nodes = _Nodes(last, space)
    counts = space.counts(last.solution)
    return sealed(
        {
            "certificate": FORMAT,
            "question": asked_of(request),
            "versions": {"planner": __version__},
            "records": fingerprints(resolved),
            "space": {
                "kind": "uniform",
                "chips": list(space.chips),
                "clocks": space.clocks.tolist(),
                "runnable_in": [target.name for target in space.options.runnable_in],
            },
            "counts": {stage: counts[stage] for stage in _STAGES},
            "nodes": nodes.parts(),
            "plans": nodes.plans(),
            "front": [_point(plan) for plan in result.front.plans],
            "best": None if result.best is None else _point(result.best),
            "claim": _claim(result),
        }
    )


def _claim(result: SolveResult) -> dict[str, Any]:
    own = result.certificate
    return {
        "status": own.status,
        "objective_name": own.objective_name,
        "objective": own.objective,
        "bound": own.bound,
        "gap": own.gap,
        "front_complete": result.best is not None and result.front.complete,
    }


def _point(result: PlanResult) -> dict[str, Any]:
    return {
        "plan": plan_fields(result.plan),
        "step_time_s": result.step_time_s,
        "energy_j": result.energy_per_step_j,
    }


class _Nodes:
    """The nodes of a pass by what became of them."""

    def __init__(self, last: Pass, space: UniformSpace) -> None:
        assert last.solution is not None
        assert space.last is not None
        self.last, self.space, self.partial_plans = last, space, space.last.partial_plans
        count = len(self.partial_plans)
        opened, left = np.zeros((2, count), dtype=np.bool_)
        left[last.solution.left] = True
        for some in last.opened:
            inside = any(np.isin(inner.nodes, some).any() for inner in last.inner)
            opened[some] = inside or not left[some].all()  # else time ended while plans were listed
        self.searched = np.flatnonzero(opened & ~left)
        self.begun, self.waiting = np.flatnonzero(opened & left), np.flatnonzero(left & ~opened)
        self.closed = np.flatnonzero(~opened & ~left)

    def parts(self) -> dict[str, Any]:
        """As `planner.verification.document.Nodes`."""
        model, limits = self.space.model, self.space.limits
        options = self.space.options
        meshes = enumerate_meshes(model, self.space.chips, options)
        codes = searched_recomputes(model, options)
        least = least_recompute(model, meshes, limits, offload=options.offload, codes=codes)
        columns = np.stack([meshes.columns[name] for name in _MESH], axis=1)
        fits = least[:, 0] != NOTHING_FITS
        lost, fitting = columns[~fits], least[fits]
        return {
            "no_memory": [_mesh_row(row) for row in lost.tolist()],
            "closed": self._bounded(self.closed, fitting),
            "searched": _names(self.partial_plans, self.searched),
            "begun": self._bounded(self.begun, fitting),
            "waiting": self._bounded(self.waiting, fitting),
        }

    def _bounded(self, nodes: IntArray, least: IntArray) -> list[list[Any]]:
        """The rows of nodes with the recomputations of their bounds, and the least of these."""
        codes = least[self.partial_plans.mesh_id[nodes]].tolist()
        lowest = self.last.corners[nodes].min(axis=1).tolist()
        rows = _names(self.partial_plans, nodes)
        return [
            [*row, " or ".join(RECOMPUTATIONS[code] for code in sorted({*some})), *low]
            for row, some, low in zip(rows, codes, lowest, strict=True)
        ]

    def plans(self) -> dict[str, Any]:
        """As `planner.verification.document.Plans`."""
        place = np.full(len(self.partial_plans), -1)
        place[self.searched] = np.arange(len(self.searched))
        closed: list[list[Any]] = []
        costed: list[list[Any]] = []
        for inner in self.last.inner:
            assert isinstance(inner.holder, Batch)
            at = place[inner.nodes]
            opened = np.zeros(len(at), dtype=np.bool_)
            opened[inner.opened] = True
            costed += _choices(inner, at, np.flatnonzero(opened & (at >= 0)))
            others = np.flatnonzero(~opened & (at >= 0))
            lowest = inner.corners[others].min(axis=1).tolist()
            rows = _choices(inner, at, others)
            closed += [[*row, *low] for row, low in zip(rows, lowest, strict=True)]
        return {"closed": closed, "costed": costed}


def _names(partial_plans: PartialPlans, nodes: IntArray) -> list[list[Any]]:
    """Rows of partial plans, with names in place of codes."""
    mesh = partial_plans.mesh_id[nodes]
    axes = [partial_plans.meshes.columns[name][mesh].tolist() for name in _MESH]
    own = {name: column[nodes].tolist() for name, column in partial_plans.columns.items()}
    schedules = [SCHEDULES[code] for code in own["schedule"]]
    splits = [SPLITS[code] for code in own["split"]]
    columns = zip(*axes, own["micro_batch"], schedules, own["interleave"], splits, strict=True)
    return [[*_mesh_row(row[: len(_MESH)]), *row[len(_MESH) :]] for row in columns]


def _mesh_row(sizes: Sequence[int]) -> list[int]:
    """A mesh; etp is left out where it is 1."""
    return list(sizes if sizes[-1] > 1 else sizes[:-1])


def _choices(inner: Inner, node: IntArray, rows: IntArray) -> list[list[Any]]:
    """Rows of plans: the number of their node, and their choices by name."""
    assert isinstance(inner.holder, Batch)
    plans = inner.holder.logical.plans.take(rows)
    columns = zip(
        node[rows].tolist(),
        [SHARDINGS[code] for code in plans.sharding.tolist()],
        plans.sequence_parallel.tolist(),
        [CP_MODES[code] for code in plans.cp_mode.tolist()],
        [RECOMPUTATIONS[code] for code in plans.recompute.tolist()],
        ["+".join(offload_names(mask)) for mask in plans.offload.tolist()],
        strict=True,
    )
    return [list(row) for row in columns]
