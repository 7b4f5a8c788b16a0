"""Recipes in Python, read without running them.

`values` says what an expression stands for, `bindings` what a statement may bind, `fields` keeps
what objects are set to, `statements` goes through a function, and `recipe` finds the one that is
asked for. Begin with `recipe`.
"""
