# SPDX-License-Identifier: Apache-2.0
"""From messages to a posterior of a robot's constants."""
