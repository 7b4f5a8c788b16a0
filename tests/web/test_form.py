"""The form has every field of the question that a page can ask."""

from planner.question.asked import BY_NAME
from planner.web.form import FIRST, OTHER_PAGES, form


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
