"""Faults of a user's file of runs: each is named with its line and its id."""

import csv
import gzip
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from cli.command import planner, refused
from support.cases import each

from planner.evidence.csvfile import published
from planner.evidence.runs.networks import between_fault, network_bytes_per_s
from planner.evidence.runs.profiles import profile_of
from planner.evidence.runs.reading import read_runs

GOOD = {
    "id": "a", "hardware": "a100-sxm4-80", "n_chips": "64", "seq_len": "2048",
    "global_batch_seqs": "512", "step_time_s": "3.5665", "n_layers": "30", "d_model": "3072",
    "n_heads": "32", "d_ff": "12288", "vocab": "51200", "micro_batch_seqs": "8", "tp": "1",
    "pp": "1", "precision": "fp16", "recompute": "full", "sharding": "ddp",
    "era": "megatron-deepspeed", "framework": "megatron",
}  # fmt: skip

Write = Callable[..., Path]


@pytest.fixture
def write(tmp_path: Path) -> Write:
    """Writes rows as changes of a good one, under an id of their own where none is given."""

    def rows(*changes: dict[str, str], drop: tuple[str, ...] = ()) -> Path:
        path = tmp_path / "my.csv"
        found = [{**GOOD, "id": f"row{at}", **change} for at, change in enumerate(changes)]
        every = dict.fromkeys(name for row in found for name in row)
        columns = [name for name in every if name not in drop]
        with path.open("w", encoding="utf-8", newline="") as file:
            writer = csv.DictWriter(file, columns, restval="", extrasaction="ignore")
            writer.writeheader()
            writer.writerows(found)
        return path

    return rows


def document(path: Path, *flags: str) -> Any:
    outcome = planner("validate", "--data", path, "--json", *flags)
    assert outcome.code == 0, outcome.err
    return outcome.document


FAULTS = [
    ({"step_time_s": "3566.5"}, "milliseconds"),
    ({"step_time_s": "0.0594"}, "in minutes, write 3.564"),
    ({"step_time_s": "0.001"}, "more than the chips can do"),
    ({"step_time_s": "0"}, "step_time_s: 0 is not positive"),
    ({"step_time_s": "-1"}, "step_time_s: -1 is not positive"),
    ({"step_time_s": "nan"}, "step_time_s: 'nan' is not a finite number"),
    ({"step_time_s": "inf"}, "step_time_s: 'inf' is not a finite number"),
    ({"step_time_s": "3,5"}, "step_time_s: '3,5' is not a number"),
    ({"n_layers": "30.5"}, "n_layers: 30.5 is not a positive whole number of at most"),
    ({"tp": "0"}, "tp: 0 is not a positive whole number of at most"),
    ({"hardware": "a100-sxm4-81"}, "did you mean 'a100-sxm4-80'?"),
    ({"hardware": "A100"}, "a100-sxm4-80"),
    ({"hardware": ""}, "hardware: is empty"),
    ({"tp": "128"}, "n_chips: 64 is not a multiple of tp x pp x cp = 128; nearest: 128"),
    ({"tp": "3"}, "n_chips: 64 is not a multiple of tp x pp x cp = 3; nearest: 63 or 66"),
    ({"era": "megatron-deepsped"}, "did you mean 'megatron-deepspeed'?"),
    ({"framework": "megatro"}, "did you mean 'megatron'?"),
    ({"framework": "NeMoo"}, "did you mean 'NeMo'?"),
    ({"optimizer": "adma"}, "did you mean 'adam'?"),
    ({"job": "fsft"}, "job: 'fsft' is not one of pretrain, sft, lora"),
    ({"sharding": "zero4"}, "sharding: 'zero4' is not one of ddp, zero1, zero2, zero3"),
    ({"recompute": "all"}, "recompute: 'all' is not one of none, selective, full"),
    ({"recompute": "layernrom+mlp"}, "did you mean 'layernorm'?"),
    ({"recompute": "mla_up_proj"}, "recompute: no layer has mla_up_proj apart"),
    ({"precision": "bf61"}, "did you mean 'bf16'?"),
    ({"micro_batch_seqs": "16"}, "global_batch_seqs: 512 is less than"),
    ({"n_heads": "4096"}, "n_heads: 4096 exceeds d_model 3072"),
    ({"pp": "64"}, "pp 64"),
    ({"inter_node_net": "InfiniBand (0 Gb/s per node)"}, "gives no bandwidth"),
    ({"inter_node_net": "Etherner"}, "'Etherner' is not understood; did you mean 'Ethernet'?"),
    ({"inter_node_net": "carrier pigeons"}, "write a rate as in '8x NDR'"),
    ({"inter_node_net": "InfiniBand 3200 Gb"}, "its rate is not understood"),
    ({"intra_node_net": "NVLnk"}, "'NVLnk' is not understood; did you mean 'NVLink'?"),
    ({"intra_node_net": "PCIe Gen4"}, "is not what joins the chips of dgx-a100"),
    ({"chips_per_node": "1e15"}, "of at most 16,384"),
]  # fmt: skip


