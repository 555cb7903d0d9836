"""Runs whose texts and counts are never in memory as a whole."""

from __future__ import annotations

import errno
import io
import json
import os
import shutil
import sys
from contextlib import redirect_stderr
from pathlib import Path

import numpy as np
import pytest
import typer
from large_texts import make_texts, read_rows, write_texts

import textmix
from textmix.cli import main
from textmix.cli.large import explain
from textmix.cli.options import parse_size
from textmix.corpus import shards
from textmix.inference.parallel_state import ParallelState
from textmix.large import cluster as large
from textmix.large import errors, memory, run_files
from textmix.large.work_folder import WorkFolder

COLUMNS = ["--text", "text", "--id", "key", "--label", "topic"]
N_TEXTS = 1500


@pytest.fixture(scope="module")
def texts(tmp_path_factory) -> Path:
    return write_texts(tmp_path_factory.mktemp("large") / "texts.jsonl", N_TEXTS)


@pytest.fixture(autouse=True)
def small_parts(monkeypatch):
    """Several shards and batches, although there are few texts."""
    make_parts_small(monkeypatch)


def make_parts_small(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(shards, "_ENTRIES_WORTH_A_SHARD", 1000)
    patch.setattr(large, "_BATCH_SIZE", 400)


def command_of(texts: Path, out: Path, *arguments: object) -> list[object]:
    """A run with counts on disk; options among the arguments take the place of its own."""
    own = [*COLUMNS, "--memory", "512MB", "--out", out]
    pairs = zip(own[::2], own[1::2], strict=True)
    return ["cluster", texts, *(word for pair in pairs if pair[0] not in arguments for word in pair), *arguments]


@pytest.fixture
def large_run_of(program, texts, tmp_path):
    """Run with counts on disk; further arguments follow."""

    def call(*arguments: object) -> tuple[int, str, str]:
        return program(*command_of(texts, tmp_path / "run", *arguments))

    return call


def run_for_all(patch: pytest.MonkeyPatch, texts: Path, out: Path) -> tuple[int, str]:
    """A run that several tests get a copy of: exit code, standard error."""
    make_parts_small(patch)
    patch.setattr("sys.argv", ["textmix", *map(str, command_of(texts, out)), "--quiet"])
    with redirect_stderr(io.StringIO()) as error, pytest.raises(SystemExit) as stopped:
        main.run()
    return int(stopped.value.code or 0), error.getvalue()


@pytest.fixture(scope="module")
def finished(texts, tmp_path_factory) -> Path:
    out = tmp_path_factory.mktemp("finished") / "run"
    with pytest.MonkeyPatch.context() as patch:
        assert run_for_all(patch, texts, out) == (0, "")
    return out


@pytest.fixture
def saved(finished, tmp_path) -> Path:
    """A run that is finished."""
    return shutil.copytree(finished, tmp_path / "run")


def interrupt(monkeypatch, owner, name, at: int, error: type[BaseException] = KeyboardInterrupt) -> None:
    """Let the call of that number end by an exception."""
    original, calls = getattr(owner, name), []

    def broken(*arguments, **options):
        calls.append(1)
        if len(calls) == at:
            raise error("the disk is full") if error is OSError else error
        return original(*arguments, **options)

    monkeypatch.setattr(owner, name, broken)


@pytest.mark.parametrize("settings", [[], ["--init", "online", "--clusters", 20], ["--model", "dirichlet-process"]])
def test_counts_on_disk_give_the_clusters_that_counts_in_memory_give(large_run_of, program, texts, tmp_path, settings):
    other = tmp_path / "memory"
    code, shown, error = program("cluster", texts, *COLUMNS, "--inference", "parallel", "--out", other, *settings)
    assert code == 0, error
    code, shown_large, error = large_run_of(*settings)
    assert (code, error) == (0, "")
    rows, expected = read_rows(tmp_path / "run"), read_rows(other)
    assert list(rows[0]) == ["row", "id", "label", "cluster", "probability", "outlier", "outlier_score", "text"]
    for name in ("row", "id", "label", "cluster", "outlier", "text"):
        assert [row[name] for row in rows] == [row[name] for row in expected], name
    for name in ("probability", "outlier_score"):
        found, wanted = ([float(row[name] or "nan") for row in each] for each in (rows, expected))
        np.testing.assert_allclose(found, wanted, rtol=1e-5, atol=1e-5)
    # Words that tell a cluster equally well stand in the order of their columns, which is another on disk.
    found, wanted = (read_rows(folder, "clusters.csv") for folder in (tmp_path / "run", other))
    assert [{**row, "words": ""} for row in found] == [{**row, "words": ""} for row in wanted]
    assert [len(row["words"].split()) for row in found] == [len(row["words"].split()) for row in wanted]

    def said(output: str) -> list[str]:
        lines = (line.split("word")[0] for line in output.splitlines())
        return [line for line in lines if not line.startswith(("To look at", "Written", "Took"))]

    assert said(shown_large) == said(shown)


def test_the_folder_says_what_was_read_and_what_is_left_out(saved):
    info = json.loads((saved / "run.json").read_text())
    assert info["left_out"] == ["assignments.parquet", "counts in corpus/"]
    assert not (saved / "assignments.parquet").exists()
    assert info["memory"] == 512_000_000
    assert info["input"]["n_rows"] == info["documents"]["n_documents"] == N_TEXTS
    assert info["input"]["columns"]["label"] == "topic"
    assert {"counting", "sampling", "scoring", "writing", "comparing"} <= info["seconds"].keys()
    assert info["settings"]["parameters"]["inference"] == info["result"]["inference"] == "parallel"
    assert info["scores"]["nmi_geometric"] > 0.9
    assert len((saved / "trace.csv").read_text().splitlines()) == info["result"]["n_sweeps"] + 1
    assert not saved.with_name("run.work").exists()


def test_hostile_texts_come_through(saved):
    found = [row["text"] for row in read_rows(saved)]
    assert found == [text.replace("\0", "\ufffd").replace("=1+1", "'=1+1") for text in make_texts(N_TEXTS)]


def test_formulas_are_escaped_unless_that_is_not_wanted(large_run_of, saved, tmp_path):
    assert large_run_of("--force", "--no-escape-formulas", "--quiet") == (0, "", "")
    assert [row["text"] for row in read_rows(tmp_path / "run")].count("=1+1") == 1


def test_the_report_shows_what_is_kept_of_the_texts(saved, program):
    page = (saved / "report.html").read_text(encoding="utf-8")
    for cluster in textmix.load(saved).clusters[:3]:
        assert all(json.dumps(text, ensure_ascii=False)[1:-1] in page for text in cluster.examples)
    (saved / "report.html").unlink()
    assert program("report", saved)[0] == 0
    assert (saved / "report.html").read_text(encoding="utf-8") == page


def test_clusters_of_a_large_run_are_renamed_but_not_changed(saved):
    clustering = textmix.load(saved)
    assert clustering.rename(0, "First").clusters[0].name == "First"
    for change in (lambda: clustering.merge(0, 1), lambda: clustering.split(0)):
        with pytest.raises(ValueError, match="were never in memory as a whole; its clusters cannot be"):
            change()


def test_the_page_of_an_earlier_run_does_not_stay(large_run_of, saved):
    assert (saved / "report.html").exists()
    assert large_run_of("--force", "--no-report")[0] == 0
    assert not (saved / "report.html").exists()


def test_a_loaded_run_has_labels_and_clusters_and_takes_new_texts(saved):
    clustering = textmix.load(saved)
    rows = read_rows(saved)
    assert clustering.labels.tolist() == [int(row["cluster"]) for row in rows]
    assert clustering.outliers.tolist() == [row["outlier"] == "true" for row in rows]
    assert clustering.n_clusters == len(clustering.clusters)
    assert clustering.n_without_words == sum(row["cluster"] == "-1" for row in rows) > 0
    texts = make_texts(N_TEXTS)
    for cluster, row in zip(clustering.clusters, read_rows(saved, "clusters.csv"), strict=True):
        assert cluster.examples == [texts[document] for document in cluster.documents]
        assert {int(clustering.labels[document]) for document in cluster.documents} == {cluster.index}
        assert (str(cluster.size), cluster.join_words()) == (row["size"], row["words"])
    first = next(text for text, label in zip(texts, clustering.labels, strict=True) if label == 0)
    assert clustering.predict([first, "unheard"]).tolist() == [0, -1]
    assert clustering.assign([first]).probabilities[0] > 0.5
    assert clustering.predict_proba([first]).shape == (1, clustering.n_clusters + 1)
    assert f"{N_TEXTS:,} texts" in repr(clustering)


@pytest.mark.parametrize("name", ["texts", "probabilities", "outlier_scores"])
def test_what_was_never_in_memory_is_said_in_one_sentence(saved, name):
    with pytest.raises(AttributeError, match="never in memory as a whole; see assignments"):
        getattr(textmix.load(saved), name)


def test_a_loaded_run_is_neither_saved_again_nor_a_data_frame(saved, tmp_path):
    with pytest.raises(ValueError, match="saved already"):
        textmix.load(saved).save(tmp_path / "again")
    with pytest.raises(AttributeError, match="never in memory"):
        textmix.load(saved).to_frame()


def test_assign_and_evaluate_work_on_such_a_run(program, saved, texts):
    code, table, error = program("assign", saved, texts, "--text", "text")
    assert (code, error) == (0, "")
    lines = table.splitlines()
    assert lines[0] == "row,cluster,name,probability,outlier,outlier_score,text"
    code, shown, error = program("evaluate", saved, texts, "--label", "topic")
    assert (code, error) == (0, "")
    kept = json.loads((saved / "run.json").read_text())["scores"]
    assert f"NMI (geometric)   {kept['nmi_geometric']:.3f}" in shown
    assert "keeps no ids" in program("evaluate", saved, texts, "--label", "topic", "--id", "key")[2]
    assert program("evaluate", saved)[1] == program("evaluate", saved, "--label", "topic")[1]
    assert 'not of "key"; name a file' in program("evaluate", saved, "--label", "key")[2]


@pytest.mark.parametrize(
    "change",
    [
        lambda found: 3,
        lambda found: {"clusters": 1},
        lambda found: {**found, "clusters": found["clusters"][:-1]},
        lambda found: {**found, "clusters": [[[0, 1]]] * len(found["clusters"])},
        lambda found: {**found, "clusters": [[["0", "text"]]] * len(found["clusters"])},
        lambda found: {**found, "clusters": [[[N_TEXTS, "text"]]] * len(found["clusters"])},
        lambda found: {**found, "outliers": [[-1, "text"]]},
        lambda found: {**found, "outliers": None},
    ],
)
def test_an_examples_file_that_cannot_be_is_named(saved, change):
    path = saved / "examples.json"
    path.write_text(json.dumps(change(json.loads(path.read_text()))))
    with pytest.raises(ValueError, match=r"examples\.json is missing or damaged"):
        textmix.load(saved)


def test_labels_are_not_read_from_a_pipe(program, saved):
    (saved / "assignments.csv").unlink()
    os.mkfifo(saved / "assignments.csv")
    code, _, error = program("evaluate", saved)
    assert (code, error.count("\n")) == (2, 1)
    assert "assignments.csv cannot be read: it is a pipe" in error


def test_a_state_with_labels_out_of_range_is_not_resumed(large_run_of, left_over):
    path = left_over / "checkpoint.npz"
    with np.load(path) as found:
        arrays = dict(found)
    arrays["labels"][0] = 10**6
    np.savez(path, **arrays)
    code, _, error = large_run_of("--resume")
    assert (code, error.count("\n")) == (2, 1)
    assert "checkpoint.npz is damaged (labels has 1000000" in error
    assert error.endswith("start anew: --force instead of --resume\n")


@pytest.mark.parametrize("change", [{"version": "x"}, {"run": 3}, {"source": None}, {"settings": 3}])
def test_a_work_json_that_cannot_be_is_named(large_run_of, left_over, change):
    path = left_over / "work.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), **change}))
    code, _, error = large_run_of("--resume")
    assert (code, error.count("\n")) == (2, 1)
    assert "work.json is damaged" in error


def test_a_work_folder_with_a_link_for_its_counts_is_left_alone(large_run_of, left_over, tmp_path):
    elsewhere = (left_over / "corpus").rename(tmp_path / "elsewhere")
    (left_over / "corpus").symlink_to(elsewhere)
    before = sorted(elsewhere.iterdir())
    for option in ("--resume", "--force"):
        code, _, error = large_run_of(option)
        assert (code, error.count("\n")) == (2, 1)
        assert "corpus is a symbolic link" in error
    assert sorted(elsewhere.iterdir()) == before


def test_scores_that_cannot_be_are_made_anew(tmp_path):
    scores = large.ScoreFiles(tmp_path, 4, 2)
    for shard, row in enumerate(([0.5, np.nan], [0.5, 1.5])):
        scores.write(shard, np.array([row, [0, np.nan], [1, 2]], np.float32))
    assert scores.missing() == [1]


@pytest.mark.parametrize(
    ("size", "n_bytes"),
    [
        ("512MB", 512_000_000),
        ("2GB", 2_000_000_000),
        ("1.5G", 1_500_000_000),
        ("2 gib", 2 << 30),
        ("600m", 600_000_000),
    ],
)
def test_sizes(size, n_bytes):
    assert parse_size(size) == n_bytes


@pytest.mark.parametrize("size", ["", "much", "2", "-2GB", "1,5GB", "2GBs", "GB", "1e3MB", "nan GB", "٢GB"])
def test_what_is_no_size(size):
    with pytest.raises(typer.BadParameter, match="is not a size; give a number and a unit"):
        parse_size(size)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--memory", "lots", "--out", "RUN"], "'lots' is not a size"),
        (["--memory", "511MB", "--out", "RUN"], "has to be 512 MB at least: textmix itself takes some 300 MB"),
        (["--memory", "1GB"], "--memory needs --out"),
        (["--engine", "dask"], "--engine dask needs --out"),
        (["--scheduler", "tcp://127.0.0.1:1"], "--engine dask needs --out"),
        (["--engine", "threads", "--scheduler", "tcp://127.0.0.1:1"], "--engine threads has none"),
        (["--engine", "abacus"], "Invalid value for '--engine'"),
        (["--init", "random", "--model", "dirichlet-process"], "has no setting init"),
        (["--jobs", "0", "--inference", "parallel"], "n_jobs must not be 0"),
        (["--resume"], "--resume is for runs with counts on disk"),
        (["--work", "WORK", "--out", "RUN"], "--work is for runs with counts on disk"),
        (["--memory", "1GB", "--out", "RUN", "--inference", "gibbs"], "needs all counts in memory"),
        (["--memory", "1GB", "--out", "RUN", "--alpha", "learn"], "needs all counts in memory"),
        (["--memory", "1GB", "--out", "RUN", "--model", "consensus"], "a consensus, with its granularity"),
        (["--memory", "1GB", "--out", "RUN", "--granularity", "fine"], "needs all counts in memory"),
        (["--memory", "1GB", "--out", "RUN", "--outlier-threshold", "1"], "needs all counts in memory"),
        (["--memory", "1GB", "--out", "RUN", "--work", "RUN/work"], "must be two folders"),
        (["--memory", "1GB", "--out", "RUN", "--work", "RUN"], "must be two folders"),
        (["--memory", "1GB", "--out", "WORK/run", "--work", "WORK"], "must be two folders"),
        (["--memory", "1GB", "--out", "RUN", "--work", "FOREIGN"], 'holds other files, such as "checkpoint.npz"'),
        (["--memory", "1GB", "--out", "RUN", "--work", "FOREIGN", "--force"], "holds other files"),
        (["--memory", "1GB", "--out", "RUN", "--work", "FOREIGN", "--resume"], "holds other files"),
        (["--memory", "1GB", "--out", "RUN", "--work", "TEXTS"], "is a file"),
        (["--memory", "1GB", "--out", "FOREIGN"], "holds other files"),
        (["--memory", "1GB", "--out", "RUN", "--text", "txet"], 'no column "txet"'),
    ],
)
def test_a_mistake_is_one_line_and_leaves_nothing(program, texts, tmp_path, arguments, message):
    foreign = tmp_path / "foreign"
    foreign.mkdir()
    (foreign / "checkpoint.npz").write_text("years of work")
    names = {"RUN": tmp_path / "run", "WORK": tmp_path / "work", "FOREIGN": foreign, "TEXTS": texts}
    for prefix in ("RUN/", "WORK/"):
        names |= {f"{prefix}{name}": names[prefix[:-1]] / name for name in ("work", "run")}
    code, shown, error = program("cluster", texts, *(names.get(argument, argument) for argument in arguments))
    assert (code, shown) == (2, "")
    assert error.startswith("textmix: ")
    assert error.count("\n") == 1
    assert message in error
    assert [path.name for path in tmp_path.iterdir()] == ["foreign"]
    assert (foreign / "checkpoint.npz").read_text() == "years of work"


