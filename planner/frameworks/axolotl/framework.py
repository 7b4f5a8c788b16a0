"""Axolotl, which torchrun launches."""

from __future__ import annotations

from typing import TYPE_CHECKING

from planner.frameworks.framework import Framework, Target

if TYPE_CHECKING:
    from planner.assumptions.software import FrameworkProfile
    from planner.frameworks.rules.rule import Rule
    from planner.frameworks.writing.export import Export
    from planner.frameworks.writing.launch import Launch


class Axolotl(Framework):
    """Axolotl, on PyTorch FSDP."""

    name = "axolotl"
    profiles: tuple[FrameworkProfile, ...] = ()
    targets = (
        Target(
            name="axolotl",
            title="Axolotl",
            framework="fsdp",
            rules=("tuned", "peft", "axolotl"),
            jobs=("finetune", "lora", "dpo"),
        ),
    )

    def rules(self) -> tuple[Rule, ...]:
        """See `planner.frameworks.axolotl.rules` and of `hugging_face`."""
        from planner.frameworks.axolotl.rules import AXOLOTL  # noqa: PLC0415  (as above)
        from planner.frameworks.hugging_face.rules import PEFT, TUNED  # noqa: PLC0415  (not for --help)

        return (*TUNED, *PEFT, *AXOLOTL)

    def write(self, launch: Launch, target: Target) -> Export:
        """See `planner.frameworks.axolotl.write`."""
        from planner.frameworks.axolotl.write import export  # noqa: PLC0415  (only where one is written)

        return export(launch)


AXOLOTL = Axolotl()
