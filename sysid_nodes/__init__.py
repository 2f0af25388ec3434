"""Online system identification for ROS 2 robots."""

__version__ = "0.1.0"
