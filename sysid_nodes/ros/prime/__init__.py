"""Conversions and live session of PRIME."""