def test_texts_without_words_are_one_line_and_leave_nothing(program, tmp_path):
    (tmp_path / "stop.txt").write_text("the\nof and\n")
    arguments = ["--language", "en", "--memory", "512MB", "--out", tmp_path / "run"]
    code, _, error = program("cluster", tmp_path / "stop.txt", *arguments)
    assert code == 2
    assert error.startswith("textmix: none of the 2 texts has any words to cluster by, once stop words are left out")


def test_too_little_memory_is_said_with_numbers_and_more_goes_on(large_run_of, tmp_path, monkeypatch):
    monkeypatch.setattr(memory, "A_WORD", 1_000_000)
    code, _, error = large_run_of()
    assert code == 2
    assert f"{N_TEXTS:,} texts with 2" in error
    assert "up to 500 clusters need some 5" in error
    assert "--memory is 512 MB; more --memory helps, fewer --clusters" in error
    assert "--resume" in error
    monkeypatch.setattr(large.DiskCorpus, "build", None)  # is not called again
    code, _, error = large_run_of("--resume", "--memory", "2GB", "--clusters", 30)
    assert (code, error) == (0, "")
    assert len(read_rows(tmp_path / "run")) == N_TEXTS


def test_the_estimate_counts_words_documents_and_pairs():
    class Counts:
        n_words, n_documents = 3, 10
        document_frequencies = np.array([9, 2, 1])

    pairs = (4 + 2 + 1) / 2
    expected = memory.ITSELF + 3 * memory.A_WORD + 10 * memory.A_DOCUMENT + pairs * memory.A_PAIR
    assert memory.estimate_memory(Counts(), 4) == expected
    assert memory.estimate_memory(Counts(), 4, compared=True) == expected + 10 * memory.A_LABEL


