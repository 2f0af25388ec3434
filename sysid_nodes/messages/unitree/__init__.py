# SPDX-License-Identifier: Apache-2.0
"""Messages of Unitree's own drivers, which more than one system hears."""
