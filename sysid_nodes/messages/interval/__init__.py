"""Messages of the interval identifier."""
