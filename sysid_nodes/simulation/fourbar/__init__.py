# SPDX-License-Identifier: Apache-2.0
"""A leg with a four-bar linkage in MuJoCo, which closes the loop by its own constraint solver."""
