"""The microbenchmarks without a GPU: on a simulated device, and PyTorch's part on a fake."""

import importlib
import sys
import types
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from support.cases import each

from hardware_db import load_calibration, load_chip, load_cluster
from models_db import load_model
from planner.assumptions.assumptions import calibrated
from planner.base.errors import InputError
from planner.cost.kernels.compute import attention_s, matmul_s
from planner.evidence.calibration.asking import Question, calibrate, changed_findings
from planner.evidence.calibration.collectives import costs_of, seconds_of
from planner.evidence.calibration.measurement.devices import chip_called
from planner.evidence.calibration.measurement.measure import STATES, Measured, gemm_shapes, measure
from planner.evidence.calibration.measurement.power import PowerMeter
from planner.evidence.calibration.measurement.torch_device import TorchDevice, open_device
from planner.evidence.calibration.runs import with_values

ONE = np.ones(1)
BASE = load_calibration()
TRUTH = {
    "gemm_efficiency.h100": 0.80,
    "attention_efficiency.fa2_hopper": 0.40,
    "memory_efficiency": 0.90,
    "network.scale_up_efficiency": 0.60,
}


class Simulated:
    """A device that follows the planner's formulas with constants of its own."""

    name = "NVIDIA H200"
    dtype = "bf16"

    def __init__(self, ranks: int = 1, *, powered: bool = True) -> None:
        self.ranks, self.nodes = ranks, 1
        self.powered = powered
        self.chip = load_chip("h200-sxm5-141")
        self.constants = with_values(BASE, TRUTH)
        self.a = calibrated(self.chip, "torch-fsdp", "bf16", self.constants)
        self.asked: list[str] = []

    def gemm_s(self, m: int, n: int, k: int) -> float:
        a = self.a
        return float(matmul_s(a, m, n, k, clock=ONE, flop_per_s=a.matmul_flop_per_s)[0])

    def attention_s(
        self, batch: int, heads: int, seq_len: int, head_dim: int, kernel: str
    ) -> float | None:
        if kernel != "flash":
            return None
        times = attention_s(
            self.a, batch * seq_len * ONE, float(seq_len), heads * head_dim * ONE,
            float(head_dim), clock=ONE,
        )  # fmt: skip
        return float((times.forward + times.backward)[0])

    def copy_s(self, size_bytes: float) -> float:
        return 2 * size_bytes / self.a.memory_bytes_per_s

    def collective_s(self, collective: str, size_bytes: float) -> float:
        costs = costs_of(load_cluster("h200-sxm5-141"), self.a, self.ranks, 1)
        return float(seconds_of(costs, collective, np.array([size_bytes]))[0])

    def power(self, state: str, seconds: float) -> tuple[float, float | None] | None:
        self.asked.append(state)
        watts = {"idle": 90.0, "gemm": 695.0, "copy": 480.0, "wait": 210.0}[state]
        return (watts, 1.7e9) if self.powered else None


def found_with(measured: Measured) -> dict[str, float]:
    """Values of a local calibration from a device."""
    result = calibrate(Question(measured=measured))
    assert result.chips == ("h200-sxm5-141",)
    return {one.path: one.value for one in changed_findings(result)}


def test_the_true_constants_come_back() -> None:
    values = found_with(measure(Simulated(8), on_progress=None))
    for path, value in TRUTH.items():
        assert abs(np.log(values[path] / value)) < 0.45 * abs(np.log(BASE.value(path) / value)), (
            path
        )
    chip = load_chip("h200-sxm5-141")
    assert values["power.busy_share_of_tdp"] == pytest.approx(695 / chip.tdp_w, rel=0.02)
    assert values["power.wait_share_of_tdp"] == pytest.approx(210 / chip.tdp_w, rel=0.05)
    assert "attention_efficiency.cudnn" not in values


def test_one_device_has_no_collectives() -> None:
    measured = measure(Simulated())
    assert measured.collectives == ()
    assert not [path for path in found_with(measured) if path.startswith("network.")]


def test_without_a_power_meter_its_constants_stay() -> None:
    result = calibrate(Question(measured=measure(Simulated(powered=False))))
    assert not [one for one in result.findings if one.path.startswith("power.")]
    assert any("Power cannot be read" in note for note in result.notes)


def test_progress_reaches_its_end() -> None:
    seen: list[tuple[str, int, int]] = []
    device = Simulated(8)
    measure(device, on_progress=lambda what, done, of: seen.append((what, done, of)))
    assert [done for _, done, _ in seen] == list(range(len(seen)))
    assert {of for *_, of in seen} == {len(seen)}
    assert device.asked == list(STATES)


def test_quick_is_shorter() -> None:
    assert len(gemm_shapes(None, quick=True)) == 3
    assert len(measure(Simulated(), quick=True).gemms) == 3


def test_the_mlp_of_a_model_is_measured() -> None:
    model = load_model("llama3-70b")
    shapes = gemm_shapes(model, quick=True)
    assert shapes[:2] == [(4096, 4096, 4096), (8192, 8192, 8192)]
    assert shapes[2] == (8192, 2 * 28672, 8192)
    assert gemm_shapes(load_model("mixtral-8x7b"), quick=True)[2][1] == 2 * 14336


def test_a_copy_faster_than_the_memory_is_not_used() -> None:
    measured = replace(measure(Simulated()), copy_bytes_per_s=9e12)
    result = calibrate(Question(measured=measured))
    assert "memory_efficiency" not in {one.path for one in result.findings}
    assert any("copy reached" in note for note in result.notes)


