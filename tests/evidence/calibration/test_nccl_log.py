"""Logs of collectives: formats of several versions, launchers' prefixes, and what is refused."""

import numpy as np
import pytest
from support.cases import each

from evidence.calibration.synthetic import nccl_text
from hardware_db import load_calibration, load_cluster
from planner.assumptions.assumptions import calibrated
from planner.base.errors import InputError
from planner.evidence.calibration.collectives import (
    costs_of,
    learn_collectives,
    paths_of,
    seconds_of,
)
from planner.evidence.calibration.constants import prior_of
from planner.evidence.calibration.logs.nccl_log import CollectiveTime, parse_nccl
from planner.evidence.calibration.runs import with_values

LINES = [(1 << 20, 45e-6), (1 << 24, 120e-6), (1 << 28, 1.05e-3)]
OLD = """\
# nThread 1 nGpus 4 minBytes 1048576 maxBytes 4194304 step: 2(factor) warmup iters: 5 iters: 20
#
# Using devices
#   Rank  0 Pid   9011 on   gpu-box device  0 [0x1a] Tesla V100-SXM2-32GB
#   Rank  1 Pid   9011 on   gpu-box device  1 [0x1b] Tesla V100-SXM2-32GB
#   Rank  2 Pid   9011 on   gpu-box device  2 [0x3d] Tesla V100-SXM2-32GB
#   Rank  3 Pid   9011 on   gpu-box device  3 [0x3e] Tesla V100-SXM2-32GB
#
#                                                     out-of-place                       in-place
#       size         count    type   redop     time   algbw   busbw  error     time   algbw   busbw
#        (B)    (elements)                     (us)  (GB/s)  (GB/s)            (us)  (GB/s)  (GB/s)
     1048576        262144   float     sum    54.81   19.13   28.70  1e-06    55.02   19.06   28.59
     4194304       1048576   float     sum    92.77   45.21   67.82  1e-06    92.40   45.39   68.09
# Out of bounds values : 0 OK
"""


def refusal(text: str, name: str = "log.txt", **given: int) -> list[str]:
    """What is said of a log."""
    with pytest.raises(InputError) as caught:
        parse_nccl(text, name, **given)
    return str(caught.value).split("\n")


def test_a_log_of_a_new_version() -> None:
    log = parse_nccl(nccl_text(LINES), "anything.txt")
    assert log.devices == ("NVIDIA H100 80GB HBM3",)
    assert [one.collective for one in log.times] == ["all_reduce"] * 3
    assert {(one.ranks, one.nodes) for one in log.times} == {(8, 1)}
    assert [one.size_bytes for one in log.times] == [size for size, _ in LINES]
    assert [one.time_s for one in log.times] == pytest.approx([t for _, t in LINES], rel=1e-3)


def test_a_log_of_an_old_version() -> None:
    log = parse_nccl(OLD, "old.txt")
    assert {(one.collective, one.ranks, one.nodes) for one in log.times} == {("all_reduce", 4, 1)}
    assert [one.time_s for one in log.times] == pytest.approx([54.81e-6, 92.40e-6])


def test_two_hosts() -> None:
    log = parse_nccl(nccl_text(LINES, hosts=("node-a", "node-b")), "x")
    assert {(one.ranks, one.nodes) for one in log.times} == {(16, 2)}


@each("prefix", ["[1,0]<stdout>:", " 0: ", ""])
def test_prefixes_of_launchers(prefix: str) -> None:
    assert len(parse_nccl(nccl_text(LINES, prefix=prefix), "x").times) == 3


def test_warnings_between_the_lines_do_no_harm() -> None:
    text = nccl_text(LINES).replace(
        "# Using devices", "node-a:1:1 [0] NCCL INFO NET/IB : Using [0]mlx5_0\n# Using devices"
    )
    assert len(parse_nccl(text, "x").times) == 3


