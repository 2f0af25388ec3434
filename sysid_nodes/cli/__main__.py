# SPDX-License-Identifier: Apache-2.0
"""``python -m sysid_nodes.cli`` is ``sysid``."""

import sys

from sysid_nodes.start import sysid

sys.exit(sysid())
