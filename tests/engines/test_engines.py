"""What all engines promise, and threads: the same results in the same order, bounded memory, exceptions, Ctrl-C."""

from __future__ import annotations

import importlib.util
import itertools
import signal
import sys
import threading
import weakref
from collections.abc import Iterator
from functools import partial

import numpy as np
import pytest
from engine_steps import Shared, load_counts, load_numbers, make_shared, score, toy

from textmix.engines.engine import Engine, make_engine
from textmix.engines.threads import ThreadEngine

NO_DASK = pytest.mark.skipif(
    importlib.util.find_spec("distributed") is None, reason="the extra textmix[dask] is needed"
)
N_SHARDS = 7


@pytest.fixture(scope="module", params=["serial", "threads", pytest.param("dask", marks=NO_DASK)])
def engine(request: pytest.FixtureRequest) -> Iterator[Engine]:
    with make_engine(request.param, n_jobs=2) as engine:
        yield engine


@pytest.mark.parametrize(("load", "step"), [(load_numbers, toy), (load_counts, score)])
def test_results_are_those_of_a_loop_in_its_order(engine, load, step):
    engine.hold([partial(load, index) for index in range(N_SHARDS)])
    for call in range(3):
        shared = make_shared(call)
        results = list(engine.map(step, shared, [(index / 7,) for index in range(N_SHARDS)]))
        for index, result in enumerate(results):
            np.testing.assert_array_equal(result, step(load(index), shared, index / 7))
        assert len(results) == N_SHARDS
    assert engine.events == []


def test_new_shards_replace_the_old_ones(engine):
    for n in (3, 2, 0):
        engine.hold([partial(load_numbers, index + n) for index in range(n)])
        results = engine.map(toy, make_shared(), [(0.0,)] * n)
        assert [result.size for result in results] == [100 + index + n for index in range(n)]


def test_arguments_must_be_as_many_as_shards(engine):
    engine.hold([partial(load_numbers, index) for index in range(3)])
    with pytest.raises(ValueError, match="argument"):
        list(engine.map(toy, make_shared(), [(0.0,)] * 2))


def fail(shard: np.ndarray, shared: Shared, own: float) -> None:
    raise LookupError(f"a fault in step {own}")


def test_an_exception_in_a_step_is_raised_here_and_the_engine_goes_on(engine):
    engine.hold([partial(load_numbers, index) for index in range(3)])
    with pytest.raises(LookupError, match="a fault in step 0"):
        list(engine.map(fail, make_shared(), [(0.0,), (1.0,), (2.0,)]))
    assert len(list(engine.map(toy, make_shared(), [(0.0,)] * 3))) == 3


def test_an_exception_in_a_loader_is_raised_here(engine, tmp_path):
    engine.hold([partial(np.load, tmp_path / "missing.npy")])
    for _ in range(2):
        with pytest.raises(FileNotFoundError, match=r"missing\.npy"):
            list(engine.map(toy, make_shared(), [(0.0,)]))


# Memory


class Shard:
    """Something that can be told to be gone."""


@pytest.mark.parametrize(("name", "n_jobs", "limit"), [("serial", None, 1), ("threads", 1, 1), ("threads", 3, 3)])
def test_no_more_shards_in_memory_than_steps_at_a_time(name, n_jobs, limit):
    alive: weakref.WeakSet[Shard] = weakref.WeakSet()
    lock, most = threading.Lock(), 0

    def load() -> Shard:
        nonlocal most
        with lock:
            shard = Shard()
            alive.add(shard)
            most = max(most, len(alive))
        return shard

    with make_engine(name, n_jobs) as engine:
        engine.hold([load] * 50)
        assert len(list(engine.map(lambda shard, shared: None, None, [()] * 50))) == 50
    assert 1 <= most <= limit


def test_results_that_nobody_asks_for_do_not_pile_up():
    n_begun = itertools.count(1)
    too_many = threading.Event()

    def step(shard: None, shared: None) -> None:
        if next(n_begun) > 5:
            too_many.set()

    with ThreadEngine(2) as engine:
        engine.hold([lambda: None] * 100)
        results = engine.map(step, None, [()] * 100)
        next(results)
        assert not too_many.wait(0.3)
        results.close()


# Threads


def test_results_keep_their_order_when_a_later_step_is_done_first():
    later_is_done = threading.Event()

    def step(shard: None, shared: None, index: int) -> int:
        if index == 0:
            assert later_is_done.wait(10)
        elif index == 1:
            later_is_done.set()
        return index

    with ThreadEngine(2) as engine:
        engine.hold([lambda: None] * 5)
        assert list(engine.map(step, None, [(index,) for index in range(5)])) == [0, 1, 2, 3, 4]


def test_ctrl_c_waits_for_the_steps_that_have_begun_and_drops_the_others():
    begun: list[int] = []
    ended: list[int] = []
    both_run = threading.Barrier(2)
    hold_on = threading.Event()

    def step(shard: None, shared: None, index: int) -> None:
        begun.append(index)
        if index < 2 and both_run.wait(10) == 0:
            hold_on.wait(0.3)  # until all steps are handed out
            signal.pthread_kill(threading.main_thread().ident, signal.SIGINT)
        hold_on.wait(0.3)
        ended.append(index)

    with ThreadEngine(2) as engine:
        engine.hold([lambda: None] * 20)
        with pytest.raises(KeyboardInterrupt):
            list(engine.map(step, None, [(index,) for index in range(20)]))
        assert sorted(begun) == sorted(ended)
        assert 2 <= len(begun) < 20
        assert len(list(engine.map(lambda shard, shared: 0, None, [()] * 20))) == 20


def test_who_stops_listening_waits_for_the_steps_that_have_begun_and_drops_the_others():
    begun: list[int] = []
    both_begun = threading.Barrier(3)
    let_go = threading.Event()

    def step(shard: None, shared: None, index: int) -> None:
        begun.append(index)
        if index > 0:
            both_begun.wait(10)
            let_go.wait(10)

    with ThreadEngine(2) as engine:
        engine.hold([lambda: None] * 20)
        results = engine.map(step, None, [(index,) for index in range(20)])
        next(results)
        both_begun.wait(10)
        threading.Timer(0.5, let_go.set).start()
        results.close()
        assert let_go.is_set()
        assert sorted(begun) == [0, 1, 2]


def test_an_exception_begins_no_further_steps():
    begun: list[int] = []

    def step(shard: None, shared: None, index: int) -> None:
        begun.append(index)
        raise LookupError

    with ThreadEngine(2) as engine:
        engine.hold([lambda: None] * 100)
        with pytest.raises(LookupError):
            list(engine.map(step, None, [(index,) for index in range(100)]))
    assert len(begun) <= 4


# By name


def test_engines_are_known_by_name():
    with pytest.raises(ValueError, match="'serial', 'threads', 'dask', not 'spark'"):
        make_engine("spark")
    with pytest.raises(ValueError, match="client is for engine='dask'"):
        make_engine("threads", client="tcp://127.0.0.1:1")
    with pytest.raises(ValueError, match="n_jobs must not be 0"):
        make_engine("threads", n_jobs=0)


def test_without_dask_the_error_names_the_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "distributed", None)
    monkeypatch.delitem(sys.modules, "textmix.engines.dask", raising=False)
    with pytest.raises(ImportError, match=r"textmix\[dask\]"):
        make_engine("dask")
