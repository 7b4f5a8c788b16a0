"""What an optimizer keeps per trained parameter, and what frozen weights take.

A framework keeps `optimizer_bytes` under Adam: its copy of the weights (`master_bytes`) and two
moments. Other optimizers keep the same copy and other moments.
"""

from __future__ import annotations

from frozen_records import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Optimizer:
    """What one optimizer keeps beside the weights.

    Attributes:
        name: As typed by the user.
        moments: Numbers per parameter that are as wide as the framework's moments of Adam.
        moment_bytes: Bytes per parameter of moments in a format of their own.
        matrices_only: Embedding and head keep the moments of Adam.
        source: Where it says so.
    """

    name: str
    moments: float = 0.0
    moment_bytes: float = 0.0
    matrices_only: bool = False
    source: str

    def bytes_of(self, framework_bytes: float, master_bytes: float) -> float:
        """Bytes per trained parameter.

        Args:
            framework_bytes: What the framework keeps under Adam.
            master_bytes: The part of it that is a copy of the weights.
        """
        if self.name == ADAM:
            return framework_bytes
        width = (framework_bytes - master_bytes) / 2
        return master_bytes + self.moments * width + self.moment_bytes


ADAM = "adam"
OPTIMIZERS = {
    one.name: one
    for one in (
        Optimizer(name=ADAM, moments=2.0, source="Kingma and Ba, arXiv:1412.6980, algorithm 1"),
        Optimizer(
            name="adam-bf16",
            moment_bytes=4.0,
            source="Megatron-LM core 0.16.1, --use-precision-aware-optimizer with --exp-avg-dtype "
            "and --exp-avg-sq-dtype bf16",
        ),
        Optimizer(
            name="adam-fp8",
            moment_bytes=2.0,
            source="Megatron-LM core 0.16.1, --use-precision-aware-optimizer with --exp-avg-dtype "
            "and --exp-avg-sq-dtype fp8",
        ),
        Optimizer(
            name="adam-8bit",
            moment_bytes=2.0 * (1.0 + 4.0 / 2048),
            source="Dettmers et al., arXiv:2110.02861, section 2: a scale of 32 bits for 2,048",
        ),
        Optimizer(
            name="adafactor",
            source="Shazeer and Stern, arXiv:1804.04235, section 3: sums of rows and columns, "
            "which are left out here, and no first moment",
        ),
        Optimizer(name="lion", moments=1.0, source="Chen et al., arXiv:2302.06675, algorithm 2"),
        Optimizer(
            name="muon",
            moments=1.0,
            matrices_only=True,
            source="Liu et al., arXiv:2502.16982, section 2: momentum of matrices; embedding, "
            "head and norms by AdamW",
        ),
    )
}

UNQUANTIZED = "16-bit"
FROZEN = {
    UNQUANTIZED: 2.0,
    "fp8": 1.0,
    "int4": 0.5 + (2.0 + 0.5) / 128,
    "nf4": 0.5 + (1.0 + 4.0 / 256) / 64,
}
"""Bytes of a frozen weight by its format, with scales.

int4: a scale of 16 bits and a zero of 4 for 128 weights (Frantar et al., arXiv:2210.17323, section
4, in groups of 128). nf4: a scale of 8 bits for 64 weights and one of 32 bits for 256 of these
(Dettmers et al., arXiv:2305.14314, section 3, double quantization).
"""
QUANTIZED = tuple(name for name, size in FROZEN.items() if size < 2.0)
