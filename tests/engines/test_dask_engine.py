"""Dask with real workers and real kills: results stay the same, losses are told, nothing hangs or stays behind."""

from __future__ import annotations

import logging
import os
import signal
import socket
import subprocess
import sys
import textwrap
import threading
import time
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from unittest.mock import patch

import numpy as np
import pytest

pytest.importorskip("distributed", reason="the extra textmix[dask] is needed")

import psutil
from distributed import Client, LocalCluster
from engine_steps import (
    DEADLINE,
    Shared,
    Weights,
    describe,
    fail_once_noted,
    load_and_note,
    load_counts,
    load_numbers,
    make_shared,
    n_compiled,
    toy,
    toy_after_deaths,
    toy_when_told,
    wait_for,
)

import textmix.engines.dask
from textmix.engines.dask import DaskEngine, Worker, WorkersLostError, place_shards
from textmix.engines.engine import make_engine

N_SHARDS = 8


@pytest.fixture(scope="module")
def pair() -> Iterator[DaskEngine]:
    """Two workers that nobody kills."""
    with DaskEngine(n_jobs=4, n_workers=2) as engine:
        yield engine


@pytest.fixture(scope="module")
def outside() -> Iterator[LocalCluster]:
    """A cluster of somebody else, without shards of ours."""
    with local_cluster(n_workers=1) as cluster:
        yield cluster


@contextmanager
def local_cluster(**settings: object) -> Iterator[LocalCluster]:
    address = {"host": "127.0.0.1", "dashboard_address": "127.0.0.1:0"}
    with (
        patch.dict(os.environ),
        LocalCluster(threads_per_worker=2, silence_logs=logging.CRITICAL, **address, **settings) as cluster,
    ):
        yield cluster


def hold_noted(engine: DaskEngine, folder: Path) -> None:
    engine.hold([partial(load_and_note, folder, index) for index in range(N_SHARDS)])


def expected(shared: Shared) -> list[np.ndarray]:
    return [toy(load_numbers(index), shared, index / 7) for index in range(N_SHARDS)]


def times_loaded(folder: Path) -> list[int]:
    return [len(list(folder.glob(f"loaded-{index}-*"))) for index in range(N_SHARDS)]


@contextmanager
def meanwhile(action: Callable[[], None]) -> Iterator[None]:
    """Runs the action on a thread."""
    errors: list[BaseException] = []

    def run() -> None:
        try:
            action()
        except BaseException as error:
            errors.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    yield
    thread.join()
    assert errors == []


def kill_when_begun(folder: Path, pid: int, *others: int) -> None:
    """Kills a worker while all of them run a step, so that each of them has what was sent."""
    for running in (pid, *others):
        wait_for(folder, f"begun-{running}-*")
    os.kill(pid, signal.SIGKILL)
    (folder / "go").touch()


def when_told(folder: Path) -> list[tuple[float, Path]]:
    return [(index / 7, folder) for index in range(N_SHARDS)]


# What arrives


def test_arrays_arrive_plain_aligned_and_writable_once_for_each_process(pair):
    pair.hold([partial(load_numbers, index) for index in range(N_SHARDS)])
    marks, table = np.zeros(13, np.int8), np.random.default_rng(0).random((300_001, 3))
    table.flags.writeable = False
    own = np.zeros(3)
    seen = list(pair.map(describe, Shared(Weights(marks, table), 1.0), [(own,)] * N_SHARDS))
    for kinds, types, _, _, _ in seen:
        assert kinds == [(True, True, True)] * 4
        assert types == ("Shared", "Weights")
    assert len({pid for *_, pid, _, _ in seen}) == 2
    assert len({(pid, table) for *_, pid, table, _ in seen}) == 2


def test_an_array_in_column_order_stays_so(pair):
    pair.hold([partial(load_numbers, 0)])
    shared = Shared(Weights(np.zeros(13, np.int8), np.asfortranarray(np.ones((3, 5)))), 1.0)
    ((kinds, *_),) = pair.map(describe, shared, [(np.zeros(1),)])
    assert kinds[2] == (True, True, False)


