"""How simulated robots meet ROS."""