@each("test", ["all_reduce", "all_gather", "reduce_scatter", "alltoall", "sendrecv"])
def test_the_name_of_the_test(test: str) -> None:
    redop = "sum" if "reduce" in test else "none"
    named = nccl_text(LINES, test=f"{test}_perf", redop=redop)
    assert parse_nccl(named, "x").times[0].collective == test
    unnamed = nccl_text(LINES, test=f"{test}_perf", redop=redop, version=False)
    assert parse_nccl(unnamed, f"{test.replace('_', '-')}.log").times[0].collective == test


@each("test", ["all_reduce", "reduce_scatter"])
def test_reductions_are_told_by_their_bandwidths(test: str) -> None:
    text = nccl_text(LINES, test=f"{test}_perf", version=False)
    assert parse_nccl(text, "x").times[0].collective == test


def test_what_cannot_be_told_is_refused() -> None:
    text = nccl_text(LINES, test="all_gather_perf", redop="none", version=False)
    assert refusal(text) == [
        "log.txt: does not say which collective it is; name the file like all_gather_perf.txt"
    ]
    (line,) = refusal(nccl_text(LINES, test="broadcast_perf"))
    assert line.startswith("log.txt: broadcast_perf is of no use here; use one of all_reduce_perf")


def test_ranks_may_be_given() -> None:
    text = "\n".join(line for line in nccl_text(LINES).split("\n") if "Rank" not in line)
    assert refusal(text) == ["log.txt: lists no ranks; say how many with --gpus (and --nodes)"]
    assert parse_nccl(text, "x", ranks=16, nodes=2).times[0].nodes == 2
    assert refusal(text, ranks=16, nodes=3) == ["log.txt: 16 ranks do not divide over 3 nodes"]
    (line,) = refusal(nccl_text(LINES), ranks=4)
    assert "lists 8 ranks, not the 4 of --gpus" in line


@each(("text", "words"), [
    ("", "is empty"),
    ("hello\n", "lists no ranks"),
    (nccl_text([]).replace("           0  ", "# 0"), "has no line of results"),
    (nccl_text(LINES).replace("(us)", "(ms)"), "times are not in (us)"),
    (nccl_text(LINES).replace("#       size", "#       bytes"), "is no output of nccl-tests"),
    (nccl_text(LINES).replace("   120.00", "     0.00"), "is not a time; it must be greater"),
    (nccl_text(LINES).replace("   120.00", "      abc"), "'abc' is not a number"),
    (nccl_text([(64, 9e-6)]), "all sizes are below 1,024 bytes"),
])  # fmt: skip
def test_faults(text: str, words: str) -> None:
    lines = refusal(text)
    assert len(lines) == 1
    assert words in lines[0]


def test_wrong_results_are_refused_with_their_line() -> None:
    text = nccl_text(LINES)
    number = next(i for i, line in enumerate(text.split("\n"), 1) if "16777216" in line)
    broken = text.replace("279.62      0", "279.62     12", 1)
    rows = [line for line in broken.split("\n") if "16777216" in line]
    if "     12" not in rows[0]:
        cells = rows[0].rsplit("      0", 1)
        broken = broken.replace(rows[0], f"{cells[0]}     12{cells[1]}")
    (line,) = refusal(broken)
    assert line.startswith(f"log.txt: line {number}: #wrong: 12 elements are wrong")


SHORT = [(1 << 20, 95e-6), (1 << 24, 420e-6)]


@each("first", [True, False])
def test_several_tests_in_a_log_are_read_apart(first: bool) -> None:
    """Other collectives, other numbers of ranks, other devices, and names below the results."""
    others = [
        nccl_text(SHORT, test="all_gather_perf", redop="none", device="NVIDIA B200"),
        nccl_text(SHORT, hosts=("node-a", "node-b")),
        OLD,
    ]
    end = "# Collective test concluded: all_reduce_perf\n"
    for other in others:
        texts = (nccl_text(LINES), other) if first else (other, nccl_text(LINES))
        apart = [parse_nccl(text, "x") for text in texts]
        both = parse_nccl(end.join(texts), "x")
        assert both.times == apart[0].times + apart[1].times
        assert both.devices == tuple(dict.fromkeys(apart[0].devices + apart[1].devices))


