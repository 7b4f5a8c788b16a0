"""Tests of ridgelines."""
