# SPDX-License-Identifier: Apache-2.0
"""The search for motion that excites and can be certified."""
