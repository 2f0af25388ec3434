# SPDX-License-Identifier: Apache-2.0
"""Benchmarks behind the claims of the README; each is one command, see benchmarks/README.md."""
