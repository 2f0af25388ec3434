# SPDX-License-Identifier: Apache-2.0
"""Plots the history of one parameter from a result.json; needs nothing of this package but the file.

python examples/plot_result.py demo_output/result.json --parameter m --out mass.png
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

import matplotlib as mpl
import numpy as np

mpl.use("Agg")
from matplotlib import pyplot as plt


def main(argv: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("result", type=Path)
    parser.add_argument("--parameter", default="m", help="name as in the file: m, m*cx, ..., Izz")
    parser.add_argument("--out", type=Path, required=True)
    args = parser.parse_args(argv)

    document = json.loads(args.result.read_text(encoding="utf-8"))
    if document["schema"] != 1:
        parser.error(f"schema {document['schema']} is not known")
    names = [row["name"] for row in document["parameters"]]
    k = names.index(args.parameter)

    # null stands for what is not claimed: before any data, or after a contradiction.
    history = [step for step in document["history"] if step["t"] is not None]
    t, lower, nominal, upper = (
        np.array([np.nan if value is None else value for value in column])
        for column in zip(*((s["t"], s["lower"][k], s["nominal"][k], s["upper"][k]) for s in history), strict=True)
    )

    figure, axes = plt.subplots(figsize=(7, 3.5), layout="constrained")
    axes.fill_between(
        t - t[0],
        lower,
        upper,
        step="post",
        alpha=0.3,
        label="proven" if document["method"] == "set_membership" else "estimated",
    )
    axes.step(t - t[0], nominal, where="post", label="nominal")
    if document["truth"]:
        axes.axhline(document["truth"][k], color="black", linestyle="--", label="truth")
    axes.set(xlabel="time [s]", ylabel=f"{names[k]} [{document['parameters'][k]['unit']}]", title=document["message"])
    axes.legend()
    figure.savefig(args.out, dpi=120)
    print(args.out)


if __name__ == "__main__":
    main()
