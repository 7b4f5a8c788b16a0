"""Lengths that attention spans: packed documents and warm-ups, against counting and other jobs."""

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from cost.cases import Case, case_of

from models_db import Model, load_model
from planner.base.errors import InputError
from planner.cost.breakdown import Breakdown
from planner.cost.kernels.shapes import shapes_of
from planner.plan import Plan
from planner.question.kinds.lengths import lengths_in
from planner.question.request import request_from
from planner.question.resolved import resolve

ASKED = {"model": "llama3-8b", "hardware": "dgx-h100-ndr", "chips": 16, "seq_len": 8192}


def counted(model: Model, documents: list[int], seq_len: int) -> float:
    """Keys that tokens see, twice, averaged over tokens and layers, token by token.

    The continuous mean, as the cost model takes it: token t (from 0) of a piece sees t + 1/2.
    """
    pieces = []
    for tokens in documents:
        pieces += [seq_len] * (tokens // seq_len) + [tokens % seq_len]
    total = 0.0
    for window in model.attention_windows:
        for piece in pieces:
            ahead = np.arange(piece) + 0.5
            total += float(np.minimum(ahead, window or piece).sum())
    return 2 * total / sum(documents) / model.layers


@pytest.mark.parametrize("name", ["llama3-8b", "gemma2-9b"])
def test_keys_are_those_of_every_token(name: str) -> None:
    """Documents drawn at random, some longer than a sequence, full attention and windows."""
    model, rng = load_model(name), np.random.default_rng(24)
    for seq_len in (4096, 8192):
        documents = np.maximum(rng.lognormal(6.5, 1.6, 300), 1).astype(int).tolist()
        assert max(documents) > seq_len
        given: dict[str, float] = {}
        for tokens in documents:
            given[str(tokens)] = given.get(str(tokens), 0.0) + 7.0 * tokens
        spans = lengths_in(given, seq_len)
        assert sum(share for _, share in spans) == pytest.approx(1.0)
        found = shapes_of(model, seq_len, spans).context
        assert found == pytest.approx(counted(model, documents, seq_len), rel=1e-3)
        assert found < shapes_of(model, seq_len).context


@pytest.mark.parametrize("spread", [0.0, 0.3, 1.2, 3.0])
def test_two_moments_are_enough_without_windows(spread: float) -> None:
    spans = lengths_in({"mean": 600.0, "cv": spread}, 2**24)
    context = shapes_of(load_model("llama3-8b"), 2**24, spans).context
    assert context == pytest.approx(600 * (1 + spread**2), rel=1e-6)


def compared(case: Case, spans: tuple[tuple[float, float], ...], micro_batch: int) -> Breakdown:
    changed = replace(case, job=replace(case.job, lengths=spans))
    return changed.run([Plan(dp=8, tp=2, micro_batch=micro_batch, sharding="zero1")])


@pytest.mark.parametrize("name", ["llama3-8b", "gemma2-9b"])
def test_equal_documents_cost_what_sequences_of_that_length_do(name: str) -> None:
    """One sequence of four documents is a micro-batch of four sequences, to the last part."""
    packed = compared(case_of(name, seq_len=8192, batch=16), ((2048.0, 1.0),), 1)
    apart = compared(case_of(name, seq_len=2048, batch=64), (), 4)
    assert packed.step_time_s[0] == pytest.approx(apart.step_time_s[0], rel=1e-12)
    assert packed.energy.total[0] == pytest.approx(apart.energy.total[0], rel=1e-12)
    assert packed.flop[0] == pytest.approx(apart.flop[0], rel=1e-12)
    assert packed.memory_per_chip_bytes[0] == pytest.approx(apart.memory_per_chip_bytes[0])


def test_a_warm_up_is_the_mean_over_its_tokens() -> None:
    phases = ((2048.0, 0.2), (4096.0, 0.3), (8192.0, 0.5))
    case = case_of(seq_len=8192, batch=16)
    whole = compared(case, phases, 1)
    alone = [compared(case, ((length, 1.0),), 1) for length, _ in phases]
    for part in ("compute", "memory_bound"):
        mean = sum(s * one.time_parts[part][0] for (_, s), one in zip(phases, alone, strict=True))
        assert whole.time_parts[part][0] == pytest.approx(mean, rel=1e-12)
    times = [one.step_time_s[0] for one in alone]
    assert times == sorted(times)
    mean = sum(share * time for (_, share), time in zip(phases, times, strict=True))
    assert math.isclose(whole.step_time_s[0], mean, rel_tol=1e-3)


def test_forms_mean_the_same() -> None:
    for given in ("512=1, 2048=3", {512: 1, 2048: 3.0}, {"512": "1", "2048": "3"}):
        spans = resolve(request_from({**ASKED, "lengths": given})).cost.job.lengths
        assert spans == ((512.0, 0.25), (2048.0, 0.75))
    moments = request_from({**ASKED, "lengths": {"mean": 600, "cv": 1.2}})
    assert moments.lengths == request_from({**ASKED, "lengths": "mean=600,cv=1.2"}).lengths


@pytest.mark.parametrize(("given", "words"), [
    ({"lengths": "foo"}, "'foo' is not of the form 2048=0.25,8192=0.75 .* or mean=600,cv=1.2"),
    ({"lengths": {}}, "is not of the form"),
    ({"lengths": "512=1,512=2"}, "has a length twice"),
    ({"lengths": "0=1"}, "'0' is not a length from 1 to 16,777,216"),
    ({"lengths": "512=0"}, "'512': '0' is not a positive number"),
    ({"lengths": "512=nan"}, "'512': 'nan' is not a positive number"),
    ({"lengths": "mean=600"}, "mean: give both mean and cv"),
    ({"lengths": "mean=600,cv=1,512=1"}, "give both mean and cv and nothing else"),
    ({"lengths": "mean=600,cv=9"}, "cv: 9 is not in 0..5"),
    ({"lengths": "mean=0.5,cv=1"}, "mean: 0.5 is not in 1..16777216"),
    ({"lengths": "8192=1"}, "no effect: attention spans no less than in whole sequences of 8,192"),
    ({"lengths": "512=1", "era": "megatron-2022"}, "no effect: .* has no fused kernel"),
    ({"lengths": "512=1", "hardware": "tpu-v5p", "assumptions": "roofline"},
     "no effect: under roofline no attention is counted"),
])  # fmt: skip
def test_what_cannot_be_meant_is_refused(given: dict[str, Any], words: str) -> None:
    with pytest.raises(InputError, match=f"^lengths: .*{words}"):
        resolve(request_from({**ASKED, **given}))
