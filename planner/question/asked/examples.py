"""Examples of the fields that a question cannot do without."""

from __future__ import annotations

from planner.base.messages import Origin


def with_examples(lines: list[str], origin: Origin) -> list[str]:
    """Lines about what is missing on a command line, with an example."""
    examples = {
        "model": "; name one, e.g. --model llama2-13b (planner models list)",
        "chips": "; say how many chips to plan for, e.g. --chips 4096",
    }
    endings = {f"{origin.label([name])}: is missing": text for name, text in examples.items()}
    return [line + endings.get(line, "") for line in lines] if origin.dashes else lines
