# SPDX-License-Identifier: Apache-2.0
"""The identification systems, one folder each; none imports another."""
