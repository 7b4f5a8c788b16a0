"""From the name that a driver prints, and the memory that it shows, to the record of a chip.

Names of records begin with the product (`h100-sxm5-80`); the name that is printed has it as a word
of its own ("NVIDIA H100 80GB HBM3"). What else it says must not contradict the record: cards are
printed as PCIe or NVL, modules not at all, and records of cards say so. Memory decides the rest.
"""

from __future__ import annotations

import re

from hardware_db import Chip, HardwareError, list_chips, load_chip
from planner.base.errors import InputError
from planner.base.messages import nearest, shown

_CARDS = ("pcie", "nvl")
_SAME_MEMORY = 0.06
"""Largest relative difference between the memory of a record and what a driver shows, which keeps
some for itself. The variants of one product differ by more."""


def chip_named(key: str) -> Chip:
    """The record that `--chip` names.

    Raises:
        InputError: There is none; names the nearest.
    """
    try:
        return load_chip(key)
    except HardwareError as error:
        raise InputError(str(error)) from error


def chip_printed(name: str, memory_bytes: float | None, place: str) -> Chip:
    """The record of a chip.

    Args:
        name: As a driver prints it, or the type of a scheduler.
        memory_bytes: Of one device, as the driver shows it; None: not seen.
        place: Where the name was seen.

    Raises:
        InputError: No record fits, or several do; names the nearest.
    """
    words = re.findall(r"[a-z0-9]+", name.lower())
    of_product = [load_chip(key) for key in list_chips() if _product(key) in words]
    fitting = [chip for chip in of_product if _fits(chip.name, words)]
    printed = _printed_bytes(words)
    found = [chip for chip in fitting if _holds(chip, memory_bytes)]
    if memory_bytes is None and len(found) > 1 and printed:
        found = [chip for chip in found if _holds(chip, printed)] or found
    if len(found) == 1:
        return found[0]
    seen = f"{shown(name)} ({place})"
    if memory_bytes is not None:
        seen += f" with {memory_bytes / 1e9:.1f} GB"
    if found:
        keys = " or ".join(chip.name for chip in found)
        raise InputError(
            f"chip: {seen} may be {keys}; add nvidia-smi -q, which shows its memory, or say --chip"
        )
    near = _nearest(words, of_product, memory_bytes)
    raise InputError(
        f"chip: {seen} has no record; nearest: {near}; planner hardware list prints all, --chip "
        "takes one"
    )


def product_in(name: str) -> str:
    """The product of the database that a name has as a word; empty: none."""
    words = re.findall(r"[a-z0-9]+", name.lower())
    return next((_product(key) for key in list_chips() if _product(key) in words), "")


def _product(key: str) -> str:
    return key.split("-", maxsplit=1)[0]


def _fits(key: str, words: list[str]) -> bool:
    """Whether form and kind of memory that are printed, or left out, are those of a record."""
    parts = key.split("-")
    forms = all((form in words) == (form in parts) for form in _CARDS)
    kinds = [{part for part in said if part.startswith("hbm")} for said in (words, parts)]
    return forms and (not all(kinds) or kinds[0] == kinds[1])


def _holds(chip: Chip, memory_bytes: float | None) -> bool:
    if memory_bytes is None:
        return True
    mine = chip.memory_bytes / chip.devices
    return abs(memory_bytes - mine) <= _SAME_MEMORY * mine


def _printed_bytes(words: list[str]) -> float | None:
    """The capacity in a name, such as 80GB."""
    found = (re.fullmatch(r"([0-9]{1,9})gb?", word) for word in words)
    return next((float(size[1]) * 2**30 for size in found if size), None)


def _nearest(words: list[str], of_product: list[Chip], memory_bytes: float | None) -> str:
    """The record that is most like a chip: of its product and memory, else of its name."""
    if of_product:
        wanted = memory_bytes or _printed_bytes(words) or of_product[0].memory_bytes
        return min(of_product, key=lambda chip: abs(chip.memory_bytes - wanted)).name
    products = {_product(key): key for key in reversed(list_chips())}
    found = [products[name] for word in words for name in nearest(word, products)]
    return found[0] if found else "none"
