"""Files of an actuator identification: result.json, series.npz and report.html."""
