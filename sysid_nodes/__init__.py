# SPDX-License-Identifier: Apache-2.0
"""Online system identification for ROS 2 robots."""

from importlib import metadata

DISTRIBUTION = "sysid-nodes"

try:
    __version__ = metadata.version(DISTRIBUTION)
except metadata.PackageNotFoundError:  # run from a source tree that was never installed
    __version__ = "unknown"
"""That of package.xml, which both builds write into the installed metadata."""
