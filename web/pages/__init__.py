"""The parts of the site: written pages, generated reference, navigation, checks.

`web/documentation.py` puts them together. Nothing generated is committed.
"""


class PagesError(Exception):
    """What is wrong with pages, a mistake on a line."""
