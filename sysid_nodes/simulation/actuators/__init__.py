# SPDX-License-Identifier: Apache-2.0
"""A robot on a stand whose drives hide what they are: the truth for actuator identification."""
