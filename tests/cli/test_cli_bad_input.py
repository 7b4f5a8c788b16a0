"""Bad input by flags: exit code 2, one clear line per mistake, no traceback, nothing written."""

import re
from pathlib import Path

from support.cases import each

from cli.command import planner, refused, replaced, solve

SMALL = ("--model", "gpt3-125m", "--hardware", "h100-sxm5-80")


def asked(*flags: object) -> list[str]:
    """The mistakes of `planner solve` on a small job with these flags."""
    given = [str(flag) for flag in flags]
    return refused("solve", *replaced([*SMALL, "--chips", "8"], *given))


def one(*flags: object) -> str:
    """The single mistake of `planner solve` with these flags."""
    lines = asked(*flags)
    assert len(lines) == 1, lines
    return lines[0]


@each("chips", ["0", "-1", "-8"])
def test_no_chips_or_fewer(chips: str) -> None:
    line = one("--chips", chips)
    assert line.startswith(f"chips: {chips}")
    assert "1" in line.removeprefix(f"chips: {chips}"), "says what is allowed"


def test_chips_that_are_not_whole() -> None:
    assert one("--chips", "1.5") == "chips: '1.5' is not a whole number; nearest: 2"


@each("chips", ["1000000000000", "1e12", "1T", "1000G"])
def test_a_trillion_chips(chips: str) -> None:
    line = one("--chips", chips)
    assert re.search(r"1000000000000|1,000,000,000,000", line)
    assert re.search(r"262144|262,144", line), "names the largest that is allowed"


@each("chips", ["10^12", "abc", "", "nan", "inf", "1e999", "1e300P", "²", "8 8"])
def test_chips_that_are_no_number(chips: str) -> None:
    assert one("--chips", chips).startswith("chips: ")


@each(("chips", "near"), [("13", ("8", "16")), ("127", ("120", "128"))])
def test_a_prime_that_no_mesh_of_whole_nodes_can_use(chips: str, near: tuple[str, str]) -> None:
    line = one("--chips", chips)
    assert chips in line
    assert "nodes of 8" in line
    assert all(number in line for number in near)


def test_a_prime_that_no_torus_slice_has() -> None:
    lines = refused("solve", "--model", "llama2-13b", "--chips", "13")
    assert lines == [
        "chips: tpu-v5p cannot give 13 chips (it is divided into torus slices); "
        "the nearest counts are 8 and 16"
    ]


def test_a_prime_that_pure_data_parallelism_can_use() -> None:
    answer = solve(
        "--model", "gpt3-125m", "--hardware", "gh200-ndr", "--chips", 13,
        "--batch-tokens", 13 * 16 * 2048, "--axes", "dp,fsdp",
    )  # fmt: skip
    mesh = answer["best"]["mesh"]
    assert mesh["dp"] * mesh["fsdp"] == 13
    assert answer["certificate"]["status"] == "optimal"


def test_a_prime_that_divides_nothing_says_which_batch_it_would_divide() -> None:
    outcome = planner(
        "solve", "--model", "gpt3-125m", "--hardware", "gh200-ndr", "--chips", 8191,
        "--chips-exact", "--batch-tokens", 2048 * 4096,
    )  # fmt: skip
    assert outcome.code == 3
    assert "8,191" in outcome.out
    assert f"--batch-tokens {8191 * 2048}" in outcome.out
    assert "--chips 8192" in outcome.out


def test_a_batch_that_does_not_divide_names_the_nearest() -> None:
    line = one("--seq-len", 4096, "--batch-tokens", 5_000_000)
    assert line.startswith("batch-tokens: 5,000,000 tokens")
    assert "4,997,120 or 5,001,216" in line  # 1220 and 1221 sequences of 4096
    assert "4,096" in one("--seq-len", 4096, "--batch-tokens", 100)


@each("seq_len", ["0", "-1", "2.5", "1e9", "nan"])
def test_sequence_lengths(seq_len: str) -> None:
    assert one("--seq-len", seq_len).startswith("seq-len: ")


def test_heads_that_tp_does_not_divide() -> None:
    """GPT-3 125M has 12 heads: tp 5 is impossible, and the answer says why and what divides."""
    outcome = planner(
        "solve", *SMALL, "--chips", "40", "--batch-tokens", 40 * 8 * 2048, "--fix", "tp=5"
    )
    assert outcome.code in (2, 3)
    said = " ".join((outcome.out + outcome.err).split())
    assert "12" in said, "the number of heads"
    assert "heads" in said
    assert re.search(r"tp[ =]4|4 or 6|4 and 6", said), "the nearest that divides"
    assert "Traceback" not in said