def test_kernels_are_compiled_in_another_process(monkeypatch):
    calls = []
    monkeypatch.setattr("subprocess.run", lambda command, check: calls.append(command))
    memory.compile_apart()
    assert calls == [[sys.executable, "-c", "from textmix.large.memory import compile_kernels; compile_kernels()"]]
    memory.compile_kernels()
    assert memory.is_compiled()


def test_memory_limits_threads():
    class Counts:
        class files:  # noqa: N801
            n_entries = np.array([1_000_000])

    found = [memory.threads_within(megabytes * 10**6, Counts(), 64) for megabytes in (0, 200, 700, 100_000)]
    assert found == [1, 1, 5, 64]


def test_an_online_start_that_may_need_more_memory_goes_on_and_says_so(large_run_of, tmp_path, monkeypatch):
    monkeypatch.setattr(memory, "A_WORD", 1_000_000)
    code, _, error = large_run_of("--init", "online")
    assert code == 0
    assert "--memory is 512 MB; an online start opens fewer clusters as a rule" in error
    assert len(read_rows(tmp_path / "run")) == N_TEXTS


def test_a_second_run_is_kept_out_of_a_work_folder(large_run_of, tmp_path, monkeypatch):
    found = []

    def begin_another(*_):
        if not found:
            found.extend([large_run_of("--resume"), large_run_of("--force")])

    write = large.ScoreFiles.write
    monkeypatch.setattr(large.ScoreFiles, "write", lambda *given: (begin_another(), write(*given)))
    assert large_run_of("--quiet") == (0, "", "")
    for code, shown, error in found:
        assert (code, shown) == (2, "")
        assert error.startswith(f'textmix: another run is writing to "{tmp_path / "run.work"}"')
    assert len(read_rows(tmp_path / "run")) == N_TEXTS


