"""Shell text as launch scripts use it: words, variables, arrays, conditions."""

import re
from contextlib import suppress

import pytest
from support.cases import each

from planner.base.errors import InputError
from planner.frameworks.reading.commands import command_in
from planner.frameworks.reading.shell.run import Shell
from planner.frameworks.reading.shell.values import sum_in

KNOWN = ("--lr", "--bf16", "--split", "--seed")


def words(text: str) -> list[str]:
    return command_in(text, "run.sh", KNOWN, "a program").words


@each(
    "text",
    [
        "python train.py --lr 1 --bf16",
        "python train.py \\\n  --lr 1 \\\n  --bf16 # all",
        "--lr 1\n--bf16\n",
        'A="--lr 1 --bf16"\npython train.py $A',
        'A=(--lr 1)\nA+=(\n  --bf16 # short\n)\ntorchrun train.py "${A[@]}"',
        'A=("--lr 1" --bf16)\npython train.py ${A[@]}',
        "LR=$((2 - 1))\npython train.py --lr ${LR} --bf16",
        "python train.py --lr ${LR:-1} --bf16 2>&1 | tee log",
        'CMD="python train.py --lr 1 --bf16"\nsrun -l sh -c "$CMD"',
        'ARGS="--lr 1 --bf16"',
        "X=8\nif [[ \"$X\" == 8 ]]; then\n A='--lr 1'\nelse\n A='--lr 2'\nfi\nx t.py $A --bf16",
        "if [ -z \"\" ] && [ 1 -lt 2 ]; then\n A='--lr 1'\nfi\nx t.py $A --bf16",
        "for i in $N; do\n python train.py --lr 3 --seed 1 --split 2\ndone\nx t.py --lr 1 --bf16",
        "run() {\n python train.py --lr 1 --bf16\n}\nrun",
    ],
)
def test_words_of_a_command(text: str) -> None:
    assert words(text) == ["--lr", "1", "--bf16"]


def test_what_the_text_does_not_define_stays() -> None:
    assert words("python train.py --lr $LR --split $(cat split) --seed $1 ${MORE[@]}") == [
        "--lr", "$LR", "--split", "$(cat split)", "--seed", "$1", "${MORE[@]}",
    ]  # fmt: skip


@each(
    "output",
    [
        "$(./a; echo 8)",
        "`./a; echo 8`",
        "$(nvidia-smi --list | wc -l)",
        "$(echo ')' ; (cd a; b) )",
        "$(printenv \"a;b\" 'c)')",
    ],
)
def test_the_output_of_a_command_is_one_word(output: str) -> None:
    """In its place, and through a variable, an array and a word of several."""
    wanted = ["--lr", output, "--bf16"]
    assert words(f"x t.py --lr {output} --bf16") == wanted
    assert words(f"X={output}\nx t.py --lr $X --bf16") == wanted
    assert words(f"A=(--lr {output})\nA+=(--bf16)\nx t.py ${{A[@]}}") == wanted
    assert words(f"export A={output}\nB='--lr '$A' --bf16'\nx t.py $B") == wanted


def test_a_command_in_the_place_of_a_file_is_no_argument() -> None:
    assert words("x t.py --lr 1 --bf16 < <(a; b) > >(tee log; c)") == ["--lr", "1", "--bf16"]


@each(
    ("text", "line"),
    [
        ("for i in $X; do\nx t.py --lr $i\ndone", "stand where it is not read: line 1: `for`"),
        ('if [ -n "$A" ]; then\nx t.py --lr=1\nfi', "stand where it is not read: line 1: an `if`"),
        ("# x t.py --lr 1\nls", "names arguments of a program, and has no command that takes them"),
        ("for i in $X; do\nls --lrx\ndone", "has no argument of a program, such as --lr"),
    ],
)
def test_what_is_said_of_a_launch_that_is_left_out(text: str, line: str) -> None:
    with pytest.raises(InputError, match=re.escape(line)):
        words(text)


def test_unknown_conditions_and_loops_are_left_out_with_a_note() -> None:
    text = 'if [ -n "$X" ]; then\nA=1\nelse\nA=2\nfi\nfor x in $X; do\nB=1\ndone\nC=3\n'
    shell = Shell("run.sh").read(text)
    assert shell.variables == {"C": "3"}
    assert shell.notes == [
        "line 1: an `if` whose condition is not known from the text is left out; "
        "A is not known after it",
        "line 6: `for` and what it repeats or chooses is left out; B is not known after it",
    ]


