"""Answers as people look at them: tables, pictures, files."""
