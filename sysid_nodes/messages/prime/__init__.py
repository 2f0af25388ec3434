# SPDX-License-Identifier: Apache-2.0
"""Messages of PRIME."""
