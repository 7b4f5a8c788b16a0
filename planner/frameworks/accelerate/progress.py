"""What the training scripts for Accelerate print: a line for each step.

`planner.evidence.training_logs.exported` reads it.
"""

from __future__ import annotations

PROGRESS = '''

class Progress:
    """A line for each step: its loss, how long it took, and the most memory of this chip so far.

    Its sequences are those of the plan where as many processes run as that has chips.
    """

    def __init__(self):
        self.step, self.ended = 0, time.perf_counter()

    def ends(self, accelerator, loss):
        mean = accelerator.reduce(loss.detach(), "mean").item()  # waits for the step
        self.step, began, self.ended = self.step + 1, self.ended, time.perf_counter()
        held = torch.cuda.max_memory_allocated() / 2**30
        sequences = SEQUENCES * accelerator.num_processes // CHIPS
        accelerator.print(
            f"step {self.step}: loss {mean:.4f}, {self.ended - began:.4f} s, {held:.2f} GiB, "
            f"{sequences} sequences of {SEQ_LEN} tokens",
            flush=True,
        )
'''
"""The class, for a script with `SEQUENCES`, `CHIPS`, `SEQ_LEN`, that imports `time` and `torch`."""
