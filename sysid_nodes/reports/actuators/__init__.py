# SPDX-License-Identifier: Apache-2.0
"""Files of an actuator identification: result.json, series.npz and report.html."""
