# SPDX-License-Identifier: Apache-2.0
"""The robust controller: accepts certified trajectories, watches, executes, stops."""
