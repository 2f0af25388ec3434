# SPDX-License-Identifier: Apache-2.0
"""Online system identification for ROS 2 robots."""

DISTRIBUTION = "sysid-nodes"


def __getattr__(name: str) -> str:
    """``__version__``, that of package.xml, which both builds write into the installed metadata."""
    if name != "__version__":
        raise AttributeError(f"module 'sysid_nodes' has no attribute '{name}'")
    from importlib import metadata  # takes a tenth of a second, which every command and node would wait for

    try:
        return metadata.version(DISTRIBUTION)
    except metadata.PackageNotFoundError:  # run from a source tree that was never installed
        return "unknown"
