# SPDX-License-Identifier: Apache-2.0
"""A fault or doubt about data, in one line."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Mend:
    """An option of the configuration that would mend a finding, and its value.

    Attributes:
        option: dotted name.
        value: for the joint, or for the whole option where it has none for each joint.
        joint: whose value it is; empty for the whole option.
    """

    option: str
    value: float | str
    joint: str = ""


@dataclass(frozen=True)
class Finding:
    """One contradiction between data and what is assumed of them.

    Attributes:
        kind: what is contradicted, as those who judge name it: a StreamFault, or a word such as `torque_sign`.
        subject: whose data they are: a joint, `all joints`, a stream.
        t: stamp of the worst sample, or of the first where the finding is about the whole of them [s].
        mends: what to change in the configuration, where that is known.
    """

    kind: str
    subject: str
    t: float
    message: str
    mends: tuple[Mend, ...] = ()

    @property
    def refusal(self) -> str:
        """The message, and where to find what mends it."""
        return self.message + ("; 'sysid check' prints the lines that mend it" if self.mends else "")