def test_results_come_back_aligned_and_writable(pair):
    pair.hold([partial(load_numbers, index) for index in range(N_SHARDS)])
    for result in pair.map(toy, make_shared(), [(0.0,)] * N_SHARDS):
        assert result.flags.behaved


def test_kernels_are_compiled_for_one_kind_of_arrays(pair):
    pair.hold([partial(load_counts, index) for index in range(N_SHARDS)])
    for call in range(3):
        assert set(pair.map(n_compiled, make_shared(call), [()] * N_SHARDS)) == {1}


def test_shards_are_loaded_once_spread_evenly_and_stay(pair, tmp_path):
    hold_noted(pair, tmp_path)
    places = []
    for call in range(3):
        seen = pair.map(describe, make_shared(call), [(np.zeros(1),)] * N_SHARDS)
        places.append([(pid, shard) for *_, pid, _, shard in seen])
    assert times_loaded(tmp_path) == [1] * N_SHARDS
    assert places[0] == places[1] == places[2]
    assert sorted(Counter(pid for pid, _ in places[0]).values()) == [4, 4]


def test_a_step_that_fails_is_run_once(pair, tmp_path):
    pair.hold([partial(load_numbers, index) for index in range(3)])
    with pytest.raises(LookupError, match="a fault in the step"):
        list(pair.map(fail_once_noted, make_shared(), [(tmp_path, index) for index in range(3)]))
    assert len(list(tmp_path.glob("ran-1-*"))) == 1
    assert pair.events == []


# Losses


def test_one_of_two_workers_is_killed_under_way(tmp_path):
    events: list[str] = []
    shared = make_shared()
    with DaskEngine(n_jobs=4, n_workers=2, on_event=events.append) as engine:
        hold_noted(engine, tmp_path)
        (address, pid), (_, other) = engine.client.run(os.getpid).items()
        with meanwhile(partial(kill_when_begun, tmp_path, pid, other)):
            results = list(engine.map(toy_when_told, shared, when_told(tmp_path)))
        for result, right in zip(results, expected(shared), strict=True):
            np.testing.assert_array_equal(result, right)
        assert events == engine.events
        assert events[0] == f"a worker was lost ({address}): its shards (4 of 8) are loaded again"
        assert sum(n > 1 for n in times_loaded(tmp_path)) >= 4

        # The one that is started in its place gets its share; what lies elsewhere stays.
        engine.client.wait_for_workers(2, timeout=DEADLINE)
        seen = engine.map(describe, shared, [(np.zeros(1),)] * N_SHARDS)
        assert sorted(Counter(pid for *_, pid, _, _ in seen).values()) == [4, 4]


def test_the_only_worker_is_killed_under_way(tmp_path, monkeypatch):
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    shared = make_shared()
    with DaskEngine(n_jobs=2) as engine:
        hold_noted(engine, tmp_path)
        (pid,) = engine.client.run(os.getpid).values()
        with (
            meanwhile(partial(kill_when_begun, tmp_path, pid)),
            pytest.warns(RuntimeWarning, match=r"a worker was lost .* its shards \(8 of 8\) are loaded again"),
        ):
            results = list(engine.map(toy_when_told, shared, when_told(tmp_path)))
        for result, right in zip(results, expected(shared), strict=True):
            np.testing.assert_array_equal(result, right)
        assert times_loaded(tmp_path) == [2] * N_SHARDS

        # And between two calls.
        (pid,) = engine.client.run(os.getpid).values()
        os.kill(pid, signal.SIGKILL)
        with pytest.warns(RuntimeWarning, match="a worker was lost"):
            results = list(engine.map(toy_when_told, shared, when_told(tmp_path)))
        for result, right in zip(results, expected(shared), strict=True):
            np.testing.assert_array_equal(result, right)
        assert times_loaded(tmp_path) == [3] * N_SHARDS
    assert "OMP_NUM_THREADS" not in os.environ  # starting a worker sets it


