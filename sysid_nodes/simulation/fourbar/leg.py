# SPDX-License-Identifier: Apache-2.0
"""The four-bar leg in MuJoCo, with motor encoders, motor torques and a power meter.

Nothing is shared with the estimator but the drawing of the leg: the loop is MuJoCo's `connect`, dry friction its
softened constraint, damping and armature its own. At a step of 1e-4 s with the solver's parameters below the loop stays
closed to some nanometres; the gap is recorded.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import mujoco
import numpy as np
import numpy.typing as npt

from sysid_nodes.data import PARAMETER_NAMES
from sysid_nodes.data.inertia import com_to_parameters
from sysid_nodes.robots.fourbar_leg import LINKS, PINS

Array = npt.NDArray[np.float64]

STEP = 1e-4
MOTORS = ("hip", "crank_motor")
JOINTS = tuple(link.joint for link in LINKS)

_STIFF = 'solref="2e-4 1" solimp="0.9999 0.9999 1e-3"'
_GAINS = (200.0, 6.0)  # of the motors' position control [N m/rad, N m s/rad]
_AMPLITUDE = (0.35, 0.25, 0.12)  # [rad] of the motors' harmonics
_LONGEST = 4.0  # [s] period of the slowest


@dataclass(frozen=True)
class LegTruth:
    """The hidden constants, (4,) by link or joint.

    Attributes:
        mass: [kg].
        centre: (4, 3) centres of mass in the links' frames [m].
        moments, products: (4, 3) about them: Ixx, Iyy, Izz and Ixy, Ixz, Iyz [kg m2].
        coulomb, viscous, armature: of the joints [N m, N m s/rad, kg m2].
        loss: of the two motors [W/(N m)^2].
        idle: power drawn at rest [W].
    """

    mass: Array
    centre: Array
    moments: Array
    products: Array
    coulomb: Array
    viscous: Array
    armature: Array
    loss: Array
    idle: float

    @classmethod
    def draw(cls, rng: np.random.Generator, spread: float = 0.15) -> LegTruth:
        """A leg about as drawn: relative differences of the given size, friction of the motors' own."""
        factor = np.exp(spread * rng.standard_normal(4))
        size = np.exp(0.5 * spread * rng.standard_normal((4, 1)))
        centre = np.array([link.centre for link in LINKS])
        length = np.linalg.norm(centre, axis=1, keepdims=True)
        flat = np.array([1.0, 0.0, 1.0])  # the mechanism does not tell what lies across its plane
        return cls(
            mass=factor * [link.mass for link in LINKS],
            centre=centre + spread * length * flat * rng.standard_normal((4, 3)),
            moments=factor[:, None] * size**2 * np.array([link.moments for link in LINKS]),
            products=np.zeros((4, 3)),
            coulomb=np.array([rng.uniform(0.5, 1.5), rng.uniform(0.5, 1.5), 0.0, 0.0]),
            viscous=np.array([*rng.uniform(0.1, 0.5, 2), *rng.uniform(0.02, 0.1, 2)]),
            armature=np.array([*rng.uniform(0.01, 0.03, 2), 0.0, 0.0]),
            loss=rng.uniform(0.05, 0.15, 2),
            idle=float(rng.uniform(5.0, 15.0)),
        )

    def inertial_parameters(self) -> Array:
        """(4, 10) in pinocchio's order."""
        each = zip(self.mass, self.centre, self.moments, self.products, strict=True)
        return np.array([com_to_parameters(float(m), c, _tensor(*about)) for m, c, *about in each])

    def values(self) -> dict[str, float]:
        """Everything by the names that a posterior has for it."""
        found = {
            f"{link.name}.{name}": float(theta[k])
            for link, theta in zip(LINKS, self.inertial_parameters(), strict=True)
            for k, name in enumerate(PARAMETER_NAMES)
        }
        for name in ("coulomb", "viscous", "armature"):
            found |= {f"{joint}.{name}": float(v) for joint, v in zip(JOINTS, getattr(self, name), strict=True)}
        found |= {f"{motor}.loss": float(v) for motor, v in zip(MOTORS, self.loss, strict=True)}
        return found | {"idle power": self.idle}


@dataclass(frozen=True)
class LegRecord:
    """Readings at K stamps, and what nobody reads.

    Attributes:
        t: (K,) [s].
        position: (K, 2) of the motors [rad].
        torque: (K, 2) of the motors [N m].
        voltage, current: (K,) of the supply [V, A].
        joints: (K, 4) true positions of all joints [rad].
        gap: (K,) true gap of the loop [m].
    """

    t: Array
    position: Array
    torque: Array
    voltage: Array
    current: Array
    joints: Array
    gap: Array


