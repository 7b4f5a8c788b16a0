"""A vision tower: a transformer over patches of an image, and a projector to the decoder."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

from frozen_records import dataclass

if TYPE_CHECKING:
    from models_db.schema import VisionRecord


@dataclass(frozen=True, slots=True, kw_only=True)
class Vision:
    """An encoder of images whose outputs enter the decoder in place of embedded tokens.

    Attributes:
        layers: its layers, of attention over all patches of an image and a feed-forward.
        hidden: its width.
        heads: attention heads; keys and values have as many.
        mlp_hidden: inner width of its feed-forward.
        gated: three matrices per feed-forward instead of two.
        bias: whether its matrices, and that of the patches, have biases.
        norm_bias: whether its norms have a bias (layer norm) beside the weight.
        last_norm: whether a norm follows the last layer, apart from that of the projector.
        patch: side of a patch, in pixels.
        frames: images that one patch spans (video).
        channels: colours of a pixel.
        patches: patches of one image.
        positions: rows of the learned position table; 0 without one.
        merge: side of the squares of patches that become one token of the decoder.
        projector_hidden: inner width of a projector of two matrices; 0: it has one.
        projector_bias: whether its matrices have biases.
        projector_norm: vectors of the norm before it, of the tower's width: 0, 1 or 2.
    """

    layers: int
    hidden: int
    heads: int
    mlp_hidden: int
    gated: bool
    bias: bool
    norm_bias: bool
    last_norm: bool
    patch: int
    frames: int
    channels: int
    patches: int
    positions: int
    merge: int
    projector_hidden: int
    projector_bias: bool
    projector_norm: int

    @property
    def layer_parameters(self) -> int:
        """Parameters of one layer: four projections, the feed-forward, two norms."""
        up = 3 if self.gated else 2
        matrices = 4 * self.hidden * self.hidden + up * self.hidden * self.mlp_hidden
        biases = 5 * self.hidden + (up - 1) * self.mlp_hidden if self.bias else 0
        return matrices + biases + 2 * self.hidden * self._norm_vectors

    @property
    def _norm_vectors(self) -> int:
        return 2 if self.norm_bias else 1

    @property
    def input_parameters(self) -> int:
        """Parameters of the projection of patches and of the position table."""
        pixels = self.channels * self.frames * self.patch * self.patch
        return (pixels + (1 if self.bias else 0) + self.positions) * self.hidden

    def projector_parameters(self, out: int) -> int:
        """Parameters of the projector.

        Args:
            out: hidden width of the decoder.
        """
        widths = [self.merge * self.merge * self.hidden, out]
        if self.projector_hidden:
            widths.insert(1, self.projector_hidden)
        matrices = sum((a + (1 if self.projector_bias else 0)) * b for a, b in pairwise(widths))
        return matrices + self.projector_norm * self.hidden

    def parameters(self, out: int) -> int:
        """All parameters of the tower with its projector.

        Args:
            out: hidden width of the decoder.
        """
        last = self.hidden * self._norm_vectors if self.last_norm else 0
        layers = self.layers * self.layer_parameters
        return layers + self.input_parameters + last + self.projector_parameters(out)


def vision_of(record: VisionRecord | None) -> Vision | None:
    """The tower of a checked record."""
    if record is None:
        return None

    def optional(name: str, default: int) -> int:
        found = getattr(record, name)
        return default if found is None else int(found.value)

    return Vision(
        layers=record.layers.value,
        hidden=record.hidden.value,
        heads=record.heads.value,
        mlp_hidden=record.mlp_hidden.value,
        gated=record.gated,
        bias=record.bias,
        norm_bias=record.norm_bias,
        last_norm=record.last_norm,
        patch=record.patch.value,
        frames=optional("frames", 1),
        channels=optional("channels", 3),
        patches=record.patches.value,
        positions=optional("positions", 0),
        merge=optional("merge", 1),
        projector_hidden=optional("projector_hidden", 0),
        projector_bias=record.projector_bias,
        projector_norm={"none": 0, "rmsnorm": 1, "layernorm": 2}[record.projector_norm],
    )
