"""Formats of weights and gradients that a launch of Megatron-LM asks for."""

from pathlib import Path

from support.cases import each

from frameworks.importing.test_import_megatron import LLAMA, launch


@each(
    ("flags", "framework"),
    [
        ("", "megatron-fp32-grads"),
        ("--grad-reduce-in-bf16", "megatron"),
        ("--main-grads-dtype bf16", "megatron"),
        ("--accumulate-allreduce-grads-in-fp32", "megatron-fp32-grads"),
    ],
)
def test_gradients_have_the_format_of_the_launch(
    flags: str, framework: str, tmp_path: Path
) -> None:
    """`validate_args` sums and reduces in 32 bits under bf16 unless a flag says otherwise."""
    found = launch(f"{LLAMA} {flags}", tmp_path, chips=8, hardware="h100-sxm5-80")
    assert found.request.framework == framework


def test_quantized_weights_beside_others_are_warned_of(tmp_path: Path) -> None:
    flags = f"{LLAMA} --use-distributed-optimizer --fp8-format hybrid"
    beside, alone = (
        launch(text, tmp_path).imported.warnings for text in (flags, f"{flags} --fp8-param-gather")
    )
    assert [line for line in beside if "quantized weights beside" in line]
    assert [line for line in alone if "quantized weights beside" in line] == []


def test_gradients_of_fp16_have_16_bits(tmp_path: Path) -> None:
    half = LLAMA.replace("--bf16", "--fp16")
    for flags, framework in (
        ("", "megatron"),
        ("--accumulate-allreduce-grads-in-fp32", "megatron-fp32-grads"),
    ):
        found = launch(f"{half} {flags}", tmp_path, chips=8, hardware="h100-sxm5-80")
        assert found.request.framework == framework
