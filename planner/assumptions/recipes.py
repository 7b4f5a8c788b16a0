"""How operands of matrix products below 16 bits are scaled, as data.

A recipe says what casting an operand reads and writes (`quantization` of the calibration, by the
recipe's name), and with it what products of 8 bits cost beside their arithmetic. Embedding, head,
router, norms and the scores of attention keep 16 bits under all of them.

Source: Transformer Engine, user guide, Low precision training,
https://nvidia.github.io/TransformerEngine/features/low_precision_training/index.html, and its
table of what runs on which architecture, https://nvidia.github.io/TransformerEngine/support_matrix.html.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from frozen_records import dataclass
from planner.base.errors import InputError
from planner.base.messages import not_one_of

if TYPE_CHECKING:
    from hardware_db import Chip
    from planner.assumptions.software import FrameworkProfile

FP8 = "fp8"


@dataclass(frozen=True, slots=True, kw_only=True)
class Recipe:
    """One way to scale narrow operands.

    Attributes:
        name: As typed by the user, and key of the calibration's `quantization` group.
        precision: The format whose operands it scales.
        scales: What has a scale of its own, in words.
        transposed_apart: Products that take one layout need a transposed copy beside what the
            `quantization` group counts; else both layouts are in it.
        architectures: Families of NVIDIA's chips that it is limited to; empty: no limit.
    """

    name: str
    precision: str
    scales: str
    transposed_apart: bool = False
    architectures: tuple[str, ...] = ()


RECIPES = {
    one.name: one
    for one in (
        Recipe(
            name="delayed",
            precision=FP8,
            scales="a tensor, from its largest values in earlier steps",
            transposed_apart=True,
        ),
        Recipe(
            name="current",
            precision=FP8,
            scales="a tensor, from the largest value at hand",
            transposed_apart=True,
        ),
        Recipe(  # DeepSeek-V3, arXiv:2412.19437, section 3.3
            name="blockwise",
            precision=FP8,
            scales="128 values of an activation or gradient, 128 x 128 of a weight",
            architectures=("hopper", "blackwell"),
        ),
        Recipe(name="mxfp8", precision="mxfp8", scales="32 values"),
        Recipe(name="nvfp4", precision="fp4", scales="16 values, and a tensor"),
    )
}
FP8_RECIPES = tuple(name for name, one in RECIPES.items() if one.precision == FP8)
"""Those to choose from at the precision fp8; other narrow formats have one each."""


def recipe_of(precision: str, named: str) -> Recipe | None:
    """The recipe of a precision; at fp8 the one that is named. None: nothing is narrow."""
    if precision == FP8:
        return RECIPES[named]
    return next((one for one in RECIPES.values() if one.precision == precision), None)


def check_recipe(asked: str, precision: str, framework: FrameworkProfile, usual: str) -> None:
    """Refuses a recipe that would change nothing, or that the framework does not have.

    Args:
        asked: Its name; empty: as the software has it.
        precision: Of the job.
        framework: Of the job.
        usual: The recipe that it has where nothing is asked for.

    Raises:
        InputError: See above.
    """
    if not asked:
        return
    if precision != FP8:
        raise InputError(
            f"fp8-recipe: {asked} has no effect in {precision}; make the precision fp8 or leave "
            "it out"
        )
    offered = framework.fp8_recipes or (usual,)
    if asked not in offered:
        problem = not_one_of(asked, offered)
        raise InputError(f"fp8-recipe: {problem}, which {framework.name} has")


def check_architecture(recipe: Recipe, chip: Chip) -> None:
    """Refuses a recipe on a chip without its products.

    Raises:
        InputError: See above.
    """
    family = chip.architecture.lower()
    if recipe.architectures and not family.startswith(recipe.architectures):
        known = " and ".join(name.capitalize() for name in recipe.architectures)
        raise InputError(
            f"fp8-recipe: {recipe.name} runs on {known}, and {chip.name} is {chip.architecture}; "
            "nearest: current"
        )