@pytest.mark.parametrize("moment", ["read", "begin"])
def test_of_two_runs_that_begin_at_once_one_is_finished_and_the_other_refused(
    large_run_of, tmp_path, monkeypatch, moment
):
    original, found = getattr(WorkFolder, moment), []

    def begin_another(*given):
        if not found:
            found.append((1, "", "the second run goes no further than the first"))
            found[0] = large_run_of()
        return original(*given)

    monkeypatch.setattr(WorkFolder, moment, begin_another)
    assert large_run_of("--quiet") == (0, "", "")
    (code, shown, error), refusal = found[0], f'textmix: another run is writing to "{tmp_path / "run.work"}"'
    assert (code, shown, error.count("\n"), error.startswith(refusal)) == (2, "", 1, True)
    assert len(read_rows(tmp_path / "run")) == N_TEXTS
    assert [path.name for path in tmp_path.iterdir()] == ["run"]


def test_a_work_folder_that_cannot_be_made_is_named(large_run_of, texts):
    code, _, error = large_run_of("--work", texts / "work")
    assert (code, error.count("\n")) == (2, 1)
    assert f'cannot make the folder "{texts / "work"}" to work in' in error


def test_resuming_what_is_finished_says_so_and_changes_nothing(large_run_of, saved):
    before = (saved / "run.json").read_bytes()
    code, shown, error = large_run_of("--resume")
    assert (code, shown, error) == (0, "", f'textmix: the run in "{saved}" was finished already\n')
    assert (saved / "run.json").read_bytes() == before
    code, _, error = large_run_of("--resume", "--seed", 1)
    assert code == 2
    assert "holds an earlier run" in error


