"""What an actuator identification leaves behind: result.json, series.npz and report.html."""
