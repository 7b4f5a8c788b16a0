"""Parameters that a folder's safetensors files hold, read from their headers alone.

Format: safetensors, README.md, "Format": eight bytes with the length of the header (little
endian), then a JSON object of tensor name -> dtype, shape and offsets; the header has at most
100 MB. An index (model.safetensors.index.json) has `weight_map`: tensor name -> file, and
`metadata.total_size`: bytes of all tensors.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Mapping
from math import prod
from pathlib import Path
from typing import Any

from frozen_records import dataclass
from models_db.errors import ModelError
from models_db.hub.jsonfile import MAX_BYTES, parse_json
from models_db.loading import is_file
from models_db.reading import read_bytes
from strict_yaml import contents, inputs

INDEX = "model.safetensors.index.json"
MOST_HEADER_BYTES = 100_000_000
MOST_FILES = 10_000
_LENGTH_BYTES = 8
_DTYPE_BYTES = {"bfloat16": 2, "float16": 2, "float32": 4}
# Beside the weights: factors of quantized ones, tables that follow from the configuration.
_FACTOR = re.compile(r"(_scale_inv|_scale|_scale_2|_scales|\.scales|_zero_point|\.qzeros|\.g_idx)$")
_TABLE = re.compile(r"(rotary_emb\.inv_freq|\.attn\.(masked_)?bias|\.attention\.(masked_)?bias)$")
_PACKED = re.compile(r"(\.qweight|_packed)$")
_TWO_PER_BYTE = re.compile(r"_blocks$")
_LAYER = re.compile(r"(?:^|\.)(?:layers|h|blocks)\.(\d{1,18})\.")
_SHARD = re.compile(r"(.*)-\d{5}-of-(\d{5})\.safetensors")
_OTHER = re.compile(r"(^|\.)(vision|visual|multi_modal|mm_|audio|image)[a-z_]*\.")


@dataclass(frozen=True, slots=True, kw_only=True)
class Weights:
    """What the weights of a model hold.

    Attributes:
        file: what was read: the index, or the number of safetensors files.
        text: parameters of the language model.
        predictors: parameters in layers after the last one of the configuration.
        other: parameters of other parts, such as a vision encoder.
        exact: whether they are counted from shapes; else from the bytes of the index.
        copies: elements of an output head that is a copy of the embedding.
        sha256: of the headers one after the other, or of the index.
    """

    file: str
    text: int
    predictors: int
    other: int
    exact: bool
    copies: int
    sha256: str

    @property
    def total(self) -> int:
        """All parameters, of whatever part."""
        return self.text + self.predictors + self.other + self.copies


def read_weights(folder: Path, *, layers: int, tied: bool, dtype: str) -> Weights | None:
    """Count the parameters in the safetensors files of a folder.

    Args:
        folder: where the files lie.
        layers: layers of the configuration; later ones predict further tokens.
        tied: whether embedding and head are one.
        dtype: type of the weights, for an index without its files.

    Returns:
        The counts; None where there are neither files nor an index with a size, or where several
        values are packed into one so that shapes do not tell.

    Raises:
        ModelError: a file is no safetensors file, or the index is wrong.
    """
    index = _index(folder / INDEX)
    files = _files(folder, index)
    present = [name for name in files if is_file(folder / name)]
    if present and len(present) == len(files):
        tensors: dict[str, Any] = {}
        digest = hashlib.sha256()
        for name in present:
            content = header_bytes(folder / name)
            digest.update(content)
            tensors.update(parse_header(content, folder / name))
        counts = _counted(tensors, layers, tied)
        file = f"{len(present)} safetensors file{'s' if present[1:] else ''}"
        if counts is None:
            return None
        return Weights(file=file, exact=True, sha256=digest.hexdigest(), **counts)
    if index and index[1] and dtype in _DTYPE_BYTES:
        total = index[1] // _DTYPE_BYTES[dtype]
        digest = hashlib.sha256(read_bytes(folder / INDEX, MAX_BYTES))
        return Weights(
            file=INDEX,
            text=total,
            predictors=0,
            other=0,
            copies=0,
            exact=False,
            sha256=digest.hexdigest(),
        )
    return None


def missing_files(folder: Path) -> tuple[int, int]:
    """How many of the files that hold the weights are not in their folder, and how many there are.

    Raises:
        ModelError: the index is wrong.
    """
    files = _files(folder, _index(folder / INDEX))
    return sum(not is_file(folder / name) for name in files), len(files)


def _files(folder: Path, index: tuple[dict[str, str], int] | None) -> list[str]:
    return sorted(set(index[0].values())) if index else _loose(folder)


def _loose(folder: Path) -> list[str]:
    """Names of the safetensors files of a folder; of several kinds, those called after the model.

    Files of a set that are not there are named as well.

    A folder may also hold adapters or the same weights in the layout of another program.
    """
    found = sorted(path.name for path in folder.glob("*.safetensors"))
    names = [name for name in found if name.startswith("model")] or found
    if len(names) > MOST_FILES:
        raise ModelError(f"{folder}: more than {MOST_FILES:,} safetensors files")
    return sorted({whole for name in names for whole in _of_one_set(name)})


def _of_one_set(name: str) -> list[str]:
    """A file with all that its name says there are: `model-00001-of-00003.safetensors` is of 3."""
    said = _SHARD.fullmatch(name)
    if said is None or not 1 <= int(said[2]) <= MOST_FILES:
        return [name]
    return [f"{said[1]}-{i:05}-of-{said[2]}.safetensors" for i in range(1, int(said[2]) + 1)]


def _index(path: Path) -> tuple[dict[str, str], int] | None:
    """Tensor -> file, and bytes of all tensors (0 where not said); None without an index."""
    if not is_file(path):
        return None
    data = parse_json(read_bytes(path, MAX_BYTES), str(path))
    names = data.get("weight_map")
    if not isinstance(names, dict) or not all(_plain_name(name) for name in names.values()):
        raise ModelError(f"{path}: weight_map: must map tensors to names of files beside it")
    about = data.get("metadata")
    size = about.get("total_size") if isinstance(about, dict) else None
    return names, size if isinstance(size, int) and size > 0 else 0


def _plain_name(name: object) -> bool:
    """Whether a name is that of a file in the same folder."""
    return isinstance(name, str) and name == Path(name).name and "\0" not in name


def header_bytes(path: Path) -> bytes:
    """The header of a safetensors file.

    Raises:
        ModelError: the file cannot be read, is cut off, or is no safetensors file.
    """
    inputs.read(path)
    try:
        with path.open("rb") as file:
            first = file.read(_LENGTH_BYTES)
            length = int.from_bytes(first, "little")
            if not 2 <= length <= MOST_HEADER_BYTES:
                raise ModelError(
                    f"{path}: no safetensors file: its header would have {length:,} bytes "
                    f"(2 to {MOST_HEADER_BYTES:,})"
                )
            content = file.read(length)
    except (OSError, ValueError) as error:
        contents.holds(path, None)
        reason = getattr(error, "strerror", None) or str(error)
        raise ModelError(f"{path}: cannot read the file: {reason}") from None
    contents.holds(path, first + content, whole=False)
    if len(content) < length:
        raise ModelError(f"{path}: cut off: {len(content):,} of the {length:,} bytes of its header")
    return content


def parse_header(content: bytes, path: Path) -> dict[str, Any]:
    """Tensors of a safetensors file: name -> {"dtype", "shape", ...}.

    Raises:
        ModelError: its header is not what the format says.
    """
    data = parse_json(content, f"{path}: header", MOST_HEADER_BYTES)
    tensors = {name: tensor for name, tensor in data.items() if name != "__metadata__"}
    for name, tensor in tensors.items():
        if not _is_tensor(tensor):
            raise ModelError(f"{path}: header: {name[:80]!r} has no dtype and shape of a tensor")
    return tensors


def _is_tensor(tensor: object) -> bool:
    """Whether an entry of a header has a dtype, and a shape of at most 8 dimensions."""
    if not isinstance(tensor, dict) or not isinstance(tensor.get("dtype"), str):
        return False
    shape = tensor.get("shape")
    return (
        isinstance(shape, list)
        and len(shape) <= 8
        and all(isinstance(n, int) and not isinstance(n, bool) and 0 <= n < 2**48 for n in shape)
    )


def _counted(tensors: Mapping[str, Any], layers: int, tied: bool) -> dict[str, int] | None:
    """Elements of tensors by what they belong to; None where values are packed."""
    if any(_PACKED.search(name) for name in tensors):
        return None
    counts = {"text": 0, "predictors": 0, "other": 0, "copies": 0}
    for name in _parameters(tensors):
        elements = prod(tensors[name]["shape"]) * (2 if _TWO_PER_BYTE.search(name) else 1)
        counts[_owner(name, layers, tied)] += elements
    return counts


def _parameters(tensors: Iterable[str]) -> list[str]:
    """Names without factors and tables."""
    return [name for name in tensors if not (_FACTOR.search(name) or _TABLE.search(name))]


def _owner(name: str, layers: int, tied: bool) -> str:
    """Which count a tensor belongs to."""
    if _OTHER.search(name):
        return "other"
    place = _LAYER.search(name)
    if place and int(place[1]) >= layers:
        return "predictors"
    return "copies" if tied and name.endswith("lm_head.weight") else "text"
