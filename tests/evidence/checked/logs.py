"""The log of a run that takes as long as its plan is predicted to, or a factor of that."""

from pathlib import Path

from cli.command import planner


def write_log(plan: Path, log: Path, factor: float = 1.0, steps: int = 60) -> None:
    """Lines of MaxText's training loop, e591f30cbb: metric_logger.py, lines 181 to 210."""
    found = planner("evaluate", plan, "--json").document
    seconds = factor * found["step_time_s"]
    line = (
        "completed step: {}, seconds: {:.3f}, TFLOP/s/device: 100.000, Tokens/s/device: 1000.000, "
        "total_weights: 65536, loss: 9.876, lm_loss: 9.876, perplexity: 19459.1"
    )
    held = found["memory_per_chip_bytes"] / 2**30
    memory = f"Total estimated memory size: {held:.1f} GB, estimated output size: 1.0 GB\n"
    text = "".join(line.format(step, max(seconds, 0.001)) + "\n" for step in range(steps))
    log.write_text(memory + text, encoding="utf-8")
