"""A robot on a stand whose drives hide what they are: the truth for actuator identification."""
