"""Identifying actuators from commands and joint states."""
