"""Commands of the interval identifier."""