def test_a_step_that_always_takes_its_worker_down_is_given_up(tmp_path, monkeypatch):
    monkeypatch.setattr(textmix.engines.dask, "_MAX_REPEATS", 1)
    with DaskEngine(n_jobs=1, on_event=lambda event: None) as engine:
        engine.hold([partial(load_numbers, 0)])
        with pytest.raises(WorkersLostError, match="each of the 2 times that shard 0 was given to one"):
            list(engine.map(toy_after_deaths, make_shared(), [(0.0, tmp_path, 9)]))
        assert len(list(tmp_path.glob("begun-*"))) == 2
        # On a busy machine there is also an event that says that a worker is waited for.
        assert sum(event.startswith("a worker was lost") for event in engine.events) == 2


def test_dask_blaming_a_step_for_the_loss_of_its_worker_is_not_believed(tmp_path):
    """Dask gives up a task whose worker died too often, here once."""
    shared = make_shared()
    with (
        local_cluster(n_workers=1, scheduler_kwargs={"allowed_failures": 0}) as cluster,
        Client(cluster) as client,
        DaskEngine(client, on_event=lambda event: None) as engine,
    ):
        engine.hold([partial(load_numbers, 0)])
        (result,) = engine.map(toy_after_deaths, shared, [(0.0, tmp_path, 1)])
        np.testing.assert_array_equal(result, toy(load_numbers(0), shared, 0.0))
        assert len(engine.events) >= 1


def test_a_worker_that_comes_back_under_its_old_address_is_told(tmp_path):
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    with (
        local_cluster(n_workers=1, worker_port=port) as cluster,
        Client(cluster) as client,
        DaskEngine(client, on_event=lambda event: None) as engine,
    ):
        hold_noted(engine, tmp_path)
        list(engine.map(toy, make_shared(), [(0.0,)] * N_SHARDS))
        ((address, pid),) = client.run(os.getpid).items()
        os.kill(pid, signal.SIGKILL)
        wait_for_another(client, pid)
        list(engine.map(toy, make_shared(), [(0.0,)] * N_SHARDS))
        assert list(client.nthreads()) == [address]
        assert engine.events == [f"a worker was lost ({address}): its shards (8 of 8) are loaded again"]
        assert min(times_loaded(tmp_path)) >= 2


def wait_for_another(client: Client, pid: int) -> None:
    deadline = time.monotonic() + DEADLINE
    while pid in (pids := list(client.run(os.getpid, on_error="ignore").values())) or not pids:
        assert time.monotonic() < deadline
        time.sleep(0.05)


def test_no_worker_left_is_an_error_not_a_hang(tmp_path):
    with local_cluster(n_workers=1) as cluster, Client(cluster) as client:

        def remove_workers() -> None:
            wait_for(tmp_path, "begun-*")
            cluster.scale(0)

        with DaskEngine(client, timeout=1.0, on_event=lambda event: None) as engine:
            hold_noted(engine, tmp_path)
            with meanwhile(remove_workers), pytest.raises(WorkersLostError, match="has had no worker for 1 s"):
                list(engine.map(toy_when_told, make_shared(), when_told(tmp_path)))
            (tmp_path / "go").touch()  # not before: on a busy machine steps would finish before their worker is gone
            with pytest.raises(WorkersLostError, match="has had no worker for 1 s"):
                engine.hold([partial(load_numbers, 0)])


# Clients and clusters


def test_a_client_from_outside_stays_as_it_was(outside, tmp_path):
    with Client(outside) as client:
        own = client.submit(sum, [1, 2, 3], key="somebody else's")
        shared = make_shared()
        for _ in range(2):
            with make_engine("dask", client=client) as engine:
                engine.hold([partial(load_numbers, index) for index in range(N_SHARDS)])
                results = engine.map(toy, shared, [(index / 7,) for index in range(N_SHARDS)])
                np.testing.assert_array_equal(next(results), expected(shared)[0])
                results.close()
        assert client.status == "running"
        assert own.result() == 6
        wait_until_only(client, {"somebody else's"})