def test_a_run_that_was_killed_while_moving_files_can_fail_once_more(large_run_of, saved, tmp_path, monkeypatch):
    expected = (saved / "assignments.csv").read_bytes()
    move = os.replace

    def move_or_fail(source, target):
        if Path(target) == saved / "clusters.csv":
            raise OSError("the disk is full")
        move(source, target)

    with monkeypatch.context() as patch:
        patch.setattr("textmix.results.folder.os.replace", move_or_fail)
        assert large_run_of("--force")[0] == 2
    assert not (saved / "run.json").exists()
    with monkeypatch.context() as patch:
        interrupt(patch, run_files, "write_csv", 2, OSError)
        assert large_run_of("--resume")[0] == 2
    assert large_run_of("--resume")[0] == 0
    assert (saved / "assignments.csv").read_bytes() == expected
    assert not list(saved.glob(".textmix*"))


@pytest.mark.parametrize(
    ("owner", "name", "at"),
    [
        (ParallelState, "sample", 1),
        (ParallelState, "sample", 3),
        (ParallelState, "improve", 1),
        (large.ScoreFiles, "write", 2),
        (run_files, "write_csv", 3),
    ],
)
def test_after_ctrl_c_the_run_goes_on_to_the_same_end(large_run_of, saved, tmp_path, monkeypatch, owner, name, at):
    expected = (saved / "assignments.csv").read_bytes()
    with monkeypatch.context() as patch:
        interrupt(patch, owner, name, at)
        code, shown, error = large_run_of("--force")
    assert (code, shown) == (130, "")
    work = tmp_path / "run.work"
    assert error == (f'textmix: interrupted; what was done is kept in "{work}": go on with --resume\n')
    assert (saved / "assignments.csv").read_bytes() == expected  # of the run before
    code, shown, error = large_run_of("--force", "--resume")
    assert code == 0
    assert error.startswith("textmix: going on after ")
    assert (saved / "assignments.csv").read_bytes() == expected
    assert not work.exists()


def test_ctrl_c_while_texts_are_counted_leaves_nothing(large_run_of, tmp_path, monkeypatch):
    interrupt(monkeypatch, large.DocumentReader, "_batch", 2)
    code, _, error = large_run_of()
    assert (code, error) == (130, "textmix: interrupted\n")
    assert not list(tmp_path.iterdir())


def test_a_failure_keeps_what_was_done_and_says_how_to_go_on(large_run_of, tmp_path, monkeypatch):
    with monkeypatch.context() as patch:
        interrupt(patch, run_files, "write_csv", 2, OSError)
        code, _, error = large_run_of()
    assert code == 2
    assert error.startswith("textmix: the disk is full; what was done is kept in ")
    assert not list((tmp_path / "run").glob("*.csv"))
    assert large_run_of("--resume")[0] == 0


