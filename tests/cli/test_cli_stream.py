"""`textmix stream`: lines in and out, settings, signals, pipes that close."""

from __future__ import annotations

import json
import os
import signal
import sqlite3
import subprocess
import sys
from contextlib import closing, suppress
from pathlib import Path

import pytest

import textmix
from textmix.stream import refit
from textmix.stream.durable import Document, DurableStream, Policy

ROOT = Path(__file__).resolve().parents[2]
ENVIRONMENT = {**os.environ, "PYTHONPATH": str(ROOT / "src")}
PROGRAM = [sys.executable, "-c", "from textmix.cli.main import run; run()", "stream"]
PARCEL, LOGIN = {"id": "a", "text": "parcel late parcel"}, {"id": "b", "text": "login password reset"}


@pytest.fixture
def state(tmp_path):
    return tmp_path / "state"


@pytest.fixture
def stream(program, tmp_path, monkeypatch):
    """Run the program with lines as standard input: exit code, answers, standard error."""

    def call(*arguments: object, lines: list | None = None) -> tuple[int, list[dict], str]:
        text = "\n".join(line if isinstance(line, str) else json.dumps(line) for line in lines or [])
        (tmp_path / "standard input").write_text(text)
        with open(tmp_path / "standard input") as file:
            monkeypatch.setattr("sys.stdin", file)
            code, shown, error = program("stream", *arguments)
        return code, [json.loads(line) for line in shown.splitlines()], error

    return call


def test_lines_are_answered_and_kept(stream, state):
    code, answers, error = stream(state, lines=[PARCEL, "?", LOGIN, {"remove": "a"}, {"remove": "z"}])
    assert code == 0
    assert [answer.get("id") for answer in answers] == ["a", None, "b", "a", "z"]
    assert answers[0] == {**answers[0], "cluster": 0, "name": "parcel, late", "new": True}
    assert answers[1] == {"line": 2, "error": "not JSON: Expecting value at character 1"}
    assert [answers[3]["removed"], answers[4]["removed"]] == [True, False]
    assert error.startswith("textmix: 2 texts added, 1 removed; 1 line could not be read; 1 text in 1 cluster kept (")
    code, answers, error = stream(state, "--quiet", lines=[{"id": 3, "text": "password reset"}])
    assert (code, answers[0]["id"], answers[0]["new"], error) == (0, "3", False, "")


def test_lines_of_files_are_answered_one_file_after_the_other(stream, state, tmp_path):
    (tmp_path / "one.jsonl").write_text(json.dumps(PARCEL))
    (tmp_path / "two.jsonl").write_text("?\n" + json.dumps(LOGIN) + "\n")
    code, answers, _ = stream(state, tmp_path / "one.jsonl", "-", tmp_path / "two.jsonl", lines=[{"remove": "a"}])
    assert code == 0
    assert [answer.get("id") for answer in answers] == ["a", "a", None, "b"]
    assert (answers[2]["file"], answers[2]["line"]) == (str(tmp_path / "two.jsonl"), 1)


def test_events_are_written_when_asked_for(stream, state):
    _, answers, _ = stream(state, "--events", "--batch", 1, lines=[PARCEL, {"remove": "a"}])
    assert [answer.get("event") for answer in answers] == [None, "born", None, "died"]
    assert (answers[3]["cluster"], answers[3]["name"]) == (answers[0]["cluster"], answers[0]["name"])


def test_settings_are_those_of_the_new_stream_and_must_stay(stream, state):
    settings = ["--alpha", "0.2n", "--beta", 0.3, "--sweeps", 2, "--language", "german", "--seed", 5]
    assert stream(state, *settings, lines=[PARCEL])[0] == 0
    with closing(sqlite3.connect(state / "stream.sqlite3")) as connection:
        stored = json.loads(connection.execute("SELECT value FROM meta WHERE key = 'settings'").fetchone()[0])
    expected = {"alpha": "0.2n", "beta": 0.3, "n_sweeps": 2, "random_state": 5}
    assert expected.items() <= stored.items()
    assert stored["tokenizer"]["language"] == "german"
    assert stream(state, *settings)[0] == stream(state)[0] == stream(state, "--beta", 0.3)[0] == 0
    code, answers, error = stream(state, "--beta", 0.4, lines=[LOGIN])
    assert (code, answers) == (2, [])
    assert "has beta=0.3, not 0.4" in error