def wait_until_only(client: Client, keys: set[str]) -> None:
    """Nothing of ours stays on the cluster."""
    deadline = time.monotonic() + DEADLINE
    while set(client.run_on_scheduler(lambda dask_scheduler: list(dask_scheduler.tasks))) != keys:
        assert time.monotonic() < deadline
        time.sleep(0.05)


def test_a_cluster_is_known_by_its_address(outside):
    shared = make_shared()
    with DaskEngine(outside.scheduler_address) as engine:
        engine.hold([partial(load_numbers, index) for index in range(N_SHARDS)])
        results = list(engine.map(toy, shared, [(index / 7,) for index in range(N_SHARDS)]))
    np.testing.assert_array_equal(results[-1], expected(shared)[-1])
    assert outside.status.name == "running"


def test_a_client_closed_by_its_owner_is_an_error(outside):
    client = Client(outside, set_as_default=False)
    with DaskEngine(client) as engine:
        engine.hold([partial(load_numbers, 0)])
        client.close()
        with pytest.raises(WorkersLostError, match="cannot be reached"):
            list(engine.map(toy, make_shared(), [(0.0,)]))


def test_workers_are_there_under_with_only():
    with pytest.raises(RuntimeError, match="under `with` only"):
        DaskEngine().hold([])


def test_everything_listens_on_loopback_alone(pair):
    processes = [psutil.Process(), *psutil.Process().children(recursive=True)]
    listening = [
        connection.laddr.ip
        for process in processes
        for connection in process.net_connections("inet")
        if connection.status == psutil.CONN_LISTEN
    ]
    assert len(listening) >= 3
    assert set(listening) == {"127.0.0.1"}
    assert pair.client.cluster.scheduler_address.startswith("tcp://127.0.0.1:")
    assert all(address.startswith("tcp://127.0.0.1:") for address in pair.client.nthreads())


