"""YAML 1.2 read strictly, written so that it reads back as the same values.

`reading.load` gives what JSON knows (text, numbers, truth values, null, lists, mappings with text
keys) or raises `errors.YamlError`, with the line of each mistake. `text.YamlText` keeps what was
read, so that a message about a field can name its line, which `lines` looks up only then.
`writing.dump` writes text that YAML 1.1 and 1.2 read alike. `cache.load_shipped` reads a file that
a package ships by way of a cache on disk. The scanner, the parser and the emitter are those of
ruamel.yaml, which only `reading`, `lines`, `scalars` and `writing` import. This package imports
nothing of ours; begin with `reading`.
"""