def test_faults_of_several_tests_name_their_lines() -> None:
    text = nccl_text(LINES) + "\n" + nccl_text(SHORT, test="broadcast_perf")
    at = next(n for n, line in enumerate(text.split("\n"), 1) if n > 20 and "# nccl-tests" in line)
    (line,) = refusal(text)
    assert line.startswith(f"log.txt: line {at + 17}: broadcast_perf is of no use here")
    unlisted = "\n".join(
        one for n, one in enumerate(text.split("\n"), 1) if n < at or "Rank" not in one
    )
    (line,) = refusal(unlisted)
    assert line.startswith(f"log.txt: line {at + 9}: lists no ranks; say how many with --gpus")


def test_a_file_that_names_two_tests_names_none() -> None:
    text = nccl_text(LINES, test="all_gather_perf", redop="none", version=False)
    assert "does not say which collective" in refusal(text, "all_reduce_and_all_gather.txt")[0]


def measured(truth: dict[str, float], nodes: int) -> list[CollectiveTime]:
    """Collectives of a machine whose constants are known, with 3 % of noise."""
    cluster = load_cluster("h100-sxm5-80")
    base = with_values(load_calibration(), truth)
    a = calibrated(cluster.chip, "torch-fsdp", "bf16", base)
    sizes = np.geomspace(1 << 16, 1 << 30, 15)
    noise = np.exp(0.03 * np.random.default_rng(1).standard_normal((4, 15)))
    names = ("all_gather", "reduce_scatter", "alltoall", "all_reduce")
    costs = costs_of(cluster, a, 8 * nodes, nodes)
    return [
        CollectiveTime(collective=name, ranks=8 * nodes, nodes=nodes, size_bytes=size, time_s=time)
        for row, name in enumerate(names)
        for size, time in zip(sizes, seconds_of(costs, name, sizes) * noise[row], strict=True)
    ]


FIXED = {
    "network.scale_up_efficiency": 0.7415,
    "network.scale_out_efficiency": 0.934,
    "network.scale_up_latency_s": 15.36e-6,
    "network.scale_out_latency_s": 60.19e-6,
}
"""Constants of a machine that no fit moves."""


@each(("nodes", "kind"), [(1, "up"), (4, "out")])
def test_rate_and_latency_of_the_links_come_back(nodes: int, kind: str) -> None:
    base, cluster = with_values(load_calibration(), FIXED), load_cluster("h100-sxm5-80")
    rate, latency = f"network.scale_{kind}_efficiency", f"network.scale_{kind}_latency_s"
    truth = {rate: base.value(rate) * 0.8, latency: base.value(latency) * 2.0}
    times = measured(truth, nodes)
    priors = [prior_of(path, base, cluster.chip) for path in paths_of(times)]
    found = learn_collectives(times, cluster, base, priors)
    values = dict(zip((p.path for p in priors), found.values, strict=True))
    for path, value in truth.items():
        assert abs(np.log(values[path] / value)) < 0.3 * abs(np.log(base.value(path) / value))
    assert np.abs(found.after).mean() < np.abs(found.before).mean() / 2


def test_more_ranks_than_a_node_has() -> None:
    base, cluster = load_calibration(), load_cluster("h100-sxm5-80")
    times = [CollectiveTime(collective="all_reduce", ranks=16, nodes=1, size_bytes=1e6, time_s=1.0)]
    priors = [prior_of(path, base, cluster.chip) for path in paths_of(times)]
    with pytest.raises(InputError, match="16 ranks on 1 node are 16 each"):
        learn_collectives(times, cluster, base, priors)
