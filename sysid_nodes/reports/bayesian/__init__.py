# SPDX-License-Identifier: Apache-2.0
"""Files of a Bayesian identification: result.json, series.npz and report.html."""