def test_a_full_disk_is_named(large_run_of, tmp_path, monkeypatch):
    def write(*_):
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(large.ScoreFiles, "write", write)
        code, _, error = large_run_of()
    assert code == 2
    assert error.startswith(f'textmix: no space left on the disk of "{tmp_path / "run.work"}" (--work) or of ')
    assert "go on with --resume" in error
    code, _, error = large_run_of("--resume")
    assert code == 0
    assert error.startswith("textmix: going on after ")


def test_labels_that_were_kept_are_compared_with(program, saved):
    code, shown, error = program("evaluate", saved, "--label", "topic")
    assert (code, error) == (0, "")
    assert 'Compared with column "topic": 1,491 texts' in shown  # those with words and labels
    scores = json.loads((saved / "run.json").read_text())["scores"]
    assert f"{scores['nmi_geometric']:.3f}" in shown


def test_the_sampler_is_named(large_run_of):
    code, shown, _ = large_run_of()
    assert code == 0
    assert "clusters, found by the parallel sampler" in shown


@pytest.fixture(scope="module")
def broken_off(texts, tmp_path_factory) -> Path:
    out = tmp_path_factory.mktemp("broken") / "run"
    with pytest.MonkeyPatch.context() as patch:
        interrupt(patch, ParallelState, "sample", 3)
        assert run_for_all(patch, texts, out)[0] == 130
    return out.with_name("run.work")


@pytest.fixture
def left_over(broken_off, tmp_path) -> Path:
    """The work folder of a run that broke off in its third sweep."""
    return shutil.copytree(broken_off, tmp_path / "run.work")


def test_a_work_folder_that_is_left_over_is_gone_on_with_or_started_anew(large_run_of, left_over, tmp_path):
    before = (left_over / "checkpoint.npz").read_bytes()
    code, _, error = large_run_of()
    assert code == 2
    assert "is left from a run that was not finished; go on with --resume, or start anew with --force" in error
    assert (left_over / "checkpoint.npz").read_bytes() == before
    (left_over / "mine.txt").write_text("mine")
    assert large_run_of("--force", "--seed", 3)[0] == 0
    assert json.loads((tmp_path / "run" / "run.json").read_text())["seed"] == 3
    assert [path.name for path in left_over.iterdir()] == ["mine.txt"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--seed", 9], "--seed is 9, but the run in "),
        (["--clusters", 9], "--clusters is 9, but the run in "),
        (["--min-df", 2], "--min-df is 2, but the run in "),
        (["--id", "topic"], "--id is 'topic', but the run in "),
        (["--model", "dirichlet-process"], "--model is 'DirichletProcessMixture', but the run in "),
    ],
)
def test_other_settings_are_refused(large_run_of, left_over, arguments, message):
    before = sorted(path.name for path in left_over.iterdir())
    code, _, error = large_run_of("--resume", *arguments)
    assert code == 2
    assert message in error
    assert error.endswith("start anew: --force instead of --resume\n")
    assert sorted(path.name for path in left_over.iterdir()) == before


def test_settings_without_effect_on_the_result_may_differ(large_run_of, left_over):
    assert large_run_of("--resume", "--jobs", 1, "--engine", "serial", "--memory", "1GB", "--top", 1)[0] == 0
    assert not left_over.exists()


def test_a_file_that_has_changed_is_refused(large_run_of, left_over, texts):
    before = texts.stat()
    os.utime(texts, ns=(1, 1))
    code, _, error = large_run_of("--resume")
    os.utime(texts, ns=(before.st_atime_ns, before.st_mtime_ns))  # others go on with it
    assert code == 2
    assert "the input files are others than when the run in" in error
    assert "or have changed since" in error


def test_a_folder_of_texts_may_not_change_either(program, tmp_path, monkeypatch):
    folder = tmp_path / "texts"
    folder.mkdir()
    for number, text in enumerate(make_texts(40)[:12]):
        (folder / f"{number}.txt").write_text(text)
    arguments = ["cluster", folder, "--memory", "512MB", "--out", folder / "run"]  # which is no text
    with monkeypatch.context() as patch:
        interrupt(patch, ParallelState, "sample", 2)
        assert program(*arguments)[0] == 130
    (folder / "13.txt").write_text("one more")
    assert "have changed since" in program(*arguments, "--resume")[2]
    (folder / "13.txt").unlink()
    assert program(*arguments, "--resume")[0] == 0


def test_nothing_to_resume_is_said_and_the_run_starts(large_run_of, tmp_path):
    code, _, error = large_run_of("--resume")
    assert code == 0
    assert error == (
        f'textmix: there is nothing to resume in "{tmp_path / "run.work"}"; this run starts from the beginning\n'
    )


