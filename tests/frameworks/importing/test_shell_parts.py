"""Functions, loops, tests and documents of shell text: what is followed, and what is not known."""

import re
from contextlib import suppress
from posixpath import normpath

import pytest
from support.cases import each

from planner.base.errors import InputError
from planner.frameworks.reading.commands import Command, arguments_in, command_in
from planner.frameworks.reading.shell.run import Shell

KNOWN = ("--lr", "--bf16", "--split", "--seed")
FILES = {"env": "# all\nTP=4\nPP='2'\n", "in.sh": "x t.py --lr $2 --seed $#\n", "no.sh": "exit 0\n"}


def command(text: str, *arguments: str) -> Command:
    return command_in(text, "run.sh", KNOWN, "a program", beside, arguments)


def beside(path: str) -> str | None:
    return FILES.get(normpath(path))


@each(
    ("text", "words"),
    [
        ('f() {\n local lr=$1; shift\n x t.py --lr $lr "$@"\n}\nf 3 --bf16', "--lr 3 --bf16"),
        ("function f {\n x t.py --lr ${1:-7} --seed $#\n}\nf", "--lr 7 --seed 0"),
        ("f() { LR=$1; }\nLR=1\nf 5\nx t.py --lr $LR", "--lr 5"),
        ("LR=1\nf() { local LR=2; }\nf\nx t.py --lr $LR", "--lr 1"),
        ('retry() { "$@"; }\nretry x t.py --lr 4', "--lr 4"),
        ("f() { if [ $1 -gt 2 ]; then return; fi; LR=9; }\nLR=1\nf 3\nx t.py --lr $LR", "--lr 1"),
        ("bash in.sh a 6", "--lr 6 --seed 2"),
        ("bash no.sh\nx t.py --lr 1", "--lr 1"),
        ("./in.sh b 7", "--lr 7 --seed 2"),
        ("LR=1\nwhile getopts l: o; do LR=$OPTARG; done\nx t.py --lr $LR", "--lr 1"),
        ("A='x t.py --lr 1 --split <a/b>'\neval $A", "--lr 1 --split <a/b>"),
        ("x t.py --lr 1\nexit 0\nx t.py --lr 2 --bf16", "--lr 1"),
        ("[ 4 -gt 8 ] && LR=8\nx t.py --lr ${LR:-1}", "--lr 1"),
        ("[[ 4 -lt 8 && a == [ab] ]] && LR=8 || LR=2\nx t.py --lr $LR", "--lr 8"),
        ("N=4\nif (( N > 2 )); then LR=$((N*2)); else LR=0; fi\nx t.py --lr $LR", "--lr 8"),
        ("A=(--bf16)\nif [ 1 = 2 ]; then A+=(--lr 1); fi\nx t.py --lr 1 ${A[@]}", "--lr 1 --bf16"),
        ("i=0; until [ $i -ge 3 ]; do i=$((i+1)); done\nx t.py --lr $i", "--lr 3"),
        ("while true; do x t.py --lr 1 && break; sleep 9; done", "--lr 1"),
        ("case b in a) A=(1) ;; b|c) A=(--lr 2) ;; *) ;; esac\nx t.py ${A[@]}", "--lr 2"),
        (": ${LR:=3}\nx t.py --lr ${LR:?say it}", "--lr 3"),
        ("LR=1\n(\n LR=2; cd x\n) && echo\n( LR=3 )\nx t.py --lr $LR", "--lr 1"),
        ("(x t.py --lr 4 --bf16 | tee log)", "--lr 4 --bf16"),
        ("(case a in a) A=1 ;; b) A=2 ;; esac; f() { A=3; })\nx t.py --lr ${A:-5}", "--lr 5"),
        ("N=$(wc -w <<< 'a b')\n#SBATCH -n 64\nx t.py --lr $SLURM_NTASKS", "--lr 64"),
        ("A=()\nA+=(--lr 1)\nx t.py ${A[@]}", "--lr 1"),
        ("A=(5 6)\nx t.py --lr ${A[1]} --seed ${#A[@]}", "--lr 6 --seed 2"),
        ("declare -A M=([a]=5)\nM[b]=6\nx t.py --lr ${M[b]} --seed ${M[a]}", "--lr 6 --seed 5"),
        ("P=a/7b.json\nF=${P##*/}\nx t.py --lr ${F%b.json} --seed ${P:2:1}", "--lr 7 --seed 7"),
        ("export $(grep -v '^#' env | xargs)\nx t.py --lr $TP --seed $PP", "--lr 4 --seed 2"),
        ("set -a; source env; set +a\nx t.py --lr $TP", "--lr 4"),
        ("read -r -d '' A <<EOF\n--lr 1\n--bf16\nEOF\nx t.py $A", "--lr 1 --bf16"),
        ("A=$(cat <<EOF\n--lr 1 # (it's\nEOF\n)\nx t.py $A", "--lr 1 # (it's"),
        ("cat > a <<EOF\n--lr 2\nEOF\necho --bf16 >> a\nx t.py $(cat a)", "--lr 2 --bf16"),
        ("cat <<'E' | tee run2.sh\nx t.py --lr $LR\nE\nexport LR=4\nbash run2.sh", "--lr 4"),
        ("sbatch -N 2 <<'EOF'\nx t.py --lr $SLURM_NNODES\nEOF", "--lr 2"),
        ('source "$(dirname "${BASH_SOURCE[0]}")/env"\nx t.py --lr $TP', "--lr 4"),
        ('D=$(cd "$(dirname "$0")" >/dev/null && pwd -P)\n. $D/env\nx t.py --lr $TP', "--lr 4"),
        ("source `pwd`/env\nx t.py --lr $TP", "--lr 4"),
        ('. "${0%/*}/$(basename a/env)"\nx t.py --lr $TP', "--lr 4"),
        ("cd $SLURM_SUBMIT_DIR; . $PWD/env\nx t.py --lr $TP", "--lr 4"),
        ("f() { case $1 in a) echo --lr 3 ;; *) exit 1 ;; esac; }\nx t.py $(f a)", "--lr 3"),
        ("f() { echo no >&2; local a=4; echo $((a * $1)); }\na=1; x t.py --lr $(f 2)", "--lr 8"),
        ("srun -n 2 bash -c 'export R=1; python t.py \"$@\"' _ --lr 5 --bf16", "--lr 5 --bf16"),
        ("#SBATCH --gpus-per-node=4\nx t.py --lr $SLURM_GPUS_PER_NODE", "--lr 4"),
        ("A='--lr 1'\nsrun bash -c 'x t.py $A --bf16'", "--lr 1 --bf16"),
    ],
)  # fmt: skip
def test_what_is_followed(text: str, words: str) -> None:
    assert command(text).words == words.split()


