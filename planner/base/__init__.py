"""What every room uses: errors, messages, units, files, frozen records, printable answers.

Nothing here knows of plans, machines or models. Imports `hardware_db` and `strict_yaml`, for their
tools alone: frozen mappings, reading and writing YAML. What is added here must serve at least two
rooms: one file per tool. Begin with `errors` and `messages`: they say how a
mistake reaches a user.
"""
