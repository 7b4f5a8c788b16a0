"""Plain data as YAML text that YAML 1.1 and YAML 1.2 read as the same values."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from io import StringIO
from typing import Any

from ruamel.yaml import YAML
from ruamel.yaml.emitter import Emitter
from ruamel.yaml.representer import SafeRepresenter

from strict_yaml.scalars import CautiousResolver

# Breaks of a line in YAML 1.1, and the mark of a byte order: only an escape keeps them.
_SPACE = re.compile("(?<! ) (?! )")
_SPECIAL = re.compile("[\x85\u2028\u2029\ufeff]")
_LINES = re.compile("[ -~]*\n[ -~\n]*")


def dump(
    data: Any,
    *,
    width: int = 80,
    unicode: bool = False,
    flow: Callable[[list[Any] | dict[str, Any]], bool] | None = None,
    leaves_in_flow: bool = False,
    blocks: bool = False,
) -> str:
    """The data as YAML, keys in their order, without aliases.

    Args:
        data: Text, numbers, truth values, None, lists and mappings of them.
        width: Columns after which lines are broken.
        unicode: Whether characters beyond ASCII are written as they are; else escaped.
        flow: Whether a list or mapping stands in one line, in brackets; default none does.
        leaves_in_flow: Whether those that hold neither lists nor mappings do, without `flow`.
        blocks: Whether text of several lines keeps its lines, behind a `|`.
    """
    yaml: Any = YAML(typ="safe", pure=True)
    yaml.Resolver = CautiousResolver
    yaml.Representer = _Representer
    yaml.Emitter = _Emitter
    yaml.width = width
    yaml.allow_unicode = unicode
    yaml.default_flow_style = None if leaves_in_flow else False
    yaml.sort_base_mapping_type_on_output = False
    yaml.representer.flow = flow
    yaml.representer.blocks = blocks
    stream = StringIO()
    yaml.dump(data, stream)
    return stream.getvalue()


class _Emitter(Emitter):
    """Breaks lines at a space alone, after the width, and never where a parser would add one.

    Text with `?` or `:` is put in quotes between brackets, where readers of YAML 1.1 want them.
    """

    def analyze_scalar(self, scalar: Any) -> Any:
        analysis = super().analyze_scalar(scalar)
        analysis.allow_flow_plain = analysis.allow_flow_plain and not set("?:") & set(scalar)
        return analysis

    def choose_scalar_style(self) -> Any:
        style = super().choose_scalar_style()
        in_one_line = not (self.simple_key_context and self.analysis.multiline)
        if style == '"' != self.event.style and self.analysis.allow_single_quoted and in_one_line:
            return "'"
        return style

    def write_plain(self, text: Any, split: Any = True) -> None:
        width, self.best_width = self.best_width, sys.maxsize
        first, *others = _SPACE.split(text)
        super().write_plain(first, split)
        for words in others:
            if split and self.column > width:
                self.write_indent()
            super().write_plain(words, split)
        self.best_width = width

    def write_double_quoted(self, text: Any, split: Any = True) -> None:
        del split  # ruamel.yaml 0.19 loses the backslash at the end of some lines
        super().write_double_quoted(text, split=False)


class _Representer(SafeRepresenter):
    """Lists and mappings in one line where `flow` says so; numbers with a dot before `e`."""

    flow: Callable[[Any], bool] | None = None
    blocks: bool = False

    def ignore_aliases(self, data: Any) -> bool:
        del data
        return True

    def list_node(self, data: Any) -> Any:
        style = None if self.flow is None else self.flow(data)
        return self.represent_sequence("tag:yaml.org,2002:seq", data, flow_style=style)

    def mapping_node(self, data: Any) -> Any:
        style = None if self.flow is None else self.flow(data)
        return self.represent_mapping("tag:yaml.org,2002:map", data, flow_style=style)

    def text_node(self, data: str) -> Any:
        style = "|" if self.blocks and _LINES.fullmatch(data) else None
        style = '"' if _SPECIAL.search(data) else style
        return self.represent_scalar("tag:yaml.org,2002:str", data, style=style)

    def float_node(self, data: float) -> Any:
        node = self.represent_float(data)
        if "." not in node.value:  # YAML 1.1 takes 1e-05 for text
            node.value = node.value.replace("e", ".0e", 1)
        return node


_Representer.add_representer(list, _Representer.list_node)
_Representer.add_representer(tuple, _Representer.list_node)
_Representer.add_representer(dict, _Representer.mapping_node)
_Representer.add_representer(str, _Representer.text_node)
_Representer.add_representer(float, _Representer.float_node)
