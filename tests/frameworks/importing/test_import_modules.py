"""Modules that recompute, in launches of Megatron-LM."""

from pathlib import Path

from support.cases import each

from frameworks.importing.test_import_megatron import LLAMA, MIXTRAL, launch, refused


@each(
    ("modules", "word", "idle"),
    [
        ("core_attn", "selective", ""),
        ("mlp core_attn", "core_attn+mlp", ""),
        ("layernorm mlp moe", "mlp", "layernorm, moe"),
        ("layernorm moe", "none", "layernorm, moe"),
    ],
)
def test_modules_that_recompute_are_read(
    modules: str, word: str, idle: str, tmp_path: Path
) -> None:
    flags = f"--recompute-granularity selective --recompute-modules {modules}"
    found = launch(LLAMA + flags, tmp_path)
    assert found.plan.recompute == word
    warned = [line for line in found.imported.warnings if "recompute-modules" in line]
    assert bool(warned) == bool(idle)
    assert all(line.endswith(f"has {idle} apart") for line in warned)


@each(
    ("flags", "said"),
    [
        ("moe_act", "--recompute-modules: moe_act needs --moe-grouped-gemm"),
        ("mla_up_proj", "--recompute-modules: mla_up_proj needs latent attention"),
        ("moe_act --moe-grouped-gemm --fp8-format hybrid",
         "--recompute-modules: Megatron-LM takes it without moe_act where --fp8-recipe is delayed"),
    ],
)  # fmt: skip
def test_modules_that_megatron_refuses(flags: str, said: str, tmp_path: Path) -> None:
    text = MIXTRAL.replace("--moe-grouped-gemm", "").rstrip()
    text = f"{text} --recompute-granularity selective --recompute-modules {flags}"
    assert said in refused(text, tmp_path, model="mixtral-8x7b", chips=None)
