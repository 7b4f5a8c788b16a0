"""What a file holds that a script writes is known, or the launch that needs it names the line."""

from pathlib import Path

import pytest
from support.cases import each

from planner.base.errors import InputError
from planner.frameworks.reading.shell.run import Shell
from planner.frameworks.reading.shell.states import Lost
from planner.question.launch import read_launch

WRITES = "echo 1 > a\n"


@each(
    ("text", "held"),
    [
        ("echo 2 > a", "2"),
        ("echo 2 >> a", "1\n2"),
        ("cat <<E >> a\n2\nE", "1\n2"),
        ("cp a b; echo 2 > a", "2"),
        ("echo 2 > b; mv b a", "2"),
        ("echo 2 > b; cp b a", "2"),
        ("echo 2 | tee a", "2"),
        ("( echo 2 > a )", "2"),
        ("grep 1 a; sed s/1/2/ a; jq . a > b; cat a", "1"),
        ("python t.py > log 2>&1; ls b", "1"),
        ("f() { echo 2 > a; }; f", "2"),
        ("if [ $U ]; then echo 2 > a; else echo 2 > a; fi", "2"),
        ("mkdir -p x; cd x; echo 2 > a; cd ..", "1"),
        ("echo 2 > ./a", "2"),
        ("if [ $U ]; then echo 2 > a; fi", None),
        ("if [ $U ]; then echo 2 > a; else echo 3 > a; fi", None),
        ("f() { echo 2 > a; }; if [ $U ]; then f; fi", None),
        ("for i in $U; do echo $i > a; done", None),
        ("sed -i s/1/2/ a", None),
        ("perl -pi -e s/1/2/ a", None),
        ("python patch.py a", None),
        ("python patch.py --file=a", None),
        ("python patch.py ./a", None),
        ("jq . a > b && mv b a", None),
        ("cp c a", None),
        ("rm -f a", None),
        ("truncate -s 0 a", None),
        ("date >> a", None),
        ("python t.py > a", None),
        ("python t.py &> a", None),
        ("date | tee a", None),
        ("date | tee -a a", None),
        ("echo 2 > $U", None),
        ("rm $U", None),
        ("sed -i s/1/2/ $U/a", None),
        ("{ echo 2; date; } > a", None),
        ("for i in 1 2; do echo $i; done >> a", None),
        ("exec > a", None),
        ("f() { echo 2; }; f > a", None),
        ("echo -e '2\\t3' > a", "2\t3"),
        ("echo -n 2 > a", None),
        ("patch a < diff", None),
        ("dd if=b of=a", None),
    ],
)
def test_what_a_file_holds(text: str, held: str | None) -> None:
    read = Shell("x", exact=True).read(f"{WRITES}{text}\n")
    found = read.files.get("a")
    assert found == held if held is not None else isinstance(found, Lost)


def test_a_file_is_that_of_the_time_when_a_command_is_started() -> None:
    read = Shell("x").read("echo 1 > a\nP a\necho 2 > a\nP a\ncd b\nP a\n")
    assert [read.at(one).file("a") for one in (1, 3)] == ["1", "2"]
    with pytest.raises(InputError, match=r"x: \.\./a is not known after line 4, which"):
        read.at(4).file("../a")


def test_a_file_beside_the_script_that_is_changed() -> None:
    beside = {"ds.json": "{}"}.get
    assert Shell("x", beside=beside).read("P ds.json\n").file("ds.json") == "{}"
    for text in ("sed -i s/1/2/ ds.json", "date > ds.json", "mv a ds.json", "rm ds.json"):
        with pytest.raises(InputError, match="not known after line 1"):
            Shell("x", beside=beside).read(f"{text}\nP ds.json\n").file("ds.json")


JSON = (
    '{"train_micro_batch_size_per_gpu": 1, "bf16": {"enabled": true}, '
    '"zero_optimization": {"stage": %d}}'
)
LAUNCH = (
    "deepspeed --num_gpus 8 train.py --deepspeed ds.json --bf16 true "
    "--per_device_train_batch_size 1 --model_name_or_path meta-llama/Llama-2-7b-hf\n"
)


def written(stage: int) -> str:
    return f"cat > ds.json <<EOF\n{JSON % stage}\nEOF\n"


@each(
    ("text", "sharding"),
    [
        (written(3) + LAUNCH, "zero3"),
        (written(3) + LAUNCH + written(1) + LAUNCH, "zero3"),
        (f"if nvidia-smi | grep -q B; then\n{written(3)}else\n{written(1)}fi\n{LAUNCH}", None),
        (written(1) + "sed -i s/1/3/ ds.json\n" + LAUNCH, None),
        (written(1) + "python patch.py ds.json\n" + LAUNCH, None),
    ],
)
def test_launches_that_need_a_file(text: str, sharding: str | None, tmp_path: Path) -> None:
    (tmp_path / "run.sh").write_text(text, encoding="utf-8")
    if sharding is None:
        with pytest.raises(InputError, match=r"ds\.json is not known after line \d+, which is not"):
            read_launch("auto", tmp_path / "run.sh")
    else:
        assert read_launch("auto", tmp_path / "run.sh").plan.sharding == sharding
