"""Tests of goodput over chips."""