def test_policies_are_stored_and_replaced(stream, state):
    _, _, error = stream(state, "--keep", 1, "--max-age", "30d", "--half-life", "12h", lines=[PARCEL, LOGIN])
    assert "1 text forgotten; 1 text in 1 cluster kept" in error
    with DurableStream(state) as opened:
        assert opened.n_documents == 1
        assert opened.policy == Policy(keep=1, max_age="30d", half_life="0.5d")
    stream(state, "--max-age", "none")
    with DurableStream(state) as opened:
        assert opened.policy == Policy()


def test_a_run_goes_on_as_a_stream(program, stream, tmp_path, state):
    table = tmp_path / "table.csv"
    rows = ["refund money bank", "money refund card", "login password", "password login reset"] * 5
    table.write_text("\n".join(["key,text", *(f"k{number},{text}" for number, text in enumerate(rows))]))
    assert program("cluster", table, "--id", "key", "--out", state, "--quiet")[0] == 0
    _, answers, error = stream(state, lines=[{"id": "new", "text": "refund money"}, {"remove": "k0"}])
    assert answers[0]["cluster"] == textmix.load(state).labels[1]
    assert answers[1] == {"id": "k0", "removed": True}
    assert "20 texts in" in error


@pytest.mark.parametrize("more", [[], ["--force"], ["--memory", "1GB", "--force"]])
def test_a_run_is_not_written_to_the_folder_of_a_stream(program, state, tmp_path, more):
    with DurableStream(state) as opened:
        opened.add([Document("a", "parcel late")])
    (tmp_path / "other.jsonl").write_text(json.dumps(LOGIN))
    code, shown, error = program("cluster", tmp_path / "other.jsonl", "--out", state, *more)
    assert (code, shown, error.count("\n")) == (2, "", 1)
    assert "holds a stream, whose texts a new run would not replace; choose another folder" in error


def test_a_new_stream_has_nothing_to_cluster_anew(stream, state):
    code, answers, error = stream(state, "--refit", lines=[PARCEL, LOGIN])
    assert (code, len(answers)) == (0, 2)
    assert error.startswith("textmix: nothing was clustered anew: there was no text with words when it began\n")


def fitting(monkeypatch, program):
    """Let new fits be another program."""
    monkeypatch.setattr(refit, "_command", lambda *_: [sys.executable, "-c", program])


def test_a_new_fit_that_fails_is_told_in_one_line(stream, state, monkeypatch):
    stream(state, lines=[PARCEL, LOGIN])
    fitting(monkeypatch, "raise MemoryError('too much')")
    code, answers, error = stream(state, "--refit", lines=[{"remove": "a"}])
    assert (code, answers) == (1, [{"id": "a", "removed": True}])
    first, second = error.splitlines()
    assert first == "textmix: the new fit failed, the clusters stay as they are: MemoryError: too much"
    assert second.startswith("textmix: 0 texts added, 1 removed")


def test_a_signal_ends_waiting_for_a_new_fit(stream, state, monkeypatch):
    stream(state, lines=[PARCEL, LOGIN])
    fitting(monkeypatch, "input()")  # for ever
    wait = refit.Refit.wait

    def wait_and_be_asked_to_end(self):
        os.kill(os.getpid(), signal.SIGTERM)
        return wait(self, 60)

    monkeypatch.setattr(refit.Refit, "wait", wait_and_be_asked_to_end)
    code, _, error = stream(state, "--refit")
    assert code == 0
    assert error.startswith("textmix: 0 texts added, 0 removed; 2 texts in 2 clusters kept")


