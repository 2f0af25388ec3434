"""The proof that a trajectory is safe for every model in the bounds."""
