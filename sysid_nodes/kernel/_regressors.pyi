# SPDX-License-Identifier: Apache-2.0
import numpy as np
import numpy.typing as npt

def window_regressors(
    parents: npt.NDArray[np.int64],
    rotation: npt.NDArray[np.float64],
    translation: npt.NDArray[np.float64],
    axis: npt.NDArray[np.float64],
    revolute: npt.NDArray[np.bool_],
    gravity: npt.NDArray[np.float64],
    t: npt.NDArray[np.float64],
    q: npt.NDArray[np.float64],
    qd: npt.NDArray[np.float64],
    edges: npt.NDArray[np.int64],
) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]: ...
def standard_regressor(
    parents: npt.NDArray[np.int64],
    rotation: npt.NDArray[np.float64],
    translation: npt.NDArray[np.float64],
    axis: npt.NDArray[np.float64],
    revolute: npt.NDArray[np.bool_],
    gravity: npt.NDArray[np.float64],
    q: npt.NDArray[np.float64],
    qd: npt.NDArray[np.float64],
    qdd: npt.NDArray[np.float64],
) -> npt.NDArray[np.float64]: ...
def joint_frames(
    parents: npt.NDArray[np.int64],
    rotation: npt.NDArray[np.float64],
    translation: npt.NDArray[np.float64],
    axis: npt.NDArray[np.float64],
    revolute: npt.NDArray[np.bool_],
    gravity: npt.NDArray[np.float64],
    q: npt.NDArray[np.float64],
) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64], npt.NDArray[np.float64]]: ...