def test_a_new_fit_is_told_with_its_events(stream, program, state, monkeypatch):
    stream(state, lines=[PARCEL, {**PARCEL, "id": "c"}, LOGIN])
    labels = "import sys, numpy; numpy.save(sys.argv[1] + '/labels.npy', numpy.zeros(3, int))"
    monkeypatch.setattr(refit, "_command", lambda folder, *_: [sys.executable, "-c", labels, str(folder)])
    code, events, error = stream(state, "--refit", "--events")
    assert code == 0
    assert [(event["event"], event["into"]) for event in events] == [("merged", 0)]
    assert "clustered anew: 2 clusters became 1 (1 kept their ids), 1 of 3 texts moved" in error
    code, shown, _ = program("stream", state, "--clusters")
    assert (code, len(shown.splitlines())) == (0, 2)
    assert shown.splitlines()[1].split()[:2] == ["0", "3"]


def test_a_check_says_that_all_is_well_or_what_is_not(program, state):
    with DurableStream(state) as opened:
        opened.add([Document("a", "parcel late"), Document("b", "parcel late")])
        well = (0, f'The stream in "{state}" is as it should be.\n', "")
        assert program("stream", state, "--check") == well  # while it is in use
    with closing(sqlite3.connect(state / "stream.sqlite3")) as connection:
        connection.execute("UPDATE clusters SET size = 7")
        connection.commit()
    code, shown, error = program("stream", state, "--check")
    assert (code, error) == (1, "")
    assert (
        shown
        == "cluster 0 has 7 documents with 4 words in the table of clusters, 2 documents with 4 words by a recount\n"
    )


def test_a_copy_is_made_while_the_stream_is_in_use(program, state, tmp_path):
    with DurableStream(state) as opened:
        opened.add([Document("a", "parcel late")])
        code, shown, error = program("stream", state, "--backup", tmp_path / "copy.sqlite3")
        assert (code, shown.startswith("Copied the stream"), error) == (0, True, "")
    (tmp_path / "again").mkdir()
    (tmp_path / "copy.sqlite3").rename(tmp_path / "again" / "stream.sqlite3")
    assert program("stream", tmp_path / "again", "--check")[0] == 0


@pytest.mark.parametrize("key", ["settings", "policy", "state"])
def test_a_damaged_stream_is_refused_in_one_line(program, state, tmp_path, key):
    with DurableStream(state) as opened:
        opened.add([Document("a", "parcel late")])
    with closing(sqlite3.connect(state / "stream.sqlite3")) as connection:
        connection.execute("UPDATE meta SET value = '[1]' WHERE key = ?", (key,))
        connection.commit()
    (tmp_path / "lines").write_text(json.dumps(LOGIN))
    for arguments, expected in ((["--check"], 1), ([tmp_path / "lines"], 2), ([tmp_path / "lines", "--beta", 0.1], 2)):
        code, shown, error = program("stream", state, *arguments)
        assert code == expected
        assert (shown + error).count("\n") == 1
        assert "is damaged" in shown + error


@pytest.mark.parametrize("policy", [["--keep", 1], ["--max-age", "10s"], ["--half-life", "1s"]])
def test_most_texts_are_forgotten_at_once_only_when_told_to(stream, state, policy):
    times = ["2024-03-04T06:00:00Z"] * 3 + ["2024-03-04T06:00:59Z"]
    stream(state, lines=[{"id": number, "text": "parcel late", "time": time} for number, time in enumerate(times)])
    code, answers, error = stream(state, *policy, lines=[{"id": "new", "text": "parcel late", "time": times[-1]}])
    assert (code, answers) == (2, [])
    assert error == (
        "textmix: 3 of 4 texts would be forgotten, more than half at once; nothing was changed. "
        "If that is right, confirm it: --yes, in Python confirmed=True\n"
    )
    with DurableStream(state) as opened:
        assert (opened.n_documents, opened.policy) == (4, Policy())
    code, _, error = stream(state, *policy, "--yes")
    assert code == 0
    assert error.startswith("textmix: 0 texts added, 0 removed; 3 texts forgotten; 1 text in 1 cluster kept")


