# SPDX-License-Identifier: Apache-2.0
"""Tasks on the hidden truth with controllers tuned in the described robot's simulation and in the identified one's.

The tasks are the paper's (SPI-Active, appendix A.1) as far as a scripted Go2 can do them: a circle of radius 0.6 m at
0.4, 0.8 and 0.4 m/s again, attitudes, a jump forward and a jump that turns; and a scripted G1 that holds 3 kg ahead and
to the left, identified from its dance, walks that circle at 0.1, 0.3 and 0.1 m/s. In place of a policy that is trained,
a few numbers of a scripted controller are tuned by CMA-ES, by the paper's own measure of the task: scales and offsets
of the commands to the walking controller, and of a jump the legs' extension, sweep, twist and time, without feedback.
The same searches with the same seeds tune all controllers, in models with the body's shape (knees touch the ground in a
deep crouch); the best of them there is tried once on the truth. A walking controller computes the forces of its feet
from the model that it is tuned in, as a policy that is trained there has it in its weights. For the identified robot a
controller is tuned on the mean error of the estimate and of robots drawn from it: a jump that is right for one robot
alone may be a fall of the next. `on the truth itself` is of a controller that the same searches tune there: no
knowledge of the robot could make more of these numbers, and a task in which that gains nothing over the described robot
cannot tell an identification from none. `no integral` is the walking controller without its integrals of height and
tilt, which make up for a load that nobody told it about; a trained policy has none.
"""

from __future__ import annotations

import sys
from argparse import Namespace
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from benchmarks.report import Report, parser, progress
from benchmarks.sampling_jumps import GUESS, LOWER, UPPER, attitude, jump
from benchmarks.sampling_log import simulated_session
from benchmarks.sampling_truth import CASES
from benchmarks.sampling_walks import FALLEN, HEIGHT, attitudes, circle
from benchmarks.sampling_worlds import World, model_world, true_world
from sysid_nodes.robots import load_robot
from sysid_nodes.rollouts import WalkingConfig
from sysid_nodes.solvers.sampling import minimise
from sysid_nodes.systems.sampling.exploration.crowd import draw
from sysid_nodes.systems.sampling.unknowns import Unknowns

Array = npt.NDArray[np.float64]
Errors = Callable[[World, Array], Array]
"""Errors (P,) of controllers with numbers (P, K) in a world."""

TARGETS = {"jump forward": 0.48, "jump and turn": 0.37, "circle": 0.58, "attitude": 0.73, "humanoid": 0.73}
_UPRIGHT = 0.5  # cosine of the tilt below which it does
_LOGS = {"go2": ("as modelled", 1.0), "g1": ("holding", 1.5)}  # case of `sampling_truth`, and part of the duration
_FORWARD, _UP, _JUMP = 0.4, 0.15, 1.7  # of the jump [m], and its time until it is judged [s]
_TURN = 0.6  # of the jump that turns [rad]
_STRAIGHT = 5  # numbers of a jump that does not


@dataclass(frozen=True)
class Task:
    """A task and the numbers to be tuned for it."""

    errors: Errors
    guess: Array
    lower: Array
    upper: Array
    robot: str = "go2"

    def tune(self, world: World, iterations: int, seeds: Iterable[int]) -> Array:
        """(K,) the best numbers in a world, on the mean of its robots; for a jump each search ends elsewhere."""
        found = [
            minimise(
                lambda points: self.mean_errors(world, points),
                self.guess,
                self.lower,
                self.upper,
                spread=0.3,
                iterations=iterations,
                population=12,
                seed=seed,
            )
            for seed in seeds
        ]
        return min(found, key=lambda search: search.cost).best

    def mean_errors(self, world: World, numbers: Array) -> Array:
        """(P,) means over the robots of a world."""
        robots = len(world.variants)
        return np.asarray(self.errors(world, np.repeat(numbers, robots, axis=0)).reshape(-1, robots).mean(axis=1))


def tasks(policy: str = "") -> dict[str, Task]:
    """All of them, by name; of a task that the walking controller does with and without its integrals.

    Args:
        policy: file of a trained policy in place of that controller.
    """
    config = WalkingConfig(policy=policy)
    reach = np.array([0.4, 0.2, 0.4, 0.15, 0.15, 0.05])
    ahead = slice(0, _STRAIGHT)
    found = {
        "jump forward": Task(_forward, GUESS[ahead], LOWER[ahead], UPPER[ahead]),
        "jump and turn": Task(_turn, GUESS, LOWER, UPPER),
    }
    without = {} if policy else {", no integral": replace(config, integral_gain=0.0)}
    humanoid = [] if policy else [("humanoid", circle, "g1")]
    for suffix, walking in ({"": config} | without).items():
        for name, errors, robot in (("circle", circle, "go2"), ("attitude", attitudes, "go2"), *humanoid):
            middle = np.array([1.0, 0.0, 1.0, 0.0, 0.0, HEIGHT[robot]])
            found[name + suffix] = Task(_with(errors, walking), middle, middle - reach, middle + reach, robot)
    return found


def _with(errors: Callable[[World, Array, WalkingConfig], Array], config: WalkingConfig) -> Errors:
    return lambda world, numbers: errors(world, numbers, config)


