# SPDX-License-Identifier: Apache-2.0
"""Result files and pages of certified motion."""