@each(("flag", "value", "words"), [
    ("--model", "gpt3-125n", "gpt3-125m"),
    ("--model", "lama2-13b", "llama2-13b"),
    ("--hardware", "dgx-h100", "dgx-h100-ndr"),
    ("--hardware", "h100-sxm5", "h100-sxm5-80"),
    ("--hardware", "h100-sxm", "h100-sxm5-80"),
    ("--hardware", "tpu-v5q", "tpu-v5p"),
    ("--framework", "megatro", "megatron"),
    ("--framework", "nonsense", "deepspeed, deepspeed-liger, fsdp, hai-llm, jax, megatron"),
    ("--precision", "bf17", "bf16"),
    ("--precision", "fp4", "bf16"),  # H100 has no fp4: says what it has
    ("--job", "pretraining", "pretrain, finetune, lora"),
    ("--job", "LoRA", "dpo, dpo-lora; did you mean 'lora'"),
    ("--job", "gpro", "dpo, dpo-lora; did you mean 'grpo'"),
    ("--era", "megatron", "megatron-core"),
    ("--era", "gaudi", "for Gaudi chips of Intel alone.*; allowed there: .*megatron-core"),
    ("--objective", "speed", "time, energy, edp, memory"),
    ("--placement", "some", "framework, all, torus"),
    ("--front", "time", "time, energy"),
    ("--front", "time,energy,money", "memory"),
    ("--front", "", "time"),
    ("--axes", "tp,xp", "tp, cp, pp, dp, fsdp, ep"),
    ("--axes", "tp,dp,tp", "'tp' is named twice; name it once"),
    ("--lora-targets", "q,q", "'q' is named twice; name it once"),
    ("--axes", "", "tp, cp, pp, dp, fsdp, ep"),
    ("--fix", "tp", "FIELD=VALUES"),
    ("--fix", "tp=", "FIELD=VALUES"),
    ("--fix", "=8", "FIELD=VALUES|unknown field"),
    ("--fix", "tpp=8", "'tpp'.*tp, cp, pp, dp"),
    ("--fix", "tp=0", "whole number from 1 to"),
    ("--fix", "tp=1.5", "whole number from 1 to"),
    ("--fix", "tp=²", "whole number from 1 to"),
    ("--fix", "sharding=zero4", "ddp, zero1, zero2, zero3"),
    ("--fix", "sequence_parallel=maybe", "true or false"),
    ("--assumptions", "roofline2", "calibrated"),
    ("--assumptions", "absent.yaml", "absent.yaml: cannot be read"),
    ("--max-memory", "80Gb", "80GB"),
    ("--max-memory", "0", "greater than 0|positive"),
    ("--max-memory", "-1GB", "greater than 0|positive"),
    ("--max-power", "3", None),
    ("--max-power", "many", "10MW"),
    ("--max-step-time", "0", "greater than 0|positive"),
    ("--max-step-time", "2 parsecs", "ms s min h d y"),
    ("--time-limit", "0", "greater than 0|positive"),
    ("--time-limit", "-1s", "greater than 0|positive"),
    ("--train-tokens", "0", "greater than 0|positive"),
    ("--train-tokens", "many", "3e6"),
    ("--lora-rank", "0", "1"),
    ("--min-mfu", "nan", "finite"),
    ("--min-mfu", "2", "1"),
    ("--min-mfu", "-0.1", "0"),
    ("--price-per-chip-hour", "-1", "0"),
    ("--price-per-chip-hour", "nan", "finite"),
    ("--carbon-intensity", "inf", "finite"),
    ("--electricity-price", "-0.1", "0"),
    ("--pareto", "front.pdf", r"\.csv, \.json, \.svg, \.html"),
    ("--pareto", "front", r"\.csv, \.json, \.svg, \.html"),
])  # fmt: skip
def test_a_wrong_value_is_one_line_with_what_is_allowed(
    flag: str, value: str, words: str | None
) -> None:
    if words is None:
        outcome = planner("solve", *SMALL, "--chips", "8", flag, value)
        assert outcome.code == 3
        return
    line = one(flag, value)
    assert re.search(words, line), line


@each("flag", [
    "--chips", "--seq-len", "--max-memory", "--max-power", "--max-step-time", "--time-limit",
    "--min-mfu", "--lora-rank", "--batch-tokens", "--train-tokens", "--price-per-chip-hour",
])  # fmt: skip
def test_a_message_names_the_flag_as_it_is_typed(flag: str) -> None:
    name = flag.removeprefix("--")
    assert re.match(rf"(--)?{name}\b", one(flag, "-1")), one(flag, "-1")


@each("flag", ["--min-mfu", "--price-per-chip-hour", "--carbon-intensity"])
def test_text_for_a_number_is_one_line(flag: str) -> None:
    assert flag.removeprefix("--") in one(flag, "abc")