@pytest.mark.parametrize(("change", "words"), FAULTS, ids=[words[:40] for _, words in FAULTS])
def test_a_fault_is_named_with_its_line(change: dict[str, str], words: str, write: Write) -> None:
    found = document(write({}, change))
    assert [row["id"] for row in found["rows"]] == ["row0"]
    (skipped,) = found["skipped"]
    assert (skipped["line"], skipped["id"], skipped["is_fault"]) == (3, "row1", True)
    assert words in skipped["reason"]
    assert found["skipped_rows"] == 1


@each(
    ("text", "gb_per_s"),
    [
        ("8x NDR", 50), ("8x NDR400 InfiniBand", 50), ("4x HDR", 12.5), ("8x HDR100", 12.5),
        ("4x 200 Gb/s", 12.5), ("400 Gb/s per GPU", 50), ("50 GB/s per GPU", 50),
        ("3.2 Tbps/node", 50), ("InfiniBand (800 Gb/s per node)", 12.5), ("800 Gbps", 12.5),
        ("4x Omni-Path 100 Gb/s per node", 6.25), ("InfiniBand 8x400 Gb/s", 50),
        ("Storage: 2x HDR, Compute: 8x ConnectX-7 IB NDR 400Gb/s, Management", 50),
        ("200Gbps for NS and 2xBF3 400Gbps for EW", 3.125), ("NDR400 InfiniBand", None),
        ("InfiniBand", None), ("Ethernet", None),
    ],
)  # fmt: skip
def test_a_printed_network_is_a_rate_or_a_kind(text: str, gb_per_s: float | None) -> None:
    found = network_bytes_per_s(text, 8)
    assert found == (None if gb_per_s is None else pytest.approx(gb_per_s * 1e9))
    assert gb_per_s is not None or not between_fault(text)


def test_a_kind_without_a_rate_says_whose_rate_is_taken(write: Write) -> None:
    found = document(write({"inter_node_net": "InfiniBand", "intra_node_net": "NVLink3"}))
    taken = found["rows"][0]["filled"]["network"]
    assert taken.startswith("that of dgx-a100")
    assert taken.endswith("'InfiniBand' gives no rate")


def test_networks_not_understood_are_assumed_on_request_and_listed(write: Write) -> None:
    path = write({}, {"inter_node_net": "carrier pigeons", "intra_node_net": "PCIe"})
    plain, other = document(path, "--assume-network")["rows"]
    assert other["predicted_step_time_s"] == plain["predicted_step_time_s"]
    assert other["filled"]["network"].endswith("'carrier pigeons' is not understood")
    assert other["filled"]["intra_node_net"].endswith("'PCIe' is not its kind of links")
    (line,) = refused("validate", "--assume-network")
    assert line.startswith("assume-network: has no effect without --data of runs")


def test_every_published_network_is_understood() -> None:
    texts = {row["inter_node_net"] for row in published("runs")}
    kinds = [text for text in texts if network_bytes_per_s(text, 8) is None]
    assert not [text for text in kinds if between_fault(text)]
    assert not [row for row in read_runs().skipped if row.is_fault]


