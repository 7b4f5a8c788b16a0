"""What `reliability.py` tries (begin with `running`), and what `records.py` draws."""
