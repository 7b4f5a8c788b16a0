"""The form has every field of the question that a page can ask."""

from pathlib import Path

import pytest

from planner.question.asked import BY_NAME
from planner.web.answers import Answers
from planner.web.form import EXAMPLES, FIRST, OTHER_PAGES, form


def test_every_field_once() -> None:
    names = [field["name"] for field in form()["fields"]]
    assert sorted([*names, *OTHER_PAGES]) == sorted(BY_NAME)
    assert names[: len(FIRST)] == list(FIRST)


def test_words_are_listed_and_texts_are_filled() -> None:
    fields = {field["name"]: field for field in form()["fields"]}
    assert "llama3-70b" in fields["model"]["words"]
    assert fields["model"]["required"]
    assert "energy" in fields["objective"]["words"]
    assert not any("{" in field["help"] for field in fields.values())


def test_every_file_has_an_example() -> None:
    fields = form()["fields"]
    assert [bool(field["example"]) for field in fields] == [
        field["kind"] == "path" for field in fields
    ]


@pytest.mark.parametrize("name", EXAMPLES)
def test_examples_are_answered(name: str, tmp_path: Path) -> None:
    asked = {"model": "gpt3-125m", "hardware": "h100-sxm5-80", "chips": "2"}
    plain, found = (Answers(tmp_path).ask(one) for one in (asked, asked | {name: EXAMPLES[name]}))
    assert found["answer"] == plain["answer"]
    assert found["html"] != plain["html"]
