# SPDX-License-Identifier: Apache-2.0
"""Messages of the interval identifier."""
