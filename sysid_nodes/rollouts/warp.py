# SPDX-License-Identifier: Apache-2.0
"""Simulations by mujoco-warp, MuJoCo on a GPU, in single precision; its device `cpu` is slow, and there for tests.

The drives are those of the threads, in NumPy: states come back from the device after every step, and torques go there.
"""

from __future__ import annotations

from typing import Any

import mujoco
import numpy as np

from sysid_nodes.exceptions import ConfigError
from sysid_nodes.rollouts.drive import Array, Drive
from sysid_nodes.rollouts.simulations import CAPACITY, GIVES, DrivenSimulations
from sysid_nodes.rollouts.variants import IntArray, Variants

_OF_EACH = (
    "body_mass", "body_ipos", "body_inertia", "body_iquat", "dof_frictionloss", "pair_friction", "pair_solref",
    "body_subtreemass", "body_invweight0", "dof_invweight0",
)  # fmt: skip
"""Fields that differ between simulations: those of variants, and those that follow from them."""

_TOUCHES = 8  # contacts with the ground of a shape that is no foot, at most


class WarpSimulations(DrivenSimulations):
    """On a device of mujoco-warp. The first step on a machine compiles for half a minute.

    Args:
        model, drive, capacity, gives: as of `DrivenSimulations`.
        device: `cuda:0`, `cpu`.

    Raises:
        ConfigError: mujoco-warp is not installed, or there is no such device.
    """

    def __init__(
        self, model: mujoco.MjModel, drive: Drive, *, device: str, capacity: int = CAPACITY, gives: float = GIVES
    ) -> None:
        super().__init__(model, drive, capacity, gives)
        try:
            import warp

            warp.config.log_level = warp.LOG_ERROR  # or it tells of every kernel that it loads, on stdout
            import mujoco_warp
        except ImportError:
            raise ConfigError("'device' needs mujoco-warp; pip install 'sysid-nodes[warp]'") from None
        names = [str(one) for one in warp.get_devices()]
        if device not in names:
            raise ConfigError(f"mujoco-warp has no device '{device}' here; it has {', '.join(names)}")
        self._model, self._device, self._warp, self._mjw = model, device, warp, mujoco_warp
        self._sizes: dict[int, tuple[Any, Any]] = {}
        self._worlds, self._data = self._of_size(1)
        self.positions, self.velocities = np.empty((0, model.nq)), np.empty((0, model.nv))

    def _of_size(self, count: int) -> tuple[Any, Any]:
        """Models and states of so many simulations, made once."""
        if count not in self._sizes:
            shapes = self._model.geom_contype | self._model.geom_conaffinity
            contacts = self._model.npair + _TOUCHES * int(np.count_nonzero(shapes))
            rows = self._model.nv + self._model.njnt + 3 * contacts
            with self._warp.ScopedDevice(self._device):
                worlds = self._mjw.put_model(self._model)
                for name in _OF_EACH:
                    one = getattr(worlds, name)
                    alike = np.repeat(one.numpy()[:1], count, axis=0)
                    setattr(worlds, name, self._warp.array(alike, dtype=one.dtype))
                data = self._mjw.make_data(self._model, nworld=count, nconmax=contacts, njmax=rows)
            self._sizes[count] = worlds, data
        return self._sizes[count]

    def _begin(self, variants: Variants, which: IntArray, start: Array) -> None:
        # In sizes of powers of two; those that nobody asked for are copies.
        count = min(1 << (len(start) - 1).bit_length(), self.capacity)
        self._worlds, self._data = self._of_size(count)
        self.positions, self.velocities = start[:, : self._nq].copy(), start[:, self._nq :].copy()
        self._set_model(variants, np.resize(which, count))
        states = np.resize(start, (count, start.shape[1]))
        with self._warp.ScopedDevice(self._device):
            self._data.qpos.assign(states[:, : self._nq])
            self._data.qvel.assign(states[:, self._nq :])
            self._data.qacc_warmstart.zero_()

    def _step(self, torque: Array) -> None:
        force = np.zeros(self._data.qfrc_applied.shape)
        force[:, 6:] = np.resize(torque, (len(force), self.joints))
        with self._warp.ScopedDevice(self._device):
            self._data.qfrc_applied.assign(force)
            self._mjw.step(self._worlds, self._data)
        self.positions[:] = self._data.qpos.numpy()[: len(torque)]
        self.velocities[:] = self._data.qvel.numpy()[: len(torque)]

    def _set_model(self, variants: Variants, which: IntArray) -> None:
        def put(name: str, place: Any, values: Array | np.float64) -> None:
            field = getattr(self._worlds, name)
            whole = field.numpy()
            whole[place] = values
            field.assign(whole)

        bodies = np.s_[:, np.array(variants.bodies, dtype=np.intp) + 1]  # MuJoCo's first is the world
        for name, values in zip(_OF_EACH, variants.principal, strict=False):
            put(name, bodies, values[which])
        put("dof_frictionloss", np.s_[:, 6:], self._known + variants.holding[which])
        put("pair_friction", np.s_[..., :2], variants.friction[which, None, None])
        put("pair_solref", np.s_[..., 0], variants.time_constant[which, None])
        groups = self._mjw.SetConstGroup.FIXED | self._mjw.SetConstGroup.INERT0
        with self._warp.ScopedDevice(self._device):
            self._mjw.set_const(self._worlds, self._data, groups, restore=False)
