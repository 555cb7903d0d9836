"""A run with counts on disk that is killed at any moment goes on to the same end."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest
from large_texts import read_rows, write_texts

ROOT = Path(__file__).resolve().parents[2]
ENVIRONMENT = {**os.environ, "PYTHONPATH": f"{ROOT / 'src'}{os.pathsep}{Path(__file__).parent}"}
PROGRAM = [sys.executable, "-c", "from textmix.cli.main import run; run()"]

# Forks a child for every moment, which kills itself there, and another one that goes on.
SCRIPT = """
import gc, importlib, os, signal, sys
from pathlib import Path
import textmix
from textmix.cli import main
from textmix.corpus import shards
from textmix.large import DiskCorpus
from textmix.large import cluster as large
from textmix.large.run_files import Scorers, score_shard

shards._ENTRIES_WORTH_A_SHARD = 1000
large._BATCH_SIZE = 400
texts, folder = Path(sys.argv[1]), Path(sys.argv[2])
MOMENTS = {  # before which calls of what
    "textmix.large.work_folder:write_files": (1, 2),
    "textmix.large.disk_build:Spill.finish": (1,),
    "textmix.large.disk_build:ShardWriter.close": (1,),
    "textmix.large.disk_build:save_record": (1,),
    "textmix.large.cluster:check_words": (1,),
    "textmix.large.work_folder:FileCheckpoint.save": (1, 3),
    "textmix.inference.parallel_state:ParallelState.improve": (1,),
    "textmix.large.work_folder:ScoreFiles.write": (3,),
    "textmix.large.run_files:write_csv": (3,),
    "textmix.results.folder:_move_into_place": (1,),
    "textmix.large.work_folder:remove_corpus": (1,),
    "os:fsync": (3, 60),
    "os:replace": (9, 30),
}


def run_here(*arguments):
    sys.argv = ["textmix", "cluster", *map(str, arguments)]
    try:
        main.run()
    except SystemExit as stopped:
        return stopped.code


def run_in_child(arguments, deadly=None, number=0):
    child = os.fork()
    if child == 0:
        if deadly is not None:
            module, _, name = deadly.partition(":")
            *owners, name = name.split(".")
            owner = importlib.import_module(module)
            for each in owners:
                owner = getattr(owner, each)
            original, calls = getattr(owner, name), [0]

            def die(*given, **options):
                calls[0] += 1
                if calls[0] == number:
                    os.kill(os.getpid(), signal.SIGKILL)
                return original(*given, **options)

            setattr(owner, name, die)
        os._exit(run_here(texts, "--id", "key", "--memory", "512MB", "--sweeps", 5, "-q", *arguments))
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


# What is loaded here need not be loaded by every child. But DuckDB has threads, which children would not get.
run_here("nowhere.csv")
corpus = DiskCorpus.from_corpus(folder / "warm", textmix.Corpus.from_texts(["red apple", "fast car"] * 20))
model = textmix.DirichletMultinomialMixture(5).fit(corpus)
score_shard(corpus.shard(0), Scorers.of(model.mixture_), model.labels_)
gc.collect()
gc.freeze()  # nor looked through whenever one asks for a garbage collection

whole = folder / "whole"
assert run_in_child(["--out", str(whole)]) == 0
for deadly, numbers in MOMENTS.items():
    for number in numbers:
        moment = (deadly, number)
        out = folder / f"{deadly.rpartition(':')[2]}{number}"
        work = out.with_name(out.name + ".work")
        code = run_in_child(["--out", str(out)], deadly, number)
        assert code == -signal.SIGKILL, (moment, code)
        code = run_in_child(["--out", str(out), "--resume"])
        assert code == 0, moment
        for name in ("assignments.csv", "clusters.csv", "examples.json"):
            assert (out / name).read_bytes() == (whole / name).read_bytes(), (moment, name)
        assert not work.exists(), moment
        assert not list(out.glob(".textmix-*")), moment
        print(*moment, flush=True)  # a child would print again what waits in a buffer when it is forked
"""


@pytest.mark.skipif(sys.platform == "win32", reason="needs fork and SIGKILL")
def test_a_kill_at_any_moment_changes_nothing_about_the_result(tmp_path):
    texts = write_texts(tmp_path / "texts.jsonl", 1500)
    command = [sys.executable, "-c", SCRIPT, str(texts), str(tmp_path)]
    result = subprocess.run(command, capture_output=True, text=True, check=False, env=ENVIRONMENT)
    assert result.returncode == 0, result.stdout + result.stderr
    assert len(result.stdout.splitlines()) == 17


def test_a_process_killed_from_outside_while_sampling_goes_on(tmp_path):
    texts = write_texts(tmp_path / "texts.jsonl", 400)
    command = [*PROGRAM, "cluster", str(texts), "--memory", "512MB", "--sweeps", "8000", "-q", "--out"]
    settings = ["--clusters", "50", "--beta", "5"]  # so large a β keeps documents moving
    process = subprocess.Popen([*command, str(tmp_path / "run"), *settings], env=ENVIRONMENT)
    while not (tmp_path / "run.work" / "checkpoint.npz").exists():
        assert process.poll() is None
        time.sleep(0.01)
    process.kill()
    assert process.wait() < 0
    for arguments in ([str(tmp_path / "run"), *settings, "--resume"], [str(tmp_path / "whole"), *settings]):
        result = subprocess.run([*command, *arguments], capture_output=True, text=True, check=False, env=ENVIRONMENT)
        assert (result.returncode, result.stderr) == (0, "")
    assert read_rows(tmp_path / "run") == read_rows(tmp_path / "whole")


def test_a_process_that_is_asked_to_end_says_how_to_go_on(tmp_path):
    texts = write_texts(tmp_path / "texts.jsonl", 400)
    command = [*PROGRAM, "cluster", str(texts), "--memory", "512MB", "--sweeps", "20000", "-q"]
    settings = ["--clusters", "50", "--beta", "5", "--out", str(tmp_path / "run")]
    process = subprocess.Popen([*command, *settings], env=ENVIRONMENT, stderr=subprocess.PIPE, text=True)
    while not (tmp_path / "run.work" / "checkpoint.npz").exists():
        assert process.poll() is None
        time.sleep(0.01)
    process.terminate()
    _, error = process.communicate()
    assert process.returncode == 130
    assert error == f'textmix: interrupted; what was done is kept in "{tmp_path / "run.work"}": go on with --resume\n'