def mjcf(truth: LegTruth) -> str:
    """The leg as MuJoCo's model."""
    children: dict[str, list[int]] = {}
    for k, link in enumerate(LINKS):
        children.setdefault(link.parent, []).append(k)

    def body(k: int) -> str:
        link = LINKS[k]
        sites = "".join(
            f'<site name="{name}" pos="{_text(place)}"/>' for name, owner, place in PINS if owner == link.name
        )
        inner = "".join(body(child) for child in children.get(link.name, ()))
        return (
            f'<body name="{link.name}" pos="{_text(link.place)}"><joint name="{link.joint}" axis="0 1 0" '
            f'damping="{truth.viscous[k]}" frictionloss="{truth.coulomb[k]}" armature="{truth.armature[k]}" '
            f'solreffriction="{2 * STEP} 1"/>'
            f'<inertial pos="{_text(truth.centre[k])}" mass="{truth.mass[k]}" '
            f'fullinertia="{_text([*truth.moments[k], *truth.products[k]])}"/>'
            f"{sites}{inner}</body>"
        )

    motors = "".join(f'<motor joint="{name}" gear="1"/>' for name in MOTORS)
    first, second = (name for name, _, _ in PINS)
    return (
        f'<mujoco><option timestep="{STEP}" integrator="implicitfast" gravity="0 0 -9.81"/>'
        f"<worldbody>{''.join(body(k) for k in children['base'])}</worldbody>"
        f'<equality><connect site1="{first}" site2="{second}" {_STIFF}/></equality>'
        f"<actuator>{motors}</actuator></mujoco>"
    )


def simulate_leg(
    truth: LegTruth,
    duration: float,
    rng: np.random.Generator,
    *,
    rate: float = 500.0,
    position_noise: float = 2e-4,
    torque_noise: float = 0.05,
    power_noise: float = 1.0,
    before_reading: Callable[[], None] = lambda: None,
) -> LegRecord:
    """Readings of the leg while its motors follow random harmonics from rest.

    Args:
        truth: hidden.
        duration: [s].
        rng: of motion and noise.
        rate: of the readings [Hz].
        position_noise, torque_noise, power_noise: standard deviations [rad, N m, W].
        before_reading: called each time; what it raises ends the simulation, which takes seconds.
    """
    model = mujoco.MjModel.from_xml_string(mjcf(truth))
    data = mujoco.MjData(model)
    count, every = round(duration / STEP), round(1.0 / rate / STEP)
    desired, speed = _excitation(np.linspace(0.0, STEP * count, count, endpoint=False), rng)
    pins = [data.site(name).xpos for name, _, _ in PINS]
    own = [model.joint(name).qposadr[0] for name in MOTORS]
    rows = []
    for k in range(count):
        q, v = data.qpos[own], data.qvel[own]
        torque = _GAINS[0] * (desired[k] - q) + _GAINS[1] * (speed[k] - v)
        data.ctrl[:] = torque
        if k % every == 0:
            before_reading()
            mujoco.mj_forward(model, data)
            drawn = float(torque @ v + truth.loss @ torque**2) + truth.idle
            rows.append([STEP * k, *data.qpos, *torque, drawn, float(np.linalg.norm(pins[0] - pins[1]))])
        mujoco.mj_step(model, data)
    table = np.array(rows)
    n = len(table)
    voltage = 48.0 + 0.2 * np.sin(0.7 * table[:, 0])
    power = table[:, 7] + power_noise * rng.standard_normal(n)
    joints = table[:, 1:5]
    motors = [JOINTS.index(name) for name in MOTORS]
    return LegRecord(
        t=table[:, 0],
        position=joints[:, motors] + position_noise * rng.standard_normal((n, 2)),
        torque=table[:, 5:7] + torque_noise * rng.standard_normal((n, 2)),
        voltage=voltage,
        current=power / voltage,
        joints=joints,
        gap=table[:, 8],
    )


def _excitation(t: Array, rng: np.random.Generator) -> tuple[Array, Array]:
    """Desired positions and speeds (K, 2) of the motors: harmonics that begin softly."""
    q, v = np.zeros((2, len(t), 2))
    soft = np.clip(t / 2.0, 0.0, 1.0)
    ramp, slope = soft**2 * (3.0 - 2.0 * soft), np.where(soft < 1.0, 3.0 * soft * (1.0 - soft), 0.0)
    for motor in range(2):
        wave, rate = np.zeros(len(t)), np.zeros(len(t))
        for harmonic, amplitude in enumerate(_AMPLITUDE, start=1):
            omega = 2.0 * np.pi * (2 * harmonic - 1 + 0.3 * motor) / _LONGEST
            phase = rng.uniform(0.0, 2.0 * np.pi)
            wave += amplitude * np.sin(omega * t + phase)
            rate += amplitude * omega * np.cos(omega * t + phase)
        q[:, motor], v[:, motor] = ramp * wave, ramp * rate + slope * wave
    return q, v


def _tensor(moments: Array, products: Array) -> Array:
    """(3, 3) inertia."""
    xy, xz, yz = products
    return np.asarray(np.diag(moments) + np.array([[0.0, xy, xz], [xy, 0.0, yz], [xz, yz, 0.0]]))


def _text(numbers: object) -> str:
    return " ".join(repr(float(number)) for number in numbers)  # type: ignore[attr-defined]
