"""Actuator identification on the command line."""