@each(
    "text",
    [
        "f() { nvidia-smi -L | wc -l; }\nx t.py --lr $(f)",
        "f() { if [ $1 -gt 2 ]; then echo 1; fi; }\nx t.py --lr $(f $X)",
        "f() { exit 1; }\nx t.py --lr $(f)",
        "f() { echo $(f); }\nx t.py --lr $(f)",
        "#SBATCH --gres=gpu:4\nx t.py --lr $SLURM_GPUS_PER_NODE",
    ],
)
def test_what_a_function_or_slurm_does_not_say_stays_as_it_is(text: str) -> None:
    assert command(text).words[1].startswith("$")


@each(
    ("text", "arguments", "words"),
    [
        ("", "", "--lr 1"),
        ("", "--lr 4", "--lr 4"),
        ("", "--lr=5 -- 6", "--lr 5"),
    ],
)
def test_arguments_are_taken_apart_by_a_loop(text: str, arguments: str, words: str) -> None:
    text = (
        "LR=1\nwhile [[ $# -gt 0 ]]; do\n case $1 in\n --lr) LR=$2; shift 2 ;;\n"
        ' --lr=*) LR="${1#*=}"; shift ;;\n --) break ;;\n esac\ndone\nx t.py --lr $LR\n'
    )
    assert command(text, *arguments.split()).words == words.split()


