"""Axolotl, which torchrun launches."""

from __future__ import annotations

from typing import TYPE_CHECKING

from planner.frameworks.framework import Framework, Target

if TYPE_CHECKING:
    from planner.assumptions.software import FrameworkProfile
    from planner.frameworks.reading.edits import Setting
    from planner.frameworks.reading.imported import Imported
    from planner.frameworks.reading.settings import Asked
    from planner.frameworks.rules.rule import Rule
    from planner.frameworks.writing.export import Export
    from planner.frameworks.writing.launch import Launch
    from planner.plan import Plan


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
            launches="a configuration",
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

    def read(self, text: str, asked: Asked) -> Imported:
        """See `planner.frameworks.axolotl.read`."""
        from planner.frameworks.axolotl.read import read  # noqa: PLC0415  (only where one is read)

        return read(text, asked)

    def settings_between(
        self, before: Plan, after: Plan, batch: int, layers: int, text: str
    ) -> tuple[tuple[Setting, ...], tuple[str, ...]] | None:
        """See `planner.frameworks.axolotl.changing`."""
        from planner.frameworks.axolotl.changing import ANCHORS, settings_between  # noqa: PLC0415  (only where one is changed)

        found = settings_between(before, after, batch, text)
        return None if found is None else (found, ANCHORS)

    def recognizes(self, text: str) -> str:
        """See `planner.frameworks.axolotl.read`."""
        from planner.frameworks.axolotl.read import is_launch  # noqa: PLC0415  (only where one is read)

        return "axolotl" if is_launch(text) else ""


AXOLOTL = Axolotl()