def test_a_run_that_was_finished_but_for_its_work_folder_is_only_tidied_up(large_run_of, tmp_path, monkeypatch):
    with monkeypatch.context() as patch:
        interrupt(patch, large.WorkFolder, "remove", 2)
        assert large_run_of()[0] == 130
    before = (tmp_path / "run" / "run.json").read_bytes()
    code, shown, error = large_run_of("--resume")
    assert (code, shown) == (0, "")
    assert error == f'textmix: the run in "{tmp_path / "run"}" was finished already\n'
    assert (tmp_path / "run" / "run.json").read_bytes() == before
    assert not (tmp_path / "run.work").exists()


def test_a_damaged_corpus_is_made_again(large_run_of, left_over, tmp_path):
    (left_over / "corpus" / "shard-0000.words").write_bytes(b"")
    assert large_run_of("--resume")[0] == 0
    assert len(read_rows(tmp_path / "run")) == N_TEXTS


def test_counts_that_turn_out_to_be_damaged_are_made_again_by_the_next_resume(large_run_of, left_over, tmp_path):
    path = left_over / "corpus" / "shard-0000.words"
    path.write_bytes(bytes(path.stat().st_size))
    code, _, error = large_run_of("--resume")
    assert code == 2
    assert "is damaged: it is not what was written" in error
    assert large_run_of("--resume")[0] == 0
    assert len(read_rows(tmp_path / "run")) == N_TEXTS


@pytest.mark.parametrize("content", [b"", b"PK\x03\x04 nonsense", None])
def test_a_damaged_checkpoint_is_refused(large_run_of, left_over, content):
    path = left_over / "checkpoint.npz"
    path.write_bytes(path.read_bytes()[:-40] if content is None else content)
    code, _, error = large_run_of("--resume")
    assert code == 2
    assert "checkpoint.npz is damaged" in error
    assert error.endswith("start anew: --force instead of --resume\n")
    assert large_run_of("--force")[0] == 0


@pytest.mark.parametrize(("change", "n_rows"), [(-1, f"{N_TEXTS - 1:,}"), (1, "more")])
def test_a_file_that_changes_before_it_is_read_again_is_noticed(program, tmp_path, texts, monkeypatch, change, n_rows):
    copy = tmp_path / "copy.jsonl"
    copy.write_bytes(texts.read_bytes())
    write = large.LargeRun.write_files

    def changed_before(self, *arguments):
        lines = copy.read_text().splitlines(keepends=True)
        copy.write_text("".join(lines[:-1] if change < 0 else [*lines, lines[0]]))
        return write(self, *arguments)

    monkeypatch.setattr(large.LargeRun, "write_files", changed_before)
    code, _, error = program("cluster", copy, "--text", "text", "--memory", "512MB", "--out", tmp_path / "run")
    assert code == 2
    assert f"the files have {n_rows} rows now, and had {N_TEXTS:,} when they were counted" in error
    assert "start anew with the files as they are now: --force" in error
    assert "--resume" not in error
    assert not (tmp_path / "run" / "run.json").exists()


def test_standard_input_is_read_once_and_cannot_be_resumed(program, tmp_path, texts, monkeypatch):
    content = texts.read_bytes()

    class Stream:
        buffer = io.BytesIO(content)

    arguments = ["cluster", "-", *COLUMNS, "--memory", "512MB", "--out", tmp_path / "run"]
    assert "standard input and pipes cannot be read again" in program(*arguments, "--resume")[2]
    with monkeypatch.context() as patch:
        patch.setattr("sys.stdin", Stream)
        interrupt(patch, ParallelState, "sample", 2)
        code, _, error = program(*arguments)
    assert (code, error) == (130, "textmix: interrupted; nothing is kept, since the texts cannot be read again\n")
    assert not list(tmp_path.iterdir())
    Stream.buffer = io.BytesIO(content)
    monkeypatch.setattr("sys.stdin", Stream)
    with WorkFolder(tmp_path / "run.work") as work:
        work.begin({})  # as a run that was killed leaves it
    assert program(*arguments)[2].endswith("is left from a run that was not finished; start anew with --force\n")
    Stream.buffer = io.BytesIO(content)
    code, shown, error = program(*arguments, "--force")
    assert (code, error) == (0, "")
    assert f"Read {N_TEXTS:,} texts from standard input" in shown
    assert len(read_rows(tmp_path / "run")) == N_TEXTS


def test_work_is_done_where_it_is_asked_for(large_run_of, tmp_path, monkeypatch):
    work = tmp_path / "elsewhere" / "work"
    with monkeypatch.context() as patch:
        interrupt(patch, run_files, "write_csv", 1)
        assert large_run_of("--work", work)[0] == 130
    assert (work / "corpus" / "disk-corpus.json").exists()
    assert large_run_of("--work", work, "--resume")[0] == 0
    assert not work.exists()


