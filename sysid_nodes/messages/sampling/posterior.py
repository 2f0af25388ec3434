# SPDX-License-Identifier: Apache-2.0
"""Fields of online_sysid/msg/SamplingPosterior, as plain values: of the message and of result.json alike."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from sysid_nodes.exceptions import InputError
from sysid_nodes.results.exploration import Posterior


def posterior_fields(posterior: Posterior) -> dict[str, Any]:
    """As plain values, matrices by rows."""
    return {
        "id": posterior.id,
        "names": list(posterior.names),
        "values": posterior.values.tolist(),
        "covariance": posterior.covariance.ravel().tolist(),
        "information": posterior.information.ravel().tolist(),
        "prior": posterior.prior.tolist(),
        "clips": posterior.clips,
        "duration": posterior.duration,
    }


def to_posterior(fields: Mapping[str, Any]) -> Posterior:
    """The same back from plain values, or from a message's.

    Raises:
        InputError: lengths do not fit, or it is not what its id says.
    """
    names, count = tuple(fields["names"]), len(fields["names"])
    try:
        covariance, information = (
            np.array(fields[name], dtype=np.float64).reshape(count, count) for name in ("covariance", "information")
        )
    except ValueError:
        raise InputError("an estimate's matrices do not fit its names") from None
    values, prior = (np.array(fields[name], dtype=np.float64) for name in ("values", "prior"))
    found = Posterior(names, values, covariance, information, prior, int(fields["clips"]), float(fields["duration"]))
    if len(values) != count or len(prior) != count or found.id != fields["id"]:
        raise InputError("an estimate is not what its id says")
    return found
