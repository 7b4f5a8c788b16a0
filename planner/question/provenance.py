"""What an answer says of itself: the job as it was understood, versions, sources."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import hardware_db
import models_db
from planner.assumptions.optimizers import ADAM, UNQUANTIZED
from planner.base.version import SCHEMA_VERSION, __version__
from planner.base.vocabulary import ADAPTERS, MATRICES, TOWER_RECOMPUTE
from planner.cost.context import CostModel
from planner.question.resolved import Resolved


def job_fields(resolved: Resolved) -> dict[str, Any]:
    """The resolved job as JSON-ready data."""
    job, cluster = resolved.cost.job, resolved.cost.cluster
    margin, targets = resolved.request.memory_margin, job.lora_targets
    again = job.tower_recompute
    return {
        "model": job.model.name,
        "parameters": job.model.total_parameters,
        "active_parameters": job.model.active_parameters,
        "hardware": cluster.name,
        "chip": cluster.chip.name,
        "chips": resolved.chips,
        "batch_tokens": resolved.batch_tokens,
        "global_batch": resolved.batch_tokens / resolved.seq_len
        if resolved.cost.assumptions.token_granularity
        else job.global_batch,
        "seq_len": resolved.seq_len,
        **({} if (spans := resolved.request.lengths) is None else {"lengths": spans}),
        "precision": job.precision,
        **({"fp8_recipe": job.fp8_recipe} if job.fp8_recipe else {}),
        "job": job.kind,
        **({} if job.frozen_weights == UNQUANTIZED else {"frozen_weights": job.frozen_weights}),
        **({} if job.adapter == ADAPTERS[0] else {"adapter": job.adapter}),
        **({"lora_targets": list(targets)} if len(targets) % len(MATRICES) else {}),
        **({"lora_dropout": job.lora_dropout} if job.lora_dropout else {}),
        **({"reference": job.reference} if job.reference else {}),
        **({"images": job.images} if job.images else {}),
        **({} if again == TOWER_RECOMPUTE else {"tower_recompute": again}),
        **({} if job.optimizer == ADAM else {"optimizer": job.optimizer}),
        "framework": job.framework.name,
        "era": job.era,
        "assumptions": resolved.cost.assumptions.name,
        "power_cap_w": resolved.request.power_cap,
        "cooling": resolved.cooling,
        "host_w_per_chip": cluster.chip.host_w,
        "pue": resolved.cost.facility.pue,
        "collectives": resolved.cost.assumptions.collectives,
        **({"degrade_link": list(slow)} if (slow := resolved.request.degrade_link) else {}),
        **({} if margin is None else {"memory_margin": margin}),
    }


def versions(schema: int = SCHEMA_VERSION) -> dict[str, str]:
    """Versions of the program, the schema of a document, the databases and fitted constants.

    What one moves, no other does: the hash of the hardware database is without the constants.
    """
    return {
        "planner": __version__,
        "schema": str(schema),
        "hardware_db": hardware_db.facts_hash(),
        "models_db": models_db.database_hash(),
        "constants": hardware_db.constants_hash(),
    }


def versions_in(data: Mapping[str, Any]) -> dict[str, Any]:
    """The versions of a document, told as `versions` does.

    Before, the hash of the hardware database covered the constants too: where that is the one of
    today, so are both.
    """
    if data.get("hardware_db") != hardware_db.database_hash():
        return dict(data)
    here = versions()
    return {**data, **{name: here[name] for name in ("hardware_db", "constants")}}


def stamped(fields: Mapping[str, Any]) -> dict[str, Any]:
    """A JSON document: its schema first, then its fields, and the versions last."""
    return {"schema_version": SCHEMA_VERSION, **fields, "versions": versions()}


def sources_of(model: CostModel) -> dict[str, str]:
    """Titles of the documents behind the numbers used, by record and key."""
    records: dict[str, Mapping[str, Any]] = {
        f"model {model.job.model.name}": model.job.model.sources,
        f"chip {model.chip.name}": model.chip.sources,
        f"cluster {model.cluster.name}": model.cluster.sources,
    }
    return {
        f"{record}: {key}": source.title
        for record, sources in records.items()
        for key, source in sources.items()
    }
