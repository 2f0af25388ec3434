# SPDX-License-Identifier: Apache-2.0
"""A geared servo that swings a known bar, in MuJoCo: the rig of arXiv 2604.10351, with a truth that no fit is told.

The servo's firmware turns position error and speed into a duty cycle and holds it until its next turn. The bridge has a
dead zone, the motor its back-EMF, the gear (210:1) friction that grows with the torque it carries, and the rotor's
inertia comes through it squared. Rotor, viscous and Coulomb friction are MuJoCo's own.
"""

from __future__ import annotations

from dataclasses import dataclass

import mujoco
import numpy as np
import numpy.typing as npt

from sysid_nodes.data.actuator_log import ActuatorLog
from sysid_nodes.robots import Robot
from sysid_nodes.robots.description import build_robot

Array = npt.NDArray[np.float64]

JOINT = "servo"
RATE = 500.0
"""Of commands, firmware and encoder [Hz]."""

_STEP = 5e-4
_DRY = (2.0 * _STEP, 1.0)  # time constant and damping ratio of the constraint that dry friction is
_BAR = (0.5, 0.5)  # mass and length [kg, m]
_CLIPPED = 1.3  # height of the velocity's modes over the speed at which it is clipped


@dataclass(frozen=True)
class Servo:
    """The servo's inside, on the joint's side of the gear where nothing else is said.

    Attributes:
        supply: [V].
        ratio: of the gear.
        resistance: of the winding [ohm].
        motor_constant: of the motor's shaft [N m/A = V s/rad].
        rotor: inertia of the motor's shaft [kg m2].
        stiffness, damping: of the firmware's law, duty by position error and by speed [1/rad, s/rad].
        dead_zone: duty below which the bridge gives nothing.
        viscous, coulomb, stribeck: friction of the gear [N m s/rad, N m, N m].
        load_friction: dry friction per torque of the motor [1].
        delay: from a command to the firmware [s].
    """

    supply: float = 12.0
    ratio: float = 210.0
    resistance: float = 5.0
    motor_constant: float = 0.011
    rotor: float = 2e-7
    stiffness: float = 3.5
    damping: float = 0.02
    dead_zone: float = 0.03
    viscous: float = 0.05
    coulomb: float = 0.18
    stribeck: float = 0.06
    load_friction: float = 0.06
    delay: float = 0.004

    @classmethod
    def draw(cls, rng: np.random.Generator) -> Servo:
        """One of a series: each constant within a tenth of its nominal value."""
        about = cls()
        names = (
            "resistance", "motor_constant", "rotor", "stiffness", "damping", "dead_zone",
            "viscous", "coulomb", "stribeck", "load_friction", "delay",
        )  # fmt: skip
        return cls(**{name: getattr(about, name) * float(rng.uniform(0.9, 1.1)) for name in names})

    @property
    def armature(self) -> float:
        """The rotor's inertia as the joint feels it [kg m2]."""
        return self.rotor * self.ratio**2

    def duty(self, error: Array, speed: Array) -> Array:
        """Duty cycle of the bridge, from -1 to 1, by position error [rad] and speed [rad/s]."""
        wanted = np.clip(self.stiffness * error - self.damping * speed, -1.0, 1.0)
        return np.asarray(np.where(np.abs(wanted) < self.dead_zone, 0.0, wanted))

    def motor_torque(self, duty: Array, speed: Array) -> Array:
        """Torque of the motor behind the gear [N m]: its current is what voltage the speed leaves over the winding."""
        shaft = self.motor_constant * self.ratio
        return np.asarray(shaft * (self.supply * duty - shaft * speed) / self.resistance)

    def friction(self, torque: Array, speed: Array) -> Array:
        """Friction beyond viscous and Coulomb's, which are MuJoCo's [N m]."""
        sign = speed / np.sqrt(np.square(speed) + 1e-6)
        level = self.stribeck * np.exp(-np.square(speed / 0.1)) + self.load_friction * np.abs(torque)
        return np.asarray(level * sign)

    def stand_torque(self, duty: Array, speed: Array) -> Array:
        """Torque that a test stand measures at constant speed [N m]: the motor's less all friction."""
        motor = self.motor_torque(duty, speed)
        dry = self.coulomb * np.tanh(speed / 1e-3)
        return np.asarray(motor - self.friction(motor, speed) - dry - self.viscous * speed)


@dataclass(frozen=True)
class RigRun:
    """A run's log, the torque (N,) that the gear truly passed on to the bar [N m], and the true motion.

    The torque is the mean from half a sample before each to half a sample after, as a sensor would read it."""

    log: ActuatorLog
    torque: Array
    position: Array
    velocity: Array


def bar() -> Robot:
    """The known load: a bar that swings about a horizontal axis at its end."""
    mass, length = _BAR
    across = mass * length**2 / 12.0
    text = f"""<robot name="servo_rig"><link name="stand"/><link name="bar"><inertial>
    <origin xyz="0 0 {-0.5 * length}"/><mass value="{mass}"/>
    <inertia ixx="{across}" iyy="{across}" izz="1e-5" ixy="0" ixz="0" iyz="0"/></inertial></link>
    <joint name="{JOINT}" type="continuous"><parent link="stand"/><child link="bar"/><axis xyz="0 1 0"/></joint>
    </robot>"""
    return build_robot(text, name="servo_rig")


