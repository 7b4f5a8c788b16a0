"""Matrix multiplications: the three formats, what is refused, and the constants they give."""

import numpy as np
import pytest
from support.cases import each

from hardware_db import load_calibration, load_chip
from planner.assumptions.assumptions import calibrated
from planner.base.errors import InputError
from planner.cost.kernels.compute import matmul_s
from planner.evidence.calibration.constants import prior_of
from planner.evidence.calibration.gemm import check_rates, learn_gemms, templates_of
from planner.evidence.calibration.logs.gemm_log import GemmTime, parse_gemm
from planner.evidence.calibration.runs import with_values

TABLE = """\
m,n,k,dtype,tflops
4096,4096,4096,bf16,640
8192,8192,8192,torch.bfloat16,660.5
"""
BENCH = """\
hipBLASLt version: 1000
Query device success: there are 1 devices
[0]:transA,transB,grouped_gemm,batch_count,m,n,k,alpha,lda,stride_a,beta,ldb,stride_b,ldc,\
stride_c,ldd,stride_d,a_type,b_type,c_type,d_type,compute_type,scaleA,scaleB,scaleC,scaleD,amaxD,\
activation_type,bias_vector,bias_type,rotating_buffer,hipblaslt-Gflops,hipblaslt-GB/s,us
    N,N,0,1,3584,2048,3584,1,3584,12845056,0,3584,7340032,3584,7340032,3584,7340032,bf16_r,bf16_r,\
bf16_r,bf16_r,f32_r,0,0,0,0,0,none,0,bf16_r,640,591344,576.241,88.9724
    --Solution index: 300662
"""
OLD_BENCH = """\
transA,transB,M,N,K,alpha,lda,stride_a,beta,ldb,stride_b,ldc,stride_c,ldd,stride_d,d_type,\
compute_type,activation_type,bias_vector,hipblaslt-Gflops,us
N,N,4096,4096,4096,1,4096,16777216,0,4096,16777216,4096,16777216,4096,16777216,f16_r,f32_r,none,0,\
 415278, 331.0
"""
MAMF = """\
Benchmark started on 2026-03-01 10:55:22

** Command line:
python mamf-finder.py --m_range 4096 8193 4096 --n 4096 --k 4096

** Dtype: torch.bfloat16

Warming up the accelerator for 30 secs ... accelerator warmup finished
     1 |  593.5(mean)  595.3(median)  596.6(max) @ 4096x4096x4096       | best:  593.5(mean)
     2 |  623.5(mean)  623.4(median)  627.1(max) @ 8192x4096x4096       | best:  623.5(mean)
"""


def refusal(text: str) -> list[str]:
    """What is said of a file."""
    with pytest.raises(InputError) as caught:
        parse_gemm(text, "g.csv")
    return str(caught.value).split("\n")


def test_the_documented_table() -> None:
    one, two = parse_gemm(TABLE, "g.csv")
    assert (one.m, one.n, one.k, one.dtype) == (4096, 4096, 4096, "bf16")
    assert one.flop_per_s == pytest.approx(640e12)
    assert two.time_s == pytest.approx(2 * 8192**3 / 660.5e12)


@each(("column", "value"), [("seconds", "2e-4"), ("us", "200"),
                                               ("time_s", "0.0002")])  # fmt: skip
def test_times_in_seconds_and_microseconds(column: str, value: str) -> None:
    (one,) = parse_gemm(f"M,N,K,dtype,{column}\n4096,4096,4096,fp16,{value}\n", "g.csv")
    assert one.time_s == pytest.approx(2e-4)


def test_hipblaslt_bench() -> None:
    (one,) = parse_gemm(BENCH, "g.txt")
    assert (one.m, one.n, one.k, one.dtype) == (3584, 2048, 3584, "bf16")
    assert one.time_s == pytest.approx(88.9724e-6)
    assert one.flop_per_s == pytest.approx(591344e9, rel=1e-4)


def test_an_older_hipblaslt_bench_prints_one_column_more_than_it_names() -> None:
    (one,) = parse_gemm(OLD_BENCH, "g.txt")
    assert (one.m, one.n, one.k, one.dtype) == (4096, 4096, 4096, "fp16")
    assert one.time_s == pytest.approx(331e-6)


def test_batches_are_counted_one_by_one() -> None:
    (one,) = parse_gemm(BENCH.replace("N,N,0,1,", "N,N,0,4,"), "g.txt")
    assert one.time_s == pytest.approx(88.9724e-6 / 4)


def test_mamf_finder() -> None:
    one, two = parse_gemm(MAMF, "g.txt")
    assert (one.m, one.n, one.k, one.dtype) == (4096, 4096, 4096, "bf16")
    assert one.flop_per_s == pytest.approx(595.3e12)
    assert two.m == 8192


ROW = "     3 |  980.5(mean)  982.3(median)  990.6(max) @ 8192x8192x8192 | best:  982\n"


