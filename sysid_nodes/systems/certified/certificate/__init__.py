# SPDX-License-Identifier: Apache-2.0
"""The proof that a trajectory is safe for every model in the bounds."""
