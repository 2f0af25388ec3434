# SPDX-License-Identifier: Apache-2.0
"""Pictures: plots, meshes, scenes."""
