"""Executables, one a file."""
