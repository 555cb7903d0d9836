"""The program as a user runs it: real processes, real files."""

from __future__ import annotations

import csv
import io
import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
TICKETS = ROOT / "examples" / "tickets.csv"
PROGRAM = [sys.executable, "-c", "from textmix.cli.main import run; run()"]
ENVIRONMENT = {**os.environ, "COLUMNS": "80", "PYTHONPATH": str(ROOT / "src")}


def textmix(*arguments: object, input: str | None = None) -> subprocess.CompletedProcess[str]:
    command = [*PROGRAM, *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=False, input=input, env=ENVIRONMENT)


@pytest.fixture(scope="module")
def run(tmp_path_factory) -> tuple[Path, str]:
    folder = tmp_path_factory.mktemp("cli") / "run"
    result = textmix("cluster", TICKETS, "--id", "id", "--label", "topic", "--out", folder)
    assert result.returncode == 0, result.stderr
    assert result.stderr == ""
    return folder, result.stdout


def test_clustering_shows_what_was_read_and_found(run):
    folder, shown = run
    info = json.loads((folder / "run.json").read_text())
    lines = shown.splitlines()
    assert lines[0].startswith("Read 720 texts from ")
    left_out = 'tickets.csv, column "text"; English stop words left out.'
    assert lines[0].endswith(f"{left_out} Clustered by words and static word vectors.")
    with open(folder / "clusters.csv", encoding="utf-8", newline="") as file:
        n_of_several = sum(int(row["size"]) > 1 for row in csv.DictReader(file))
    n_alone = info["result"]["n_clusters"] - n_of_several
    least, most = json.loads((folder / "model" / "model.json").read_text())["settings"]["n_clusters_range"]
    found = f"{n_of_several} clusters ({least} to {most}), consensus of 10 runs on words and 10 on vectors"
    assert f"{found}; {n_alone} texts on their own:" in lines
    assert f"{info['result']['n_outliers']} outliers, for example:" in lines
    assert any(line.startswith(f"Written to {folder}: ") for line in lines)
    assert lines[-1].startswith("Took ")
    assert "\x1b" not in shown


def test_the_table_fits_80_columns_and_has_every_column(run):
    lines = run[1].splitlines()
    header = next(i for i, line in enumerate(lines) if line.startswith("cluster "))
    assert lines[header].split() == ["cluster", "size", "agreed", "words", "example"]
    table = lines[header : lines.index("", header)]
    assert max(map(len, table)) <= 80
    first = table[1].split()
    assert first[0] == "0"
    assert int(first[1]) > 20


def test_evaluate_says_what_clustering_said(run):
    folder, shown = run
    kept = textmix("evaluate", folder, "--label", "topic").stdout
    by_id = textmix("evaluate", folder, TICKETS, "--label", "topic", "--id", "id").stdout
    scores = [line for line in shown.splitlines() if line.startswith("  ") and line.split()[-1].startswith("0.")]
    assert len(scores) == 6
    assert kept.splitlines()[-6:] == scores
    assert by_id.splitlines()[-6:] == scores


