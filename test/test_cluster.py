# SPDX-License-Identifier: Apache-2.0
"""A cluster of the user's is looked at before it is given work: without the right workers it would be waited for."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count
from pathlib import Path

import dask
import pytest
from distributed import LocalCluster

from sysid_nodes import cluster
from sysid_nodes.cluster import Cluster, connect
from sysid_nodes.exceptions import InputError


@pytest.fixture(scope="module")
def scheduler() -> Iterator[LocalCluster]:
    with LocalCluster(n_workers=0, processes=False, dashboard_address="127.0.0.1:0", protocol="tcp") as found:
        yield found


def test_a_cluster_has_workers_with_this_version(scheduler: LocalCluster, monkeypatch: pytest.MonkeyPatch) -> None:
    address = scheduler.scheduler_address
    with pytest.raises(InputError, match="it has no workers"):
        connect(address)
    scheduler.scale(1)
    scheduler.wait_for_workers(1, timeout=120.0)
    with connect(address) as client:
        assert len(client.nthreads()) == 1
    number = count()
    monkeypatch.setattr(cluster.metadata, "version", lambda package: f"{package} {next(number)}")
    with pytest.raises(InputError, match=r"worker .* has no sysid-nodes"):
        connect(address)


def test_a_scheduler_that_nobody_runs_is_bad_input() -> None:
    with pytest.raises(InputError, match="no Dask scheduler answers"):
        connect("nonsense://x")


@pytest.mark.parametrize("deaths", [1, pytest.param(cluster._STARTS, marks=pytest.mark.slow)])
def test_a_process_that_is_killed_while_it_starts_is_started_again(deaths: int, tmp_path: Path) -> None:
    starts = tmp_path / "starts"
    starts.mkdir()
    die = tmp_path / "die.py"
    die.write_text(
        "import os, pathlib\n"
        f"starts = pathlib.Path({str(starts)!r})\n"
        "(starts / str(os.getpid())).touch()\n"
        f"if len(list(starts.iterdir())) <= {deaths}:\n"
        "    os._exit(9)\n"
    )
    with dask.config.set({"distributed.worker.preload": [str(die)]}):
        if deaths < cluster._STARTS:
            with Cluster(None, 1) as machine:
                assert list(machine.outcomes(abs, [-2])) == [(-2, 2)]
        else:
            with pytest.raises(InputError, match="ended 3 times while it was starting"), Cluster(None, 1):
                pass
    assert len(list(starts.iterdir())) == min(deaths + 1, cluster._STARTS)
