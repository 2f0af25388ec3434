# SPDX-License-Identifier: Apache-2.0
"""Other ways to estimate contact forces and inertia, to be compared with PRIME on the same data."""
