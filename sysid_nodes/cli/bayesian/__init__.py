# SPDX-License-Identifier: Apache-2.0
"""Bayesian identification on the command line."""
