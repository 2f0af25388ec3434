"""Rigid body, inertia and friction models: pure functions with derivatives."""
