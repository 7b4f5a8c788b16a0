"""Certificates that hold, of several kinds of questions; what is written and what is refused."""

import itertools
import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
import verification.conftest as shared
from cli.command import planner
from pydantic import ValidationError
from support.cases import each

from planner.answers.api import solve_request
from planner.answers.files.certificate import certificate_text
from planner.base.errors import InputError
from planner.question.request import request_from
from planner.search.driver import Driver
from planner.search.space import Trail
from planner.verification.checking import verify
from planner.verification.document import Certificate, seal, sealed, text_of

JOBS: list[dict[str, Any]] = [
    {"model": "mixtral-8x7b", "hardware": "gb200-nvl72", "chips": 8, "objective": "energy"},
    {
        "model": "mixtral-8x7b", "hardware": "dgx-h100-ndr", "chips": 16, "seq_len": 4096,
        "batch_tokens": 2**16, "fix": {"etp": ["1", "2"], "cp": ["1"]},
    },
    {
        "model": "mixtral-8x7b", "hardware": "dgx-h100-ndr", "chips": 16, "seq_len": 4096,
        "batch_tokens": 2**18, "fix": {"recompute": ["any"], "cp": ["1"]}, "clocks": False,
    },
    {"model": "llama2-7b", "chips": 8, "placement": "all", "framework": "textbook"},
    {"model": "gpt3-175b", "hardware": "h100-sxm5-80", "chips": 8},
    {**shared.JOB, "chips": 24, "framework": "jax"},  # which has plans on 16
    {
        "model": "llama2-13b", "hardware": "dgx-a100-80-hdr", "chips": 8, "batch_tokens": 2**17,
        "framework": "deepspeed", "offload": True,
    },
    {"model": "llama3-8b", "hardware": "mi300x", "chips": "4..8", "objective": "edp"},
    {
        "model": "llama3-8b", "hardware": "h100-sxm5-80", "chips": 8, "framework": "torchtitan",
        "max_power": 12e3, "max_oom_risk": 0.05, "fix": {"pp": ["1", "2"]},
    },
    {
        "model": "llama2-13b", "chips": 256, "batch_tokens": 3e6, "assumptions": "roofline",
        "mfu": 0.4, "axes": ["fsdp", "tp"], "min_mfu": 0.1,
    },
    {  # which has plans on 3, each of other shares of the tokens
        "model": "gpt3-125m", "hardware": "h100-sxm5-80", "chips": 4, "assumptions": "roofline",
        "batch_tokens": 2**16, "max_power": 3e3, "min_mfu": 0.9,
    },
]  # fmt: skip


@each("job", JOBS)
def test_certificates_of_questions_hold(job: dict[str, Any]) -> None:
    verdict = verify(shared.certificate_of(**job))
    assert verdict.verified, verdict.fault
    assert verdict.checked["meshes"] > 0


@each(("price", "unit"), [(3.0, "money"), (None, "chip h")])
def test_a_claim_has_the_unit_of_what_is_minimized(price: float | None, unit: str) -> None:
    asked = {**shared.JOB, "objective": "money", "price_per_chip_hour": price}
    claim = verify(shared.certificate_of(**asked)).claim
    assert claim.endswith(f" {unit}") or f" {unit};" in claim, claim


def test_a_certificate_says_what_the_answer_says(certificate: dict[str, Any]) -> None:
    answer = solve_request(request_from(shared.JOB))
    assert certificate["claim"]["objective"] == answer.objective
    assert certificate["claim"]["bound"] == answer.bound
    assert [point["step_time_s"] for point in certificate["front"]] == [
        plan.step_time_s for plan in answer.front
    ]
    assert certificate["counts"]["plans"] == answer.candidates.counts["plans"]
    assert certificate["sha256"] == seal(certificate)


def test_costing_every_plan_needs_no_bound(certificate: dict[str, Any]) -> None:
    text = json.dumps(certificate)
    few, every = verify(text), verify(text, every=True)
    assert every.verified
    assert every.checked["candidates costed"] > few.checked["candidates costed"]
    assert len(every.trusted) < len(few.trusted)


EXPERTS = {"model": "mixtral-8x7b", "hardware": "gb200-nvl72", "chips": 16, "batch_tokens": 2**18}


