# SPDX-License-Identifier: Apache-2.0
"""Result files and pages of the interval identifier."""
