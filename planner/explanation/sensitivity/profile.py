"""Numbers of a framework's memory profile that an answer may lean on."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from planner.explanation.sensitivity.numbers import Lever, Number
from planner.explanation.sensitivity.rebuilding import Rebuilding

_DOCUMENTED = (
    "weight_bytes", "gradient_bytes", "whole_gradient_bytes", "optimizer_bytes", "gated_saved",
    "plain_saved", "combined_saved", "logits_bytes",
)  # fmt: skip
"""Bytes per parameter, activation and logit, which follow from documented data types."""
_ASSUMED = (
    "lingering_logits_bytes", "gather_buffers", "weight_gradient_buffer", "gradient_residue",
    "embedding_residue", "optimizer_phase", "gathered_layers", "constant_bytes",
)  # fmt: skip
"""What allocators keep beside those, fitted to few runs or assumed."""
_SOURCE = "planner.frameworks.profiles, checked against published peak memory"


def of_framework(made: Rebuilding) -> Iterator[Lever]:
    """Bytes that the framework of the job keeps; zeros have no relative change."""
    model = made.model
    profile = model.framework
    for name in (*_DOCUMENTED, *_ASSUMED):
        value = getattr(profile, name)
        if not value:
            continue
        known = name in _DOCUMENTED
        yield Lever(
            number=Number(
                record=f"framework {profile.name}",
                path=f"framework.{name}",
                value=value,
                unit="B" if name == "constant_bytes" else "",
                kind="derived" if known else "assumed",
                source=_SOURCE,
                note="from documented data types" if known else "fitted to few runs, or assumed",
            ),
            times=lambda factor, name=name, value=value: replace(  # type: ignore[misc]
                model,
                job=replace(model.job, framework=replace(profile, **{name: value * factor})),
            ),
        )
