"""What `benchmarks/reliability.py` tries, a module per campaign; begin with `running`."""
