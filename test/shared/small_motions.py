# SPDX-License-Identifier: Apache-2.0
"""Small certified motions of a Gen3: the independent checker is coarser than the certifier."""

from __future__ import annotations

from shared.gen3_scene import START

SMALL_MOTIONS = """/**:
  ros__parameters:
    robot: kinova_gen3
    known_robot:
      inertia_relative: 0.02
      friction_relative: 0.02
    certifier:
      intervals: 32
      torque_margin: 4.0
    planner:
      duration: 1.6
      replan: 0.8
      k_range: [0.3]
      excite:
        duration: 1.6
"""
MIDDLE = "--middle=" + ",".join(f"{x:.4f}" for x in START)
