"""The report on energy and latency: what its text claims, recomputed by hand.

The figures on the right of a comparison come from closed forms written here, not from
`planner.studies.rack`: rings of n members send (n - 1) / n of their buffer per member and pass,
links cost 1.3 and 20 pJ per bit and take 1 / 900 and 1 / 50 ns per byte.
"""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from support.cases import each

from hardware_db import load_cluster
from planner.base.errors import InputError
from planner.studies.rack.model.assumptions import RACK_ENERGY, RackAssumptions
from planner.studies.rack.model.communication import Transfer
from planner.studies.rack.model.evaluate import BACKWARD, FORWARD, RackCost, evaluate
from planner.studies.rack.model.machine import Machine, machine_of, with_threads
from planner.studies.rack.model.plans import RackPlans, rack_plans
from planner.studies.rack.model.workloads import Workload, attention, feed_forward
from planner.studies.rack.parallelism.figures import GPUS, figures, plans_for
from planner.studies.rack.parallelism.setting import BLOCK_SIZES, Setting

RACKS = (4, 8, 16, 32)
TOKENS, HIDDEN, WIDTH = 32_768, 4096, 14_336
WEIGHTS, X, H = 2 * HIDDEN * WIDTH, TOKENS * HIDDEN, TOKENS * WIDTH
NV_S, IB_S = 1 / 900e9, 1 / 50e9
NV_J, IB_J = 8 * 1.3e-12, 8 * 20e-12


@pytest.fixture(scope="module")
def machine() -> Machine:
    """Chips and links of the report, racks of 8."""
    return machine_of(load_cluster("c2c-ndr400-rack"))


def of_racks(machine: Machine, chips: int) -> Machine:
    return replace(machine, rack_chips=chips)


def with_sram(machine: Machine, size: float) -> Machine:
    """Another size of SRAM; registers too small to matter stay."""
    return replace(machine, chip=replace(machine.chip, sram_bytes=size))


def plans(strategy: str, gpus: tuple[int, ...] | list[int], workload: Workload) -> RackPlans:
    return plans_for(strategy, workload, load_cluster("c2c-ndr400-rack").chip.pe_count, gpus, 16)


def cost_of(
    strategy: str,
    gpus: tuple[int, ...] | list[int],
    machine: Machine,
    workload: Workload | None = None,
    **readings: object,
) -> RackCost:
    work = workload or feed_forward()
    assumptions: RackAssumptions = replace(RACK_ENERGY, **readings)  # type: ignore[arg-type]
    return evaluate(work, plans(strategy, gpus, work), machine, assumptions)


def joules(*transfers: Transfer) -> np.ndarray:
    return np.asarray(sum(t.inner_j + t.outer_j for t in transfers))


def pass_joules(cost: RackCost, kinds: tuple[str, ...]) -> np.ndarray:
    return joules(*(cost.transfers[kind] for kind in kinds))


def links(members: int, rack: int) -> tuple[int, int]:
    """Links inside racks and between them, of a ring laid out rack by rack."""
    between = math.ceil(members / rack) if members > rack else 0
    return members - between, between


def ring_joules(buffer: float, members: int, rack: int, steps: int) -> float:
    """Every link carries `steps` messages of a member's part."""
    inside, between = links(members, rack)
    return steps * buffer / members * (inside * NV_J + between * IB_J)


def ring_seconds(buffer: float, members: int, rack: int, steps: int) -> float:
    return steps * buffer / members * (IB_S if links(members, rack)[1] else NV_S)


# The table of 32 GPUs: strategy, wire bytes, ms in racks of 8 and of 32, joules per rack size.


def test_data_parallel_table(machine: Machine) -> None:
    """29.13 GB; 18.20 ms across racks, 1.011 ms inside; 1.392, 0.848, 0.575, 0.303 J."""
    buffer = WEIGHTS * 4
    found = []
    for rack in RACKS:
        reduced = cost_of("dp", [32], of_racks(machine, rack)).transfers["gradient all-reduce"]
        assert reduced.wire_bytes[0] == pytest.approx(62 * buffer, rel=1e-12)
        assert reduced.latency_s[0] == pytest.approx(ring_seconds(buffer, 32, rack, 62), rel=1e-12)
        assert joules(reduced)[0] == pytest.approx(ring_joules(buffer, 32, rack, 62), rel=1e-9)
        found.append((reduced.latency_s[0] * 1e3, joules(reduced)[0]))
    assert [round(ms, 3) for ms, _ in found] == [18.203, 18.203, 18.203, 1.011]
    assert [round(j, 3) for _, j in found] == [1.392, 0.848, 0.575, 0.303]
    assert 62 * buffer / 1e9 == pytest.approx(29.13, abs=0.005)


