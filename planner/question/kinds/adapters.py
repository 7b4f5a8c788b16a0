"""Adapters and preference pairs of a question: what it says of them, and what it may not say."""

from __future__ import annotations

from collections.abc import Iterator

from models_db import Model
from planner.base.vocabulary import ATTENTION_MATRICES, MATRICES, TARGET_GROUPS
from planner.question.request import Request

_OF_ADAPTERS = {
    "lora_rank": "the rank",
    "adapter": "the adapter",
    "lora_targets": "the matrices",
    "lora_dropout": "the dropout",
}


def targets_in(request: Request) -> tuple[str, ...]:
    """The matrices that a question names, each once, in their order."""
    named = {name for word in request.lora_targets for name in TARGET_GROUPS.get(word, (word,))}
    return tuple(name for name in MATRICES if name in named)


def tuning_problems(request: Request) -> list[str]:
    """Fields that mean nothing for the kind of job, one line each."""
    return [*_without_adapters(request), *_without_pairs(request)]


def _without_adapters(request: Request) -> Iterator[str]:
    given, job = request.model_fields_set, request.job
    if job == "lora":
        return
    for name, what in _OF_ADAPTERS.items():
        value = getattr(request, name)
        if name in given and value is not None:
            shown = ",".join(value) if isinstance(value, tuple) else value
            yield (
                f"{name.replace('_', '-')}: {shown} has no effect on a {job} job; make the job "
                f"lora or leave {what} out"
            )
    if "frozen_weights" in given:
        yield (
            f"frozen-weights: {request.frozen_weights} has no effect on a {job} job, which trains "
            "all weights; make the job lora or leave it out"
        )


def _without_pairs(request: Request) -> Iterator[str]:
    reference, job = request.reference, request.job
    if reference is not None and job == "pretrain":
        yield (
            f"reference: {reference} has no effect on a pretrain job, which has no preference "
            "pairs; make the job finetune (dpo) or lora (dpo-lora), or leave it out"
        )
    elif reference == "adapters" and job != "lora":
        yield (
            f"reference: a {job} job has no adapters to leave out; use model or precomputed, or "
            "make the job lora"
        )


def target_problems(model: Model, request: Request) -> Iterator[str]:
    """Matrices with adapters that a model does not have, one line each."""
    targets = {*targets_in(request)}
    whole = {*ATTENTION_MATRICES}
    if request.job != "lora":
        return
    if "gate" in request.lora_targets and not model.mlp.gated:
        yield f"lora-targets: the MLP of {model.name} has no gate; leave gate out"
    if model.attention.kind == "mla" and targets & whole and not whole <= targets:
        yield (
            f"lora-targets: {model.name} has latent attention, whose matrices have adapters "
            "together; use attention in place of "
            f"{', '.join(name for name in ATTENTION_MATRICES if name in targets)}"
        )
