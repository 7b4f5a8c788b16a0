"""A question made concrete: defaults, their reasons, and what they are."""

from typing import Any

import pytest
from support.cases import each

from hardware_db import list_clusters, load_cluster
from models_db import list_models
from planner import InputError
from planner.base.messages import Origin
from planner.question.asked import ASKED
from planner.question.asked.field import MACHINE
from planner.question.kinds.kind import OF_MACHINES, Kind, kind_of
from planner.question.kinds.uneven import check_uneven
from planner.question.request import request_from
from planner.question.resolved import resolve


def defaults_of(**fields: Any) -> dict[str, str]:
    """Name to value of what was assumed."""
    return {name: value for name, value, _ in resolve(request_from(fields), chips=8).defaults}


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


@each(
    ("model", "reason"),
    [
        ("llama3-8b", "what llama3-8b was trained with"),
        (
            "mixtral-8x22b",
            "assumed in the record of mixtral-8x22b: the context window; the length used in "
            "training is not published",
        ),
    ],
)
def test_a_length_of_training_that_nobody_published_is_not_said_to_be_known(
    model: str, reason: str
) -> None:
    noted = resolve(request_from({"model": model}), chips=64).defaults
    assert [why for name, _, why in noted if name == "seq-len"] == [reason]


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
    resolved = resolve(request_from({"model": "gpt3-125m", "seq_len": 3000}), chips=8)
    assert resolved.cost.job.global_batch == round(2**22 / 3000)
    with pytest.raises(InputError, match=r"4,194,000 or 4,197,000"):
        resolve(
            request_from({"model": "gpt3-125m", "seq_len": 3000, "batch_tokens": 2**22}), chips=8
        )


def test_a_sequence_longer_than_the_default_batch() -> None:
    job = resolve(request_from({"model": "gpt3-125m", "seq_len": 2**23}), chips=8).cost.job
    assert job.global_batch == 1


def test_what_is_resolved_has_its_chips() -> None:
    open_chips = request_from({"model": "gpt3-125m"})
    assert resolve(open_chips, chips=8).chips == 8
    four = open_chips.model_copy(update={"chips": 4})
    assert (resolve(four).chips, resolve(four).fewest_chips) == (4, 4)
    some = open_chips.model_copy(update={"chips": "4..16", "hardware": "dgx-h100-ndr"})
    assert (resolve(some).chips, resolve(some).fewest_chips) == (16, 4)
    assert resolve(some).counts == (4, 5, 6, 7, 8, 16)
    with pytest.raises(InputError, match=r"^chips: is missing; say how many chips to plan for"):
        resolve(open_chips)


def test_what_makes_a_question_one_over_machines() -> None:
    """All fields of machines do, but `scale`, which says what grows with their PEs."""
    assert {one.name for one in ASKED if one.panel == MACHINE} == {*OF_MACHINES, "scale"}
    given = {"pes": 64, "topology": ["ring"]} | dict.fromkeys(OF_MACHINES[2:], 100)
    assert len(given) == len(OF_MACHINES)
    for name, value in given.items():
        asked = request_from({"model": "gpt3-125m", name: value})
        assert kind_of(asked) is Kind.MACHINES, name
        lines = {"chips": 8, "layout": "uneven", **asked.model_dump(exclude_unset=True)}
        with pytest.raises(InputError, match=f"{name}: machines are not decided together"):
            check_uneven(request_from(lines), Origin())
    assert kind_of(request_from({"model": "gpt3-125m"})) is Kind.UNIFORM


def test_a_request_is_immutable_and_equal_by_value() -> None:
    one = request_from({"model": "llama2-13b", "fix": {"tp": [2, 4]}, "axes": ["tp"]})
    assert one == request_from({"model": "llama2-13b", "fix": {"tp": ("2", "4")}, "axes": ("tp",)})
    with pytest.raises(Exception, match="frozen"):
        one.model = "x"


def test_the_given_mapping_is_not_changed() -> None:
    fields = {"model": "llama2-13b", "fix": {"tp": [2, 4]}, "axes": ["tp"]}
    request_from(fields)
    assert fields == {"model": "llama2-13b", "fix": {"tp": [2, 4]}, "axes": ["tp"]}


@each("word", ["rl", "grpo", "PPO"])
def test_training_beside_rollouts_is_refused_with_what_can_be_planned(word: str) -> None:
    fields = {"model": "gpt3-125m", "chips": 8, "lengths": {"512": 1.0}, "runnable_in": ["jax"]}
    with pytest.raises(InputError) as caught:
        request_from({**fields, "job": word})
    (line,) = str(caught.value).splitlines()
    assert line.startswith(f"job: {word} trains beside rollouts")
    assert ("critic" in line) == (word == "PPO")
    command = line[line.index("planner solve") :]
    assert command.split()[-2:] == ["--job", "finetune"]
    assert "--lengths 512=1" in command
    assert "--runnable-in jax" in command
    fields = {name: value for name, value in fields.items() if name != "lengths"}
    with pytest.raises(InputError, match="with their tokens as --seq-len"):
        request_from({**fields, "job": word})


@each(
    ("word", "said"),
    [
        ("orpo", "job: orpo learns from pairs without a reference model: plan it as --job sft"),
        ("KTO", "job: KTO is not planned; --job dpo is the nearest"),
        ("ipo", "job: ipo costs what --job dpo does"),
        ("gspo", "job: gspo trains beside rollouts"),
    ],
)
def test_other_preferences_are_refused_by_name(word: str, said: str) -> None:
    with pytest.raises(InputError, match=said):
        request_from({"model": "gpt3-125m", "chips": 8, "job": word})


@pytest.mark.parametrize("deadline", [float("nan"), 0, -5, 1e31, True, [3], 10**400])
def test_a_deadline_that_is_none_is_told_in_a_line(deadline: Any) -> None:
    with pytest.raises(InputError, match=r"^deadline: .* is no deadline; ") as told:
        request_from({"model": "gpt3-125m", "chips": 4, "deadline": deadline})
    assert "\n" not in str(told.value)
