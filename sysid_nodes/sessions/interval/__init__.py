"""Identifying one body from joint states."""
