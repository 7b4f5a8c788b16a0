"""Answers as people look at them: tables, pictures, pages.

`tables` prints in a terminal, `charts` says what each picture shows, `drawing` draws it, `pages`
writes files. Nothing is computed here but layout, and only `cli` reads it. Imports `explanation`
and what lies below. Begin with `formatters`, which says what prints each answer.
"""
