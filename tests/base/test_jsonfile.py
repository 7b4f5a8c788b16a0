"""JSON documents from people: what is read, how faults are said, and the seal on our own."""

import json
from typing import Any

import pytest
from support.cases import each

from planner.base.errors import InputError
from planner.base.jsonfile import digest_of, json_object, sealed

DOCUMENT: dict[str, Any] = {"b": 2.0, "a": {"d": 1e22, "c": [1, 0.5]}, "e": "\u00e9"}


def test_a_seal_outlives_programs_that_write_the_document_anew() -> None:
    """`jq -S` sorts names; others write 2 for 2.0."""
    again = json.loads(json.dumps(DOCUMENT, sort_keys=True).replace("2.0", "2"))
    assert digest_of(again) == digest_of(DOCUMENT)
    assert digest_of(sealed(DOCUMENT)) == digest_of(DOCUMENT)
    assert digest_of({**DOCUMENT, "b": 2.5}) != digest_of(DOCUMENT)


def test_a_seal_that_was_written_stays_good() -> None:
    """Answers that people keep have it."""
    assert digest_of(DOCUMENT) == (
        "sha256:1008de1190eab42d2621164c26d0067e1374a0d359831728c969b48138533265"
    )


@each(("content", "said"), [
    (b'{"a": "b', "f.json: is cut off: the JSON in it has no end"),
    (b'{"a": 1, ', "f.json: is cut off: the JSON in it has no end"),
    (b'{"a": "b" "c"}', "f.json: line 1: not valid JSON: expecting ',' delimiter"),
    (b"  ", "f.json: is empty"),
    (b'{"a": 1, "a": 2}', "f.json: the name 'a' appears twice in one object"),
    (b'{"a": \xff}', "f.json: not a text file (byte 6 is not UTF-8)"),
])  # fmt: skip
def test_a_fault_is_said(content: bytes, said: str) -> None:
    with pytest.raises(InputError) as caught:
        json_object(content, "f.json")
    assert str(caught.value) == said


def test_a_mark_of_byte_order_is_no_fault() -> None:
    """Editors on Windows begin files with one."""
    assert json_object(b'\xef\xbb\xbf{"a": 1}', "f.json")[0] == {"a": 1}
