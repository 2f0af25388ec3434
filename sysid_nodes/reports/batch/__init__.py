# SPDX-License-Identifier: Apache-2.0
"""One table and page of many runs."""
