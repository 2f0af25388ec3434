# SPDX-License-Identifier: Apache-2.0
"""BLAS threads. The matrices here are small: on a busy machine a second thread makes them ten times slower."""

from __future__ import annotations

import numpy.linalg
import scipy.linalg  # the limit reaches only libraries that are loaded
from threadpoolctl import threadpool_limits

_LOADED = (numpy.linalg, scipy.linalg)


def use_one_blas_thread() -> None:
    """Keeps BLAS on the calling thread for the rest of the process; for programs, not for libraries, to call."""
    threadpool_limits(limits=1, user_api="blas")
