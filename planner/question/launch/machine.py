"""What a launch runs on, by the words of its text and of the names of its files.

Launches seldom name their machine: the chip follows from a folder, an option or a comment, or is
assumed. Each comes with the reason.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import PurePath

from planner.base.errors import InputError
from planner.frameworks.reading.imported import Noted

_CLUSTERS = {
    "gb300": "gb300-nvl72",
    "gb200": "gb200-nvl72",
    "b300": "dgx-b300",
    "b200": "dgx-b200-ndr",
    "gh200": "gh200-ndr",
    "h200": "dgx-h200-ndr",
    "h100": "dgx-h100-ndr",
    "h800": "h800-pod",
    "h20": "hgx-h20-ndr",
    "a100": "dgx-a100-80-hdr",
    "v100": "dgx1-v100",
    "mi355x": "mi355x-8way",
    "mi350x": "mi350x-8way",
    "mi325x": "mi325x-8way",
    "mi300x": "mi300x-8way",
    "mi250x": "mi250x-slingshot",
    "tpu7x": "tpu-v7",
    "ironwood": "tpu-v7",
    "v6e": "tpu-v6e",
    "trillium": "tpu-v6e",
    "v5p": "tpu-v5p",
    "v5e": "tpu-v5e",
    "tpu/v4": "tpu-v4",
    "v5litepod": "tpu-v5e",
    "trn2": "trn2",
    "trn1": "trn1",
    "gaudi3": "gaudi3",
    "gaudi2": "gaudi2",
    "a3": "dgx-h100-ndr",
    "910b": "ascend-910b",
    "ascend910b": "ascend-910b",
}
"""A word to the cluster that stands for machines of it; a3: Google Cloud's machines of 8 H100s."""
_SMALLER = {"a100": (r"40 ?g", "dgx-a100-40-hdr"), "v100": (r"32 ?g", "v100-32gb-edr")}
_WORDS = re.compile(rf"(?<![a-z0-9])({'|'.join(_CLUSTERS)})(?![a-z0-9])|_({'|'.join(_CLUSTERS)})_")
_REMARK = re.compile(
    r"(?<![\w.])([0-9]{1,6}) ?x? (?:[0-9]+ ?GB )?(?:NVIDIA |AMD )?"
    rf"(?:{'|'.join(_CLUSTERS)}|GPUs)\b",
    re.IGNORECASE,
)
_GPUS = re.compile(r"(?m)\bhardware\s?[:=]\s?[\"']?gpu\b")
_NPU = re.compile(
    r"\b(?:ASCEND|HCCL)_\w+|\btorch_npu\b|\bmindspeed\w*|\bascend[/-]\S*"
    r"|[=: \"'](?:ascend|npus?)\b",
    re.IGNORECASE,
)
"""What is in a launch on Huawei's NPUs alone."""
_NPU_CLUSTER = "ascend-910b"
_SHOWN = 40
_USUAL = {"google": "tpu-v5p"}
"""Maker of chips to the cluster that is taken where nothing says one."""
_COMMON = "dgx-h100-ndr"
_FOLDERS = 4  # of a path that are looked at


def machine_of(text: str, path: str, vendors: Sequence[str], called: str = "") -> Noted:
    """The cluster of a launch, with why.

    Args:
        text: The launch.
        path: Its file.
        vendors: Makers of chips, in lower case, on which the framework is the usual one.
        called: The recipe in it, if it is one of several.

    Raises:
        InputError: It runs on an NPU and does not say which.
    """
    places = (
        ("the recipe's name", called),
        ("the file's name", "/".join(PurePath(path).parts[-_FOLDERS:])),
        ("the text", text),
    )
    for where, words in places:
        low = words.lower()
        if match := _WORDS.search(low):
            word = match[1] or match[2]
            pattern, smaller = _SMALLER.get(word, ("", ""))
            around = low[max(0, match.start() - 12) : match.end() + 12]
            cluster = smaller if pattern and re.search(pattern, around) else _CLUSTERS[word]
            return Noted(name="hardware", value=cluster, reason=f"by {word} in {where}")
    if npu := _NPU.search(text):
        raise InputError(
            f"{path}: hardware: {npu[0].strip()[:_SHOWN]} says that it runs on an NPU, and not "
            f"which; name it, e.g. --hardware {_NPU_CLUSTER}"
        )
    vendors = () if _GPUS.search(text) else vendors
    usual = next((_USUAL[vendor] for vendor in vendors if vendor in _USUAL), "")
    reason = "what the framework is run on most" if usual else "a common machine is taken"
    words = f"not said; {reason} (--hardware names another)"
    return Noted(name="hardware", value=usual or _COMMON, reason=words)


def remarked_chips(text: str) -> int | None:
    """Chips that a comment names.

    >>> remarked_chips("# a preset for 64 A100 GPUs."), remarked_chips("x = 3")
    (64, None)
    """
    comments = (line.partition("#")[2] for line in text.splitlines() if "#" in line)
    found = (_REMARK.search(line) for line in comments)
    return next((int(match[1]) for match in found if match and int(match[1])), None)