def test_the_same_faults_alone_leave_nothing(write: Write) -> None:
    path = write({"step_time_s": "0"}, {"hardware": "b100"}, {"step_time_s": "3566.5"})
    mistakes = refused("validate", "--data", path)
    assert mistakes[0] == f"{path}: no row is left"
    assert [line.partition(" (")[0] for line in mistakes[1:]] == [
        f"{path} line {number}" for number in (2, 3, 4)
    ]
    assert refused("validate", "--data", path, "--json") == mistakes


def test_measurements_in_other_units(write: Write) -> None:
    found = document(write(
        {"peak_mem_gib_per_chip": "40", "power_w_per_chip": "500"},
        {"peak_mem_gib_per_chip": "40960"},
        {"power_w_per_chip": "4000"},
    ))  # fmt: skip
    assert [row["id"] for row in found["rows"]] == ["row0"]
    assert found["rows"][0]["measured_memory_bytes"] == 40 * 2**30
    assert found["rows"][0]["measured_power_w"] == 500
    memory, power = (row["reason"] for row in found["skipped"])
    assert "in MiB, it would be 40" in memory
    assert "more than three times the 400 W" in power


def test_every_fault_of_a_row_is_named(write: Write) -> None:
    found = document(write({}, {"step_time_s": "0", "sharding": "x", "tp": "y"}))
    assert len(found["skipped"]) == 3
    assert found["skipped_rows"] == 1


def test_duplicated_ids(write: Write) -> None:
    found = document(write({"id": "x"}, {"id": "x"}))
    assert [row["reason"] for row in found["skipped"]] == ["id: 'x' is also that of line 2"]


def test_a_row_without_an_id_has_its_line(write: Write) -> None:
    found = document(write({"id": ""}, {"id": "x"}))
    assert [row["id"] for row in found["rows"]] == ["line-2", "x"]


def test_a_file_of_another_kind_and_one_in_milliseconds(write: Write, tmp_path: Path) -> None:
    path = tmp_path / "other.csv"
    path.write_text("a,b\n1,2\n", encoding="utf-8")
    (mistake,) = refused("validate", "--data", path)
    assert "is no CSV file of runs: the columns hardware, n_chips" in mistake
    path = write({})
    path.write_text(path.read_text().replace("step_time_s", "step_time_ms"), encoding="utf-8")
    (mistake,) = refused("validate", "--data", path)
    assert mistake.endswith("'step_time_s' is missing; 'step_time_ms' is there: give seconds")


@pytest.mark.parametrize(("cooling", "boundary"), [("air", "chip"), ("liquid", "node")])
def test_power_is_that_inside_the_meter(cooling: str, boundary: str, write: Write) -> None:
    own = {"hardware": "h100-sxm5-80", "precision": "bf16", "power_w_per_chip": "600"}
    path = write(own, {**own, "power_boundary": boundary, "cooling": cooling})
    whole, inside = document(path)["rows"]
    assert whole["filled"]["power_boundary"] == whole["power_boundary"] == "node_and_fabric"
    assert inside["power_boundary"] == boundary
    assert inside["predicted_power_w"] < whole["predicted_power_w"]
    assert inside["power_low_w"] < inside["predicted_power_w"] < inside["power_high_w"]
    assert inside["predicted_step_time_s"] == whole["predicted_step_time_s"]


def test_a_meter_that_is_none(write: Write) -> None:
    found = document(write({}, {"power_boundary": "rack"}, {"cooling": "liquid"}))
    boundary, cooling = (row["reason"] for row in found["skipped"])
    assert boundary.startswith("power_boundary: 'rack' is not one of chip, node")
    assert "cooling: 'liquid' has no effect" in cooling


def test_missing_columns(write: Write, tmp_path: Path) -> None:
    path = write({}, drop=("step_time_s", "d_ff"))
    text = path.read_text(encoding="utf-8").replace("n_chips", "n_chip")
    path.write_text(text, encoding="utf-8")
    assert refused("validate", "--data", path) == [
        f"{path} line 1: column 'n_chips' is missing; did you mean 'n_chip'?",
        f"{path} line 1: column 'step_time_s' is missing",
        f"{path} line 1: column 'd_ff' is missing",
    ]
    path.write_text("id;hardware\na;b\n", encoding="utf-8")
    assert refused("validate", "--data", path) == [
        f"{path} line 1: columns are separated by semicolons; write commas"
    ]


