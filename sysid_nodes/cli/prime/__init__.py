"""Commands of PRIME."""
