# SPDX-License-Identifier: Apache-2.0
"""Verifies a certificate claim by claim."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import Enum
from typing import Any

import numpy as np
import numpy.typing as npt

from sysid_nodes.verification.chain import OutsideScopeError
from sysid_nodes.verification.delayed import Begun, follows_late, metric, steady
from sysid_nodes.verification.demand import Assumed, Demand, Law, demand, jump
from sysid_nodes.verification.desired import Parts, at, control_points, parts
from sysid_nodes.verification.distance import obstacle_distances, obstacle_shape, robot_shape, self_distances
from sysid_nodes.verification.document import Document, config_id, read, scene_id, seal, senseless
from sysid_nodes.verification.errors import Errors
from sysid_nodes.verification.models import Models, models
from sysid_nodes.verification.start import Settled, former_interval, start
from sysid_nodes.verification.tracking import follows

Array = npt.NDArray[np.float64]

WIDEST = 1.15
"""Factor by which errors claimed may be wider before they prove themselves here, where this method is coarser."""
_WIDENED, _ROOM = 8, 1.002
"""How often they are widened, and by how much more than what followed."""

_BY_JOINT = ("acceleration", "position", "reference")

_AGAIN = 4
_SETTLED = 0.999

TOLERANCE = {"torque": 0.03, "position": 0.02, "velocity": 0.02, "distance": 0.01}
"""How much less may be shown than is claimed: shares of the torque and velocity limits, rad, m."""

_STAMP_ROUNDING = 1e-6
"""By how much commands may be further apart than the period says, their stamps being rounded [s]."""


class Verdict(Enum):
    """A claim's fate."""

    VERIFIED = "verified"
    NOT_VERIFIED = "not verified"
    OUTSIDE = "outside its scope"


@dataclass(frozen=True)
class Claim:
    """One claim of a certificate.

    Attributes:
        name: what is claimed.
        claimed, shown: the certificate's number and this checker's, in words.
        verdict: whether the one is borne out by the other.
    """

    name: str
    claimed: str
    shown: str
    verdict: Verdict


@dataclass(frozen=True)
class Verification:
    """All claims of one certificate."""

    id: str
    claims: tuple[Claim, ...]

    @property
    def verified(self) -> bool:
        """Whether every claim in scope is verified, and some is."""
        verdicts = {claim.verdict for claim in self.claims}
        return Verdict.VERIFIED in verdicts and Verdict.NOT_VERIFIED not in verdicts


def verify(document: Mapping[str, Any]) -> Verification:
    """The claims of a certificate; `document.py` has the form.

    Raises:
        KeyError, TypeError, ValueError: it is not of that form.
    """
    try:
        found = read(document)
        wrong = ", ".join(senseless(found.premises))
        premises = _claim("numbers of the premises", "make sense", wrong or "make sense", not wrong)
        return Verification(found.id, (*_identity(found), premises, *(() if wrong else _motion(found))))
    except OutsideScopeError as reason:
        return Verification(str(document["record"]["id"]), (Claim("certificate", "", str(reason), Verdict.OUTSIDE),))


def _claim(name: str, claimed: str, shown: str, holds: bool) -> Claim:
    return Claim(name, claimed, shown, Verdict.VERIFIED if holds else Verdict.NOT_VERIFIED)


def _identity(document: Document) -> list[Claim]:
    """That the record is whole, and is about these premises."""
    premises, named = document.premises, np.array(document.premises["robot"]["inertial_parameters"])
    scale = np.abs(named).max(axis=1, keepdims=True)
    off = float((np.abs(document.chain.theta - named) / scale).max())
    same = [
        ("record unchanged", document.id, seal(document.fields)),
        ("robot, law and uncertainty", document["config_id"], config_id(premises)),
        ("obstacles", document["scene_id"], scene_id(premises)),
        ("verdict", "certified", "certified" if document["verdict"] == 0 else "refused"),
    ]
    found = [_claim(name, claimed, shown, claimed == shown) for name, claimed, shown in same]
    return [*found, _claim("inertia as in the URDF", "the same", f"{off:.1e} apart", off < 1e-9)]