def _forward(world: World, numbers: Array) -> Array:
    """The paper's J_fj."""
    straight = np.pad(numbers, ((0, 0), (0, len(GUESS) - _STRAIGHT)))
    states = world.play(len(numbers), lambda time: jump(time, straight), _JUMP)
    begin, end = states[:, 0, :3], states[:, -1, :3]
    off = np.abs(end[:, 0] - begin[:, 0] - _FORWARD) + np.abs(end[:, 1] - begin[:, 1])
    return _unless_fallen(off + np.abs(states[:, :, 2].max(axis=1) - begin[:, 2] - _UP), states)


def _turn(world: World, numbers: Array) -> Array:
    """The paper's J_yj."""
    states = world.play(len(numbers), lambda time: jump(time, numbers), _JUMP)
    moved, angles = states[:, -1, :2] - states[:, 0, :2], attitude(states[:, -1, 3:7])
    return _unless_fallen(np.abs(angles - [0.0, 0.0, _TURN]).sum(axis=1) + np.abs(moved).sum(axis=1), states)


def _unless_fallen(error: Array, states: Array) -> Array:
    x, y = states[:, -1, 4], states[:, -1, 5]
    cosine = 1.0 - 2.0 * (x * x + y * y)
    # A search is to learn from falls, too: which was the less bad one.
    return np.where(cosine > _UPRIGHT, np.nan_to_num(error, nan=FALLEN), FALLEN + _UPRIGHT - cosine)


def _chosen(arguments: Sequence[str] | None) -> Namespace:
    options = parser("sampling_tasks", __doc__)
    options.add_argument("--seeds", type=int, default=5, help="logs that the robot is identified from")
    options.add_argument("--duration", type=float, default=10.0, help="of a log [s]")
    options.add_argument(
        "--draws", type=int, default=8, help="of the estimate that a controller is tuned for, beside it"
    )
    options.add_argument("--iterations", type=int, default=10, help="of every search, of 12 candidates each")
    options.add_argument("--searches", type=int, default=3, help="of which the best is tried")
    options.add_argument("--tasks", nargs="+", choices=list(tasks()), default=list(tasks()), help="which tasks")
    options.add_argument("--policy", default="", help="ONNX file that obeys commands instead")
    found: Namespace = options.parse_args(arguments)
    return found


def main(arguments: Sequence[str] | None = None) -> int:
    chosen = _chosen(arguments)
    able, rows, met = tasks(chosen.policy), [], []
    names = [name for name in chosen.tasks if name in able]
    robots = {robot: _worlds(robot, chosen) for robot in dict.fromkeys(able[name].robot for name in names)}
    for name in progress(names, "tasks"):
        task = able[name]
        truth, described, *worlds = robots[task.robot]
        seeds = range(chosen.seed, chosen.seed + chosen.searches)
        tuned = [task.tune(world, chosen.iterations, seeds) for world in (described, truth, *worlds)]
        there = [
            float(task.mean_errors(world, numbers[None])[0])
            for world, numbers in zip((described, truth, *worlds), tuned, strict=True)
        ]
        found = [
            float(task.errors(replace(truth, robot=world.robot), numbers[None])[0])
            for world, numbers in zip((described, truth, *worlds), tuned, strict=True)
        ]
        nominal, own, median = found[0], found[1], float(np.median(found[2:]))
        errors = (there[0], nominal, there[1], own, float(np.median(there[2:])), median, max(found[2:]))
        rows.append((name, *(f"{error:.3f}" for error in errors)))
        ratios = (TARGETS[name.partition(",")[0]], median / nominal, own / nominal)
        met.append((name, *(f"{ratio:.2f}" for ratio in ratios), verdict(*ratios)))
    report = Report("sampling-tasks", "Tasks with controllers tuned in identified robots", chosen.out, chosen.command)
    report.text(__doc__.split("\n\n")[1])
    report.section("Errors")
    header = (
        "as described: in its model",
        "on the truth",
        "on the truth itself: in its model",
        "on the truth",
        "as identified: in its model, median",
        "on the truth, median",
        "largest",
    )
    report.table(("task", *header), rows)
    report.section("Errors on the truth over the described robot's")
    report.table(("task", "asked", "found", "with the truth itself", "met"), met)
    report.text(f"An error of {FALLEN:g} is a robot that has fallen. {chosen.seeds} logs of {chosen.duration:g} s.")
    print(report.write())
    return 0


def verdict(asked: float, found: float, own: float) -> str:
    """Whether a ratio asked for is met, and if not whether knowing the truth would have met it.

    Args:
        asked, found: ratios of errors to the described robot's.
        own: the same of a controller that is tuned on the truth itself.
    """
    if found <= asked:
        return "yes" if own < 1.0 else "yes, though the truth itself gains nothing: by chance"
    return "no" if own <= asked else "no, and not with the truth itself: these searches cannot show it"


def _worlds(robot: str, chosen: Namespace) -> list[World]:
    """The truth, the robot as described, and for each log the robots that it may be."""
    case, part = _LOGS[robot]
    config, options = CASES[case].setting()
    nominal = load_robot(robot)
    truth, unknowns = true_world(nominal, options), Unknowns(nominal, config.sampling)
    found = [truth, model_world(nominal, config.sampling, [unknowns.column("guess")])]
    for seed in progress(range(chosen.seed, chosen.seed + chosen.seeds), f"identification, {robot}"):
        session, _ = simulated_session(part * chosen.duration, seed, config, **options)
        posterior = session.identify().posterior
        assert posterior is not None  # only the paper's method has none
        drawn = draw(posterior, unknowns, chosen.draws, np.random.default_rng(chosen.seed))
        found.append(model_world(nominal, config.sampling, [posterior.values, *drawn]))
    return found


if __name__ == "__main__":
    sys.exit(main())