def test_rows_that_are_only_incomplete_are_no_faults(write: Write) -> None:
    found = document(write({"complete": "1"}, {"complete": "0"}, {"step_time_s": "", "vocab": ""}))
    reasons = [(row["reason"], row["is_fault"]) for row in found["skipped"]]
    assert reasons == [("marked as not complete", False), ("no step_time_s, vocab", False)]


def test_a_line_with_too_few_cells(write: Write) -> None:
    path = write({}, {})
    with path.open("a", encoding="utf-8") as file:
        file.write("row9,a100-sxm4-80\n")
    (skipped,) = document(path)["skipped"]
    assert skipped["line"] == 4
    assert skipped["reason"] == f"has 2 cells; the header has {len(GOOD)}"


def test_a_misspelt_column_is_mentioned(write: Write) -> None:
    path = write({"micro_batch": "4"}, drop=("micro_batch_seqs",))
    (note,) = document(path)["notes"]
    assert note == "column 'micro_batch' is not used; did you mean 'micro_batch_seqs'?"


def test_a_model_of_the_database_needs_no_dimensions(tmp_path: Path) -> None:
    path = tmp_path / "short.csv"
    path.write_text(
        "id,model_name,hardware,n_chips,seq_len,global_batch_seqs,step_time_s,tp\n"
        "one,llama2-7b,h100-sxm5-80,8,4096,128,6.5,2\n",
        encoding="utf-8",
    )
    (row,) = document(path)["rows"]
    assert row["filled"]["pp"] == "1"
    assert row["filled"]["sharding"] == "zero1"
    assert row["predicted_step_time_s"] == pytest.approx(6.5, rel=0.5)
    path.write_text(path.read_text().replace("llama2-7b", "llama2-7bb"), encoding="utf-8")
    (_, mistake) = refused("validate", "--data", path)
    assert "no n_layers" in mistake


DIMENSIONS = ("n_layers", "d_model", "n_heads", "d_ff", "vocab")


@pytest.mark.parametrize(("name", "near"), [
    ("llama9", "did you mean 'llama-7b'?"),
    ("meta-llama/Llama-3-8B", "did you mean 'llama3-8b'?"),
])  # fmt: skip
def test_an_unknown_model_is_named_with_the_nearest(name: str, near: str, write: Write) -> None:
    path = write({"model_name": "LLaMA3-8B"}, {"model_name": name}, drop=DIMENSIONS)
    found = document(path)
    assert [row["id"] for row in found["rows"]] == ["row0"], "names are read in any case"
    (skipped,) = found["skipped"]
    assert f"model_name: {name!r} is no model of the database" in skipped["reason"]
    assert near in skipped["reason"]


def test_a_header_without_dimensions_is_told_of_model_names(write: Write) -> None:
    (mistake,) = refused("validate", "--data", write({"model": "llama3-8b"}, drop=DIMENSIONS))
    assert "column 'model_name' is missing; did you mean 'model'?" in mistake
    assert "names of planner models list suffice, else give n_layers, d_model" in mistake


def test_columns_that_are_not_used_are_named_before_the_figures(write: Write) -> None:
    out = planner("validate", "--data", write({"tensor_parallel": "8"})).out
    warning = "Warning: column 'tensor_parallel' is not used; did you mean 'tp'?"
    assert out.splitlines()[0] == warning
    assert out.count("tensor_parallel") == 1


@each(("content", "words"), [
    (b"", "is empty; its first line must name the columns"),
    (b"\xff\xfe\x00", "not a text file (byte 0 is not UTF-8)"),
    (b"\x1f\x8b\x08nonsense", "not a whole gzip file"),
    (b'id,hardware\n"a', "not a CSV file"),
    (b"id,id\n1,2\n", "column 'id' appears twice"),
    ((",".join(GOOD) + "\n").encode(), "has no rows below its header"),
])  # fmt: skip
def test_files_that_are_none(content: bytes, words: str, tmp_path: Path) -> None:
    path = tmp_path / "odd.csv"
    path.write_bytes(content)
    (mistake,) = refused("validate", "--data", path)
    assert mistake.startswith(str(path))
    assert words in mistake


