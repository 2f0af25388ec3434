# SPDX-License-Identifier: Apache-2.0
"""A fault or doubt about data, in one line."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Finding:
    """One contradiction between data and what is assumed of them.

    Attributes:
        kind: what is contradicted, as those who judge name it: a StreamFault, or a word such as `torque_sign`.
        subject: whose data they are: a joint, `all joints`, a stream.
        t: stamp of the worst sample, or of the first where the finding is about the whole of them [s].
        message: for people.
    """

    kind: str
    subject: str
    t: float
    message: str