def test_tensor_parallel_table(machine: Machine) -> None:
    """Forward all-gather and reduce-scatter: 16.64 GB; 10.40 and 0.578 ms."""
    buffer = 2 * X * 2  # input and output, two bytes each
    found = []
    for rack in RACKS:
        gathered = cost_of("tp", [32], of_racks(machine, rack)).transfers["tensor forward"]
        assert gathered.wire_bytes[0] == pytest.approx(31 * buffer, rel=1e-12)
        assert gathered.latency_s[0] == pytest.approx(ring_seconds(buffer, 32, rack, 31), rel=1e-9)
        assert joules(gathered)[0] == pytest.approx(ring_joules(buffer, 32, rack, 31), rel=1e-9)
        found.append((gathered.latency_s[0] * 1e3, joules(gathered)[0]))
    assert [round(ms, 3) for ms, _ in found] == [10.402, 10.402, 10.402, 0.578]
    assert [round(j, 3) for _, j in found] == [0.796, 0.484, 0.329, 0.173]
    assert 31 * buffer / 1e9 == pytest.approx(16.64, abs=0.005)


def test_pipeline_table(machine: Machine) -> None:
    """0.94 GB from stage to stage; with gathers inside stages; with copies of all rows."""
    gathers, copies = [], []
    for rack in RACKS:
        at = of_racks(machine, rack)
        cost = cost_of("pp+tp", [32], at)
        sent = cost.transfers["pipeline forward"]
        per_byte = NV_J if rack == 32 else IB_J  # the partner is 16 chips away
        assert sent.wire_bytes[0] == pytest.approx(2 * H, rel=1e-12)
        assert joules(sent)[0] == pytest.approx(2 * H * per_byte, rel=1e-9)
        gathers.append(pass_joules(cost, FORWARD)[0])
        copied = cost_of("pp+tp", [32], at, stage_transfers="copies", gathers_inside_stages=False)
        copies.append(pass_joules(copied, FORWARD)[0])
        assert copies[-1] == pytest.approx(16 * 2 * H * per_byte, rel=1e-9)
    assert round(2 * H / 1e9, 2) == 0.94
    assert [round(j, 3) for j in gathers] == [0.535, 0.385, 0.234, 0.094]
    assert [round(j, 2) for j in copies] == [2.41, 2.41, 2.41, 0.16]


def test_chunk_path_of_the_printed_sum(machine: Machine) -> None:
    """The path of one chunk over all links: 3.16 and 1.81 ms in racks of 8, 5.8 times less."""
    data = cost_of("dp", [32], machine, ring_reading="chunk_path").transfers["gradient all-reduce"]
    tensor = cost_of("tp", [32], machine, ring_reading="chunk_path").transfers["tensor forward"]
    inside, between = links(32, 8)
    mean = (inside * NV_S + between * IB_S) / 32
    assert data.latency_s[0] == pytest.approx(62 * WEIGHTS * 4 / 32 * mean, rel=1e-9)
    assert data.latency_s[0] * 1e3 == pytest.approx(3.16, abs=0.005)
    assert tensor.latency_s[0] * 1e3 == pytest.approx(1.81, abs=0.005)
    slow = cost_of("dp", [32], machine).transfers["gradient all-reduce"]
    assert slow.latency_s[0] / data.latency_s[0] == pytest.approx(5.8, abs=0.05)


# Assertions of section 5, in its order.


@each("rack", RACKS)
def test_1_data_parallelism_is_silent_forward(machine: Machine, rack: int) -> None:
    """Backward, every GPU sends 2 (N - 1) / N of four bytes per weight."""
    cost = cost_of("dp", GPUS, of_racks(machine, rack))
    n = np.array(GPUS)
    for kind in FORWARD:
        assert not cost.transfers[kind].latency_s.any()
        assert not cost.transfers[kind].wire_bytes.any()
    assert not pass_joules(cost, FORWARD).any()
    sent = cost.transfers["gradient all-reduce"].wire_bytes / n
    np.testing.assert_allclose(sent, 2 * (n - 1) / n * WEIGHTS * 4, rtol=1e-12)