@each("arguments", [
    ("solve", "--bogus"), ("solv",), ("models", "lst"), ("evaluate",), ("solve", "--chips"),
    ("models", "show"), ("solve", "a.yaml", "b.yaml"),
])  # fmt: skip
def test_a_command_line_that_cannot_be_parsed(arguments: tuple[str, ...]) -> None:
    outcome = planner(*arguments)
    assert outcome.code == 2
    assert outcome.out == ""
    assert "Traceback" not in outcome.err
    assert outcome.err.startswith("error: "), outcome.err


def test_all_wrong_flags_are_reported_at_once() -> None:
    lines = asked(
        "--chips", "0", "--seq-len", "x", "--min-mfu", "3", "--max-memory", "80Gb",
    )  # fmt: skip
    assert [re.split(":", line)[0].replace("_", "-") for line in lines] == [
        "chips", "seq-len", "max-memory", "min-mfu",
    ]  # fmt: skip


def test_all_wrong_names_are_reported_at_once() -> None:
    outcome = planner(
        "solve", "--model", "nomodel", "--hardware", "nohardware", "--chips", "8",
        "--framework", "noframework", "--objective", "noobjective",
    )  # fmt: skip
    assert outcome.code == 2
    said = "\n".join(outcome.mistakes)
    missing = [w for w in ("model", "hardware", "framework", "objective") if f"no{w}" not in said]
    assert not missing, f"not reported: {missing}; reported: {said}"


def test_nothing_asked() -> None:
    lines = refused("solve")
    assert any("model" in line for line in lines)
    assert any("--chips" in line for line in lines), lines


def test_a_model_without_chips_says_how_to_give_them() -> None:
    assert refused("solve", "--model", "llama2-13b") == [
        "chips: is missing; say how many chips to plan for, e.g. --chips 4096"
    ]


def test_more_memory_than_the_chip_has_is_refused() -> None:
    """85.5 GB are on an H100; a plan of 300 GB per chip is not a plan."""
    line = one("--max-memory", "300GB")
    assert "85.5 GB" in line or "85.9 GB" in line


def test_figures_too_large_for_a_float() -> None:
    """A run of 1e300 tokens at 1e300 per hour overflows: an error, never `Infinity` in JSON."""
    outcome = planner(
        "solve", *SMALL, "--chips", "8", "--train-tokens", "1e300",
        "--price-per-chip-hour", "1e300", "--json",
    )  # fmt: skip
    assert outcome.code in (0, 2)
    if outcome.code == 2:
        assert outcome.out == ""
        assert outcome.mistakes


@each("flag", ["-o", "--pareto"])
@each("folder", ["absent", "file", "/proc/self"])
@each("form", ["--json"])
def test_an_output_folder_that_cannot_be_written_to(
    tmp_path: Path, flag: str, folder: str, form: str
) -> None:
    """Found before the search, not after it: nothing is printed and nothing is left behind."""
    (tmp_path / "file").write_text("x", encoding="utf-8")
    target = tmp_path / folder / "out.json"
    outcome = planner("solve", *SMALL, "--chips", "8", flag, target, form)
    assert outcome.code == 2
    assert len(outcome.mistakes) == 1
    assert str(target) in outcome.mistakes[0]
    assert "cannot be written" in outcome.mistakes[0]
    assert [entry.name for entry in tmp_path.iterdir()] == ["file"]
    assert outcome.out == "", "the answer is printed although the command fails"


def test_both_files_or_none(tmp_path: Path) -> None:
    plan, front = tmp_path / "plan.yaml", tmp_path / "absent" / "front.csv"
    outcome = planner("solve", *SMALL, "--chips", "8", "-o", plan, "--pareto", front)
    assert outcome.code == 2
    assert not list(tmp_path.iterdir())


def test_several_fronts_are_written_each_to_its_own_file(tmp_path: Path) -> None:
    fronts = [tmp_path / "front.csv", tmp_path / "front.svg"]
    flags = [word for path in fronts for word in ("--pareto", path)]
    assert planner("solve", *SMALL, "--chips", "8", *flags).code == 0
    assert all(path.stat().st_size for path in fronts)
    twice = refused("solve", *SMALL, "--chips", "8", *flags, "--pareto", fronts[1])
    assert twice == [f"pareto: {fronts[1]} is the file of --pareto too; name another"]


def test_a_number_of_chips_that_a_cluster_cannot_give_is_named_where_it_is_written(
    tmp_path: Path,
) -> None:
    job = tmp_path / "job.yaml"
    job.write_text("{model: gpt3-125m, hardware: tpu-v5p, chips: 13}", encoding="utf-8")
    wrong = f"{job}: line 1: chips: tpu-v5p cannot give 13 chips"
    assert refused("solve", job)[0].startswith(wrong)
    assert refused("solve", job, "--chips", "17")[0].startswith("chips: tpu-v5p cannot give 17")


