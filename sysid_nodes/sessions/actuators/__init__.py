"""What live node and replay of actuator identification share."""