@each("rack", RACKS)
@each("inside", [True, False])
def test_2_pipelines_send_least_on_32_gpus(machine: Machine, rack: int, inside: bool) -> None:
    """Of both passes, where ranks send shards; with or without gathers inside stages."""
    at = of_racks(machine, rack)
    kinds = FORWARD + BACKWARD
    pipeline = pass_joules(cost_of("pp+tp", [32], at, gathers_inside_stages=inside), kinds)[0]
    tensor = pass_joules(cost_of("tp", [32], at), kinds)[0]
    data = pass_joules(cost_of("dp", [32], at), kinds)[0]
    assert pipeline < min(tensor, data)


def test_2_how_much_less_between_stages_alone(machine: Machine) -> None:
    """5.3 times less than TP in racks of 4, 17.7 times in one rack of 32."""
    ratios = []
    for rack in (4, 32):
        at = of_racks(machine, rack)
        sent = pass_joules(cost_of("pp+tp", [32], at, gathers_inside_stages=False), FORWARD)[0]
        ratios.append(pass_joules(cost_of("tp", [32], at), FORWARD)[0] / sent)
    assert ratios[0] == pytest.approx(5.3, abs=0.05)
    assert ratios[1] == pytest.approx(17.7, abs=0.05)


@each("rack", RACKS)
def test_2_copies_to_every_rank_reverse_it(machine: Machine, rack: int) -> None:
    """Where every rank gets all rows, the claim holds in a single rack only."""
    at = of_racks(machine, rack)
    copies = cost_of("pp+tp", [32], at, stage_transfers="copies", gathers_inside_stages=False)
    tensor = pass_joules(cost_of("tp", [32], at), FORWARD)[0]
    assert bool(pass_joules(copies, FORWARD)[0] < tensor) == (rack == 32)


def test_3_attention_scores_between_stages_reverse_it(machine: Machine) -> None:
    """24 GPUs, racks of 8: 2.1 G scores on the wire cost more than all of TP's gathers.

    0.795 J if every byte leaves its rack; the weighted values do not, from GPUs 16-19 to 20-23.
    """
    work = attention()
    tensor = pass_joules(cost_of("tp", [24], machine, work), FORWARD)[0]
    crossing = cost_of("pp+tp", [24], machine, work, gathers_inside_stages=False)
    staying = cost_of("pp+tp", [24], machine, work, gathers_inside_stages=False, scores_stay=True)
    assert tensor == pytest.approx(0.359, abs=0.001)
    elements = X + X // 4 + X // 4 + X + 16 * 32 * 2048 * 2048  # query, key, value, values, scores
    assert 2 * elements * IB_J == pytest.approx(0.795, abs=0.001)
    exact = 2 * elements * IB_J - 2 * X * (IB_J - NV_J)
    assert pass_joules(crossing, FORWARD)[0] == pytest.approx(exact, rel=1e-9)
    assert exact > tensor
    assert pass_joules(staying, FORWARD)[0] < tensor
    scores = 16 * 32 * 2048 * 2048 * 2
    less = (
        crossing.transfers["pipeline forward"].wire_bytes[0]
        - staying.transfers["pipeline forward"].wire_bytes[0]
    )
    assert less == pytest.approx(scores, rel=1e-12)


def test_4_data_parallel_attention_stops_with_the_batch(machine: Machine) -> None:
    """Time follows ceil(16 / N): equal on 8 and 10 GPUs, and on 16 and 32."""
    cost = cost_of("dp", GPUS, with_threads(machine, 64), attention())
    seconds = cost.compute.latency_s
    ideal = np.array([math.ceil(16 / n) for n in GPUS])
    np.testing.assert_allclose(seconds / seconds[-1], ideal, rtol=0.015)  # the array's last rows
    assert seconds[GPUS.index(8)] == seconds[GPUS.index(10)]
    assert seconds[GPUS.index(16)] == seconds[GPUS.index(32)]


@each("workload", [feed_forward(), attention()])
def test_5_tensor_parallelism_keeps_falling(machine: Machine, workload: Workload) -> None:
    seconds = cost_of("tp", (16, 32), with_threads(machine, 64), workload).compute.latency_s
    assert seconds[1] == pytest.approx(seconds[0] / 2, rel=0.01)


