"""`planner collective compare`: schedules beside rings and trees, and real systems."""

from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from support.cases import each

from cli.collective_asking import DGX1, answer, asked
from cli.command import planner, refused
from hardware_db import load_cluster
from planner.collectives.nccl.costs import nccl_time_s

H100 = ("compare", "--system", "h100-sxm5-80", "--chips", 16)


def test_compare_has_the_front_the_rings_and_the_crossover() -> None:
    found = answer("compare", *DGX1, "allgather", "--sizes", "1KB..64MB")
    assert [one["name"] for one in found["algorithms"]] == ["(2,2,3)", "(6,3,7)", "ring"]
    assert [one["library"] for one in found["algorithms"]] == [False, False, True]
    (crossing,) = found["crossovers"]
    assert (crossing["before"], crossing["after"]) == ("(2,2,3)", "(6,3,7)")
    assert crossing["size_bytes"] == pytest.approx(0.7e-6 * 25e9 / (3 / 2 - 7 / 6))
    for one in found["algorithms"]:
        load = Fraction(one["rounds_per_chunk_exact"])
        times = [one["steps"] * 0.7e-6 + float(load) * size / 25e9 for size in found["sizes_bytes"]]
        assert one["times_s"] == pytest.approx(times)


def test_the_constants_of_the_tuner_have_a_base() -> None:
    found = answer("compare", *DGX1, "allreduce", "--sizes", "1KB..64MB", "--constants", "nccl")
    names = [one["name"] for one in found["algorithms"] if one["library"]]
    assert "ring" in names
    assert "tree as chains" in names
    assert min(min(one["times_s"]) for one in found["algorithms"]) > 6.6e-6


def test_the_fastest_protocol_is_named_at_each_size() -> None:
    asked_of = ("compare", *DGX1, "allreduce", "--sizes", "1KB..64MB", "--constants", "nccl")
    found = answer(*asked_of)
    for one in found["algorithms"]:
        assert (one["protocols"][0], one["protocols"][-1]) == ("LL", "Simple")
    text = " ".join(asked(*asked_of).out.split())
    assert "its protocol" in text
    assert "may overtake one another more than once" in text
    assert "The branches of a tree are no links of this machine" in text


def test_a_real_system_has_nccls_costs_by_algorithm_and_protocol(tmp_path: Path) -> None:
    """The least of all is what the fitted costs say, over the whole buffers of nccl-tests."""
    for collective, buffer in (("allreduce", 1), ("allgather", 16), ("alltoall", 16)):
        found = answer(*H100, "--collective", collective, "--network", "efa", "--sizes", "1KB..1GB")
        sizes = np.array(found["sizes_bytes"])
        times = [one["times_s"] for one in found["algorithms"]]
        known = nccl_time_s(load_cluster("h100-sxm5-80"), 16, collective, sizes * buffer,
                            network="efa")  # fmt: skip
        assert np.min(times, axis=0) == pytest.approx(known, rel=1e-9)
        assert [one["time_s"] for one in found["fastest"]] == pytest.approx(known, rel=1e-9)
    found = answer(*H100, "--collective", "allreduce")
    names = [(one["algorithm"], one["protocol"]) for one in found["algorithms"]]
    assert len(set(names)) == len(names) == 10
    assert ("in-switch tree", "Simple") in names
    assert ("in-switch tree", "LL") not in names
    assert found["network"] == "infiniband"
    assert found["fastest"][-1]["bus_bytes_per_s"] == pytest.approx(
        2 * 15 / 16 * 1e9 / found["fastest"][-1]["time_s"]
    )
    plot = tmp_path / "system.svg"
    outcome = planner("collective", *H100, "--collective", "allreduce", "--plot", plot)
    assert "overtakes" in outcome.out
    assert plot.read_text(encoding="utf-8").count("in-switch tree, Simple") > 2


def test_one_node_has_no_network_and_no_rings_by_level() -> None:
    found = answer("compare", "--system", "v100-sxm2-32", "--chips", 8)
    assert found["network"] is None
    assert {one["algorithm"] for one in found["algorithms"]} == {"ring"}


@each(
    ("flags", "said"),
    [
        (("--system", "h100-sxm5-8", "--chips", 8), "system: unknown name 'h100-sxm5-8'; did you"),
        (("--system", "h100-sxm5-80"), "chips: is missing"),
        (("--system", "h100-sxm5-80", "--chips", 12), "the nearest counts are 8 and 16"),
        (("--system", "h100-sxm5-80", "--chips", 1), "chips: 1 must be at least 2"),
        (("--system", "h100-sxm5-80", "--chips", 8, "--network", "efa"), "network: has no effect"),
        (("--system", "h100-sxm5-80", "--chips", 16, "--network", "ib"), "network: 'ib' is not"),
        (("--system", "tpu-v5p", "--chips", 8), "known for NVIDIA and AMD chips alone"),
        ((*H100[1:], "--collective", "gather"), "collective: 'gather' is not one of allgather,"),
        ((*H100[1:], "--topology", "ring:4"), "topology: does not go with --system"),
        ((*H100[1:], "--time-limit", "4s"), "time-limit: does not go with --system"),
        (("--chips", 8, "--topology", "ring:4"), "chips: goes with --system alone"),
    ],
)
def test_what_a_system_cannot_be_asked(flags: tuple[object, ...], said: str) -> None:
    (line,) = refused("collective", "compare", *flags)
    assert said in line


def test_pictures_of_a_comparison(tmp_path: Path) -> None:
    times, space = tmp_path / "times.svg", tmp_path / "space.html"
    outcome = planner(
        "collective", "compare", "--topology", "ring:4", "--sizes", "1KB..1MB", "--plot", times,
        "--plot-schedule", space,
    )  # fmt: skip
    assert outcome.code == 0, outcome.err
    assert "Time against size" in times.read_text(encoding="utf-8")
    assert "<svg" in space.read_text(encoding="utf-8")
