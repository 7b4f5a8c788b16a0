"""What published runs say of themselves, each with its source.

A step time that a run does not print follows from what it does: FLOP per token as the run counts
them, over the FLOP/s that it prints.
"""

from __future__ import annotations

from frozen_records import dataclass

_HOUR_S = 3600.0
_DAY_H = 24.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Said:
    """A run; None and zero: it does not say.

    Attributes:
        run, chips: Its name, and chips of the job.
        row, also: Row of the published runs with its plan, and columns that the row lacks.
        step_s: Step time.
        batch_tokens: Of a step.
        tokens, chip_hours: Of the whole run.
        site: Whose failures are its own.
        as_often_as: A run of the same job, which failed as often.
        published: Its effective time in words.
        share: The same; None of a bound.
        at_least: The bound.
        every_s: Work between two checkpoints.
        stall_s, write_s: Of a checkpoint.
        missing: What it does not say, or what is put in.
        source: Address.
    """

    run: str
    chips: int
    row: str = ""
    also: tuple[tuple[str, str], ...] = ()
    step_s: float | None = None
    batch_tokens: float = 0.0
    tokens: float | None = None
    chip_hours: float | None = None
    site: str = ""
    as_often_as: str = ""
    published: str = ""
    share: float | None = None
    at_least: float | None = None
    every_s: float | None = None
    stall_s: float = 0.0
    write_s: float = 0.0
    missing: str
    source: str

    @property
    def shown(self) -> float | None:
        """Its effective time, or the bound that it says."""
        return self.at_least if self.share is None else self.share


_LLAMA_BATCH = 2048 * 8192
_OPT_BATCH, _OPT_DAYS = 992 * 2048, 56.0
_OPT_STEP_S = 4.30e23 / 300e9 * _OPT_BATCH / (992 * 147e12)
_BLOOM_BATCH, _BLOOM_DAYS = 2048 * 2048, 108.4
_BLOOM_STEPS, _BLOOM_STEP_S = 94_767 - 12_695, 105.22
_HLAT = "HLAT, automatic restarts"

SAID = (
    Said(
        # 400 TFLOP/s per GPU at 16 M tokens (table 4), 6 FLOP per parameter and token as in its
        # 3.8e25; pipeline: 126 layers are 16 x 8 chunks of one but for the first and the last;
        # the model is not sharded again after the forward pass (section 3.3.2). 2 TB/s of
        # checkpoints: section 3.3.1. 30.84 M hours: models/llama3_1/MODEL_CARD.md of
        # github.com/meta-llama/llama-models.
        run="Llama 3 405B", chips=16_384, row="llama3_405b_t4_16384_8192",
        also=(("sharding", "zero2"), ("interleave_v", "8")),
        step_s=6 * 405e9 * _LLAMA_BATCH / (16_384 * 400e12), batch_tokens=_LLAMA_BATCH,
        tokens=15.6e12, chip_hours=30.84e6, site="llama-3", published="over 90 %",
        at_least=0.90,
        write_s=405e9 * 14 / 2e12,
        missing="detection, restart, interval; 8 chunks are inferred from its layers; its hours "
        "hold smaller batches and long sequences",
        source="arXiv:2407.21783",
    ),
    Said(
        run="RSC-1, projected", chips=16_384, site="rsc-1", missing="effective time of such a job",
        source="arXiv:2410.21680",
    ),
    Said(
        # 147 TFLOP/s per GPU: section 2.4. 4.30e23 FLOP for 300 B tokens, November 11 to
        # January 6: projects/OPT/chronicles of github.com/facebookresearch/metaseq, which has
        # restarts by hand that took hours, and a cluster that was deleted.
        run="OPT-175B", chips=992, row="paperrun-010",
        also=(("global_batch_seqs", "992"), ("micro_batch_seqs", "8")),
        step_s=_OPT_STEP_S, batch_tokens=_OPT_BATCH, tokens=300e9,
        chip_hours=_OPT_DAYS * _DAY_H * 992, site="opt-175b", published="61 %, by its dates",
        share=300e9 / _OPT_BATCH * _OPT_STEP_S / (_OPT_DAYS * _DAY_H * _HOUR_S),
        missing="micro-batch: all of a step at once; two thirds of its restarts are an estimate",
        source="arXiv:2205.01068",
    ),
    Said(
        # From March 18, iteration 12,695, when the batch was whole, to July 4, 21:00 PST,
        # iteration 94,767, on 48 nodes; 105.22 s each, a checkpoint of 40 s every 100.
        run="BLOOM 176B", chips=384, row="bloom-002", step_s=_BLOOM_STEP_S,
        batch_tokens=_BLOOM_BATCH, tokens=_BLOOM_STEPS * _BLOOM_BATCH,
        chip_hours=_BLOOM_DAYS * _DAY_H * 384, site="bloom", published="92 %, by its log",
        share=_BLOOM_STEPS * _BLOOM_STEP_S / (_BLOOM_DAYS * _DAY_H * _HOUR_S),
        every_s=100 * _BLOOM_STEP_S, stall_s=40.0,
        missing="failures that are no chip; 35 h of hangs, and 0.7 % of evaluation, are not in it",
        source="https://github.com/bigscience-workshop/bigscience/blob/master/train/tr11-176B-ml/chronicles.md",
    ),
    Said(
        # also in the table of https://glennklockwood.com/garden/job-reliability
        run=_HLAT, chips=4_096, published="98.81 %", share=0.9881,
        missing="how often it failed, step time", source="arXiv:2404.10630",
    ),
    Said(
        run="HLAT, manual restarts", chips=4_096, published="77.83 %", share=0.7783,
        as_often_as=_HLAT, missing="the same; as often as with automatic restarts",
        source="arXiv:2404.10630",
    ),
    Said(
        run="ByteRobust", chips=9_600, published="97 %", share=0.97,
        missing="how often it failed, step time", source="arXiv:2509.16293",
    ),
    Said(
        # 180,000 hours per trillion tokens, from which its step time follows
        run="DeepSeek-V3", chips=2_048, row="deepseek-003", step_s=19.9067,
        batch_tokens=15_360 * 4096, tokens=14.8e12, chip_hours=2.664e6,
        missing="how often it failed, effective time; its step time is that of its hours",
        source="arXiv:2412.19437",
    ),
)  # fmt: skip
