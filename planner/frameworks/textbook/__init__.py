"""A textbook's counts of memory, which go with the preset of its simplifications.

Nothing launches it: it has a profile and no rules of its own. Begin with `profile`.
"""