@each(
    ("text", "chips"),
    [
        ("torchrun --nnodes 4 --nproc-per-node 8 train.py --lr 1", 32),
        ("torchrun --nnodes=4 --nproc_per_node=8 train.py --lr 1", 32),
        ("torchrun --nproc_per_node=8 train.py --lr 1", 8),
        ("srun -n 64 python train.py --lr 1", 64),
        ("#SBATCH --nodes=16\n#SBATCH --ntasks-per-node=8\nsrun python train.py --lr 1", 128),
        ('N=2\ntorchrun --nnodes "${N}" --nproc-per-node 4 train.py --lr 1', 8),
        ("torchrun --nnodes $N --nproc-per-node 4 train.py --lr 1", None),
        ("python train.py --lr 1", None),
    ],
)
def test_chips_of_launchers(text: str, chips: int | None) -> None:
    assert command_in(text, "run.sh", KNOWN, "a program").chips == chips


@each(
    ("text", "line"),
    [
        ("--lr 'x", "run.sh: line 1: the quote ' is not closed"),
        ('a\n--lr "x', 'run.sh: line 2: the quote " is not closed'),
        ("A=(1\n2", "run.sh: line 1: the parenthesis is not closed"),
        ("--lr ${A", "run.sh: line 1: the bracket { is not closed"),
        ("--lr `x", "run.sh: line 1: the quote ` is not closed"),
        ("echo hello", "run.sh: has no argument of a program, such as --lr"),
    ],
)
def test_bad_text(text: str, line: str) -> None:
    with pytest.raises(InputError) as error:
        words(text)
    assert str(error.value) == line


def test_values_do_not_grow_without_bounds() -> None:
    text = "A=xxxxxxxx\n" + 'A="$A$A"\n' * 40 + "--lr $A"
    with pytest.raises(InputError, match="has more than 1,048,576 letters"):
        words(text)


@each(
    ("text", "value"),
    [("8*4", 32), ("(1+2)*3 - 4%3", 8), ("7/2", 3), ("1/0", None), ("2**9", 512), ("x", None)],
)
def test_sums(text: str, value: int | None) -> None:
    assert sum_in(text, Shell("x")) == value


@each(
    ("text", "value"),
    [
        ("X=b\ncase $X in\na)\n Y=1\n ;;\nb|c)\n Y=2\n ;;\n*)\n Y=3\n ;;\nesac\n", "2"),
        ('X=z\ncase "$X" in\na) Y=1 ;;\n*) Y=3 ;;\nesac\n', "3"),
        ("X=a\ncase $X in a) Y=1;; b) Y=2;; esac\nZ=1\n", "1"),
        ("X=a\ncase $X in\na)\n if [ $X == a ]; then\n  Y=7\n fi\n;;\nesac\n", "7"),
        ("Y=${Z:=5}\n", "5"),
        ("A=3\nY=$(( ${A} * 2 ))\n", "6"),
    ],
)
def test_choices_and_defaults(text: str, value: str) -> None:
    assert Shell("run.sh").read(text).variables["Y"] == value


def test_documents_are_no_commands_and_are_kept() -> None:
    text = (
        "S=3\ncat <<EOT > out.json\n{\"stage\": $S}\n--lr 9\nEOT\ncat <<'E' >raw\n$S\nE\nx --lr 1\n"
    )
    shell = Shell("run.sh").read(text)
    assert shell.files == {"out.json": '{"stage": 3}\n--lr 9', "raw": "$S"}
    assert shell.commands[-1] == ["x", "--lr", "1"]


def test_what_slurm_sets_is_known() -> None:
    text = "#SBATCH --nodes=4\n#SBATCH --gres=gpu:8\nN=$SLURM_NNODES\nG=$SLURM_GPUS_ON_NODE\n"
    shell = Shell("run.sh").read(text)
    assert (shell.variables["N"], shell.variables["G"]) == ("4", "8")


@each(
    "text",
    [
        "A=xxxxxxxxxxxxxxxx\n" + "A=$A$A\n" * 40,
        "A=" + "x" * (1 << 19) + "\n" + "B=$A\n" * 400,
        "source ./me.sh\n",
        "case $X in\n" * 1000,
        "X=a\n" + "case $X in\n" * 1000,
        "if [ 1 = 1 ]; then\n" * 2000,
        "echo " + "${X:-" * 200 + "}" * 200,
        "cat <<EOF\n" * 2000,
    ],
)
def test_hostile_texts_end(text: str) -> None:
    with suppress(InputError):
        Shell("run.sh", beside=lambda _: text).read(text)
