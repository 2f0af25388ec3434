# SPDX-License-Identifier: Apache-2.0
"""Return values of the systems: a status, values, residuals and timings. Never an exception for numerics."""

from sysid_nodes.results.identification import Contradiction, Excitation, IdentificationResult, Status

__all__ = ["Contradiction", "Excitation", "IdentificationResult", "Status"]
