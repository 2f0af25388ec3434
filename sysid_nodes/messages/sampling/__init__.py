# SPDX-License-Identifier: Apache-2.0
"""Messages of identification by rollouts and of its exploration, as plain data."""
