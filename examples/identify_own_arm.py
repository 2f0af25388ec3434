# SPDX-License-Identifier: Apache-2.0
"""A robot from its URDF, a recording and a parameter file: what `sysid calibrate` and `sysid replay` do, in Python.

python examples/own_arm/record_logs.py --out bags
python examples/identify_own_arm.py bags
"""

from __future__ import annotations

import argparse
from dataclasses import replace
from pathlib import Path

from sysid_nodes.cli.interval.samples import read_samples
from sysid_nodes.data.config import load_yaml
from sysid_nodes.logs import read_joint_states
from sysid_nodes.results import IdentificationResult
from sysid_nodes.robots import load_robot
from sysid_nodes.systems.interval.calibration import calibrate
from sysid_nodes.systems.interval.calibration_file import save_calibration
from sysid_nodes.systems.interval.calibration_runs import Run
from sysid_nodes.systems.interval.config import IntervalIdentifierConfig
from sysid_nodes.systems.interval.pipeline import IntervalPipeline

OWN_ARM = Path(__file__).parent / "own_arm"
TOPIC = "/joint_states"


def mass(result: IdentificationResult) -> str:
    return f"mass {result.lower[0]:.3f} .. {result.upper[0]:.3f} kg"


def main(argv: list[str] | None = None) -> IdentificationResult:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("bags", type=Path, help="folder with the recordings 'unloaded' and 'loaded'")
    args = parser.parse_args(argv)

    robot = load_robot("", urdf=OWN_ARM / "own_arm.urdf")
    config = load_yaml(IntervalIdentifierConfig, OWN_ARM / "own_arm.yaml")

    # Once for each robot: what the unloaded run tells about links, friction and armature, with its uncertainty.
    found = calibrate(robot, config, [Run(read_samples(robot, config, args.bags / "unloaded", TOPIC), 0.0, "unloaded")])
    file = args.bags / "calibration.json"
    save_calibration(found, file)

    # For each payload, message by message, as a node does it.
    pipeline = IntervalPipeline(robot, replace(config, calibration=str(file)))
    for message in read_joint_states(args.bags / "loaded", TOPIC):
        result = pipeline.push(message.names, message.stamp, message.position, message.velocity, message.effort)
        if result is not None and result.tightened and result.window % 20 == 0:
            print(f"t = {result.t:6.1f} s  {result.status.name:11s} {mass(result)}")
    result = pipeline.finish()
    print(f"{result.status.name}: {mass(result)}")
    for assumption, share in sorted(result.costs.items(), key=lambda item: -item[1][0])[:4]:
        print(f"  {assumption} costs {share[0]:.3f} kg")
    return result


if __name__ == "__main__":
    main()
