# SPDX-License-Identifier: Apache-2.0
"""The replanning loop, its timing, and what planner and controller agree on."""
