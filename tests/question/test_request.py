"""A question made concrete: defaults, their reasons, and what they are."""

from typing import Any

import pytest
from support.cases import each

from hardware_db import list_clusters, load_cluster
from models_db import list_models
from planner import InputError
from planner.question.request import request_from
from planner.question.resolved import resolve


def defaults_of(**fields: Any) -> dict[str, str]:
    """Name to value of what was assumed."""
    return {name: value for name, value, _ in resolve(request_from(fields)).defaults}


def test_the_defaults_of_the_shortest_question() -> None:
    resolved = resolve(request_from({"model": "llama2-13b", "chips": 4096}))
    job, cluster = resolved.cost.job, resolved.cost.cluster
    assert cluster.name == "tpu-v5p"
    assert job.batch_tokens == 4 * 2**20
    assert job.seq_len == 4096, "what Llama 2 was trained with"
    assert (job.precision, job.kind, job.framework.name, job.era) == (
        "bf16", "pretrain", "jax", "jax",
    )  # fmt: skip
    assert resolved.cost.assumptions.name == "calibrated"
    assert set(defaults_of(model="llama2-13b")) == {
        "hardware", "framework", "seq-len", "batch-tokens", "precision", "era", "pue",
    }  # fmt: skip


@each("name", list_models())
def test_every_model_resolves_on_the_default_cluster(name: str) -> None:
    job = resolve(request_from({"model": name, "chips": 64})).cost.job
    assert abs(job.batch_tokens - 2**22) <= job.seq_len, "4 Mi tokens in whole sequences"


@each("name", list_clusters())
def test_every_cluster_resolves(name: str) -> None:
    resolved = resolve(request_from({"model": "gpt3-125m", "hardware": name, "chips": 1}))
    assert resolved.cost.cluster == load_cluster(name)
    assert resolved.cost.job.precision in resolved.cost.cluster.chip.peak_flop_per_s


def test_what_is_asked_for_is_not_a_default() -> None:
    fields = {
        "model": "llama2-13b", "hardware": "tpu-v5p", "framework": "jax", "seq_len": 2048,
        "batch_tokens": 2**20, "precision": "bf16", "era": "jax", "pue": 1.2,
    }  # fmt: skip
    assert defaults_of(**fields) == {}


def test_a_batch_is_rounded_only_when_it_is_a_default() -> None:
    resolved = resolve(request_from({"model": "gpt3-125m", "seq_len": 3000}))
    assert resolved.cost.job.global_batch == round(2**22 / 3000)
    with pytest.raises(InputError, match=r"4,194,000 or 4,197,000"):
        resolve(request_from({"model": "gpt3-125m", "seq_len": 3000, "batch_tokens": 2**22}))


def test_a_sequence_longer_than_the_default_batch() -> None:
    job = resolve(request_from({"model": "gpt3-125m", "seq_len": 2**23})).cost.job
    assert job.global_batch == 1


def test_a_request_is_immutable_and_equal_by_value() -> None:
    one = request_from({"model": "llama2-13b", "fix": {"tp": [2, 4]}, "axes": ["tp"]})
    assert one == request_from({"model": "llama2-13b", "fix": {"tp": ("2", "4")}, "axes": ("tp",)})
    with pytest.raises(Exception, match="frozen"):
        one.model = "x"


def test_the_given_mapping_is_not_changed() -> None:
    fields = {"model": "llama2-13b", "fix": {"tp": [2, 4]}, "axes": ["tp"]}
    request_from(fields)
    assert fields == {"model": "llama2-13b", "fix": {"tp": [2, 4]}, "axes": ["tp"]}
