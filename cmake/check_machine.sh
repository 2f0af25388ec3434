#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Says in one line what this machine lacks for `make setup`, and exits with 1.
python=$1

fail() {
    echo "make setup: $1" >&2
    exit 1
}

[ "$(uname -s)-$(uname -m)" = Linux-x86_64 ] ||
    fail "the ROS 2 wheels exist for x86-64 Linux only; on $(uname -s) $(uname -m) use a ROS install and colcon (README)"
command -v "$python" >/dev/null ||
    fail "$python not found; install Python 3.11 (Debian: apt install python3.11) or give another with PYTHON=..."
"$python" -c 'import sys; sys.exit(sys.version_info < (3, 10))' ||
    fail "$python is older than Python 3.10; give another with PYTHON=..."
"$python" -c 'import ensurepip, venv' 2>/dev/null ||
    fail "$python has no venv module (Debian: apt install python3-venv)"
