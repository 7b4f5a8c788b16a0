"""Recipes in Python, read without running them.

`recipe` finds the function that is asked for, `statements` goes through it, `calls` says what
expressions stand for that are followed and `expressions` what the others may do; `heap` keeps the
objects, `flat` writes them as dotted fields. Begin with `recipe`.
"""
