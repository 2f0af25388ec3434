"""Certified motion in simulated time: planner, controller, identifier and robot in lockstep."""