def test_assign_puts_the_texts_back_where_most_of_them_were(run, tmp_path):
    folder, _ = run
    result = textmix("assign", folder, TICKETS, "--id", "id", "--out", tmp_path / "new.csv")
    assert (result.returncode, result.stdout, result.stderr) == (0, "", "")
    with open(tmp_path / "new.csv", encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert list(rows[0]) == ["row", "id", "cluster", "name", "probability", "outlier", "outlier_score", "text"]
    with open(folder / "assignments.csv", encoding="utf-8", newline="") as file:
        before = list(csv.DictReader(file))
    assert [row["text"] for row in rows] == [row["text"] for row in before]
    same = sum(one["cluster"] == other["cluster"] for one, other in zip(rows, before, strict=True))
    assert same > 0.9 * len(rows)


def test_standard_input_is_read_and_csv_goes_to_standard_output(run):
    texts = ["reset my password, the reset link is dead", "qqqqzz", "\N{GRINNING FACE}"]
    result = textmix("assign", run[0], "-", input="".join(f"{text}\n" for text in texts))
    known, of_no_known_word, without_vector = rows = list(csv.DictReader(io.StringIO(result.stdout)))
    assert [row["text"] for row in rows] == texts
    assert "password" in known["name"].split(", ")
    assert (float(known["outlier_score"]) < 0, known["outlier"]) == (True, "false")
    assert float(known["probability"]) > 0.5
    assert (of_no_known_word["outlier"], float(of_no_known_word["outlier_score"]) > 0.25) == ("true", True)
    names = ("cluster", "name", "probability", "outlier", "outlier_score")
    assert [without_vector[name] for name in names] == ["-1", "", "", "false", ""]
    clustered = textmix("cluster", "-", "--quiet", input="apple pear\npear apple\n")
    assert (clustered.returncode, clustered.stdout, clustered.stderr) == (0, "", "")


def test_a_text_of_no_known_word_has_no_cluster_by_words_alone(program, tmp_path):
    program("cluster", TICKETS, "--out", tmp_path / "run", "--encoder", "none", "--quiet")
    (tmp_path / "new.txt").write_text("reset my password, the reset link is dead\nqqqqzz\n")
    _, shown, _ = program("assign", tmp_path / "run", tmp_path / "new.txt")
    rows = list(csv.DictReader(io.StringIO(shown)))
    assert "password" in rows[0]["name"].split(", ")
    assert (float(rows[0]["outlier_score"]) < 0, rows[0]["outlier"], rows[1]["outlier_score"]) == (True, "false", "")
    assert (rows[1]["cluster"], rows[1]["name"], rows[1]["probability"]) == ("-1", "", "")


def test_an_earlier_run_is_refused_before_the_work_and_kept(run):
    folder, _ = run
    before = (folder / "run.json").read_bytes()
    result = textmix("cluster", folder / "no-such-file.csv", "--out", folder)
    assert result.returncode == 2
    assert "holds an earlier run" in result.stderr
    assert "--force" in result.stderr
    assert (folder / "run.json").read_bytes() == before


def test_a_broken_file_is_read_as_far_as_possible_and_said(tmp_path):
    path = tmp_path / "broken.csv"
    path.write_text('id,text\n1,printer broken\n2,"unclosed\n3,one,too many\n4,printer works\n5,\n')
    result = textmix("cluster", path)
    assert result.returncode == 0
    assert "Read 3 texts" in result.stdout
    assert "Skipped 2 of 5 rows" in result.stdout
    assert f"{path}, line 3: unclosed quote." in result.stdout
    assert "1 text without any words to cluster by belongs to no cluster." in result.stdout


def test_a_closed_pipe_gives_no_traceback(run):
    process = subprocess.Popen(
        [*PROGRAM, "assign", str(run[0]), str(TICKETS)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=ENVIRONMENT,
    )
    assert process.stdout is not None
    assert process.stderr is not None
    process.stdout.readline()
    process.stdout.close()
    assert process.stderr.read() == b""
    assert process.wait() == 1


def test_an_interrupt_outside_the_sampler_is_one_line_and_130():
    process = subprocess.Popen(
        [*PROGRAM, "cluster", "-"],
        stdin=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=ENVIRONMENT,
    )
    assert process.stdin is not None
    assert process.stderr is not None
    # More than a pipe holds: once this is written, the program is reading standard input.
    process.stdin.write(b"apple pear\n" * 100_000)
    process.stdin.flush()
    process.send_signal(signal.SIGINT)
    # Python looks for signals between two calls of read and not within one: it must not wait for more there.
    process.stdin.close()
    assert process.stderr.read() == b"textmix: interrupted\n"
    assert process.wait() == 130
