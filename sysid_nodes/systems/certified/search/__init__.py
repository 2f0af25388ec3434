"""The search for motion that excites and can be certified."""
