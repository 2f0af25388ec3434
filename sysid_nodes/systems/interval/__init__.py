# SPDX-License-Identifier: Apache-2.0
"""The interval identifier: bounds on ten inertial parameters that provably contain the truth."""
