# SPDX-License-Identifier: Apache-2.0
"""The identifier started and stopped by its launch file, for `launch_test`; test_launch_files.py runs it too."""

from __future__ import annotations

import unittest
from pathlib import Path
from typing import Any

import launch_testing
from launch.actions import IncludeLaunchDescription
from launch.launch_description_sources import PythonLaunchDescriptionSource
from launch_testing.actions import ReadyToTest
from launch_testing.asserts import assertExitCodes

from launch import LaunchDescription

FILE = Path(__file__).parents[2] / "launch" / "interval.launch.py"


@launch_testing.parametrize("simulated", ["false", "true"])
def generate_test_description(simulated: str) -> LaunchDescription:
    arguments = [("config", "kinova_gen3.yaml"), ("use_sim_time", simulated)]
    included = IncludeLaunchDescription(PythonLaunchDescriptionSource(str(FILE)), launch_arguments=arguments)
    return LaunchDescription([included, ReadyToTest()])


class TestStart(unittest.TestCase):
    def test_it_says_what_it_identifies(self, proc_output: Any) -> None:
        proc_output.assertWaitFor("identifying 'bracelet_link'", timeout=120)


@launch_testing.post_shutdown_test()
class TestEnd(unittest.TestCase):
    def test_it_ends_cleanly(self, proc_info: Any) -> None:
        assertExitCodes(proc_info)
