"""Scripts of accelerate launch, and what is to be asked in their place."""

from __future__ import annotations

import re

from planner.base.errors import InputError
from planner.base.numerals import is_digits
from planner.frameworks.reading.launchers import chips_started
from planner.frameworks.reading.shell.run import Shell

_LAUNCH = re.compile(r"\baccelerate\s+launch\b")
_DEEPSPEED = re.compile(r"deepspeed|zero_?[123]", re.IGNORECASE)
_PROGRAM = re.compile(r"[\w./${}-]+\.py|(?:trl|alignment|axolotl|llamafactory)[\w./-]*")
_MODEL = ("--model_name_or_path", "--model_name", "--model_id", "--pretrained_model_name_or_path")
_LENGTH = ("--max_length", "--max_seq_length", "--model_max_length", "--cutoff_len", "--block_size")
_ROWS = ("--per_device_train_batch_size",)
_STEPS = ("--gradient_accumulation_steps",)
_ADAPTERS = ("--use_peft", "--lora_r", "--lora_rank")


def unread(text: str) -> str:
    """What a script of accelerate launch lacks, with the question that its arguments amount to.

    Empty: it is none.
    """
    if not _LAUNCH.search(text):
        return ""
    words, chips = _command(text)
    program = next((at for at, word in enumerate(words) if _PROGRAM.fullmatch(word)), len(words))
    launcher, own = words[:program], words[program + 1 :]
    name = words[program] if program < len(words) else "a program"
    shards = "deepspeed" if _DEEPSPEED.search(" ".join(launcher)) else "fsdp"
    fixed = {"fsdp": chips or "N"} if shards == "fsdp" else {}
    fixed |= {"micro_batch": rows} if (rows := _value(own, _ROWS)) else {}
    return (
        f"is a script of accelerate launch, which is not read: what {name} does with its arguments "
        f"stands in that program. Such a run, as far as they say it: planner solve --framework "
        f"{shards} {_asked(own, name, chips)} --hardware NAME --chips {chips or 'N'}"
        + "".join(f" --fix {field}={value}" for field, value in fixed.items())
    )


def _command(text: str) -> tuple[list[str], int | None]:
    """The words of the launch, and on how many chips it starts."""
    try:
        shell = Shell("").read(text)
    except InputError:
        return [], None
    found = next((words for words in shell.commands if _LAUNCH.search(" ".join(words))), [])
    return found, chips_started(found, shell)[0]


def _asked(words: list[str], name: str, chips: int | None) -> str:
    """What is said of the job, as options of the planner."""
    job = "dpo" if "dpo" in name else "finetune"
    job = "lora" if job != "dpo" and any(_given(words, option) for option in _ADAPTERS) else job
    model, length = _value(words, _MODEL) or "NAME", _value(words, _LENGTH) or "N"
    rank = _value(words, _ADAPTERS[1:]) if job == "lora" else ""
    numbers = [_value(words, one) or default for one, default in ((_ROWS, ""), (_STEPS, "1"))]
    batch = ""
    if chips and all(is_digits(text) and len(text) < 9 for text in (*numbers, length)):
        batch = str(int(numbers[0]) * int(numbers[1]) * chips * int(length))
    found = {
        "model": model,
        "job": job,
        "lora-rank": rank,
        "seq-len": length,
        "batch-tokens": batch,
    }
    return " ".join(f"--{option} {value}" for option, value in found.items() if value)


def _given(words: list[str], option: str) -> bool:
    return any(word.partition("=")[0].replace("-", "_") == option.replace("-", "_")
               for word in words)  # fmt: skip


def _value(words: list[str], options: tuple[str, ...]) -> str:
    """What the first of some options says, where it is known; else empty."""
    for at, word in enumerate(words):
        name, equals, value = word.partition("=")
        if name in options:
            value = value if equals else words[at + 1] if at + 1 < len(words) else ""
            return "" if "$" in value or not value else value
    return ""
