"""A job on pools of different chips made concrete: a cost model for each, and what they share."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

from frozen_records import dataclass
from models_db import Model
from planner.base.errors import InputError
from planner.base.messages import Attempts, Origin
from planner.cost.pools.pools import Pool, total_chips
from planner.machine.pool_text import pool_name
from planner.plan import Plan
from planner.question.files.plan_text import file_text, job_of
from planner.question.kinds.pools import check_hardware, too_many_stages
from planner.question.provenance import job_fields, sources_of
from planner.question.request import Request
from planner.question.resolved import Resolved, resolve

_SHARED = ("framework", "era", "precision")


@dataclass(frozen=True, slots=True, kw_only=True)
class ResolvedPools:
    """A request on pools made concrete.

    Attributes:
        request: As asked.
        each: The job on each pool alone.
        pools: Their names, chips and cost models.
    """

    request: Request
    each: tuple[Resolved, ...]
    pools: tuple[Pool, ...]

    @property
    def chips(self) -> int:
        """Chips of all pools."""
        return total_chips(self.pools)

    @property
    def model(self) -> Model:
        """What is trained."""
        return self.pools[0].model.job.model

    @property
    def defaults(self) -> tuple[tuple[str, str, str], ...]:
        """What was not asked for; of what pools differ in, each with its name."""
        first = self.each[0].defaults
        shared = [one for one in first if all(one in other.defaults for other in self.each)]
        own = [
            (f"{name} ({pool.name})", value, why)
            for pool, resolved in zip(self.pools, self.each, strict=True)
            for name, value, why in resolved.defaults
            if (name, value, why) not in shared
        ]
        return (*shared, *own)

    @property
    def job(self) -> dict[str, Any]:
        """The job as JSON-ready data."""
        found = job_fields(self.each[0])
        clusters = [pool.model.cluster for pool in self.pools]
        found["hardware"] = " + ".join(f"{pool.name} {pool.chips:,}" for pool in self.pools)
        found["chip"] = " + ".join(dict.fromkeys(cluster.chip.name for cluster in clusters))
        found["chips"] = self.chips
        found["host_w_per_chip"] = None
        found["pools"] = [
            {
                "name": pool.name,
                "hardware": pool.model.cluster.name,
                "chip": pool.model.chip.name,
                "chips": pool.chips,
                "host_w_per_chip": pool.model.chip.host_w,
            }
            for pool in self.pools
        ]
        return found

    def plan_job(self, folder: Path | None = None) -> dict[str, Any]:
        """The job as plan files in a folder hold it."""
        found = [job_of(resolved, folder) for resolved in self.each]
        names = [one["hardware"] for one in found]
        own = ("hardware", "cooling") if self.request.cooling is None else ("hardware",)
        shared = {name: value for name, value in found[0].items() if name not in own}
        pools = dict(zip(names, (pool.chips for pool in self.pools), strict=True))
        return {"model": shared.pop("model"), "pools": pools, **shared}

    @property
    def sources(self) -> dict[str, str]:
        """Titles of the documents behind the numbers of all pools."""
        found: dict[str, str] = {}
        for pool in self.pools:
            found |= sources_of(pool.model)
        return found


def plan_of_pools(
    resolved: ResolvedPools, plan: Plan, comments: list[str], folder: Path | None = None
) -> str:
    """The YAML of a plan file; arguments as of `planner.question.files.plan_text.plan_text`."""
    return file_text(resolved.plan_job(folder), plan, comments)


def resolve_pools(request: Request, origin: Origin) -> ResolvedPools:
    """Loads the records of every pool and builds its cost model.

    Raises:
        InputError: What cannot be used, one line per mistake.
    """
    check_hardware(request, origin)
    asked = dict(request.pools or {})
    tried = Attempts(origin, Request.model_fields)
    each = tuple(_alone(tried, request, name, chips) for name, chips in asked.items())
    known = [resolved for resolved in each if resolved is not None]
    if tried.problems:
        raise InputError("\n".join(dict.fromkeys(tried.problems)))
    known = _same_precision(tried, request, known)
    tried.add(_differences(known))
    if not tried.problems:
        model = known[0].cost.job.model
        if line := too_many_stages(asked, model.layers, model.name):
            tried.add([line])
    if tried.problems:
        raise InputError("\n".join(dict.fromkeys(tried.problems)))
    pools = tuple(
        Pool(name=pool_name(name), chips=chips, model=resolved.cost)
        for (name, chips), resolved in zip(asked.items(), known, strict=True)
    )
    return ResolvedPools(request=request, each=tuple(known), pools=pools)


def _alone(
    tried: Attempts, request: Request, hardware: str, chips: int, **changes: Any
) -> Resolved | None:
    """The job on one pool; None and the problems noted where it cannot be had."""
    alone = request.model_copy(
        update={"hardware": hardware, "chips": chips, "pools": None, **changes}
    )
    try:
        resolved = resolve(alone)
        resolved.cost.allocation(chips)
    except InputError as error:
        tried.add(_on_pool(line, hardware) for line in str(error).split("\n"))
        return None
    return resolved


def _on_pool(line: str, hardware: str) -> str:
    """A line about hardware or chips as one about its pool."""
    name, colon, text = line.partition(": ")
    if colon and name in ("hardware", "chips"):
        return f"pools: {text}"
    return line if hardware in line or name == "model" else f"{line} (pool {hardware})"


def _same_precision(tried: Attempts, request: Request, known: list[Resolved]) -> list[Resolved]:
    """The jobs in one precision: as asked, or the first default that every chip has."""
    found = [resolved.cost.job.precision for resolved in known]
    if len(set(found)) == 1 or request.precision is not None:
        return known
    peaks = [resolved.cost.chip.peak_flop_per_s for resolved in known]
    common = next((name for name in found if all(name in peak for peak in peaks)), None)
    if common is None:
        chips = ", ".join(
            f"{resolved.cost.chip.name} {name}" for resolved, name in zip(known, found, strict=True)
        )
        tried.add([f"precision: the chips of the pools have no common default ({chips}); give one"])
        return known
    again = [
        _alone(tried, request, resolved.request.hardware, resolved.chips, precision=common)
        for resolved in known
    ]
    return [
        replace(resolved, defaults=(*resolved.defaults, ("precision", common, "all chips have it")))
        for resolved in again
        if resolved is not None
    ]


def _differences(known: list[Resolved]) -> list[str]:
    """What has to be the same on all pools and is not."""
    lines = []
    for name in _SHARED:
        values = [getattr(resolved.cost.job, name) for resolved in known]
        words = list(dict.fromkeys(getattr(value, "name", value) for value in values))
        if len(words) > 1:
            lines.append(
                f"{name}: the chips of the pools have different ones ({', '.join(words)}); give one"
            )
            break
    return lines
