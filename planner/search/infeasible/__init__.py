"""Questions that no plan answers: the plans that come nearest, and what would free one.

Each remedy is checked by a search or by a plan at hand. Imports the spaces of the search. Begin
with `remedies`.
"""
