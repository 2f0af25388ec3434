"""Conversions and live session of the interval identifier."""
