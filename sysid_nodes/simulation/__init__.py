"""Simulated robots that stand in for hardware."""