@pytest.fixture(scope="module")
def best_s() -> float:
    """The least step time of `EXPERTS`, proved."""
    found = solve_request(request_from(EXPERTS))
    assert found.status == "optimal"
    return float(found.objective)


@each(
    "ticks, status",
    [(12.0, "time_limit"), (14.0, "time_limit"), (16.0, "feasible"), (17.0, "feasible"),
     (20.0, "optimal")],
)  # fmt: skip
def test_what_was_found_in_time_is_certified_with_its_gap(
    ticks: float, status: str, best_s: float
) -> None:
    clock = itertools.count()
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(time, "perf_counter", lambda: float(next(clock)))
        text = shared.certificate_of(**EXPERTS, time_limit=ticks)
    found = json.loads(text)
    assert found["claim"]["status"] == status
    assert 1.5 < found["claim"]["bound"] <= best_s * (1 + 1e-12)
    assert found["nodes"]["waiting"]
    assert not found["claim"]["front_complete"]
    verdict = verify(text)
    assert verdict.verified, verdict.fault


def test_without_time_nothing_is_certified_and_the_answer_stands(tmp_path: Path) -> None:
    path = tmp_path / "cert.json"
    found = planner("solve", *ASKED, "--time-limit", "1e-9", "--certificate", path)
    assert found.code == 4
    assert f"certificate: {path} is not written: time ran out" in found.err
    assert not path.exists()


def test_without_a_trail_nothing_is_kept() -> None:
    assert Driver().trail is None


def test_a_search_that_no_certificate_covers_is_refused() -> None:
    request, trail = (
        request_from({**shared.JOB, "model": "opt-6.7b", "framework": "nanotron"}),
        Trail(),
    )
    answer = solve_request(request, trail=trail)
    with pytest.raises(InputError, match="ask for these with --runnable-in any"):
        certificate_text(request, trail, answer)


ASKED = [f"--{name.replace('_', '-')}={value}" for name, value in shared.JOB.items()]


@each(
    "flags, said",
    [
        (["--layout", "uneven"], "stages that differ"),
        (["--placement", "torus"], "layouts over a torus"),
        (["--clocks", "per-operation"], "plans of one clock, not those per operation"),
        (["--phases", "1e9", "--phases", "1e9"], "not the phases of a run"),
        (["--front", "time,energy,memory"], "fronts of time and energy"),
        (["--objective", "memory"], "not memory"),
        (["--pes", "64,132", "--total-pes", "2112"], "one machine"),
        (["--vary", "memory.bandwidth=1x,2x"], "is about one answer"),
    ],
)
def test_questions_that_no_certificate_covers_are_refused_first(
    flags: list[str], said: str, tmp_path: Path
) -> None:
    path = tmp_path / "cert.json"
    found = planner("solve", *ASKED, *flags, "--certificate", path)
    assert found.code == 2
    assert said in found.mistakes[0]
    assert not path.exists()


def test_commands_write_and_check_a_certificate(tmp_path: Path) -> None:
    path = tmp_path / "cert.json"
    assert planner("solve", *ASKED, "--certificate", path, "--quiet").code == 0
    found = planner("verify", path)
    assert found.code == 0
    assert "verified" in found.out
    document = json.loads(path.read_text())
    document["claim"]["gap"] = 0.01
    path.write_text(json.dumps(document))
    refused = planner("verify", path, "--json")
    assert refused.code == 1
    assert refused.document["fault"] == "sha256: the seal is not that of the content"
    assert refused.mistakes == [f"{path} is refused: sha256: the seal is not that of the content"]


@each(
    "content, said",
    [
        ("", "not JSON"),
        ("{", "not JSON"),
        ("[1]", "no field 'certificate'"),
        ("{}", "no field 'certificate'"),
        ('{"certificate": {"status": 2}, "x": 1}', "is a front, not a certificate"),
        ('{"certificate": "a"}', "is a front, not a certificate"),
        ('{"certificate": 2}', "format 2"),
        ('{"certificate": true, "nodes": {}}', "no field 'certificate' with a number"),
        ('{"certificate": 1}', "question: is missing"),
        ("[" * 100_000, "more than 9,333 lists and objects"),
        ("[" * 900 + " " * 100_000, "not JSON"),
    ],
)
def test_other_files_are_no_certificates(content: str, said: str, tmp_path: Path) -> None:
    path = tmp_path / "cert.json"
    path.write_text(content)
    found = planner("verify", path)
    assert found.code == 2
    assert said in found.mistakes[0]