def test_each_multiplication_is_of_the_format_above_it() -> None:
    text = f"{ROW}{MAMF}** Dtype: torch.float8_e4m3fn\n{ROW}** Dtype: torch.float16\n{ROW}"
    assert [one.dtype for one in parse_gemm(text, "g.txt")] == ["bf16"] * 3 + ["fp8", "fp16"]
    assert refusal(f"{MAMF}** Dtype: torch.int8\n{ROW}{ROW}") == [
        "g.csv: line 11: dtype: 'torch.int8' is not one of bf16, fp16, fp32, fp8, fp4"
    ]


def test_tables_of_two_tools_in_one_file_are_both_read() -> None:
    whole = parse_gemm(BENCH + OLD_BENCH + MAMF, "g.txt")
    apart = [parse_gemm(text, "g.txt") for text in (MAMF, BENCH, OLD_BENCH)]
    assert whole == apart[0] + apart[1] + apart[2]


@each(("text", "words"), [
    ("", "g.csv: is empty"),
    ("m,n,k,dtype,us,US\n4,4,4,bf16,1,2\n", "g.csv: column 'us' appears twice"),
    ("a,b\n1,2\n", "column 'm' is missing"),
    ("m,n,k,dtype,ms\n1,1,1,bf16,3\n", "column 'seconds' is missing; 'ms' is there: give seconds"),
    ("m,n,k,dtype,seconds\n", "has no line of results"),
    ("m,n,k,dtype,seconds\n4,4,4,bf16,0\n", "g.csv: line 2: seconds: 0: must be greater than 0"),
    ("m,n,k,dtype,seconds\n4,x,4,bf16,1\n", "g.csv: line 2: n: 'x' is not a number"),
    ("m,n,k,dtype,seconds\n4,4,4,tf99,1\n", "line 2: dtype: 'tf99' is not one of bf16"),
])  # fmt: skip
def test_faults(text: str, words: str) -> None:
    (line,) = refusal(text)
    assert words in line


def test_every_fault_is_listed() -> None:
    rows = "m,n,k,dtype,seconds\n4,4,4,bf16,0\n4,4,4,bf16,1\n-4,4,4,bf16,1\n"
    assert [line.split(": ")[1] for line in refusal(rows)] == ["line 2", "line 4"]


def test_impossible_rates() -> None:
    chip = load_chip("h100-sxm5-80")
    fast = [GemmTime(m=8192, n=8192, k=8192, dtype="bf16", time_s=1e-6)]
    with pytest.raises(InputError, match="times the peak of h100-sxm5-80"):
        check_rates(fast, chip, "g.csv")
    slow = [GemmTime(m=8192, n=8192, k=8192, dtype="bf16", time_s=1e2)]
    with pytest.raises(InputError, match="check the unit, seconds"):
        check_rates(slow, chip, "g.csv")
    with pytest.raises(InputError, match="has no fp8 rate"):
        check_rates([GemmTime(m=1, n=1, k=1, dtype="fp8", time_s=1.0)],
                    load_chip("a100-sxm4-80"), "g.csv")  # fmt: skip


def test_the_constants_come_back() -> None:
    base, chip = load_calibration(), load_chip("h100-sxm5-80")
    truth = {
        "gemm_efficiency.h100": base.value("gemm_efficiency.h100") * 1.15,
        "gemm.half_mn": base.value("gemm.half_mn") * 2.5,
        "gemm.overhead_s": base.value("gemm.overhead_s") * 0.4,
    }
    a = calibrated(chip, "torch-fsdp", "bf16", with_values(base, truth))
    cubes = [(size, size, size) for size in (1024, 2048, 4096, 8192)]
    sizes = [*cubes, (512, 8192, 4096), (8192, 512, 4096), (256, 256, 8192), (128, 4096, 4096)]
    noise = np.exp(0.01 * np.random.default_rng(0).standard_normal(len(sizes)))
    times = [
        GemmTime(
            m=m,
            n=n,
            k=k,
            dtype="bf16",
            time_s=by
            * float(matmul_s(a, m, n, k, clock=np.ones(1), flop_per_s=a.matmul_flop_per_s)[0]),
        )
        for (m, n, k), by in zip(sizes, noise, strict=True)
    ]
    priors = [prior_of(template, base, chip) for template in templates_of(times, chip)]
    found = learn_gemms(times, chip, base, priors)
    values = dict(zip((p.path for p in priors), found.values, strict=True))
    for path, value in truth.items():
        assert abs(np.log(values[path] / value)) < 0.6 * abs(np.log(base.value(path) / value))
    assert np.abs(found.after).mean() < 0.3 * np.abs(found.before).mean()


def test_eight_bits_teach_their_own_ratio() -> None:
    one = [GemmTime(m=1, n=1, k=1, dtype="fp8", time_s=1.0)]
    assert "precision.fp8_hopper" in templates_of(one, load_chip("h100-sxm5-80"))
    assert "precision.fp8_blackwell" in templates_of(one, load_chip("b200-sxm-180"))
