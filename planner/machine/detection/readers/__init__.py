"""Outputs of tools as `Seen`: one file per format, each with `recognises` and `read`.

Formats are those that the tools print today; addresses of their manuals stand in each file.
"""