def test_5_data_and_tensor_parallelism_compute_alike(machine: Machine) -> None:
    """On 128 PEs, which divide every width: within 0.03 % if TP splits as Megatron does.

    Columns of both matrices: 0.06 %, for ten ranks take 410 of 4096 columns. Both where the batch
    splits by token rows.
    """
    work, at = feed_forward(), with_threads(machine, 64)
    n = np.array(GPUS)
    for split, most in (("megatron", 3e-4), ("columns", 6e-4)):
        used = replace(RACK_ENERGY, tensor_split=split)
        data, tensor = (
            evaluate(work, rack_plans(pes=128, **given), at, used).compute.latency_s
            for given in ({"dp": n}, {"tp": n})
        )
        np.testing.assert_allclose(data, tensor, rtol=most)
    record = [cost_of(s, GPUS, at).compute.latency_s for s in ("dp", "tp")]
    np.testing.assert_allclose(*record, rtol=1e-3)  # 132 PEs leave some idle on the last tile


def test_6_tensor_parallelism_reads_more_gpu_memory(machine: Machine) -> None:
    """Large SRAM, 16 GPUs: 2.48, 9.78 and 2.74 G elements."""
    large = with_sram(machine, 1e15)
    read = [
        cost_of(s, [16], large, tensor_split=split).compute.dram_read_bytes[0] / 2
        for s, split in (("dp", "columns"), ("tp", "columns"), ("tp", "megatron"))
    ]
    exact = [16 * WEIGHTS + X + H, 16 * (X + H) + WEIGHTS, 16 * X + H + WEIGHTS]
    np.testing.assert_allclose(read, exact, rtol=1e-12)
    assert [round(count / 1e9, 2) for count in exact] == [2.48, 9.78, 2.73]


