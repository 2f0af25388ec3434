# SPDX-License-Identifier: Apache-2.0
"""Files of an identification by rollouts: result.json, series.npz and report.html."""