def run_script(tmp_path: Path, script: str, *, group_interrupt: bool = False) -> tuple[str, str]:
    """Output and errors of a script; Ctrl-C for all of its processes when it says so."""
    path = tmp_path / "script.py"
    path.write_text(textwrap.dedent(script))
    paths = [str(Path(__file__).parent), *filter(None, [os.environ.get("PYTHONPATH")])]
    with subprocess.Popen(
        [sys.executable, str(path), str(tmp_path)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        env=os.environ | {"PYTHONPATH": os.pathsep.join(paths)},
    ) as process:
        try:
            if group_interrupt:
                wait_for(tmp_path, "begun-*")
                os.killpg(process.pid, signal.SIGINT)
            output, errors = process.communicate(timeout=DEADLINE)
        finally:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
    assert not any(psutil.pid_exists(int(word[4:])) for word in output.split() if word.startswith("pid="))
    return output, errors


def test_a_normal_end_leaves_no_process_no_noise_and_the_environment_as_it_was(tmp_path):
    output, errors = run_script(
        tmp_path,
        """
        import os
        from functools import partial
        from engine_steps import load_numbers, make_shared, toy
        from textmix.engines.dask import DaskEngine

        if __name__ == "__main__":
            before = {**os.environ, "__DASK_PARENT_PID": str(os.getpid())}
            with DaskEngine(n_jobs=2, n_workers=2) as engine:
                print(*(f"pid={pid}" for pid in engine.client.run(os.getpid).values()))
                engine.hold([partial(load_numbers, index) for index in range(4)])
                print("results:", len(list(engine.map(toy, make_shared(), [(0.0,)] * 4))))
            assert dict(os.environ) == before
        """,
    )
    assert "results: 4" in output
    assert output.count("pid=") == 2
    assert errors == ""


def test_ctrl_c_stops_the_call_and_nothing_else(tmp_path):
    output, errors = run_script(
        tmp_path,
        """
        import os, sys
        from functools import partial
        from pathlib import Path
        from engine_steps import load_numbers, make_shared, toy, toy_when_told
        from textmix.engines.dask import DaskEngine

        if __name__ == "__main__":
            folder = Path(sys.argv[1])
            with DaskEngine(n_jobs=2) as engine:
                print(*(f"pid={pid}" for pid in engine.client.run(os.getpid).values()))
                engine.hold([partial(load_numbers, index) for index in range(4)])
                try:
                    list(engine.map(toy_when_told, make_shared(), [(0.0, folder)] * 4))
                except KeyboardInterrupt:
                    print("interrupted")
                (folder / "go").touch()
                print("results:", len(list(engine.map(toy, make_shared(), [(0.0,)] * 4))), engine.events)
        """,
        group_interrupt=True,
    )
    assert "interrupted" in output
    assert "results: 4 []" in output
    assert errors == ""


def test_a_script_without_main_is_told_what_it_lacks(tmp_path):
    _, errors = run_script(
        tmp_path,
        """
        from textmix.engines.dask import DaskEngine

        with DaskEngine(n_jobs=1):
            pass
        """,
    )
    assert "must run its code under `if __name__ == '__main__':`" in errors.splitlines()[-1]


# Where shards go


A, B, C = (Worker(f"tcp://127.0.0.1:{port}", f"folder-{port}") for port in (1, 2, 3))


def test_shards_are_spread_evenly():
    assert sorted(Counter(place_shards([None] * 10, {A: 1, B: 1, C: 1})).values()) == [3, 3, 4]


def test_a_worker_with_more_threads_gets_more():
    assert Counter(place_shards([None] * 12, {A: 1, B: 2, C: 3})) == {A: 2, B: 4, C: 6}


def test_those_of_a_lost_worker_move_and_the_others_stay():
    homes = place_shards([None] * 9, {A: 1, B: 1, C: 1})
    after = place_shards([None if home == C else home for home in homes], {A: 1, B: 1})
    assert all(new == old for new, old in zip(after, homes, strict=True) if old != C)
    assert sorted(Counter(after).values()) == [4, 5]


def test_a_new_worker_gets_its_share():
    assert sorted(Counter(place_shards([A] * 8, {A: 1, B: 1})).values()) == [4, 4]


def test_nothing_to_spread():
    assert place_shards([], {A: 1}) == []


def test_a_loss_is_a_warning_unless_someone_listens():
    engine = DaskEngine(on_event=lambda event: None)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        engine._tell("something")
    assert engine.events == ["something"]


@pytest.mark.parametrize("address", ["banana", "localhost", "http://10.0.0.5:8786", "tcp://10.0.0.5", ""])
def test_what_is_no_address_is_said_at_once(address):
    with pytest.raises(ValueError, match="is no address of a Dask scheduler; that looks like tcp://"):
        DaskEngine(address)


def test_another_kind_of_server_is_said_to_be_one():
    def answer():
        with suppress(OSError):  # closed
            while True:
                connection, _ = server.accept()
                connection.sendall(b"HTTP/1.1 400 Bad Request\r\n\r\n")

    with socket.create_server(("127.0.0.1", 0)) as server:
        thread = threading.Thread(target=answer, daemon=True)
        thread.start()
        address = f"tcp://127.0.0.1:{server.getsockname()[1]}"
        said = f"what answers at {address} is not a Dask scheduler"
        with pytest.raises(ConnectionError, match=said), DaskEngine(address):
            pass
        server.shutdown(socket.SHUT_RDWR)
    thread.join()


def test_a_cluster_without_workers_is_waited_for_and_said(monkeypatch):
    monkeypatch.setattr("textmix.engines.dask._PATIENCE", 0.2)
    events = []
    with (
        LocalCluster(n_workers=0, host="127.0.0.1", dashboard_address=None) as cluster,
        DaskEngine(cluster.scheduler_address, timeout=1, on_event=events.append) as engine,
        pytest.raises(WorkersLostError, match="has had no worker for 1 s; start some"),
    ):
        engine.hold([dict])
    assert events == ["the Dask cluster has no worker; waiting up to 1 s for one"]
