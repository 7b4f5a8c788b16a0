"""Other versions of targets: what they take in the place of the default, and what they refuse."""

from dataclasses import replace

import pytest
from support.cases import each

from frameworks.export.cases import CASES, Case
from planner.base.errors import InputError
from planner.frameworks.targets import TARGETS
from planner.frameworks.writing import Export, export_plan
from planner.plan import Plan


def exported(target: str, version: str, case: Case) -> Export:
    return export_plan(case.cost(), case.plan, TARGETS[target], version)


def flags(version: str, case: Case) -> list[str]:
    return exported("megatron", version, case).files[1].text.splitlines()


def test_megatron_fsdp_has_a_flag_of_its_own_for_wide_gradients() -> None:
    sharded = replace(CASES["dense-sharded"], framework="megatron-fp32-grads")
    wide = "--megatron-fsdp-main-grads-dtype fp32"
    found = {version: flags(version, sharded) for version in TARGETS["megatron"].versions}
    assert {version for version, lines in found.items() if wide in lines} == {"0.18", "0.19"}
    for lines in found.values():
        assert "--accumulate-allreduce-grads-in-fp32" in lines
        assert [line for line in lines if line != wide] == found["0.16"]
    even = replace(CASES["dense-tp-pp"], framework="megatron-fp32-grads")
    assert flags("0.19", even) == flags("0.16", even)


def test_weights_in_8_bits_and_an_optimizer_on_the_host_exclude_each_other() -> None:
    case = replace(CASES["dense-tp-pp"], precision="fp8")
    moved = replace(case, plan=replace(case.plan, offload=("optimizer",)))
    assert "--fp8-param-gather" in flags("", case)
    assert "--fp8-param-gather" not in flags("", moved)
    assert [one.field for one in exported("megatron", "", moved).lossy].count("precision") == 1


@each(
    ("target", "version", "name", "plan", "words"),
    [
        ("deepspeed", "0.18", "experts", Plan(dp=64, ep=8, sharding="zero1"), "0.18 spreads"),
        ("nanotron", "0.5", "dense-sharded", Plan(dp=64, recompute="full"), "nothing again"),
        ("nanotron", "0.5", "experts", Plan(dp=64), "LlamaConfig only"),
    ],
)
def test_what_a_version_lacks_is_refused(
    target: str, version: str, name: str, plan: Plan, words: str
) -> None:
    case = replace(CASES[name], framework=TARGETS[target].framework, plan=plan)
    assert exported(target, "", case).version == TARGETS[target].versions[0]
    with pytest.raises(InputError, match=words):
        exported(target, version, case)


@each("target", TARGETS)
def test_an_unknown_version_names_the_known_ones(target: str) -> None:
    known = TARGETS[target].versions
    assert len(known) >= 2
    with pytest.raises(InputError, match=f"target-version: '9.9' is not one of {', '.join(known)}"):
        exported(target, "9.9", CASES["one-chip"])