def _motion(document: Document) -> list[Claim]:
    body, found = _body(document), []
    if document["previous_id"]:
        if document.former is None or seal(document.former) != document["previous_id"]:
            raise OutsideScopeError("the trajectory that it continues is not at hand")
        found.append(_continuity(document, document.former))
    else:
        still = not (document["qd0"].any() or document["qdd0"].any()) and 0.0 <= document["start_rate"] < np.inf
        found.append(_claim("begins at rest", "at rest", "at rest" if still else "not so", still))
    law, possible = _law(document), models(document, body)
    if not law.limit.any():
        raise OutsideScopeError("a position controller follows, with errors that were measured")
    words = "physical, within the bounds"
    found.append(_claim("nominal body", words, words if possible.physical else "not so", possible.physical))
    if not (possible.physical and (law.limit > 0.0).all() and (possible.least_armature > 0.0).all()):
        return [*found, _claim("numbers of law and motors", "positive", "not so", False)]
    moving = parts(document, law.age)
    if not _is_well_formed(document) or moving.length.min() < law.age:
        return [*found, _claim("intervals", "in order, longer than a torque acts", "not so", False)]
    proven = _envelope(document, possible, law, moving)
    if isinstance(proven, Claim):
        return [*found, proven]
    claim, assumed, asked = proven
    found.append(claim)
    found += _limits(document, law, moving, assumed, asked)
    return found + _distances(document, moving, assumed.position)


def _law(document: Document) -> Law:
    config, robot = document.premises["control"], document.premises["robot"]
    encoder, period = document.per_joint(config["position_error"]), config["period"] + _STAMP_ROUNDING
    armature, viscous = (document.per_joint(robot["motor"][name]) for name in ("armature", "viscous"))
    most = config["damping_share"] * armature / (period + config["delay"]) - viscous
    return Law(
        gain=config["position_gain"],
        damping=np.minimum(document.per_joint(config["damping"]), np.where(armature > 0.0, most, np.inf)),
        limit=document["robust_limit"],
        position_error=np.where(encoder > 0.0, encoder, 0.5 * np.array(robot["encoder_step"])),
        velocity_error=document.per_joint(config["velocity_error"]),
        torque_error=document.per_joint(config["torque_error"]),
        sign_width=config["sign_width"],
        period=period,
        delay=config["delay"],
    )


def _body(document: Document) -> int:
    """The joint that moves the body whose bounds these are."""
    body = document.premises["body"]
    if body not in document.chain.names:
        raise OutsideScopeError(f"no joint '{body}' moves the body")
    return document.chain.names.index(body)


def _is_well_formed(document: Document) -> bool:
    edges, n = document["edges"], document.n
    errors = [document[f"error_{name}"] for name in ("energy", "norm", "rate", "change", *_BY_JOINT)]
    if edges[0] != 0.0 or not (np.diff(edges) > 0.0).all() or edges[-1] != document["duration"]:
        return False
    if any(x.size != edges.size for x in errors[:4]) or any(x.size != n * edges.size for x in errors[4:]):
        return False
    return all(bool((np.isfinite(x) & (x >= 0.0)).all()) for x in errors)


def _continuity(document: Document, former: Mapping[str, Any]) -> Claim:
    """That it begins where and when the former one is then."""
    before, time = Document(former, None, "", document.premises, document.chain), document["previous_time"]
    points, duration = control_points(before), float(former["duration"])
    state = [at(points, min(time, duration), duration, order) for order in range(3)]
    own = (document["q0"], document["qd0"], document["qdd0"])
    off = max(float(np.abs(one - two).max()) for one, two in zip(own, state, strict=True))
    late = abs(document["start_ns"] - former["start_ns"] - round(1e9 * time))
    return _claim(
        "continues the former one",
        "without a step",
        f"{off:.1e} rad, {late} ns off",
        off < 1e-8 and late <= 2 and time >= 0.0,
    )


