# SPDX-License-Identifier: Apache-2.0
"""Search by samples: minimisation of functions that give nothing but values."""

from sysid_nodes.solvers.sampling.cma_es import Search, minimise

__all__ = ["Search", "minimise"]
