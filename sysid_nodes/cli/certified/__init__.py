"""Commands of certified motion."""
