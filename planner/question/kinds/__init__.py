"""Kinds of questions: which space an answer is looked for in, and what each kind may ask.

A contradiction between fields is refused here, in one line. Imports the fields of the question.
Begin with `kind`.
"""
