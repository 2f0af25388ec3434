"""Estimating motion, contact forces and inertia from streams of readings."""