@each(
    ("text", "kept", "note"),
    [
        ("A=1\nfor i in $N; do A=$i; done", None, "line 2: `for` and what it repeats or chooses"),
        ("A=1\nwhile read x; do A=2; done", None, "line 2: `while`.*; A is not known after it"),
        ('A=1\nif [ "$X" = 2 ]; then A=2; fi', None, "line 2: an `if`.*; A is not known after it"),
        ("A=1\n[ -f a ] && A=2", None, "line 2: what a test .* starts is left out; A is not known"),
        ("A=1\nnvidia-smi || A=2", None, "line 2: .*; A is not known after it"),
        ("A=1\ncase $X in a) A=2 ;; *) A=3 ;; esac", None, "line 2: `case`.*; A is not known"),
        ("A=1\nfor i in $N; do f; done\nf() { A=2; }", "1", "line 2: `for`"),
        ("f() { A=2; }\nA=1\nfor i in $N; do f; done", None, "A is not known after it"),
        ("A=1\nif [ $X = 2 ]; then A=3; else A=3; fi", "3", ""),
        ("A=1\nif [ $X = 2 ]; then echo; fi", "1", ""),
        ("A='-a 1'\nif [ $X = 2 ]; then A=\"$A -b\"; fi", "-a 1", "it may add -b to A"),
    ],
)
def test_what_parts_that_are_left_out_change_is_not_known(
    text: str, kept: str | None, note: str
) -> None:
    shell = Shell("run.sh").read(text)
    assert shell.variables.get("A") == kept
    assert ("A" in shell.changed) == (kept is None)
    assert re.search(note, "\n".join(shell.notes)) if note else not shell.notes
    later = Shell("run.sh").read(f"{text}\nB=${{A:-8}} C=$((A + 1))\n").variables
    assert (later["B"] == "${A:-8}") == (kept is None)


@each(
    ("text", "words", "place", "others"),
    [
        ("x t.py --lr 1\nx t.py --lr 2", "--lr 1", "line 1", "line 2"),
        ("f() {\n x t.py --lr $1\n}\nf 1\nf 2\nf 3", "--lr 1", "line 4", "line 5, line 6"),
        ("x prep.py --seed 1\nx t.py --lr 1 --bf16 --seed 1 --split 2", "--lr 1 --bf16", "", ""),
        ("x t.py --lr 1\nx t.py --lr 1", "--lr 1", "", ""),
        ("echo x t.py --lr 2\nx t.py --lr 1", "--lr 1", "", ""),
    ],
)
def test_a_second_launch_is_named(text: str, words: str, place: str, others: str) -> None:
    found = command(text)
    assert " ".join(found.words).startswith(words)
    named = [note for note in found.notes if "left out; what is read is that of" in note]
    assert bool(named) == bool(place)
    if place:
        assert named[0].startswith(f"{others}: ")
        assert f"that of {place}." in named[0]


@each(
    ("text", "chips"),
    [
        ("#SBATCH -N 4\nsrun --ntasks-per-node=1 torchrun --nproc_per_node=8 --nnodes=4 t.py", 32),
        ("#SBATCH -N 4\nsrun --ntasks-per-node=1 torchrun --nproc_per_node=8 --nnodes=$N t.py", 32),
        ("#SBATCH -N 16\nsrun --ntasks-per-node=8 python t.py", 128),
        ("#SBATCH -N 4\n#SBATCH --gres=gpu:h100:8\nsrun --ntasks-per-node=1 python t.py", 32),
        ("#SBATCH -N 2\n#SBATCH --ntasks-per-node=2\n#SBATCH --gpus-per-task=4\nsrun p t.py", 16),
        ("#SBATCH --gpus=24\nsrun python t.py", 24),
        ("cat > h <<EOF\na slots=8\n# b slots=8\nc slots=4\nEOF\ndeepspeed --hostfile=h t.py", 12),
        ("deepspeed --hostfile /elsewhere --num_gpus 8 t.py", None),
        ("srun -N 2 -n 2 accelerate launch --num_machines 2 --num_processes 16 t.py", 16),
        ("python -m torch.distributed.run --nproc_per_node 4 -m mine.train", 4),
    ],
)
def test_chips_of_launchers_within_one_another(text: str, chips: int | None) -> None:
    assert command(f"{text} --lr 1").chips == chips