def test_dask_takes_the_same_way_and_says_when_a_worker_is_lost(
    large_run_of, saved, texts, tmp_path, monkeypatch, program
):
    distributed = pytest.importorskip("distributed")
    expected = (saved / "assignments.csv").read_bytes()
    sample = ParallelState.sample
    cluster = distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, dashboard_address="127.0.0.1:0", silence_logs=50
    )
    with cluster, distributed.Client(cluster, set_as_default=False) as client:
        workers = client.run(os.getpid)

        def kill_one(self, sweep, tick):
            if sweep == 2 and workers:
                os.kill(workers.popitem()[1], 9)
                workers.clear()
            return sample(self, sweep, tick)

        monkeypatch.setattr(ParallelState, "sample", kill_one)
        address = cluster.scheduler_address
        code, _, error = program("cluster", texts, *COLUMNS, "--scheduler", address, "--out", tmp_path / "dask")
    assert code == 0, error
    assert "textmix: a worker was lost" in error
    assert (tmp_path / "dask" / "assignments.csv").read_bytes() == expected
    assert json.loads((tmp_path / "dask" / "run.json").read_text())["memory"] is None
    assert textmix.load(tmp_path / "dask").estimator.client is None


SAME_COMMAND = "go on with the same command and files, or start anew: --force instead of --resume"


@pytest.mark.parametrize(
    ("error", "sentence"),
    [
        (
            errors.InMemoryOnlyError("inference 'gibbs'", 'it is "parallel", so leave it out'),
            "inference 'gibbs' needs all counts in memory; with counts on disk (--memory) or on Dask "
            'it is "parallel", so leave it out',
        ),
        (
            errors.WorkFolderError('"w" is a file; a large run needs a folder to work in', "file"),
            '"w" is a file; a large run needs a folder to work in (--work)',
        ),
        (
            errors.WorkFolderError('another run is writing to "w"; wait until it ends', "taken"),
            'another run is writing to "w"; wait until it ends, or choose another --work',
        ),
        (
            errors.WorkFolderError('cannot make the folder "w" to work in (Not a directory)', "not made"),
            'cannot make the folder "w" to work in (Not a directory); choose another --work',
        ),
        (
            errors.NestedFoldersError(Path("w"), Path("o")),
            '--work "w" and --out "o" must be two folders, none inside the other',
        ),
        (
            errors.LeftOverError(Path("w"), can_resume=True),
            '"w" is left from a run that was not finished; go on with --resume, or start anew with --force',
        ),
        (
            errors.LeftOverError(Path("w"), can_resume=False),
            '"w" is left from a run that was not finished; start anew with --force',
        ),
        (
            errors.CannotResumeError("standard input and pipes cannot be read again", "input"),
            "standard input and pipes cannot be read again: --resume needs files",
        ),
        (
            errors.CannotResumeError.of_setting("min_document_frequency", 2, 1, Path("w")),
            f'--min-df is 2, but the run in "w" began with 1; {SAME_COMMAND}',
        ),
        (
            errors.CannotResumeError.of_setting("tol", 2.0, None, Path("w")),
            f'tol is 2.0, but the run in "w" began with None; {SAME_COMMAND}',
        ),
        (
            errors.CannotResumeError("the input files are others", "files"),
            f"the input files are others; {SAME_COMMAND}",
        ),
        (errors.CannotResumeError("x is of another run", "other state"), "x is of another run; start anew: --force"),
        (
            errors.CannotResumeError("x is damaged", "damaged state"),
            "x is damaged; start anew: --force instead of --resume",
        ),
        (
            errors.MemoryLimitError("large runs", 512_000_000, 1_000_000, "start"),
            "--memory is 1 MB, but has to be 512 MB at least: textmix itself takes some 300 MB",
        ),
        (
            errors.MemoryLimitError("two texts have 9 distinct words, which", 2_345_000_000, 1_000_000, "counting"),
            "two texts have 9 distinct words, which need 2,345 MB of memory, but 1 MB are allowed; allow more: "
            "leaving out rare words (min-df) does not help, since all are counted first",
        ),
        (
            errors.MemoryLimitError("2 texts and up to 3 clusters", 2_345_000_000, 1_000_000, "sampling"),
            "2 texts and up to 3 clusters need some 2,345 MB, but --memory is 1 MB; more --memory helps, fewer "
            "--clusters, --init online, which opens few, or leaving out rare words, which are then counted anew: "
            "--min-df 5 --force",
        ),
        (
            errors.MemoryLimitError("2 texts and up to 3 clusters", 2_345_000_000, 1_000_000, "online sampling"),
            "2 texts and up to 3 clusters need some 2,345 MB, but --memory is 1 MB; "
            "an online start opens fewer clusters as a rule, so the run goes on",
        ),
        (
            errors.UnfinishedError(errors.NoSpaceError(Path("w"), Path("o")), errors.Remains(Path("w"))),
            'no space left on the disk of "w" (--work) or of "o" (--out); '
            'what was done is kept in "w": go on with --resume',
        ),
        (
            errors.UnfinishedError(OSError("the disk is gone"), errors.Remains(Path("w"), files_changed=True)),
            "the disk is gone; start anew with the files as they are now: --force",
        ),
    ],
)
def test_only_the_program_names_options(error, sentence):
    assert explain(error) == sentence
    assert "--" not in str(error)