def test_a_file_of_another_ending_is_refused_first(tmp_path: Path) -> None:
    found = planner("solve", *ASKED, "--certificate", tmp_path / "cert.txt")
    assert found.code == 2
    assert found.mistakes == [
        f"certificate: {tmp_path / 'cert.txt'}: a certificate is written as .json, "
        "or of stages that differ and of pools as .zip"
    ]


def test_a_check_loads_nothing_of_the_search(certificate: dict[str, Any], tmp_path: Path) -> None:
    path = tmp_path / "cert.json"
    path.write_text(json.dumps(certificate))
    program = (
        "import sys; from pathlib import Path; from planner.verification.checking import verify; "
        f"assert verify(Path({str(path)!r}).read_text(), every=True).verified; "
        "print([name for name in sys.modules if name.startswith(('planner.search', 'solvers'))])"
    )
    found = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert found.stdout == "[]\n"


@each(("inner", "words"), [
    ("[]," * 2000, r"more than 1,[0-9]+ lists and objects in [0-9,]+ bytes; --largest-file"),
    ('["a", 1, "b"],' * 2000, "question: is missing"),
])  # fmt: skip
def test_many_wrong_rows_are_few_mistakes(inner: str, words: str) -> None:
    text = '{"certificate": 1, "nodes": {"closed": [' + inner + "[]]}}"
    with pytest.raises(ValidationError) as caught:
        Certificate.model_validate_json(text, strict=True)
    assert caught.value.error_count() < 60, "the first wrong row is said alone"
    with pytest.raises(InputError, match=f"is no certificate: .*{words}"):
        verify(text)


def test_assumptions_of_a_file_are_told_by_what_they_say(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A relative name once made the same file another one."""
    monkeypatch.chdir(tmp_path)
    Path("own.yaml").write_text("dp_overlap: 0.5\n", encoding="utf-8")
    asked = ("--model", "gpt3-125m", "--hardware", "h100-sxm5-80", "--chips", "2")
    assert (
        planner("solve", *asked, "--assumptions", "own.yaml", "--certificate", "c.json").code == 0
    )
    assert planner("verify", "c.json").code == 0
    Path("own.yaml").write_text("dp_overlap: 0.6\n", encoding="utf-8")
    refused = planner("verify", "c.json", "--json")
    assert refused.code == 1
    assert "the assumptions here is not that of the certificate" in refused.document["fault"]


@each("field, value", [("model", "{}"), ("hardware", "{}"), ("pools", "dgx-h100-ndr=8,{}=8")])
def test_a_pipe_in_place_of_a_record_is_refused_and_not_read(
    field: str, value: str, certificate: dict[str, Any], tmp_path: Path
) -> None:
    pipe = tmp_path / "record.yaml"
    os.mkfifo(pipe)
    question = {**certificate["question"], field: value.format(pipe)}
    unsealed = {name: part for name, part in certificate.items() if name != "sha256"}
    found = verify(text_of(sealed({**unsealed, "question": question})))
    assert found.fault == f"question: {pipe} is no regular file"


def test_what_is_certified_names_all_that_was_asked(tmp_path: Path) -> None:
    path = tmp_path / "cert.json"
    narrowed = (*ASKED, "--fix", "tp=2", "--set", "memory.bandwidth=2x")
    planner("solve", *narrowed, "--certificate", path)
    found = " ".join(planner("verify", path).out.split())
    assert "fix tp=2" in found
    assert "set memory.bandwidth=2x" in found
    document = json.loads(path.read_text())
    path.write_text(json.dumps({**document, "question": {**document["question"], "fix": {}}}))
    refused = planner("verify", path)
    assert refused.code == 1
    assert "certified" not in refused.out


def test_an_archive_without_a_plan_is_not_written_and_the_answer_stands(tmp_path: Path) -> None:
    path = tmp_path / "proof.zip"
    uneven = (*ASKED, "--layout", "uneven", "--front-points", "1", "--max-step-time", "1ms")
    found = planner("solve", *uneven, "--certificate", path)
    assert found.code == 3
    assert "No plan fits (proved)" in found.out
    assert f"certificate: {path} is not written: an archive proves" in found.err
    assert not path.exists()