def _envelope(document: Document, possible: Models, law: Law, moving: Parts) -> Claim | tuple[Claim, Assumed, Demand]:
    """The errors claimed, or the least wider ones that prove themselves."""
    gravity, late = np.array(document.premises["robot"]["gravity"]), document["proof"] == "delayed"
    words, least = "errors prove themselves", np.inf
    if late and not steady(law, possible):
        return _claim(words, "damping at most 1/e of the armature by the age of torques", "more", False)
    stated = "as stated, with the delay" if late else "as stated, by energies"
    former = None
    if document.former is not None and document.former["proof"] == "delayed":
        former = _former_consequences(document, document.former, possible, law, gravity, moving)
    by_energy, begun = start(document, possible, law, former)

    def follow(assumed: Assumed) -> tuple[Assumed, Demand]:
        """Errors that follow, and by what."""
        asked = demand(document.chain, gravity, moving, possible, law, assumed)
        if late:
            return follows_late(document.chain, gravity, moving, possible, law, asked, assumed, begun).errors, asked
        return follows(law, possible, moving, asked, assumed, by_energy), asked

    claimed = assumed = _claimed_errors(document, possible, law, moving)
    for _ in range(_WIDENED):
        after, asked = follow(assumed)
        least = min(least, _ratio(after, assumed))
        if least < 1.0:
            wider = _ratio(assumed, claimed)
            for _ in range(_AGAIN):  # what follows holds, and so does what follows from that
                before, assumed = assumed.reference.norm.max(), after
                if _SETTLED * before < assumed.reference.norm.max():
                    break
                after, asked = follow(assumed)
            return _claim(words, stated, f"within {wider:.3g} of those stated", True), assumed, asked
        assumed = _wider(claimed, after)
        if not _ratio(assumed, claimed) < WIDEST:
            break
    return _claim(words, stated, f"{least:.3g} times what was assumed follows", False)


def _ratio(one: Assumed, two: Assumed) -> float:
    """Largest share that errors are of others; infinite where it is not a number."""
    with np.errstate(divide="ignore", invalid="ignore"):
        shares = [np.nan_to_num(x / y, nan=np.inf).max() for x, y in zip(one.sizes, two.sizes, strict=True)]
    return float(max(shares))


def _wider(one: Assumed, two: Assumed) -> Assumed:
    """Errors that hold both, with some room."""
    return Assumed.of([_ROOM * np.maximum(x, y) for x, y in zip(one.sizes, two.sizes, strict=True)], one.position.root)


def _claimed_errors(document: Document, possible: Models, law: Law, moving: Parts) -> Assumed:
    """Errors over the parts as a record claims them."""
    where, n = moving.interval, document.n
    norm, size = document["error_norm"][where], np.sqrt(2.0 * document["error_energy"][where])
    acceleration, position, reference = (document[f"error_{name}"].reshape(-1, n)[where] for name in _BY_JOINT)
    rate, change = document["error_rate"][where], document["error_change"][where]
    if document["proof"] == "energy":
        root = np.sqrt(possible.least_armature)
        return Assumed(Errors.within(norm, root), Errors.within(size, root), acceleration, rate, rate)
    root = metric(law, possible).root
    return Assumed(Errors(norm, position, root), Errors(size, reference, root), acceleration, change, rate)


