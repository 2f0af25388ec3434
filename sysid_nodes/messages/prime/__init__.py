"""Messages of PRIME."""
