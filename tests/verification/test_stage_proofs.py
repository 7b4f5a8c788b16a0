"""Proofs whose stages differ: written, verified by another solver, and refused where altered."""

from __future__ import annotations

import json
import random
import re
import zipfile
from dataclasses import replace
from io import BytesIO
from itertools import product
from random import Random
from typing import Any

import pytest
from support.cases import each

from planner.answers.api import solve_request
from planner.answers.files.stage_proof import solved_again, stage_proof
from planner.base.errors import InputError
from planner.question.request import request_from
from planner.search.space import Trail
from planner.verification.stages.checking import not_covered, verify_stages
from planner.verification.stages.document import archive, opened

JOBS: dict[str, dict[str, Any]] = {
    "uneven": {
        "model": "llama3-8b", "hardware": "a100-sxm4-80", "chips": 8, "batch_tokens": 2**17,
        "fix": {"pp": ["4"], "interleave": ["1"]}, "front_points": 1,
    },
    "pools": {
        "model": "gpt3-350m", "pools": {"dgx-h100-ndr": 2, "dgx-a100-80-hdr": 2},
        "batch_tokens": 2**15, "framework": "megatron", "precision": "bf16",
    },
}  # fmt: skip
SEED, TIMES = 30, 2
Parts = tuple[dict[str, Any], dict[str, str]]


