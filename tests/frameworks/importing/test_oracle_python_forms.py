"""Random recipes in Python of many forms: what is read is what Python makes of them."""

import warnings

from frameworks.importing.python_recipes import drawn, text_of, wrong


def test_what_is_read_is_what_python_makes() -> None:
    count = 0
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for seed in range(30):
            said, known = wrong(drawn(seed))
            assert not said, f"{seed}: {said}\n{text_of(drawn(seed))}"
            count += known
    assert count > 50
