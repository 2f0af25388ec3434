# SPDX-License-Identifier: Apache-2.0
"""Active exploration: commands to a walking robot that tell the most about what is not known yet."""
