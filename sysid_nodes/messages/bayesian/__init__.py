# SPDX-License-Identifier: Apache-2.0
"""Messages of the Bayesian identification as plain values."""
