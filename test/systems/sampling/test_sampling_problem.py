# SPDX-License-Identifier: Apache-2.0
"""Clips of a simulated walk: at the truth, residuals are the sensors' noise."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from sysid_nodes.systems.sampling.problem import ClipProblem, place_clips
from sysid_nodes.systems.sampling.settling import lead_in, secant, settle_starts

LENGTH = 16


@pytest.fixture(scope="module")
def problem(walk):
    first = place_clips(walk.log, LENGTH, 4, np.random.default_rng(3))
    guess = walk.setting.guess.at(first)
    return ClipProblem(walk.log, walk.config.noise, walk.setting.unknowns, walk.setting.simulator, first, LENGTH, guess)


def misfit(residual):
    return np.sqrt((residual**2).sum(axis=1) / (residual != 0.0).sum(axis=1))


def test_settled_starts_leave_noise_at_the_truth_and_more_than_that_elsewhere(walk, problem):
    settled = settle_starts(problem, walk.truth, 6).problem
    assert np.median(misfit(settled.residuals(walk.truth))) < 1.3
    assert misfit(settled.residuals(walk.truth)).max() < 0.5 * misfit(problem.residuals(walk.truth)).max()
    nominal = walk.setting.unknowns.column("guess")
    assert np.median(misfit(settled.residuals(nominal))) > 1.5


def test_rows_are_those_of_the_residuals_and_columns_their_derivatives(walk, problem):
    settled = settle_starts(problem, walk.truth, 2).problem
    first = LENGTH * np.arange(len(problem.first))
    start, information = settled.start(first)
    found = settled.rollout(walk.truth, first, start)
    clips, m = len(first), found.residual.shape[1]
    np.testing.assert_allclose(found.residual.reshape(clips, -1), settled.residuals(walk.truth), atol=1e-9)
    assert found.by_parameters.shape == (clips * LENGTH, m, len(walk.truth))
    assert (information >= 0.0).all()
    for name, step in {"alpha:0": 4e-3, "pose_delay": 1e-3, "gyro_bias_x": 1e-3}.items():
        k = walk.setting.unknowns.index[name]
        moved = settled.residuals(walk.truth + step * np.eye(len(walk.truth))[k])
        slope = (moved - settled.residuals(walk.truth)) / step
        own = found.by_parameters[..., k].reshape(clips, -1)
        assert np.linalg.norm(slope - own) < 0.1 * np.linalg.norm(own), name


def test_a_start_farther_along_the_ground_is_not_simulated_and_its_columns_are_as_if_it_were(walk, problem):
    clips, moves, before = len(problem.first), problem.coordinates.steps, problem.simulator.steps
    base, alone = problem.by_start(walk.truth)
    assert problem.simulator.steps - before == clips * (1 + len(moves) - 2) * (LENGTH - 1)
    found = problem.rollout(walk.truth, LENGTH * np.arange(clips), problem.start(problem.first)[0])
    both = found.by_start.reshape(clips, -1, len(moves))
    for k, ways in enumerate(((alone, both), (alone, both), (alone,))):  # slopes upwards may be the other side's
        aside = problem.coordinates.state(problem.guess, moves * (np.arange(len(moves)) == k))
        slope = (replace(problem, guess=aside).residuals(walk.truth) - base) / moves[k]
        assert np.abs(slope).max() > 100.0, "a reading of motion capture"
        for columns in ways:  # rounding alone differs
            assert np.linalg.norm(columns[..., k] - slope) < 1e-6 * np.linalg.norm(slope)


def test_derivatives_are_simulated_anew_of_a_clip_that_is_stuck_above_noise_alone(walk, problem):
    """Half of all clips fit worse than the median one, however well all fit."""
    settled = settle_starts(problem, walk.truth, 6).problem
    one = settled.guess.copy()
    one[2, 7:] += 0.5  # joints' rates and place, so far that derivatives there mislead
    asked = []
    for guess in (settled.guess, one):
        counted = Counted(replace(settled, guess=guess))
        settle_starts(counted.problem, walk.truth, 6)
        asked.append(counted.clips)
    assert asked[0] == [0, 1, 2, 3], "each at first"
    assert set(asked[1][4:]) == {2}, "and the one that noise does not explain again"


class Kicks:
    """Simulations in which a clip jumps from its tenth instant on where the robot is heavier, or lighter."""

    def __init__(self, own, mass, ahead, behind):
        self._own, self._mass, self._ahead, self._behind = own, mass, ahead, behind
        self.dry = []

    def run(self, variants, work):
        states = self._own.run(variants, work)
        self.dry.append(variants.dry.min())
        off = variants.inertia[work.variant, 0, 0] - self._mass
        kick = np.where(off > 1e-9, self._ahead, np.where(off < -1e-9, self._behind, 0.0)) * (work.clip == 1)
        states[:, 10:, -3:] += kick[:, None, None]
        return states


@pytest.mark.parametrize(("ahead", "behind"), [(0.5, 0.0), (0.0, 0.5), (0.05, 0.5)])
def test_of_a_clip_that_jumps_beside_a_parameter_the_gentler_slope_is_taken(walk, problem, ahead, behind):
    """A foot that lands a step sooner; a slope a hundred times too steep decided over all other clips."""
    index, first = walk.setting.unknowns.index, LENGTH * np.arange(len(problem.first))
    at = walk.truth.copy()
    at[index["dry_friction"]] = 0.0  # below which there is none
    mass = walk.setting.unknowns.inertia(at, 0)[0]
    kicked = replace(problem, simulator=Kicks(problem.simulator, mass, ahead, behind))
    found = kicked.rollout(at, first, problem.start(first)[0]).by_parameters[..., index["alpha:0"]]
    gentler = replace(problem, simulator=Kicks(problem.simulator, mass, ahead * (ahead < behind), 0.0))
    step = walk.setting.unknowns.column("step")[index["alpha:0"]]
    moved = gentler.residuals(at + step * (np.arange(len(at)) == index["alpha:0"]))
    slope = (moved - gentler.residuals(at)) / step
    # The two sides differ by the curvature within a step, here by less than a tenth; the kick is fifty times the slope.
    assert np.linalg.norm(found.reshape(slope.shape) - slope) < 0.1 * np.linalg.norm(slope)
    assert min(kicked.simulator.dry) >= 0.0


@pytest.mark.parametrize("place", ["bound", "start"])
def test_a_jump_is_seen_at_a_bound_in_the_step_after_and_of_a_start_in_the_step_before(walk, problem, place):
    index, first = walk.setting.unknowns.index["dry_friction"], LENGTH * np.arange(len(problem.first))
    at = walk.truth.copy()
    at[index] = 0.0
    plain, jumps = (
        replace(problem, simulator=simulator).rollout(at, first, problem.start(first)[0])
        for simulator in (problem.simulator, Jumps(problem.simulator, place, problem.guess[1]))
    )
    for rows in (plain.by_start, plain.by_parameters[..., [index]]):
        assert np.abs(rows).max() > 0.0
    for found, right in ((jumps.by_start, plain.by_start), (jumps.by_parameters, plain.by_parameters)):
        # Slopes of neighbouring steps differ by less than a tenth; that with the jump would be ten times as steep.
        off, whole = (np.linalg.norm(rows, axis=(0, 1)) for rows in (found - right, right))
        assert (off <= 0.1 * whole).all()


class Counted:
    """A problem that remembers of which clips derivatives by the start alone were simulated."""

    def __init__(self, problem):
        self.clips, several = [], problem.coordinates.size - 1  # as it is, and beside that but along the ground
        own, firsts = problem.simulator, problem.first

        def run(variants, work):
            if len(work.start) == several * len(work.targets):
                self.clips += np.searchsorted(firsts, [self._at[tuple(t.ravel())] for t in work.targets]).tolist()
            return own.run(variants, work)

        self._at = {tuple(t.ravel()): k for t, k in zip(problem.targets, firsts, strict=True)}
        self.problem = replace(problem, simulator=SimpleNamespace(run=run))


class Jumps:
    """Simulations in which one clip jumps where there is dry friction, or where its first joint begins further."""

    def __init__(self, own, place, start):
        self._own, self._place, self._start = own, place, start

    def run(self, variants, work):
        states = self._own.run(variants, work)
        further = work.start[:, 7] > self._start[7] + 1e-9
        off = variants.dry[work.variant, 0] > 0.0 if self._place == "bound" else further
        states[off & (work.clip == 1), 10:, 25:] += 5.0
        return states


def test_clips_that_no_start_fits_are_left_out(walk, problem):
    settled = settle_starts(problem, walk.truth, 4)
    settled.residual[1] += 5.0
    assert len(settled.without_lost(2.0, 4).problem.first) == 4
    assert settled.without_lost(2.0, 3).problem.first.tolist() == np.delete(problem.first, 1).tolist()


def test_a_clip_that_fits_as_well_as_noise_allows_is_kept_however_much_better_others_fit(walk, problem):
    """What stands out of sensors better than stated are errors of the model; without them none would be seen."""
    settled = settle_starts(problem, walk.truth, 1)
    scale = np.array([0.05, 0.05, 1.9, 0.05]) / misfit(settled.residual)
    quiet = replace(settled, residual=settled.residual * scale[:, None])
    assert len(quiet.without_lost(2.0, 2).problem.first) == 4
    scale[2] *= 1.1
    loud = replace(settled, residual=settled.residual * scale[:, None])
    assert len(loud.without_lost(2.0, 2).problem.first) == 3


def test_a_simulation_that_fails_stays_where_it_is_quietly_and_the_others_settle(walk, problem, capfd):
    guess = problem.guess.copy()
    guess[1, 2] = -400.0  # whose feet are deep in the ground
    settled = settle_starts(replace(problem, guess=guess), walk.truth, 2)
    others = [0, 2, 3]
    assert np.median(misfit(settled.residual[others])) < 3.0
    assert settled.without_lost(2.0, 3).problem.first.tolist() == np.delete(problem.first, 1).tolist()
    told = capfd.readouterr()
    assert told.out == told.err == ""


def test_settling_hands_on_the_residuals_of_its_starts(walk, problem):
    settled = settle_starts(problem, walk.truth, 3)
    np.testing.assert_allclose(settled.residual, settled.problem.residuals(walk.truth), atol=1e-9)


def test_a_start_is_led_to_by_the_time_before_where_that_fits_better(walk, problem):
    sunk = problem.guess.copy()
    sunk[:, 2] -= 0.02  # feet that begin in the ground, from which it throws the robot
    whole = replace(problem, first=np.append(0, problem.first), guess=np.vstack([walk.setting.guess.at([0]), sunk]))
    led = lead_in(whole, walk.truth, walk.setting.guess)
    assert (misfit(led.residuals(walk.truth))[1:] < 0.5 * misfit(whole.residuals(walk.truth))[1:]).all()
    np.testing.assert_array_equal(led.guess[0], whole.guess[0], "there is no time before the first reading")
    settled = settle_starts(problem, walk.truth, 6).problem
    np.testing.assert_array_equal(lead_in(settled, walk.truth, walk.setting.guess).guess, settled.guess)


def test_what_leads_in_to_a_clip_is_simulated_and_not_compared(walk, problem):
    first = LENGTH * np.arange(len(problem.first))
    whole, later = (replace(problem, lead=lead).rollout(walk.truth, first, problem.start(first)[0]) for lead in (0, 5))
    for full, part in zip(whole, later, strict=True):
        full, part = (rows.reshape(len(first), LENGTH, -1) for rows in (full, part))
        assert np.abs(full[:, :5]).max() > 0.0
        np.testing.assert_array_equal(part[:, :5], 0.0)
        np.testing.assert_array_equal(part[:, 5:], full[:, 5:])
    residual = replace(problem, lead=5).residuals(walk.truth)
    np.testing.assert_allclose(residual.ravel(), later.residual.ravel(), atol=1e-9)


def test_a_secant_agrees_with_the_last_step_and_keeps_what_is_across_it():
    rng = np.random.default_rng(0)
    slopes, step, change = rng.standard_normal((2, 7, 3)), rng.standard_normal((2, 3)), rng.standard_normal((2, 7))
    scale = np.array([1.0, 0.1, np.inf])  # the last one is known exactly
    found = secant(slopes, step, change, scale)
    np.testing.assert_allclose(np.einsum("crd,cd->cr", found, step), change)
    np.testing.assert_array_equal(found[..., 2], slopes[..., 2])
    across = np.array([step[0, 1], -step[0, 0] * 0.01, 0.0])  # as the scale counts
    np.testing.assert_allclose(found[0] @ across, slopes[0] @ across)


def test_clips_are_spread_over_the_log_and_do_not_leave_it(walk):
    first = place_clips(walk.log, 50, 8, np.random.default_rng(0))
    assert len(first) == 8
    assert (np.diff(first) > 0).all()
    assert first[-1] + 50 <= len(walk.log)
    assert not len(place_clips(walk.log, len(walk.log) + 1, 8, np.random.default_rng(0)))


def test_guessed_configurations_are_half_a_step_after_their_instants(walk):
    first = np.arange(100, 500, 4)
    guess = walk.setting.guess.at(first)
    ahead, speed = guess[:, 7:19] - walk.log.q[first], guess[:, 25:]
    # Encoders' noise of 1 mrad and some 2 rad/s of 1200 readings: the slope's own error is 2 % of it.
    assert (ahead * speed).sum() / (speed**2).sum() == pytest.approx(0.5 * walk.log.step, rel=0.2)
