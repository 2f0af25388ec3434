"""The replanning loop, its timing, and what planner and controller agree on."""