@each(("split", "crossing"), [("columns", 6372), ("megatron", 28_672)])
def test_6_the_order_flips_with_the_tokens(machine: Machine, split: str, crossing: int) -> None:
    """TP reads more than DP above 2 d f / (d + f) tokens, or above 2 f; less below."""
    exact = 2 * HIDDEN * WIDTH / (HIDDEN + WIDTH) if split == "columns" else 2 * WIDTH
    assert crossing == math.ceil(exact)
    large = with_sram(machine, 1e15)
    more = []
    for tokens in (2048, crossing - 16, crossing + 16, 32_768):
        work = feed_forward(tokens=tokens // 16 * 16)
        tensor, data = (
            cost_of(s, [16], large, work, tensor_split=split).compute.dram_read_bytes[0]
            for s in ("tp", "dp")
        )
        more.append(bool(tensor > data))
    assert more == [False, False, True, True]


@each(("sram", "gigabytes"), [(2**25, (6.17, 20.8, 10.7)), (2**20, (23.5, 29.2, 23.9))])
def test_6_traffic_with_reuse(
    machine: Machine, sram: int, gigabytes: tuple[float, float, float]
) -> None:
    """All traffic of GPU memory on 16 GPUs, for the two SRAM sizes of the reconstruction."""
    for (strategy, split), wanted in zip(
        (("dp", "columns"), ("tp", "columns"), ("tp", "megatron")), gigabytes, strict=True
    ):
        cost = cost_of(strategy, [16], with_sram(machine, sram), tensor_split=split)
        moved = cost.compute.dram_read_bytes[0] + cost.compute.dram_write_bytes[0]
        assert moved / 1e9 == pytest.approx(wanted, rel=0.02)


def test_7_leaving_the_rack_costs_19_times(machine: Machine) -> None:
    """Racks of 8: 0.913 ms on 8 GPUs, 17.6 ms on 16."""
    seconds = cost_of("dp", (8, 16), machine).transfers["gradient all-reduce"].latency_s
    assert seconds[0] * 1e3 == pytest.approx(0.913, abs=0.001)
    assert seconds[1] * 1e3 == pytest.approx(17.6, abs=0.05)
    assert seconds[1] / seconds[0] == pytest.approx(19.3, abs=0.05)


@each("rack", RACKS)
def test_8_an_all_reduce_is_a_gather_and_a_scatter(machine: Machine, rack: int) -> None:
    """The same bytes for equal buffers; per GPU towards twice the buffer."""
    many = [2, 8, 32, 1024]
    at = of_racks(machine, rack)
    reduced = cost_of("dp", many, at).transfers["gradient all-reduce"]
    gathered = cost_of("tp", many, at).transfers["tensor forward"]
    by_buffer = reduced.wire_bytes / (WEIGHTS * 4)
    np.testing.assert_allclose(by_buffer, 2 * gathered.wire_bytes / (4 * X), rtol=1e-12)
    per_gpu = by_buffer / np.array(many)
    assert np.all(np.diff(per_gpu) > 0)
    assert per_gpu[-1] == pytest.approx(2, rel=1e-3)


@each(("workload", "einsums"), [(feed_forward(), 2), (attention(), 6)])
def test_9_no_more_stages_than_einsums(machine: Machine, workload: Workload, einsums: int) -> None:
    """A further stage has nothing to do; PP + TP takes GPUs in multiples of the stages."""
    depth = np.array([1, 2, einsums, einsums + 1, 2 * einsums])
    given = rack_plans(pes=132, pp=depth, micro_batches=16)
    cost = evaluate(workload, given, machine, RACK_ENERGY)
    busy = (cost.compute.stage_s > 0).sum(axis=1)
    assert busy.tolist() == [1, 2, einsums, einsums, einsums]
    deepest = plans("pp+tp", [24], workload)
    assert deepest.pp.tolist() == [einsums]
    with pytest.raises(InputError, match="do not divide"):
        plans("pp+tp", [7], workload)


def _ideal_ratio(work: Workload, micro_batches: int) -> float:
    """Time of one stage per einsum over that of TP, by multiply-accumulates alone."""
    macs = {einsum.name: einsum.macs for einsum in work.einsums}
    stages = len(macs)
    end: dict[str, int] = {}
    for einsum in work.einsums:
        end[einsum.name] = macs[einsum.name] + max([end[n] for n in einsum.inputs], default=0)
    path, slowest, total = max(end.values()), max(macs.values()), sum(macs.values())
    return stages * (path / micro_batches + (1 - 1 / micro_batches) * slowest) / total


@each(
    ("work", "micro_batches", "ratio"),
    [
        (attention(kv_heads=32), 16, 1.35),
        (attention(), 16, 1.93),
        (attention(kv_heads=32), 1, 3.6),
        (attention(), 1, 5.1),
        (feed_forward(), 16, 1.0625),
        (feed_forward(), 1, 2.0),
    ],
)
def test_10_what_stages_cost(
    machine: Machine, work: Workload, micro_batches: int, ratio: float
) -> None:
    """PP + TP over TP on 24 GPUs: above 1, modest with micro-batches; GQA stages are uneven.

    TP's time is a third of that on 8 GPUs, for 32 heads are no multiple of 24.
    """
    assert _ideal_ratio(work, micro_batches) == pytest.approx(ratio, rel=0.01)
    at, stages = with_threads(machine, 64), len(work.einsums)
    given = rack_plans(pes=128, tp=24 // stages, pp=stages, micro_batches=micro_batches)
    piped = evaluate(work, given, at, RACK_ENERGY).compute.latency_s[0]
    alone = evaluate(work, rack_plans(pes=128, tp=8), at, RACK_ENERGY).compute.latency_s[0] / 3
    assert piped / alone == pytest.approx(ratio, rel=0.01)


def test_11_block_sizes(machine: Machine) -> None:
    """Energy stays, time halves, DP and TP agree on the feed-forward network."""
    drawn = {
        figure.number: figure
        for figure in figures(Setting(cluster=load_cluster("c2c-ndr400-rack")), (8, 9))
    }
    energy = [point.total_j for point in drawn[9].series]
    assert energy == pytest.approx([energy[0]] * len(BLOCK_SIZES), rel=1e-12)
    seconds = {
        s: np.array([p.latency_s for p in drawn[8].series if p.strategy == s]) for s in ("dp", "tp")
    }
    np.testing.assert_allclose(seconds["dp"], seconds["tp"], rtol=1e-3)
    np.testing.assert_allclose(seconds["tp"][:-1] / seconds["tp"][1:], 2.0, rtol=1e-3)


def test_12_weights_loaded_per_row_from_a_shared_memory() -> None:
    """PP + TP on the feed-forward network: rows x weights over the links of at most 8 GPUs."""
    usual, rows = Setting(cluster=load_cluster("c2c-ndr400-rack")), 32_768
    setting, weights = replace(usual, weight_loads="per_row", memory_chips=8), 4 * 4096 * 14_336
    for point in figures(setting, (3,))[0].series:
        read_s = rows * (weights + 2 * 4096) / (512e9 * min(point.gpus, 8))
        assert point.latency_s == pytest.approx(read_s, rel=1e-12)
    before, after = (figures(one, (2,))[0].series for one in (usual, setting))
    assert [point.latency_s for point in before] == [point.latency_s for point in after]
