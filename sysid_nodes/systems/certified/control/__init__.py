"""The robust controller: accepts certified trajectories, watches, executes, stops."""
