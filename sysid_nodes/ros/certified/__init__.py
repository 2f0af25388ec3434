"""Conversions and reports of certified planner and robust controller."""
