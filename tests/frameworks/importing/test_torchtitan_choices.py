"""Torchtitan's choices beside the mesh: gathered weights, optimizers, names of configurations."""

from pathlib import Path

from support.cases import each

from frameworks.importing.test_import_torchtitan import SMALL, launch, refused

RESHARD = "parallelism.fsdp_reshard_after_forward"
NEVER = {
    "0.2": f'{SMALL}data_parallel_replicate_degree = 2\nfsdp_reshard_after_forward = "never"',
    "0.3": "torchrun -m torchtitan.train --module llama3 --config llama3_8b "
    "--parallelism.data_parallel_replicate_degree 2 --parallelism.fsdp-reshard-after-forward never",
}


@each("version", NEVER)
def test_weights_that_stay_gathered_are_no_plan(version: str, tmp_path: Path) -> None:
    assert refused(NEVER[version], tmp_path) == [
        f"{RESHARD}: never keeps the weights gathered after the forward pass, which no plan says; "
        "--fix sharding=zero3 takes its place"
    ]
    found = launch(NEVER[version], tmp_path, "sharding=zero3")
    plan = found.plan
    assert (plan.sharding, plan.dp, plan.fsdp) == ("zero3", 2, 32)
    [warning] = [one for one in found.imported.warnings if one.startswith(RESHARD)]
    assert warning.endswith(
        "more memory, by 2 bytes per parameter in bf16, and fewer gathers than the answer counts"
    )


@each("policy", ['"sometimes"', "false", "0"])
def test_resharding_is_one_of_three_words(policy: str, tmp_path: Path) -> None:
    [line] = refused(f"{SMALL}fsdp_reshard_after_forward = {policy}", tmp_path)
    assert line.endswith("is not one of default, always, never")


def test_replicas_alone_gather_nothing(tmp_path: Path) -> None:
    text = (
        f"{SMALL}data_parallel_replicate_degree = 64\ndata_parallel_shard_degree = 1\n"
        'fsdp_reshard_after_forward = "never"'
    )
    assert launch(text, tmp_path).plan.sharding == "ddp"


BARE = "torchrun --nnodes 8 --nproc-per-node 8 -m torchtitan.train"
LLAMA3_8B = f"{BARE} --module llama3 --config llama3_8b"


@each(("implementation", "warned"), [("fused", False), ("fused_opt_states_bf16", True)])
def test_moments_in_16_bits_are_said(implementation: str, warned: bool, tmp_path: Path) -> None:
    text = f"{LLAMA3_8B} --optimizer.implementation {implementation}"
    lines = launch(text, tmp_path, chips=None).imported.warnings
    said = "optimizer.implementation: keeps moments in 16 bits: less memory than the answer counts"
    assert (said in lines) == warned


@each("before", ["", "--training.seq_len 4096 --compile.enable "])
@each("word", ["optimizer:muon", "lr-scheduler:none"])
def test_a_choice_of_a_section_is_no_value(before: str, word: str, tmp_path: Path) -> None:
    found = launch(f"{LLAMA3_8B} {before}{word}", tmp_path, chips=None).imported
    alone = launch(f"{LLAMA3_8B} {before}", tmp_path, chips=None).imported
    assert (found.plan, found.job, found.unknown) == (alone.plan, alone.job, ())
    [warning] = set(found.warnings) - set(alone.warnings)
    assert warning.startswith(f"{word}: torchtitan 0.3.0 has this choice for activation-checkpoint")
    assert warning.endswith("Adam's two numbers per weight") == word.startswith("optimizer")


def test_words_with_colons_stay_values(tmp_path: Path) -> None:
    text = f"{LLAMA3_8B} --training.foo https://a:1 c:d"
    [unknown] = launch(text, tmp_path, chips=None).imported.unknown
    assert (unknown.name, unknown.value) == ("training.foo", "https://a:1 c:d")


@each("module", ["torchtitan.models.llama3", "torchtitan.models.llama3.config_registry"])
def test_modules_by_their_path(module: str, tmp_path: Path) -> None:
    text = f"{BARE} --module {module} --config llama3_70b"
    found = launch(text, tmp_path, chips=None, model="llama3-70b")
    assert (found.plan.tp, found.plan.recompute) == (8, "full")


@each(
    ("settings", "warned"),
    [
        ("data_parallel_replicate_degree = 32\ntensor_parallel_degree = 2", True),
        ("data_parallel_replicate_degree = 32\npipeline_parallel_degree = 2", True),
        ("data_parallel_replicate_degree = 64", False),
        ("data_parallel_replicate_degree = 8\ncontext_parallel_degree = 8", False),
    ],
)
def test_replicas_that_0_2_refuses(settings: str, warned: bool, tmp_path: Path) -> None:
    text = f"{SMALL}data_parallel_shard_degree = 1\n{settings}"
    found = launch(text, tmp_path)
    said = "torchtitan 0.2 has replicas without shards only alone"
    assert any(said in one for one in found.imported.warnings) == warned