@each("command", ["models", "hardware"])
def test_unknown_records(command: str) -> None:
    near = {"models": "llama2-13b", "hardware": "h100-sxm5-80"}[command]
    assert near in refused(command, "show", near[:-1])[0]
    assert len(refused(command, "show", "zzzzzz")) == 1
    assert len(refused(command, "show", "absent.yaml")) == 1


def test_an_unknown_name_with_nothing_near_suggests_nothing() -> None:
    assert "bloom" not in refused("models", "show", "foo")[0]


def test_unknown_schema() -> None:
    assert "plan" in refused("schema", "plans")[0]


def test_a_share_may_be_a_percentage() -> None:
    assert solve(*SMALL, "--chips", 8, "--min-mfu", "1%")["best"]["mfu"] > 0.01
    assert one("--min-mfu", "140%") == (
        "min-mfu: 140 %: must be at most 100 % and greater than 0; nearest: 100 %"
    )


@each("flag", ["--price-per-chip-hour", "--electricity-price", "--carbon-intensity"])
def test_a_price_without_a_run(flag: str) -> None:
    name = flag.removeprefix("--")
    assert one(flag, "2").startswith(f"{name}: has no effect without train-tokens")


def test_a_rank_without_adapters() -> None:
    line = one("--lora-rank", "8")
    assert line.startswith("lora-rank: 8 has no effect on a pretrain job")


def test_large_counts_are_echoed_as_typed() -> None:
    assert one("--chips", "9" * 35).startswith(f"chips: {'9' * 35}: must be at most")


def test_a_file_name_of_five_thousand_characters() -> None:
    outcome = planner("solve", "--model", "x" * 5000 + ".yaml", "--chips", "8")
    assert outcome.code == 2
    assert len(outcome.err) < 300


@each("flag", ["-o", "--pareto"])
@each("what", ["job", "hardware", "assumptions"])
def test_an_answer_does_not_overwrite_its_question(flag: str, what: str, tmp_path: Path) -> None:
    """Not the job file, nor a file that it names, nor by way of a link."""
    names = {"job": "job.yaml", "hardware": "my.yaml", "assumptions": "mine.yaml"}
    example = "hardware_db/data/examples/my-cluster.yaml"
    root = Path(__file__).parents[2]
    (tmp_path / "my.yaml").write_text((root / example).read_text("utf-8"), encoding="utf-8")
    (tmp_path / "mine.yaml").write_text("causal_share: 50%\n", encoding="utf-8")
    job = tmp_path / "job.yaml"
    job.write_text("{model: gpt3-125m, hardware: my.yaml, assumptions: mine.yaml, chips: 8}",
                   encoding="utf-8")  # fmt: skip
    before = {path: path.read_bytes() for path in tmp_path.iterdir()}
    link = tmp_path / "link.csv"
    link.symlink_to(tmp_path / names[what])
    name = {"-o": "output", "--pareto": "pareto"}[flag]
    line = f"{name}: {link} is the {what} file that is read; name another"
    assert refused("solve", job, flag, link) == [line]
    assert {path: path.read_bytes() for path in before} == before


def test_a_flag_that_is_given_twice() -> None:
    """The last one does not replace the first one silently; --help still helps."""
    flags = ("--chips", "8", "-o", "a.yaml", "--chips", "16", "--output", "b.yaml")
    assert refused("solve", *SMALL, *flags) == [
        "chips: is given twice; give one value", "output: is given twice; give one value",
    ]  # fmt: skip
    assert refused("evaluate", "x.yaml", *["--row", 1] * 3) == [
        "row: is given 3 times; give one value"
    ]
    assert refused("solve", *SMALL, "--clocks", "on", "--no-clocks") == [
        "clocks: --clocks 'on' and --no-clocks contradict one another; leave one out"
    ]
    assert refused("solve", *SMALL, "--offload", "--no-offload") == [
        "offload: is given twice; give one value"
    ]
    assert planner("models", "list", "--json", "--json").code == 0
    assert planner("solve", "--chips", "8", "--chips", "16", "--help").code == 0


def test_a_fixed_field_that_is_given_twice() -> None:
    assert refused("solve", *SMALL, "--chips", "8", "--fix", "tp=2", "--fix", "tp=4") == [
        "fix: tp is given twice; write its values at once: tp=2,4"
    ]


def test_a_plan_is_yaml(tmp_path: Path) -> None:
    path = tmp_path / "plan.csv"
    line = f"output: {path}: a plan is written as .yaml or .yml"
    assert refused("solve", *SMALL, "--chips", "8", "-o", path) == [line]
    assert not list(tmp_path.iterdir())
