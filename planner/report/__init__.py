"""Answers as people look at them: tables, pictures, pages.

`tables` prints in a terminal, `charts` says what each picture shows, `drawing` draws it, `pages`
writes files. Nothing is computed here but layout and, where a print asks for them, what an export
is written for and what the step time leans on; only `cli` and `web` read it. Imports `answers` and
what lies below. Begin with `formatters`, which says what prints each answer.
"""
