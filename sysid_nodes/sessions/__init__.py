# SPDX-License-Identifier: Apache-2.0
"""From messages to results, by system: what live node and offline replay share."""