def test_texts_that_a_jump_of_the_clock_makes_old_are_kept_and_told_once(stream, state):
    def lines(prefix, time):
        return [{"id": f"{prefix}{number}", "text": "parcel late", "time": time} for number in range(3)]

    stream(state, "--max-age", "1d", lines=lines("a", "2024-03-04"))
    code, answers, error = stream(state, "--batch", 1, lines=lines("b", "2024-03-14"))
    assert (code, len(answers)) == (0, 3)
    first, last = error.splitlines()
    assert first.startswith(
        "textmix: 3 of 4 texts are old enough to be forgotten, more than half of those that were there, so they were"
    )
    assert first.endswith("To forget them: textmix stream STATE --yes < /dev/null")
    kept = "3 old texts kept all the same (--yes forgets them); 6 texts in 1 cluster kept"
    assert last.startswith(f"textmix: 3 texts added, 0 removed; {kept}")
    assert "3 texts forgotten; 3 texts in 1 cluster kept" in stream(state, "--yes")[2]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "Missing argument 'STATE'"),
        (["STATE", "nowhere.jsonl"], 'no such file: "nowhere.jsonl"'),
        (["STATE", "FOLDER"], "is a folder; give files with JSON lines"),
        (["FOLDER"], "holds other files and is no textmix run"),
        (["STATE", "--keep", "0"], "Invalid value for '--keep'"),
        (["STATE", "--max-age", "soon"], "max_age must be a time such as"),
        (["STATE", "--half-life", "-1d"], "half_life must be a time such as"),
        (["STATE", "--max-age", "30"], 'max_age must be a time such as "30d" or "12h" (units: w, d, h, m, s)'),
        (["STATE", "--half-life", "30"], 'half_life must be a time such as "30d" or "12h" (units: w, d, h, m, s)'),
        (["STATE", "--max-age", "9999999999999d"], "to 10,000 years"),
        (["STATE", "--alpha", "many"], "alpha"),
        (["STATE", "--beta", "-1"], "beta"),
        (["STATE", "--language", "klingon"], "unknown language"),
        (["STATE", "--check"], "there is no stream in"),
        (["STATE", "--backup", "copy"], "there is no stream in"),
        (["STATE", "--check", "--backup", "copy"], "give one of them"),
        (["STATE", "FILE", "--check"], "read no lines"),
    ],
)
def test_a_mistake_is_one_line_and_exit_code_2(stream, tmp_path, state, arguments, message):
    (tmp_path / "file").touch()
    names = {"STATE": state, "FOLDER": tmp_path, "FILE": tmp_path / "file"}
    code, answers, error = stream(*(names.get(argument, argument) for argument in arguments))
    assert (code, answers) == (2, [])
    assert error.startswith("textmix: ")
    assert error.count("\n") == 1
    assert message in error
    assert not state.exists()


def test_a_stream_in_use_is_left_alone(stream, state):
    with DurableStream(state):
        code, _, error = stream(state, lines=[PARCEL])
    assert (code, error) == (2, f'textmix: another program is at work on the stream in "{state}"\n')


def test_output_that_nobody_reads_ends_it_quietly(program, state, tmp_path, monkeypatch):
    (tmp_path / "lines").write_text("\n".join(map(json.dumps, [PARCEL, LOGIN])))
    reading, writing = os.pipe()
    os.close(reading)
    with monkeypatch.context() as context, suppress(BrokenPipeError), open(writing, "w") as output:
        context.setattr("sys.stdout", output)
        code, _, error = program("stream", state, tmp_path / "lines", "--batch", 1)
    assert code == 1
    assert error.startswith("textmix: 1 text added, 0 removed; 1 text in 1 cluster kept")
    with DurableStream(state) as stream:
        assert (stream.n_documents, stream.check()) == (1, [])


def test_each_line_is_answered_before_the_next_is_there_until_asked_to_end(state):
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with subprocess.Popen([*PROGRAM, str(state)], env=ENVIRONMENT, **pipes) as process:

        def ask(fields: dict) -> dict:
            process.stdin.write(json.dumps(fields).encode() + b"\n")
            process.stdin.flush()
            return json.loads(process.stdout.readline())

        assert ask(PARCEL)["id"] == "a"
        assert ask({"remove": "a"}) == {"id": "a", "removed": True}
        assert ask(LOGIN)["id"] == "b"
        process.send_signal(signal.SIGTERM)
        assert process.wait() == 0
        assert process.stderr.read().startswith(b"textmix: 2 texts added, 1 removed; 1 text in 1 cluster kept")
    with DurableStream(state) as stream:
        assert (stream.n_documents, stream.check()) == (1, [])
