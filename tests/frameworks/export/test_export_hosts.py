"""Which hosts a launch takes where racks hold several of them."""

from dataclasses import replace

from support.cases import each

from frameworks.export.cases import CASES
from planner.frameworks.targets import TARGETS
from planner.frameworks.writing import export_plan
from planner.frameworks.writing.hosts import hosts_of
from planner.frameworks.writing.launch import Launch
from planner.plan import Plan

RACKS = CASES["latent-experts"]


def hosts(hardware: str, **sizes: int) -> tuple[str, ...]:
    case = replace(CASES["dense-sharded"], hardware=hardware)
    return hosts_of(Launch(cost=case.cost(), plan=Plan(sharding="zero3", **sizes)))


@each("target", [*TARGETS])
def test_every_target_says_which_hosts_of_a_rack(target: str) -> None:
    one = export_plan(RACKS.cost(), RACKS.plan, TARGETS[target], allow_lossy=True)
    assert "16 of the 18 hosts of each of 4 nvlink domains" in one.hosts[0]
    assert "hosts 0 to 15 in the first" in one.hosts[1]
    assert "--segment=16" in one.hosts[1]


def test_scripts_say_it_too() -> None:
    for target in ("megatron", "megatron-bridge"):
        one = export_plan(RACKS.cost(), RACKS.plan, TARGETS[target])
        (script,) = (file.text for file in one.files if file.name == "run.sh")
        assert all(f"# {line}\n" in script for line in one.hosts)


@each(
    ("chips", "words"),
    [
        (8, "2 of the 18 hosts of one nvlink domain"),
        (72, "18 of the 18 hosts of one nvlink domain"),
        (144, "18 of the 18 hosts of each of 2 nvlink domains"),
        (136, "17 of the 18 hosts of each of 2 nvlink domains"),
    ],
)
def test_racks_in_part_and_whole(chips: int, words: str) -> None:
    assert words in hosts("gb200-nvl72", fsdp=chips)[0]


def test_other_machines_need_no_word() -> None:
    assert hosts("gb200-nvl72", fsdp=4) == ()  # one host
    assert hosts("dgx-h100-ndr", fsdp=64) == ()  # a domain is a host
    assert hosts("tpu-v5p", fsdp=64) == ()  # a slice is asked for as a whole
    assert "2 of the 4 hosts of one ultraserver domain" in hosts("trn2", fsdp=32)[0]