def _former_consequences(
    document: Document, fields: Mapping[str, Any], possible: Models, law: Law, gravity: Array, moving: Parts
) -> Settled:
    """Consequences of a delayed former trajectory, its claims taken at their word."""
    chain = document.chain
    former = Document(fields, None, "", document.premises, chain)
    before = models(former, _body(former))
    then = replace(law, limit=former["robust_limit"])
    over = parts(former, then.age)
    assumed = _claimed_errors(former, before, then, over)
    asked = demand(chain, gravity, over, before, then, assumed)
    # What it began with has long decayed, but where the takeover follows at once: then all that r could be.
    r, e = (Errors(x.norm[:1], x.each[:1], x.root) for x in (assumed.reference, assumed.position))
    unknown = Errors(np.array([np.inf]), np.full((1, document.n), np.inf), r.root)
    begun = Begun(r, e, float(fields["error_rate"][0]), unknown, np.zeros(document.n))
    found = follows_late(chain, gravity, over, before, then, asked, assumed, begun)
    here = over.interval == former_interval(document)
    z = Errors(found.apart.norm[here].max(keepdims=True), found.apart.each[here].max(axis=0)[None], r.root)
    changed = _claimed_errors(document, possible, law, moving)
    change = possible.theta - before.theta
    return Settled(z, float(found.weight.max()), jump(chain, gravity, moving, possible, change, law.gain, changed))


def _limits(document: Document, law: Law, moving: Parts, assumed: Assumed, asked: Demand) -> list[Claim]:
    """Torque, position and velocity of every joint."""
    limits, config = document.premises["robot"]["limits"], document.premises["certifier"]
    reference = assumed.reference.each
    before = np.maximum(reference, np.concatenate([reference[:1], reference[:-1]]))
    command = asked.nominal + np.minimum(law.limit, law.damping * (before + law.noise))
    lower, upper, fastest, strongest = (
        np.array(limits[name], dtype=np.float64) for name in ("position_lower", "position_upper", "velocity", "torque")
    )
    free = np.minimum((upper - moving.q - asked.q_off).min(axis=0), (moving.q - asked.q_off - lower).min(axis=0))
    shown = {
        "torque": strongest - config["torque_margin"] - command.max(axis=0),
        "position": free,
        "velocity": fastest - asked.qd.max(axis=0),
    }
    found = []
    for name, unit, scale in (("torque", "N m", strongest), ("position", "rad", 1.0), ("velocity", "rad/s", fastest)):
        claimed = document[f"{name}_margin"]
        holds = (shown[name] >= 0.0) & (shown[name] >= claimed - TOLERANCE[name] * scale) & (claimed >= 0.0)
        if name == "position" and any(config["stop_deceleration"]):
            found.append(Claim(f"{name} limits", "", "with the robot's own stop", Verdict.OUTSIDE))
        else:
            one, two = (f"least margin {x.min():.4g} {unit}" for x in (claimed, shown[name]))
            found.append(_claim(f"{name} limits", one, two, bool(holds.all())))
    return found


def _distances(document: Document, moving: Parts, error: Errors) -> list[Claim]:
    """From obstacles, and of the robot from itself."""
    premises, chain = document.premises, document.chain
    config = premises["certifier"]
    shapes = [robot_shape(shape, chain.names) for shape in premises["shapes"]]
    obstacles = [obstacle_shape(obstacle) for obstacle in premises["obstacles"]]
    free = obstacle_distances(chain, moving, error, shapes, obstacles)
    apart = self_distances(chain, moving, error, shapes, premises["robot"]["may_overlap"])
    found = []
    for name, least, margin in (("obstacles", free, "obstacle_margin"), ("the robot itself", apart, "self_margin")):
        shown, claimed = least - config["distance_margin"], document[margin]
        if any(config["stop_deceleration"]):
            found.append(Claim(f"distance to {name}", "", "with the robot's own stop", Verdict.OUTSIDE))
        else:
            holds = shown >= 0.0 and shown >= claimed - TOLERANCE["distance"] and claimed >= 0.0
            one, two = (f"{x:.4f} m more than kept free" for x in (claimed, shown))
            found.append(_claim(f"distance to {name}", one, two, bool(holds)))
    return found
