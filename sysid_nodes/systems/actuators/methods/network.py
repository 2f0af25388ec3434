# SPDX-License-Identifier: Apache-2.0
"""Networks as methods: the paper's as such (`network`), and as a bounded residual on the structured law (`residual`).

Training sees the log but for its end. It begins with the torque oracle's labels (least squares, no rollout) and goes
on through rollouts from the oracle's states, with the adjoint of `network_rollout` and SciPy's L-BFGS. What is kept is
whichever weights replay the rest of the log best in long rollouts. A residual must be better there than the law
without it; a network in the law's place must be twice as good (`network.better`), there and as one rollout of the whole
log, for one that is a little better is often worse elsewhere. Else the law it is, and a finding says so. Outside of the
states of its training the law takes over, see `ActuatorNetwork.share`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import optimize

from sysid_nodes.kernel.joint_law import COMMAND, INERTIA, LOAD
from sysid_nodes.models.actuator import INDEX
from sysid_nodes.models.actuator_network import INPUTS, ActuatorNetwork, first_weights, inputs_of
from sysid_nodes.solvers.shooting.problem import segments
from sysid_nodes.systems.actuators.config import ActuatorConfig
from sysid_nodes.systems.actuators.methods.method import Replay, StructuredModel
from sysid_nodes.systems.actuators.methods.network_rollout import NetworkRollout
from sysid_nodes.systems.actuators.methods.smoothed_joint import SmoothedJoint, law_along
from sysid_nodes.systems.actuators.preparation import JointMotion
from sysid_nodes.systems.actuators.replay import replay_error

Array = npt.NDArray[np.float64]

_LABEL_DECAY = 1e-3  # weight of the squared weights beside the mean squared error of the labels
_NEARLY = 0.95  # of a residual's bound, beyond which a label asks for no more
_EVERY = 10  # iterations from one look at the held-out part to the next


@dataclass(frozen=True)
class NetworkModel:
    """A joint with a network.

    Attributes:
        network: trained.
        law: (L,) of the structured fit.
        config: of the law.
        residual: whether the network adds to the law or stands for it.
    """

    network: ActuatorNetwork
    law: Array
    config: ActuatorConfig
    residual: bool
    findings: tuple[str, ...] = ()

    @property
    def weights(self) -> dict[str, Array]:
        """Weights, scaling and box, and the law beside them."""
        return self.network.arrays() | {"law": self.law, "residual": np.array(self.residual)}

    def replay(self, motion: JointMotion) -> Replay:
        """See `JointModel`."""
        rollout = NetworkRollout.along(motion, self.law, self.config, residual=self.residual)
        position, outside = np.empty(len(motion.t)), 0
        edges = [0, *motion.breaks, len(motion.t)]
        for begin, end in pairwise(edges):
            # Of a part that a hole follows, the steps up to its last sample.
            steps = (end - 1 - begin) * motion.stride
            start = np.array([[motion.q[begin], motion.velocity[begin]]])
            states = rollout.states(self.network, np.array([begin * motion.stride]), steps, start)
            position[begin:end] = states.position[0, :: motion.stride]
            outside += int(states.outside.sum())
        return Replay(position, outside / max(len(motion.load), 1))

    def torque(self, smoothed: SmoothedJoint) -> Array:
        """See `JointModel`."""
        inputs = inputs_of(smoothed.rows[:, COMMAND], smoothed.position, smoothed.velocity)
        share, output = self.network.share(inputs)[0], self.network.outputs()(inputs)
        lawful = smoothed.law_torque(self.law)
        if self.residual:
            return np.asarray(lawful + share * self.network.limit * np.tanh(output))
        own = self.network.limit * output - self.law[INDEX["armature"]] * smoothed.acceleration
        return np.asarray(share * own + (1.0 - share) * lawful)


def residual(smoothed: SmoothedJoint, law: Array, config: ActuatorConfig) -> NetworkModel | StructuredModel:
    """The network as a bounded residual on the law."""
    return _Training(smoothed, law, config, residual=True).run()


def network(smoothed: SmoothedJoint, law: Array, config: ActuatorConfig) -> NetworkModel | StructuredModel:
    """The network as such, the law beside it for what it was not trained on."""
    return _Training(smoothed, law, config, residual=False).run()


def train_untested(smoothed: SmoothedJoint, law: Array, config: ActuatorConfig, *, residual: bool) -> NetworkModel:
    """The weights that training ends with, everywhere: no held-out part decides and no law takes over (the paper's)."""
    return _Training(smoothed, law, config, residual=residual).run_untested()


@dataclass(frozen=True)
class _Part:
    """Rollouts over a part of the log: first steps (G,), length, start states (G, 2), and what they should follow."""

    first: npt.NDArray[np.int64]
    length: int
    start: Array
    position: Array
    velocity: Array
    measured: npt.NDArray[np.bool_]


class _Training:
    def __init__(self, smoothed: SmoothedJoint, law: Array, config: ActuatorConfig, *, residual: bool) -> None:
        self._smoothed, self._law, self._config, self._residual = smoothed, law, config, residual
        self._options, self._motion = config.network, smoothed.motion
        self._dt = self._motion.step * self._motion.stride
        samples = len(self._motion.t)
        self._seen = max(min(int((1.0 - self._options.held_out) * samples), samples - 2), 2)
        self._rollout = NetworkRollout.along(self._motion, law, config, residual=residual)

    def run(self) -> NetworkModel | StructuredModel:
        """The best weights; the law alone where no weights are better."""
        options = self._options
        train = self._part(0, self._seen, options.horizon)
        judge = self._part(self._seen, len(self._motion.t), options.judged)
        net = self._fit_labels(self._initial_network())
        unit = max(self._errors(self._lawful(net), train)[0], self._smoothed.noise**2)
        lawful = self._errors(self._lawful(net), judge)[0]
        least, best = np.inf, net.weights

        def look(weights: Array) -> None:
            nonlocal least, best
            found = self._errors(replace(net, weights=weights), judge)[0]
            if found < least:
                least, best = found, weights.copy()

        def loss(weights: Array) -> tuple[float, Array]:
            return self._loss(replace(net, weights=weights), train, unit)

        look(net.weights)
        _minimise(loss, net.weights, options.iterations, look)
        model = NetworkModel(replace(net, weights=best), self._law, self._config, self._residual)
        required = 1.0 if self._residual else options.better
        if least < required**2 * lawful and self._error(model) < required * self._error(self._plain()):
            return model
        than = "the law's error" if self._residual else f"{options.better:g} times the law's error"
        kind = "residual" if self._residual else "network"
        text = f"'{self._motion.name}': the {kind} does not replay with less than {than} what it was not trained on"
        return self._plain(f"{text} and the whole log; the law alone is used")

    def run_untested(self) -> NetworkModel:
        """The last weights, without a box."""
        net = self._initial_network()
        everywhere = np.full(INPUTS, np.inf)
        net = self._fit_labels(replace(net, lower=-everywhere, upper=everywhere))
        train = self._part(0, self._seen, self._options.horizon)
        unit = max(self._errors(self._lawful(net), train)[0], self._smoothed.noise**2)

        def loss(weights: Array) -> tuple[float, Array]:
            return self._loss(replace(net, weights=weights), train, unit)

        weights = _minimise(loss, net.weights, self._options.iterations)
        return NetworkModel(replace(net, weights=weights), self._law, self._config, self._residual)

    def _part(self, begin: int, end: int, duration: float) -> _Part:
        motion, smoothed = self._motion, self._smoothed
        length = min(max(round(duration / self._dt), 2), end - begin - 1)
        breaks = tuple(k - begin for k in motion.breaks if begin < k < end)
        first = begin + segments(end - begin - 1, length, breaks)
        first = first[first + length < end]
        whole = [not any(k < b <= k + length for b in motion.breaks) for k in first]  # none over a hole
        first = first[np.array(whole)] if any(whole) else first[:1]
        index = first[:, None] + np.arange(length + 1)
        start = np.stack([smoothed.position[first], smoothed.velocity[first]], axis=1)
        measured = motion.measured[index] & (np.arange(length + 1) > 0)
        position, velocity = motion.q[index], smoothed.velocity[index]
        return _Part(first * motion.stride, length * motion.stride, start, position, velocity, measured)

    def _initial_network(self) -> ActuatorNetwork:
        seen, smoothed, options = slice(0, self._seen), self._smoothed, self._options
        inputs = inputs_of(smoothed.rows[:, COMMAND], smoothed.position, smoothed.velocity)[seen]
        inputs = inputs[self._motion.measured[seen]]
        lower, upper = inputs.min(axis=0), inputs.max(axis=0)
        width = np.maximum(upper - lower, 1e-6)
        actual, lawful = self._torques()
        if self._residual:
            limit = options.bound * float(np.sqrt(np.mean((actual - lawful)[seen] ** 2)))
        else:
            limit = float(np.sqrt(np.mean(actual[seen] ** 2)))
        weights = first_weights(options.width, np.random.default_rng(options.seed))
        scale = np.maximum(inputs.std(axis=0), 1e-6)
        return ActuatorNetwork(
            weights, options.width, inputs.mean(axis=0), scale, lower, upper, options.margin * width, max(limit, 1e-9)
        )

    def _torques(self) -> tuple[Array, Array]:
        """(S,) torque of the actuator before the armature as the oracle has it, and the law's [N m]."""
        smoothed, law = self._smoothed, self._law
        inertia = smoothed.rows[:, INERTIA] + law[INDEX["armature"]]
        actual = inertia * smoothed.acceleration + smoothed.rows[:, LOAD]
        smoothing = 5.0 * smoothed.speed_sigma
        return actual, law_along(smoothed.rows, smoothed.position, smoothed.velocity, law, self._config, smoothing)

    def _fit_labels(self, net: ActuatorNetwork) -> ActuatorNetwork:
        """Fitted to the oracle's labels, by weighted least squares."""
        smoothed = self._smoothed
        seen = np.flatnonzero(self._motion.measured[: self._seen])
        inputs = inputs_of(smoothed.rows[:, COMMAND], smoothed.position, smoothed.velocity)[seen]
        actual, lawful = (torque[seen] for torque in self._torques())
        wanted = np.clip((actual - lawful) / net.limit, -_NEARLY, _NEARLY) if self._residual else actual / net.limit
        floor = float(np.median(smoothed.sigma[seen]))
        weight = 1.0 / (1.0 + (smoothed.sigma[seen] / floor) ** 2)
        # Where friction turns over, a label is a mixture that no function of the state has.
        weight *= 1.0 - np.exp(-((smoothed.velocity[seen] / self._config.oracle.slow) ** 2))
        weight /= weight.sum()

        def loss(weights: Array) -> tuple[float, Array]:
            own = replace(net, weights=weights)
            value = own.value(inputs)
            said = np.tanh(value.output) if self._residual else value.output
            off = said - wanted
            slope = weight * off * ((1.0 - said**2) if self._residual else 1.0)
            cost = 0.5 * float(weight @ off**2) + 0.5 * _LABEL_DECAY * float(weights @ weights) / len(weights)
            return cost, own.pull(value, slope) + _LABEL_DECAY * weights / len(weights)

        return replace(net, weights=_minimise(loss, net.weights, self._options.labels))

    def _plain(self, *findings: str) -> StructuredModel:
        return StructuredModel(self._law, self._config, findings)

    def _error(self, model: NetworkModel | StructuredModel) -> float:
        """RMSE of one rollout of the whole log [rad], which is how a model is used."""
        return replay_error(self._motion, model.replay(self._motion).position).rmse

    def _lawful(self, net: ActuatorNetwork) -> ActuatorNetwork:
        """Without any share: its box is nowhere."""
        nowhere = np.full(INPUTS, 1e9)
        return replace(net, lower=nowhere, upper=nowhere)

    def _errors(self, net: ActuatorNetwork, part: _Part) -> tuple[float, Array, Array]:
        """Mean squared error of the rollouts [rad2], and its derivatives (G, samples) by positions and velocities."""
        states = self._rollout.states(net, part.first, part.length, part.start)
        return self._compare(part, states.position, states.velocity)

    def _compare(self, part: _Part, position: Array, velocity: Array) -> tuple[float, Array, Array]:
        every = slice(None, None, self._motion.stride)
        count = max(int(part.measured.sum()), 1)
        off = np.where(part.measured, position[:, every] - part.position, 0.0)
        fast = np.where(part.measured, velocity[:, every] - part.velocity, 0.0)
        weight = self._options.speed_weight
        square = float(np.sum(off**2) + weight * np.sum(fast**2)) / count
        return square, 2.0 * off / count, 2.0 * weight * fast / count

    def _loss(self, net: ActuatorNetwork, part: _Part, unit: float) -> tuple[float, Array]:
        states = self._rollout.states(net, part.first, part.length, part.start)
        square, off, fast = self._compare(part, states.position, states.velocity)
        every = slice(None, None, self._motion.stride)
        to_position, to_velocity = np.zeros_like(states.position), np.zeros_like(states.velocity)
        to_position[:, every], to_velocity[:, every] = off / unit, fast / unit
        slope = self._rollout.pull(net, part.first, states, to_position, to_velocity)
        decay = self._options.decay / len(net.weights)
        cost = square / unit + decay * float(net.weights @ net.weights)
        if not np.isfinite(cost) or not np.isfinite(slope).all():
            return 1e12, np.zeros_like(slope)  # the line search takes a shorter step
        return cost, slope + 2.0 * decay * net.weights


def _minimise(
    loss: Callable[[Array], tuple[float, Array]],
    weights: Array,
    iterations: int,
    look: Callable[[Array], None] = lambda _: None,
) -> Array:
    """Weights after so many iterations of L-BFGS; `look` sees those of every tenth and the last."""
    done = 0

    def after(now: Array) -> None:
        nonlocal done
        done += 1
        if done % _EVERY == 0:
            look(now)

    if iterations:
        options: dict[str, Any] = {"maxiter": iterations, "maxcor": 20}
        minimize: Any = optimize.minimize  # its stubs know no function of arrays of any shape
        weights = np.asarray(
            minimize(loss, weights, jac=True, method="L-BFGS-B", callback=after, options=options).x, dtype=np.float64
        )
        look(weights)
    return weights