def fourier_command(
    duration: float,
    rng: np.random.Generator,
    *,
    speed: float = 3.0,
    last: float = 2.0,
    span: float = 0.8,
    middle: float = 0.8,
) -> tuple[Array, Array]:
    """Times and positions (M,) of a command whose velocity is a clipped sum of random Fourier modes (its eq. 6).

    Args:
        duration: [s].
        rng: of the modes.
        speed: at which the velocity is clipped [rad/s].
        last: highest frequency [Hz].
        span: amplitude to which a larger motion is scaled down [rad].
        middle: of the motion; the bar hangs at zero [rad].
    """
    t = np.arange(int(duration * RATE) + 1) / RATE
    count = int(rng.integers(4, 9))
    frequency = rng.uniform(0.2, last, count)
    amplitude = rng.uniform(0.3, 1.0, count)
    phase = rng.uniform(0.0, 2.0 * np.pi, count)
    modes = (amplitude[:, None] * np.cos(2.0 * np.pi * frequency[:, None] * t + phase[:, None])).sum(axis=0)
    velocity = np.clip(_CLIPPED * speed / np.abs(modes).max() * modes, -speed, speed) * np.minimum(t / 0.5, 1.0)
    position = np.cumsum(velocity) / RATE
    # Clipping and ramp leave a drift, which the stand's cables would not take.
    position -= np.polynomial.Polynomial.fit(t, position, 1)(t)
    position *= min(1.0, span / float(np.abs(position).max()))
    return t, middle + position


def run_servo(
    servo: Servo, command_t: Array, command: Array, *, rng: np.random.Generator, noise: float = 2e-4
) -> RigRun:
    """A run from rest at the first command.

    Args:
        servo: the truth.
        command_t, command: (M,) at RATE [s, rad].
        rng: of the noise.
        noise: standard deviation of the logged encoder [rad].
    """
    model = _model(servo)
    data = mujoco.MjData(model)
    every = round(1.0 / (RATE * _STEP))
    late = np.searchsorted(command_t, command_t - servo.delay + 1e-12, side="right") - 1
    told = command[np.maximum(late, 0)]
    data.qpos[0] = command[0]
    mass, length = _BAR
    inertia, weight = mass * length**2 / 3.0, 0.5 * mass * length * 9.81
    position, velocity = np.empty(len(command_t)), np.empty(len(command_t))
    passed = np.empty((len(command_t), every))
    for k, wanted in enumerate(told):
        q, w = float(data.qpos[0]), float(data.qvel[0])
        duty = _duty(servo, float(wanted) - q, w)
        for step in range(every):
            q, w = float(data.qpos[0]), float(data.qvel[0])
            shaft = servo.motor_constant * servo.ratio
            motor = shaft * (servo.supply * duty - shaft * w) / servo.resistance
            sign = w / (w * w + 1e-6) ** 0.5
            level = servo.stribeck * float(np.exp(-((w / 0.1) ** 2))) + servo.load_friction * abs(motor)
            data.qfrc_applied[0] = motor - level * sign
            mujoco.mj_step(model, data)
            if step == 0:
                position[k], velocity[k] = q, w
            passed[k, step] = inertia * float(data.qacc[0]) + weight * np.sin(q)
    read = position + noise * rng.standard_normal(len(position))
    one = np.ones(1)
    log = ActuatorLog(
        (JOINT,), command_t, read[:, None], command_t, command[:, None], None, nominal_stiffness() * one, 0.0 * one
    )
    around = np.roll(passed.ravel(), every // 2).reshape(passed.shape)
    return RigRun(log, around.mean(axis=1), position, velocity)


def nominal_stiffness() -> float:
    """Gain of the servo's data sheet as a torque by position error [N m/rad], at rest."""
    about = Servo()
    return about.motor_constant * about.ratio * about.supply * about.stiffness / about.resistance


def _duty(servo: Servo, error: float, speed: float) -> float:
    wanted = min(max(servo.stiffness * error - servo.damping * speed, -1.0), 1.0)
    return 0.0 if abs(wanted) < servo.dead_zone else wanted


def _model(servo: Servo) -> mujoco.MjModel:
    mass, length = _BAR
    spec = mujoco.MjSpec()
    spec.option.timestep = _STEP
    spec.option.integrator = mujoco.mjtIntegrator.mjINT_IMPLICITFAST
    spec.option.gravity = [0.0, 0.0, -9.81]
    body = spec.worldbody.add_body(name="bar")
    body.mass, body.ipos, body.explicitinertial = mass, [0.0, 0.0, -0.5 * length], True
    across = mass * length**2 / 12.0
    body.inertia = [across, across, 1e-5]
    joint = body.add_joint(name=JOINT, type=mujoco.mjtJoint.mjJNT_HINGE, axis=[0.0, 1.0, 0.0])
    joint.armature, joint.frictionloss = servo.armature, servo.coulomb
    joint.damping[0] = servo.viscous
    joint.solref_friction = _DRY
    return spec.compile()