@each(("name", "chip"), [
    ("NVIDIA H200", "h200-sxm5-141"), ("NVIDIA H100 80GB HBM3", "h100-sxm5-80"),
    ("NVIDIA H100 PCIe", "h100-pcie-80"), ("NVIDIA A100-SXM4-80GB", "a100-sxm4-80"),
    ("NVIDIA A100-SXM4-40GB", "a100-sxm4-40"), ("Tesla V100-SXM2-32GB", "v100-sxm2-32"),
    ("AMD Instinct MI300X", "mi300x"), ("NVIDIA GB200", "gb200-nvl72-gpu"),
    ("NVIDIA B200", "b200-sxm-180"), ("NVIDIA H20", "h20-sxm5-96"), ("A Toaster 3000", None),
])  # fmt: skip
def test_names_of_devices(name: str, chip: str | None) -> None:
    assert chip_called(name) == chip
    assert chip is None or load_chip(chip).name == chip


def test_an_unknown_device_is_asked_for() -> None:
    measured = replace(measure(Simulated()), device="A Toaster 3000")
    with pytest.raises(InputError, match="no chip of the database is called 'A Toaster 3000'"):
        calibrate(Question(measured=measured))


def test_without_pytorch(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(InputError, match="PyTorch is not installed"):
        open_device()


def test_without_a_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    torch = types.SimpleNamespace(cuda=types.SimpleNamespace(is_available=lambda: False))
    monkeypatch.setattr(importlib, "import_module", lambda _: torch)
    with pytest.raises(InputError, match="PyTorch finds no GPU"):
        open_device()


def test_a_meter_averages_what_it_reads() -> None:
    readings = iter([(100.0, 1e9), (200.0, None), (300.0, 3e9)])

    def read() -> tuple[float, float | None]:
        return next(readings, (200.0, 2e9))

    meter = PowerMeter(read, every_s=0.001)
    assert meter.mean() is None
    with meter:
        while len(meter._readings) < 5:
            pass
    power, clock = meter.mean() or (0.0, None)
    assert power == pytest.approx(200.0)
    assert clock == pytest.approx(2e9)


def test_a_meter_that_fails_gives_nothing() -> None:
    def read() -> tuple[float, float | None]:
        raise ValueError("[N/A]")

    with PowerMeter(read) as meter:
        pass
    assert meter.mean() is None


class FakeTorch(types.SimpleNamespace):
    """As much of PyTorch as the device needs; work advances a clock instead of a GPU."""

    def __init__(self) -> None:
        super().__init__()
        self.now = 0.0
        outer = self

        class Event:
            def __init__(self, enable_timing: bool) -> None:
                assert enable_timing
                self.at = 0.0

            def record(self) -> None:
                self.at = outer.now

            def elapsed_time(self, other: "Event") -> float:
                return (other.at - self.at) * 1e3

        self.bfloat16, self.float16, self.int32 = "bf16", "fp16", "int32"
        self.cuda = types.SimpleNamespace(
            set_device=lambda index: None,
            get_device_properties=lambda index: types.SimpleNamespace(uuid="no-such"),
            get_device_name=lambda index: "NVIDIA H100 80GB HBM3",
            get_device_capability=lambda index: (9, 0),
            mem_get_info=lambda: (4e9, 80e9),
            synchronize=lambda: None,
            Event=Event,
        )

    def randn(self, *shape: int, dtype: str, device: str) -> Any:
        assert device == "cuda"
        return types.SimpleNamespace(shape=shape)

    def empty(self, *shape: int, dtype: str, device: str) -> Any:
        buffer = types.SimpleNamespace(shape=shape)
        buffer.zero_ = lambda: buffer
        return buffer

    def empty_like(self, other: Any) -> Any:
        def copy_(source: Any) -> None:
            self.now += 8 * source.shape[0] / 3e12

        return types.SimpleNamespace(shape=other.shape, copy_=copy_)

    def mm(self, a: Any, b: Any, out: Any) -> None:
        assert out.shape == (a.shape[0], b.shape[1])
        self.now += 2.0 * a.shape[0] * a.shape[1] * b.shape[1] / 600e12


def test_times_through_pytorch(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(PowerMeter, "of", staticmethod(lambda index, uuid: None))
    device = TorchDevice(FakeTorch())
    assert (device.rank, device.ranks, device.nodes, device.dtype) == (0, 1, 1, "bf16")
    assert device.gemm_s(4096, 2048, 1024) == pytest.approx(2 * 4096 * 2048 * 1024 / 600e12)
    # A quarter of the free memory is less than the buffer; its time is scaled to the whole.
    assert device.copy_s(2.0**31) == pytest.approx(2 * 2.0**31 / 3e12)
    kernels = types.SimpleNamespace(SDPBackend=types.SimpleNamespace())
    monkeypatch.setattr(importlib, "import_module", lambda _: kernels)
    assert device.attention_s(1, 8, 1024, 128, "flash") is None
    assert device.power("idle", 0.1) is None
    device.close()


def test_ranks_of_torchrun(monkeypatch: pytest.MonkeyPatch) -> None:
    started: list[str] = []
    torch = FakeTorch()
    torch.distributed = types.SimpleNamespace(
        init_process_group=started.append, destroy_process_group=lambda: started.append("end")
    )
    monkeypatch.setattr(PowerMeter, "of", staticmethod(lambda index, uuid: None))
    variables = {"RANK": "9", "WORLD_SIZE": "16", "LOCAL_RANK": "1", "LOCAL_WORLD_SIZE": "8"}
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    device = TorchDevice(torch)
    device.close()
    assert (device.rank, device.ranks, device.nodes) == (9, 16, 2)
    assert started == ["nccl", "end"]
