# SPDX-License-Identifier: Apache-2.0
"""Rollouts of a walking robot through MJX, MuJoCo in JAX, with derivatives by its parameters in forward mode.

Forward, since loops of the contact solver that end by a tolerance have no reverse derivative. The drives are those of
`rollouts/drive.py`, written again in JAX. XLA's optimisations are off: with them it compiles for minutes.
"""

from __future__ import annotations

import os
import time
from typing import Any

import mujoco
import numpy as np
import numpy.typing as npt

from sysid_nodes.rollouts import Drive, Variants
from sysid_nodes.rollouts.drive import _LOOSE, _TURNOVER
from sysid_nodes.rollouts.rotations import from_matrix, matrix
from sysid_nodes.rollouts.simulations import GIVES

os.environ.setdefault("XLA_FLAGS", "--xla_backend_optimization_level=0 --xla_llvm_disable_expensive_passes=true")

try:
    import jax
    import jax.numpy as jnp
    from mujoco import mjx

    AVAILABLE = True
except ImportError:
    AVAILABLE = False

Array = npt.NDArray[np.float64]


class MjxRollouts:
    """Simulations of clips with derivatives.

    Args:
        model: of `build_legged_mujoco`.
        drive: of its joints.
        pyramidal: contact's friction cone as a pyramid.

    Attributes:
        compiling: processor time that went into compilation [s].
    """

    def __init__(self, model: mujoco.MjModel, drive: Drive, *, pyramidal: bool = False) -> None:
        jax.config.update("jax_enable_x64", True)
        self._model, self._drive, self.compiling = model, drive, 0.0
        model.opt.disableflags &= ~int(mujoco.mjtDisableBit.mjDSBL_AUTORESET)
        if pyramidal:
            model.opt.cone = mujoco.mjtCone.mjCONE_PYRAMIDAL
        self._known = model.dof_frictionloss[6:].copy()
        model.dof_frictionloss[6:] = self._known + 1.0  # where there is none, MJX would leave out its rows
        self._mjx, self._blank = mjx.put_model(model), mjx.make_data(model)
        self._compiled: Any = None

    def linearise(self, variants: Variants, steps: Array, start: Array, targets: Array) -> tuple[Array, Array]:
        """States (C, T, nq + nv) of the first variant, and derivatives (M - 1, C, T, nq + nv) towards the others.

        Args:
            variants: the first, and M - 1 that differ from it by small steps in one parameter each.
            steps: (M - 1,) these.
            start: (C, nq + nv).
            targets: (C, T, n) set-points.
        """
        numbers = [self._numbers(variants, k) for k in range(len(variants))]
        first = numbers[0]
        tangents = {
            name: np.stack([(other[name] - first[name]) / step for other, step in zip(numbers[1:], steps, strict=True)])
            for name in first
        }
        args = (first, tangents, start, targets)
        if self._compiled is None:
            begin = time.process_time()
            self._compiled = jax.jit(self._with_tangents).lower(*args).compile()
            self.compiling += time.process_time() - begin
        states, moved = self._compiled(*args)
        return np.asarray(states), np.asarray(moved)

    def _with_tangents(self, first: Any, tangents: Any, start: Any, targets: Any) -> Any:
        def states(numbers: Any) -> Any:
            return jax.vmap(lambda s, u: self._clip(numbers, s, u))(start, targets)

        found = states(first)
        moved = jax.vmap(lambda tangent: jax.jvp(states, (first,), (tangent,))[1])(tangents)
        return found, moved

    def _clip(self, numbers: Any, start: Any, targets: Any) -> Any:
        """States (T, nq + nv) of one clip; see `Simulations.follow`."""
        model, nq = self._model_of(numbers), self._model.nq
        stiffness, damping = self._drive.stiffness, self._drive.damping

        def step(carried: Any, target: Any) -> Any:
            data, before, bend, place = carried
            q, v = data.qpos[7:], data.qvel[6:]
            w = 1.5 * v - 0.5 * before
            way = (q - place) / GIVES
            bend = (bend + way) / (1.0 + jnp.abs(way))
            asked, weak = stiffness * (target - q) - damping * w, jnp.maximum(numbers["weakness"], 1e-9)
            torque = numbers["gain"] * jnp.tanh(asked * weak) / weak - numbers["dry"] * jnp.tanh(w / _TURNOVER)
            torque = torque - numbers["bristles"] * bend
            data = mjx.step(model, data.replace(qfrc_applied=jnp.concatenate([jnp.zeros(6), torque])))
            return (data, v, bend, q), jnp.concatenate([data.qpos, data.qvel])

        data = self._blank.replace(qpos=start[:nq], qvel=start[nq:])
        v = start[nq + 6 :]
        return jax.lax.scan(step, (data, v, jnp.tanh(v / _LOOSE), start[7:nq]), targets)[1]

    def _model_of(self, numbers: Any) -> Any:
        """With the parameters that vary."""
        pairs = self._mjx.pair_friction.at[:, :2].set(numbers["friction"])
        return self._mjx.replace(
            pair_friction=pairs,
            pair_solref=self._mjx.pair_solref.at[:, 0].set(numbers["time_constant"]),
            dof_frictionloss=self._mjx.dof_frictionloss.at[6:].set(self._known + numbers["holding"] + _LEAST),
            **{name: numbers[name] for name in _OF_BODIES},
        )

    def _numbers(self, variants: Variants, k: int) -> dict[str, Array]:
        """Numbers of one simulation: its drives', its ground's, and its bodies' with what follows from them."""
        model, data = self._model, mujoco.MjData(self._model)
        bodies = np.array(variants.bodies) + 1
        mass, centre, moments, axes = (part[k] for part in variants.principal)
        # Of principal axes that are as good, those next to the first variant's.
        reference = variants.principal[3][0]
        turned = np.swapaxes(matrix(reference), -1, -2) @ matrix(axes)
        turned = turned * np.sign(np.einsum("kii->ki", turned))[:, None]
        axes = from_matrix(matrix(reference) @ turned)
        axes = axes * np.where((axes * reference).sum(axis=-1, keepdims=True) < 0.0, -1.0, 1.0)
        model.body_mass[bodies], model.body_ipos[bodies] = mass, centre
        model.body_inertia[bodies], model.body_iquat[bodies] = moments, axes
        mujoco.mj_setConst(model, data)
        own = {name: np.array(getattr(model, name)) for name in _OF_BODIES}
        names = ("gain", "weakness", "dry", "holding", "bristles", "friction", "time_constant")
        return own | {name: np.array(getattr(variants, name)[k]) for name in names}


_LEAST = 1e-6  # a joint without any dry friction would be locked: MJX has its row all the same [N m]
_OF_BODIES = (
    "body_mass", "body_ipos", "body_inertia", "body_iquat", "body_subtreemass", "body_invweight0", "dof_invweight0",
)  # fmt: skip