def test_a_script_without_arguments_is_compared_so_and_that_is_said() -> None:
    text = 'D=no\nif [ "$1" = -d ]; then D=yes; fi\ncase $1 in a) E=1 ;; *) E=2 ;; esac\n'
    shell = Shell("run.sh").read(text)
    assert shell.variables == {"D": "no", "E": "2"}
    assert shell.notes == [
        "line 2: an argument is compared, and the script is read as started without any; "
        "FILE::ARGUMENT gives them"
    ]
    given = Shell("run.sh", arguments=["-d"]).read(text)
    assert (given.variables, given.notes) == ({"D": "yes", "E": "2"}, [])


@each(
    ("text", "count"),
    [
        ("f() { x $3; }\nf 1 2 3", 0),
        ("case $2 in a) A=${3:-4} ;; esac", 2),
        ('if [ -n "$1" ]; then A=${12}; fi', 12),
        ("awk '{print $2}' a", 0),
    ],
)
def test_arguments_that_a_script_takes(text: str, count: int) -> None:
    assert arguments_in(text) == count


def test_the_place_of_what_is_not_known_is_said() -> None:
    with pytest.raises(InputError, match="stand where it is not read: line 1: `for`"):
        command("for i in $N; do\n x t.py --lr $i\ndone")
    assert command("LR=1\nfor i in $N; do\n LR=$i\ndone\nx t.py --lr $LR").changed == {
        "i": "line 2",
        "LR": "line 2",
    }


@each(
    "text",
    [
        "f() { f; f; }\nf\n",
        "f() { " + "f; " * 500 + "}\nf\n",
        "while [ 1 = 1 ]; do A=1; done\n" * 500,
        "while [ 1 = 1 ]; do while [ 1 = 1 ]; do while [ 1 = 1 ]; do A=1; done; done; done\n",
        "".join(f"A{at}=1\nif [ $X ]; then B={at}; fi\n" for at in range(3000)),
        "for ((;1;)); do for ((;1;)); do for ((;1;)); do A=1; done; done; done\n",
        'X="' + "1 " * 200 + '"\n' + "for a in $X; do " * 4 + "x t.py --lr 1; " + "done; " * 4,
        "{ " * 3000,
        "time " * 5000,
        "((((((((((1\n",
        "[[ ! ! ! ( ( a ]] && x\n",
        "A=" + "x" * 3000 + "\n" + "B=${A##*" + "x*" * 20 + "}\n",
        "cat > a <<E\n$(cat a)\nE\n" * 200,
        "A='eval $A'\neval $A\n",
        "a) b ;; esac }\nfi done\n",
        "X=" + "$(cd " * 60 + "a" + "\nx)" * 60,
        "X=" + "$(cd x\n" * 60 + "a" + ")" * 60,
        "f() { echo $(f) $(f); }\nX=$(f)\n",
        "X=$(basename '')\n",
    ],
)
def test_hostile_texts_end(text: str) -> None:
    with suppress(InputError):
        Shell("run.sh").read(text)


@each(
    ("opens", "closes"),
    [("$(", ")"), ('"$(', ')"'), ("$(cat ", " | tr a b)"), ("${a:-", "}"), ("if x; then ", "")],
)
def test_what_is_nested_deeper_than_any_script_is_refused(opens: str, closes: str) -> None:
    times = 500
    text = f"X={opens * times}a{closes * times}\n" if closes else opens * times
    with pytest.raises(InputError, match=r"^run\.sh: .* nested more than 64 deep$"):
        Shell("run.sh").read(text)
