# SPDX-License-Identifier: Apache-2.0
"""Certified motion: the certificate, the search for exciting motion, and the controller that executes it."""
