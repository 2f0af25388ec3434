"""The interval identifier: bounds on ten inertial parameters that provably contain the truth."""
