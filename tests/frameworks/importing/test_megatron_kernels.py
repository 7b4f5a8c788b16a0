"""Kernels and exchanges of Megatron-LM that are told where the prediction counts others."""

from pathlib import Path

from support.cases import each

from planner.question.launch import read_launch

GOLDEN = Path(__file__).parents[1] / "export" / "golden" / "megatron"
SENT = "--moe-token-dispatcher-type"
NAMES = (SENT, "--attention-backend", "--transformer-impl")


def told(name: str, folder: Path, change: tuple[str, str]) -> list[str]:
    """Warnings of kernels of an exported launch with other text."""
    text = (GOLDEN / name / "run.sh").read_text(encoding="utf-8")
    old, new = change
    assert old in text
    path = folder / "run.sh"
    path.write_text(text.replace(old, new), encoding="utf-8")
    model = {"experts": "mixtral-8x7b", "dense-tp-pp": "llama3-70b"}[name]
    changes = {"model": model, "hardware": "dgx-h100-ndr"}
    warnings = read_launch("megatron", path, changes).imported.warnings
    return [line for line in warnings if line.startswith(NAMES)]


ALLTOALL = f"{SENT} alltoall"


@each(
    ("change", "start"),
    [
        ((ALLTOALL, f"{SENT} allgather"), f"{SENT}: allgather: every rank of ep gathers"),
        ((ALLTOALL, "--bf16"), f"{SENT}: allgather, the default: every rank of ep gathers"),
        ((ALLTOALL, f"{SENT} flex"), f"{SENT}: flex: tokens travel by kernels of DeepEP"),
    ],
)
def test_how_tokens_go_to_experts(change: tuple[str, str], start: str, tmp_path: Path) -> None:
    [line] = told("experts", tmp_path, change)
    assert line.startswith(start)


@each(
    ("flag", "start"),
    [
        ("--attention-backend unfused", "--attention-backend: unfused keeps the scores"),
        ("--attention-backend local", "--attention-backend: local keeps the scores"),
        ("--transformer-impl local", "--transformer-impl: local keeps the scores"),
    ],
)
def test_kernels_that_keep_scores(flag: str, start: str, tmp_path: Path) -> None:
    [line] = told("dense-tp-pp", tmp_path, ("--bf16", f"--bf16 {flag}"))
    assert line.startswith(start)


@each("flag", ["", "--attention-backend flash", "--attention-backend auto"])
def test_what_is_predicted_is_no_warning(flag: str, tmp_path: Path) -> None:
    assert told("dense-tp-pp", tmp_path, ("--bf16", f"--bf16 {flag}")) == []
    assert told("experts", tmp_path, (ALLTOALL, ALLTOALL)) == []