def noise(length: int) -> str:
    """Text that packs badly."""
    return Random(1).randbytes(length // 2 + 1).hex()[:length]


def made(job: str) -> bytes:
    """The archive of a job."""
    request, trail = request_from({**JOBS[job], "layout": "uneven"}), Trail()
    return stage_proof(request, trail, solve_request(request, trail=trail))


@pytest.fixture(scope="module")
def proofs() -> dict[str, bytes]:
    """The archive of every job."""
    return {job: made(job) for job in JOBS}


@each("job", list(JOBS))
def test_another_solver_confirms_the_proof(job: str, proofs: dict[str, bytes]) -> None:
    found = verify_stages(proofs[job])
    assert found.verified, found.fault
    assert found.checked["programs solved by SCIP"] > 0
    assert archive(*parts_of(proofs[job])) == proofs[job], "the same proof has the same bytes"


def parts_of(content: bytes) -> Parts:
    """Document and programs, to be altered."""
    document, _, texts = opened(content, "proof")
    return json.loads(json.dumps(document)), dict(texts)


def test_a_question_that_no_search_takes_is_refused(proofs: dict[str, bytes]) -> None:
    document, texts = parts_of(proofs["uneven"])
    document["question"]["clocks"] = "per-operation"
    assert "not searched with layout uneven" in verify_stages(archive(document, texts)).fault


def test_any_damage_of_an_archive_is_said_in_one_line() -> None:
    """Each byte outside of the packed texts takes other values in turn."""
    texts = {f"programs/{at}.mps": "ENDATA\n" * at for at in range(3)}
    whole = archive({"stages": 1}, texts)
    said = set()
    for at, value in product(range(len(whole)), (0, 14, 255)):
        damaged = bytes([*whole[:at], value, *whole[at + 1 :]])
        with pytest.raises(InputError) as error:
            opened(damaged, "proof.zip")
        said.add(str(error.value))
    for cut in range(0, len(whole), 9):
        with pytest.raises(InputError, match=r"^proof\.zip: is no certificate: "):
            opened(whole[:cut], "proof.zip")
    assert len(said) > 1
    assert all(re.fullmatch("proof.zip: is no certificate: .+", one) for one in said)


@each(("parts", "words"), [
    ({"other.json": "{}"}, "'other.json' in it is neither proof.json nor programs/NUMBER.mps"),
    ({"programs/1.mps": " " * 200_000}, "unpacked more than 100 times as large .*--largest-file"),
    ({"proof.json": '{"a":[' + "{}," * 60_000 + "{}]}"}, "more than 50,000 objects and lists; --l"),
    ({"proof.json": noise(2**20 + 1)}, "proof.json is larger than 1 MiB; --largest-file"),
])  # fmt: skip
def test_an_archive_has_limits(parts: dict[str, str], words: str) -> None:
    kept = BytesIO()
    with zipfile.ZipFile(kept, "w", zipfile.ZIP_DEFLATED) as file:
        for name, text in {"proof.json": "{}", **parts}.items():
            file.writestr(name, text)
        if "programs/1.mps" not in parts:
            file.writestr("programs/9.mps", noise(8000))
    with pytest.raises(InputError, match=f"^proof.zip: is no certificate: .*{words}"):
        opened(kept.getvalue(), "proof.zip")


@pytest.mark.usefixtures("importable")
@each("job", list(JOBS))
def test_every_alteration_is_refused(job: str, proofs: dict[str, bytes]) -> None:
    import stage_tampering  # noqa: PLC0415  (found beside benchmarks)

    rng, proof = random.Random(SEED), proofs[job]
    names = stage_tampering.possible(proof)
    believed = {"a slower plan, all dropped at once"} if "pools" in JOBS[job] else set()
    assert names == [name for name in stage_tampering.ALTERATIONS if name not in believed]
    taken = [
        name
        for name in names
        for _ in range(TIMES)
        if verify_stages(stage_tampering.altered(proof, name, rng)).verified
    ]
    assert taken == []


@pytest.mark.usefixtures("importable")
@each("job", list(JOBS))
def test_solved_again_the_programs_are_the_same(job: str, proofs: dict[str, bytes]) -> None:
    import stage_tampering  # noqa: PLC0415  (found beside benchmarks)

    assert solved_again(proofs[job], "proof") == ""
    parts = parts_of(proofs[job])
    stage_tampering.no_choice_needed(*parts, random.Random(SEED))
    assert "is not the program of its row" in solved_again(archive(*parts), "proof")


@each("content", [b"", b"PK", b"{}", archive({"stages": 1}, {})])
def test_what_is_no_archive_is_bad_input(content: bytes) -> None:
    with pytest.raises(InputError, match="is no certificate"):
        verify_stages(content)


def test_a_format_that_is_no_number_is_refused(proofs: dict[str, bytes]) -> None:
    document, texts = parts_of(proofs["uneven"])
    with pytest.raises(InputError, match=r"is no certificate: .*stages"):
        verify_stages(archive({**document, "stages": True}, texts))


@each(("changes", "said"), [
    ({"layout": "uniform"}, "name a .json file"),
    ({"objective": "energy"}, "cover the least step time, not energy"),
    ({"front_points": 3}, "add --front-points 1"),
])  # fmt: skip
def test_what_is_not_covered_says_so(changes: dict[str, Any], said: str) -> None:
    fields = {**JOBS["uneven"], "layout": "uneven", **changes}
    assert said in not_covered(request_from(fields))


SMALL: dict[str, Any] = {
    "model": "gpt3-350m", "hardware": "h100-sxm5-80", "chips": 2, "batch_tokens": 2**15,
    "fix": {"pp": ["2"], "interleave": ["1"]}, "layout": "uneven", "front_points": 1,
}  # fmt: skip


def test_an_answer_without_a_bound_is_not_certified() -> None:
    request, trail = request_from(SMALL), Trail()
    found = solve_request(request, trail=trail)
    late = replace(found, certificate=replace(found.certificate, status="feasible", bound=None))
    with pytest.raises(InputError, match="time ran out before there was anything to certify"):
        stage_proof(request, trail, late)


def test_an_answer_of_plans_that_nothing_runs_is_not_certified() -> None:
    """The question is about those that the framework launches, of which there are none."""
    request, trail = request_from({**SMALL, "framework": "torchtitan"}), Trail()
    found = solve_request(request, trail=trail)
    assert found.best is not None
    with pytest.raises(InputError, match=r"no plan runs in torchtitan.* with --runnable-in any"):
        stage_proof(request, trail, found)