def test_a_missing_file_names_a_similar_one(write: Write, tmp_path: Path) -> None:
    write({})
    (mistake,) = refused("validate", "--data", tmp_path / "mi.csv")
    assert "did you mean 'my.csv'?" in mistake


def test_a_compressed_file_with_a_mark_reads_the_same(write: Write, tmp_path: Path) -> None:
    path = write({}, {"tp": "2"})
    packed = tmp_path / "my.csv.gz"
    packed.write_bytes(gzip.compress(b"\xef\xbb\xbf" + path.read_bytes()))
    assert document(packed)["rows"] == document(path)["rows"]


@each(
    ("said", "era", "framework", "decides"),
    [
        ({"framework": "NeMo", "framework_version": "25.07"}, "megatron-core-2025", "megatron",
         "framework_version matches"),
        ({"framework": "Megatron-Bridge", "framework_version": "NeMo 26.04"},
         "megatron-core-2026.04", "megatron", "framework_version matches"),
        ({"framework": "NeMo", "framework_version": "26.08"}, "megatron-core", "megatron",
         "framework_version matches"),
        ({"framework": "torchtitan", "framework_version": "2024-12"}, "torch-fsdp",
         "torchtitan-2024", "framework_version matches"),
        ({"framework": "torchtitan"}, "megatron-2022", "torchtitan", "given in the row"),
        ({"framework": "MaxText"}, "megatron-2022", "megatron", "source matches"),
        ({"framework": "MaxText", "source": "mine"}, "jax", "jax", "framework matches"),
        ({"framework": "NeMo", "framework_version": "unheard of", "source": "mine"},
         "megatron-core", "megatron", "no other rule"),
    ],
)  # fmt: skip
def test_what_ran_is_decided_by_version_then_profile_then_source_then_name(
    said: dict[str, str], era: str, framework: str, decides: str, write: Write
) -> None:
    path = write({"source": "MT-NLG", **said}, drop=("era",))
    (row,) = document(path)["rows"]
    assert (row["era"], row["framework"]) == (era, framework)
    assert row["rule"].startswith(decides)
    assert {name: row["printed"][name] for name in said if name != "source"} == {
        name: text for name, text in said.items() if name != "source"
    }


def test_job_and_optimizer_are_as_said_or_assumed_row_by_row(write: Write) -> None:
    path = write(
        {"job": "lora", "optimizer": "muon", "flags": "--overlap-grad-reduce"},
        {},
        {"id": "x-lora"},
        {"optimizer": "shampoo"},
    )
    said, plain, labelled, unknown = document(path)["rows"]
    assert said["printed"]["flags"] == "--overlap-grad-reduce"
    assert "optimizer" not in said["filled"]
    assert unknown["filled"]["optimizer"] == "adam, costed for shampoo"
    assert "job" not in said["filled"]
    assert (plain["filled"]["job"], plain["filled"]["optimizer"]) == ("pretrain", "adam")
    assert labelled["filled"]["job"] == "lora: its labels say so"
    assert labelled["predicted_step_time_s"] == said["predicted_step_time_s"]
    assert said["predicted_step_time_s"] < plain["predicted_step_time_s"]
    out = " ".join(planner("validate", "--data", path, "--rules").out.split())
    assert "Software row by row" in out
    assert "Software row by row" not in planner("validate", "--data", path).out


def test_filled_columns_are_what_the_rules_would_have_taken() -> None:
    """What rows say of their software moves no prediction, but for names that only they print."""
    for row in published("runs"):
        if row["complete"] != "1" or set("|(") & set(row["framework_version"]):
            continue
        plain = {**row, **dict.fromkeys(("framework", "framework_version", "job"), "")}
        said, assumed = profile_of(row), profile_of(plain)
        assert (said.era, said.framework, said.site) == (
            assumed.era, assumed.framework, assumed.site
        ), row["id"]  # fmt: skip
