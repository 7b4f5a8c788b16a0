"""What the flags of `planner solve` say, as fields of a question."""

from __future__ import annotations

from typing import Any

from planner.base.errors import InputError
from planner.base.messages import shortened, shown
from planner.cli.output import number


def machine_fields(
    pes: str | None,
    topology: list[str] | None,
    scale: str | None,
    slow: list[str] | None,
    *budgets: str | None,
) -> dict[str, Any]:
    """What is asked of the machines; budgets in the order of their flags."""
    limits = zip(("total_pes", "max_area", "max_links", "max_ports"), budgets, strict=True)
    asked = {"pes": pes, "topology": topology or None, "scale": names_of(scale)}
    return {**asked, "degrade_link": slow or None, **dict(limits)}


def stage_fields(layout: str | None, gap: str | None, points: str | None) -> dict[str, Any]:
    """What is asked of the stages of a pipeline."""
    return {"layout": layout, "gap": number(gap), "front_points": points}


def launch_fields(placement: str | None, targets: str | None) -> dict[str, Any]:
    """What is asked of the ranks, and of what runs them."""
    return {"placement": placement, "runnable_in": names_of(targets)}


def limit_fields(power: str | None, step_time: str | None, mfu: str | None) -> dict[str, Any]:
    """What a plan may draw and take, and must reach."""
    return {"max_power": power, "max_step_time": step_time, "min_mfu": number(mfu)}


def run_fields(tokens: str | None, price: str | None, carbon: str | None) -> dict[str, Any]:
    """What is said of the whole training run."""
    return {
        "train_tokens": tokens,
        "price_per_chip_hour": number(price),
        "carbon_intensity": number(carbon),
    }


def names_of(text: str | None) -> list[str] | None:
    """`fsdp, tp` as its words."""
    return None if text is None else [name.strip() for name in text.split(",")]


def fixes_of(texts: list[str] | None) -> dict[str, list[str]] | None:
    """`["pp=8,16"]` as `{"pp": ["8", "16"]}`."""
    if not texts:
        return None
    fixes: dict[str, list[str]] = {}
    problems = []
    for text in texts:
        name, equals, values = text.partition("=")
        field = name.strip().replace("-", "_")
        if not field or not equals or not values:
            problems.append(f"fix: {shown(text)} is not of the form FIELD=VALUES, e.g. pp=8")
            continue
        if field in fixes:
            both = shortened(",".join([*fixes[field], values]))
            problems.append(
                f"fix: {field} is given twice; write its values at once: {field}={both}"
            )
            continue
        fixes[field] = [value.strip() for value in values.split(",")]
    if problems:
        raise InputError("\n".join(problems))
    return fixes
