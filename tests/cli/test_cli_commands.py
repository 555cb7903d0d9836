"""The commands in this process: options, messages, output."""

from __future__ import annotations

import csv
import json
import zlib
from pathlib import Path

import numpy as np
import pytest
import typer

import textmix
from textmix.cli import main
from textmix.cli.console import one_line, plural
from textmix.inference.collapsed_gibbs import GibbsState

TEXTS = ["refund money", "money refund bank", "refund bank money", "login password", "password login reset"] * 4


@pytest.fixture
def table(tmp_path) -> Path:
    path = tmp_path / "table.csv"
    rows = [f"{number},{text},{text.split()[0]}" for number, text in enumerate(TEXTS)]
    path.write_text("\n".join(["key,text,topic", *rows]) + "\n")
    return path


@pytest.fixture
def saved(program, table, tmp_path) -> Path:
    folder = tmp_path / "run"
    code, _, error = program("cluster", table, "--id", "key", "--out", folder, "--quiet")
    assert (code, error) == (0, "")
    return folder


def test_version_and_help(program):
    assert program("--version")[1].startswith("textmix ")
    code, shown, _ = program("--help")
    assert code == 0
    assert all(name in shown for name in ("cluster", "assign", "evaluate", "tickets.csv --out run"))
    shown = program("cluster", "--help")[1]
    assert all(name in shown for name in ("--outlier-size", "Large collections", "--memory", "--resume", "--scheduler"))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["cluster"], "Missing argument"),
        (["clutser", "x.csv"], "No such command"),
        (["cluster", "TABLE", "--frob"], "No such option: --frob"),
        (["cluster", "TABLE", "--text", "text", "--text", "topic"], "--text is given 2 times, but takes one value"),
        (["cluster", "TABLE", "--text=text", "--text", "topic", "--text=text"], "--text is given 3 times"),
        (["cluster", "TABLE", "--clusters", "many"], "Invalid value for '--clusters'"),
        (["cluster", "TABLE", "--clusters", "0"], "Invalid value for '--clusters'"),
        (["cluster", "TABLE", "--min-df", "many"], "'many' is neither a number of texts"),
        (["cluster", "TABLE", "--beta", "-1"], "'beta' parameter"),
        (["cluster", "TABLE", "--granularity", "finest"], "'granularity' parameter"),
        (["cluster", "TABLE", "--granularity", "fine", "--beta", "0.1"], "has no setting granularity"),
        (["cluster", "TABLE", "--clusters", "9"], "n_clusters is 9, but only 4 of the texts are different"),
        (["cluster", "TABLE", "--inference", "guess"], "Invalid value for '--inference'"),
        (["cluster", "TABLE", "--init", "warm"], "Invalid value for '--init'"),
        (["cluster", "TABLE", "--jobs", "0"], "n_jobs must not be 0"),
        (["cluster", "TABLE", "--model", "dirichlet-process", "--clusters", "3"], "has no setting n_clusters"),
        (["cluster", "TABLE", "--language", "klingon"], "unknown language"),
        (["cluster", "TABLE", "--stop-words", "nowhere.txt"], 'cannot read "nowhere.txt"'),
        (["cluster", "nowhere.csv"], 'no such file: "nowhere.csv"'),
        (["cluster", "TABLE", "--text", "txet"], 'no column "txet"'),
        (["cluster", "EMPTY"], "no rows"),
        (["cluster", "TABLE", "--out", "TABLE"], "is a file"),
        (["cluster", "TABLE", "--out", "FOLDER"], "holds other files"),
        (["cluster", "TABLE", "--known", "cluster"], 'no column "cluster"'),
        (["cluster", "TABLE", "--weight", "text"], 'row 1: the weight in column "text" must be a number'),
        (["cluster", "TABLE", "--seed-words", "nowhere.txt"], 'cannot read "nowhere.txt"'),
        (["cluster", "TABLE", "--seed-words", "TABLE"], "line 1: expected a name, a colon and words"),
        (["cluster", "TABLE", "--seed-words", "EMPTY"], "has no seed words"),
        (["cluster", "TABLE", "--frozen", "nowhere"], 'there is no folder "nowhere"'),
        (
            ["cluster", "TABLE", "--known", "topic", "--alpha", "1"],
            "--known: only the consensus can be guided; leave out",
        ),
        (["cluster", "TABLE", "--known", "topic", "--memory", "1GB", "--out", "new"], "are for runs in memory"),
        (["assign", "nowhere", "TABLE"], 'there is no folder "nowhere"'),
        (["assign", "FOLDER", "TABLE"], "is no textmix run"),
        (["evaluate", "FOLDER"], "is no textmix run"),
    ],
)
def test_a_mistake_is_one_line_and_exit_code_2(program, table, tmp_path, arguments, message):
    (tmp_path / "empty.csv").write_text("")
    names = {"TABLE": table, "EMPTY": tmp_path / "empty.csv", "FOLDER": tmp_path}
    code, shown, error = program(*(names.get(argument, argument) for argument in arguments))
    assert code == 2
    assert shown == ""
    assert error.startswith("textmix: ")
    assert error.count("\n") == 1
    assert message in error


COMMANDS = typer.main.get_command(main.app).commands
CHOICES = {"--model": "auto", "--inference": "gibbs", "--init": "random", "--duplicates": "all", "--engine": "serial"}


@pytest.mark.parametrize("command", COMMANDS)
def test_an_option_that_takes_one_value_is_given_once(command):
    parameters = [parameter for parameter in COMMANDS[command].params if parameter.param_type_name == "option"]
    takes_one = [parameter for parameter in parameters if not (parameter.is_flag or parameter.multiple)]
    options = [option for parameter in takes_one for option in parameter.opts]
    given = ["RUN", "FILE"] if command == "assign" else ["FILE"]
    assert options
    for option in options:
        value = CHOICES.get(option, "1")
        COMMANDS[command].make_context(command, [*given, option, value])
        with pytest.raises(ValueError, match=f"^{option} is given 2 times, but takes one value; give it once$"):
            COMMANDS[command].make_context(command, [option, value, *given, f"{option}={value}"])


def test_options_to_repeat_and_flags_may_be_repeated(program, table):
    code, shown, _ = program("cluster", table, table, "--quiet", "-q", "--quiet")
    assert (code, shown) == (0, "")
    code, shown, _ = program("cluster", table, "--text", "a", "--text", "b", "--help")
    assert code == 0
    assert "--outlier-size" in shown


def test_texts_without_words_are_one_line(program, tmp_path):
    path = tmp_path / "stop.txt"
    path.write_text("the\nof and\n")
    code, _, error = program("cluster", path, "--language", "en")
    assert code == 2
    assert error == "textmix: none of the 2 texts has any words to cluster by, once stop words are left out\n"


def test_options_reach_the_run(program, table, tmp_path):
    (tmp_path / "stop.txt").write_text("bank\nreset\n")
    options = ["--clusters", 7, "--alpha", 0.2, "--beta", 0.3, "--sweeps", 20, "--seed", 9, "--outlier-size", 2]
    words = ["--language", "none", "--stop-words", tmp_path / "stop.txt", "--min-df", 2, "--max-df", 0.9]
    code, _, error = program("cluster", table, *options, *words, "--out", tmp_path / "run")
    assert code == 0, error
    info = json.loads((tmp_path / "run" / "run.json").read_text())
    expected = {"n_clusters": 7, "alpha": 0.2, "beta": 0.3, "n_sweeps": 20, "random_state": 9, "outlier_size": 2}
    assert expected.items() <= info["settings"]["parameters"].items()
    tokenizer = info["settings"]["tokenizer"]
    assert tokenizer["stop_words"] == ["bank", "reset"]
    assert (tokenizer["language"], tokenizer["stem"]) == (None, False)
    assert (tokenizer["min_document_frequency"], tokenizer["max_document_frequency"]) == (2, 0.9)
    assert info["input"]["n_rows"] == 20
    assert info["input"]["columns"]["text"] == "text"


def test_options_of_the_samplers_reach_the_run(program, table, tmp_path):
    options = ["--inference", "parallel", "--init", "online", "--engine", "serial", "--jobs", 1]
    code, _, error = program("cluster", table, *options, "--out", tmp_path / "run")
    assert code == 0, error
    info = json.loads((tmp_path / "run" / "run.json").read_text())
    expected = {"inference": "parallel", "init": "online", "engine": "serial", "n_jobs": 1}
    assert expected.items() <= info["settings"]["parameters"].items()
    assert info["result"]["inference"] == "parallel"


def test_the_dirichlet_process_takes_an_alpha_by_the_number_of_texts(program, table, tmp_path):
    options = ["--model", "dirichlet-process", "--alpha", "0.2n", "--out", tmp_path / "run"]
    code, _, error = program("cluster", table, *options)
    assert code == 0, error
    info = json.loads((tmp_path / "run" / "run.json").read_text())
    assert info["settings"]["parameters"]["alpha"] == "0.2n"
    assert info["settings"]["model"] == "DirichletProcessMixture"


def test_force_overwrites_an_earlier_run(program, table, saved):
    assert program("cluster", table, "--out", saved)[0] == 2
    code, _, error = program("cluster", table, "--out", saved, "--force", "--seed", 8)
    assert code == 0, error
    assert json.loads((saved / "run.json").read_text())["seed"] == 8


def test_clusters_are_as_many_or_as_fine_as_asked_for(program, table, tmp_path):
    def n_clusters(*options):
        folder = tmp_path / "-".join(map(str, options))
        code, _, error = program("cluster", table, "--out", folder, *options)
        assert code == 0, error
        return json.loads((folder / "run.json").read_text())["result"]["n_clusters"]

    assert [n_clusters("--clusters", n) for n in (1, 3, 4)] == [1, 3, 4]
    assert n_clusters("--granularity", "coarse") <= n_clusters("--model", "consensus", "--granularity", 50)


def test_what_is_known_beforehand_guides_the_clusters(program, tmp_path, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    texts = ["refund money", "money refund bank", "login password", "password login reset"] * 6
    texts += ["zebra lion tiger", "lion zebra"] * 5
    table, seeds, run, later = (tmp_path / name for name in ("t.csv", "seeds.txt", "run", "later"))
    known = {1: "Money", 5: "Money", 2: "Access"}
    rows = [f"{text},{known.get(i, '')},{1 + i % 2}" for i, text in enumerate(texts)]
    table.write_text("\n".join(["text,known,weight", *rows]) + "\n")
    options = ["--known", "known", "--weight", "weight", "--duplicates", "once", "--out", run]
    code, shown, error = program("cluster", table, *options)
    assert (code, error) == (0, "")
    header, *lines = shown[shown.index("cluster  ") :].splitlines()[:4]
    assert header.split() == ["cluster", "size", "agreed", "known", "as", "words", "example"]
    column = slice(header.index("known as"), header.index("words"))
    assert sorted(line[column].strip() for line in lines[:2]) == ["Access", "Money"]
    assert lines[2][column].strip() == ""
    assert all(len(line) <= 80 for line in lines)
    with (run / "clusters.csv").open() as file:
        found = {row["name"]: row["known"] for row in csv.DictReader(file)}
    assert (found.pop("Money"), found.pop("Access"), *found.values()) == ("true", "true", "false")
    info = json.loads((run / "run.json").read_text())
    assert info["guidance"] == {"known": "known", "weight": "weight"}
    assert set(info["result"]["known_clusters"]) == {"Money", "Access"}
    seeds.write_text("# looked for\n\nAccess: login, sesame\nParcels: reset\n")
    code, shown, error = program("cluster", table, "--frozen", run, "--seed-words", seeds, "--out", later)
    said = "textmix: only one seed word of 'Access' is in the texts; not there, or stop words: sesame\n"
    assert (code, error) == (0, said)
    names = json.loads((later / "run.json").read_text())["result"]["known_clusters"]
    assert set(names) == {"Money", "Access", "Parcels", *found}
    assert ('"Parcels" 0 texts' in " ".join(shown.split())) == (names["Parcels"] == -1)
    assert '"Money" 12 texts' in " ".join(shown.split())


def test_the_outlier_threshold_can_be_given(program, table, tmp_path):
    code, _, error = program("cluster", table, "--outlier-threshold", -100, "--out", tmp_path / "all")
    assert code == 0, error
    assert json.loads((tmp_path / "all" / "run.json").read_text())["result"]["n_outliers"] == 20


@pytest.mark.parametrize(
    ("options", "runs"), [([], "10 runs on words and 10 on vectors"), (["--encoder", "none"], "10 runs")]
)
def test_top_limits_the_table_and_the_rest_is_counted(program, table, options, runs):
    _, all_shown, _ = program("cluster", table, *options)
    _, one_shown, _ = program("cluster", table, *options, "--top", 1)
    n_clusters = int(next(line for line in all_shown.splitlines() if f", consensus of {runs}" in line).split()[0])
    noun = "more cluster" if n_clusters == 2 else "more clusters"
    assert f"… and {n_clusters - 1} {noun}" in one_shown
    assert "more cluster" not in all_shown


def test_texts_are_shown_without_control_characters(program, tmp_path):
    path = tmp_path / "odd.jsonl"
    lines = [json.dumps({"text": text}) for text in ("[red]apple\x1b[31m pear", "apple pear", "apple pear [/x]")]
    path.write_text("\n".join(lines))
    code, shown, error = program("cluster", path)
    assert code == 0, error
    assert "\x1b" not in shown
    assert one_line("a\x1b[31m\n b") == "a\ufffd[31m b"


def test_scores_are_shown_if_there_are_labels(program, table):
    _, shown, _ = program("cluster", table, "--label", "topic")
    assert 'Compared with column "topic": 20 texts, 4 labels' in shown
    assert "NMI (geometric)" in shown


def test_an_interrupted_sampler_shows_what_it_has(program, table, monkeypatch):
    pass_over, calls = GibbsState.sample, []

    def interrupted(self, *arguments, **options):
        calls.append(1)
        if len(calls) == 3:
            raise KeyboardInterrupt
        return pass_over(self, *arguments, **options)

    monkeypatch.setattr(GibbsState, "sample", interrupted)
    code, shown, error = program("cluster", table, "--model", "dirichlet-multinomial")
    assert code == 0
    assert error == "textmix: sampling interrupted in sweep 3 of 100: this is what had been reached\n"
    assert "Read 20 texts" in shown


def test_evaluate_matches_rows_by_order_or_by_id(program, table, saved, tmp_path):
    by_order = program("evaluate", saved, table, "--label", "topic")[1]
    lines = table.read_text().splitlines()
    shuffled = tmp_path / "shuffled.csv"
    shuffled.write_text("\n".join([lines[0], *reversed(lines[1:])]) + "\n")
    by_id = program("evaluate", saved, shuffled, "--label", "topic", "--id", "key")[1]
    assert by_order.splitlines()[1:] == by_id.splitlines()[1:]
    assert by_order.splitlines()[1:] != program("evaluate", saved, shuffled, "--label", "topic")[1].splitlines()[1:]


def test_evaluate_leaves_out_rows_that_the_file_lacks(program, table, saved, tmp_path):
    part = tmp_path / "part.csv"
    part.write_text("\n".join(table.read_text().splitlines()[:11]) + "\n")
    shown = program("evaluate", saved, part, "--label", "topic", "--id", "key")[1]
    assert "10 texts" in shown
    assert "Left out: 10 texts without a label." in shown


def test_evaluate_explains_what_it_needs(program, table, saved, tmp_path):
    part = tmp_path / "part.csv"
    part.write_text("key,topic\n1,refund\n1,login\n")
    assert "kept no labels" in program("evaluate", saved)[2]
    assert "say with --label" in program("evaluate", saved, table)[2]
    assert "the file has 2 rows, the run 20 texts" in program("evaluate", saved, part, "--label", "topic")[2]
    assert "more than once" in program("evaluate", saved, part, "--label", "topic", "--id", "key")[2]
    part.write_text("key,topic\nx,refund\ny,login\n")
    other_ids = program("evaluate", saved, part, "--label", "topic", "--id", "key")[2]
    assert "no id of the file is in the run" in other_ids


@pytest.mark.parametrize(
    "command",
    [
        ("assign", "RUN", "TABLE"),
        ("report", "RUN"),
        ("evaluate", "RUN", "TABLE", "--label", "topic"),
        ("cluster", "TABLE", "--frozen", "RUN"),
        ("stream", "RUN", "TABLE"),
    ],
)
def test_a_run_with_words_out_of_range_is_one_line(program, table, saved, command):
    path = saved / "model" / "word_counts_indices.npy"
    indices = np.load(path)
    indices[-1] = 10**6
    np.save(path, indices)
    manifest = json.loads((saved / "model" / "model.json").read_text())
    manifest["checksums"][path.name] = zlib.crc32(indices.tobytes())
    (saved / "model" / "model.json").write_text(json.dumps(manifest))
    code, _, error = program(*({"RUN": saved, "TABLE": table}.get(word, word) for word in command))
    assert (code, error.count("\n")) == (2, 1)
    assert error.startswith(f"textmix: {saved / 'model'} is not a complete model (word_counts_indices.npy has 1000000;")


def test_evaluate_refuses_another_column_than_the_one_kept(program, table, tmp_path):
    program("cluster", table, "--label", "topic", "--out", tmp_path / "run")
    assert program("evaluate", tmp_path / "run")[0] == 0
    code, _, error = program("evaluate", tmp_path / "run", "--label", "key")
    assert code == 2
    assert 'kept the labels of column "topic", not of "key"' in error


def test_assign_writes_whole_files_to_folders_that_exist(program, table, saved, tmp_path):
    code, shown, _ = program("assign", saved, table, "--out", tmp_path / "new.csv")
    assert (code, shown) == (0, "")
    with open(tmp_path / "new.csv", newline="") as file:
        columns = ["row", "cluster", "name", "probability", "outlier", "outlier_score", "text"]
        assert list(next(csv.reader(file))) == columns
    assert not list(tmp_path.glob(".*.tmp"))
    assert "is a folder" in program("assign", saved, table, "--out", tmp_path)[2]
    assert "there is no folder" in program("assign", saved, table, "--out", tmp_path / "no" / "new.csv")[2]


FORMULA_IDS = [f"{sign}x{number}" for number, sign in zip(range(20), "=+-@" * 5, strict=True)]


@pytest.fixture
def with_formulas(tmp_path) -> Path:
    """A table whose ids and labels a spreadsheet would take for formulas."""
    path = tmp_path / "formulas.csv"
    rows = [f"{id},{text},={text.split()[0]}" for id, text in zip(FORMULA_IDS, TEXTS, strict=True)]
    path.write_text("\n".join(["key,text,topic", *rows]) + "\n")
    return path


def read_table(path: Path) -> list[dict[str, str]]:
    with open(path, encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def test_csv_is_written_without_formulas_and_its_ids_still_match(program, with_formulas, tmp_path):
    run, columns = tmp_path / "run", ("--id", "key", "--label", "topic")
    assert program("cluster", with_formulas, *columns, "--out", run, "--quiet") == (0, "", "")
    rows = read_table(run / "assignments.csv")
    assert [row["id"] for row in rows] == [f"'{id}" for id in FORMULA_IDS]
    assert {row["label"][:2] for row in rows} == {"'="}
    loaded = textmix.load(run)
    assert loaded.corpus.ids == FORMULA_IDS
    loaded.rename(0, "=1+1").save(tmp_path / "renamed")
    assert read_table(tmp_path / "renamed" / "clusters.csv")[0]["name"] == "'=1+1"
    loaded.rename(0, "=1+1").save(tmp_path / "renamed", force=True, escape_formulas=False)
    assert read_table(tmp_path / "renamed" / "clusters.csv")[0]["name"] == "=1+1"

    assigned = tmp_path / "assigned.csv"
    assert program("assign", run, with_formulas, "--id", "key", "--out", assigned)[0] == 0
    assert [row["id"] for row in read_table(assigned)] == [f"'{id}" for id in FORMULA_IDS]
    shown = program("assign", run, run / "assignments.csv", "--text", "text", "--id", "id")[1]
    assert [row["id"] for row in csv.DictReader(shown.splitlines())] == [f"'{id}" for id in FORMULA_IDS]
    shown = program("assign", run, with_formulas, "--id", "key", "--no-escape-formulas")[1]
    assert [row["id"] for row in csv.DictReader(shown.splitlines())] == FORMULA_IDS

    expected = program("evaluate", run)[1].splitlines()[1:]
    for file, id, label in (
        (with_formulas, "key", "topic"),
        (run / "assignments.csv", "id", "label"),
    ):
        code, shown, error = program("evaluate", run, file, "--id", id, "--label", label)
        assert (code, error, shown.splitlines()[1:]) == (0, "", expected)


def test_ids_of_a_run_that_was_made_of_our_csv_match_those_of_the_original(program, with_formulas, tmp_path):
    first, second = tmp_path / "first", tmp_path / "second"
    assert program("cluster", with_formulas, "--id", "key", "--out", first, "--quiet")[0] == 0
    copied = (first / "assignments.csv", "--text", "text", "--id", "id")
    assert program("cluster", *copied, "--out", second, "--quiet")[0] == 0
    code, shown, _ = program("evaluate", second, with_formulas, "--id", "key", "--label", "topic")
    assert (code, "20 texts" in shown, "Left out" in shown) == (0, True, False)


def test_formulas_stay_if_that_is_wanted(program, with_formulas, tmp_path):
    command = ("cluster", with_formulas, "--id", "key", "--out", tmp_path / "run", "--quiet")
    assert program(*command, "--no-escape-formulas") == (0, "", "")
    assert [row["id"] for row in read_table(tmp_path / "run" / "assignments.csv")] == FORMULA_IDS


def test_the_report_is_written_with_the_run_and_again_on_request(program, table, tmp_path, monkeypatch):
    code, shown, _ = program("cluster", table, "--out", tmp_path / "run", "--label", "topic", "--time", "day")
    assert code == 2  # there is no such column
    with open(table, newline="") as file:
        rows = list(csv.reader(file))
    table.write_text("\n".join(",".join([*row, "day" if i == 0 else f"2024-03-{i:02}"]) for i, row in enumerate(rows)))
    code, shown, _ = program("cluster", table, "--out", tmp_path / "run", "--label", "topic", "--time", "day")
    page = tmp_path / "run" / "report.html"
    assert (code, f"To look at: {page}" in shown) == (0, True)
    assert "2024-03-07T00:00:00" in (tmp_path / "run" / "assignments.csv").read_text()
    page.unlink()
    opened = []
    monkeypatch.setattr("webbrowser.open", lambda address: opened.append(address) or True)
    code, shown, _ = program("report", tmp_path / "run", "--open", "--title", "My <tickets>")
    assert (code, opened) == (0, [page.as_uri()])
    assert shown.startswith(f"Written to {page} (")
    assert "My &lt;tickets&gt;" in page.read_text(encoding="utf-8")
    monkeypatch.setattr("webbrowser.open", lambda address: False)
    code, _, error = program("report", tmp_path / "run", "--open", "--out", tmp_path / "other.html")
    assert (code, "no browser could be started" in error) == (2, True)
    assert (tmp_path / "other.html").exists()
    assert program("cluster", table, "--out", tmp_path / "run", "--force", "--no-report")[0] == 0
    assert not page.exists()


def test_a_language_in_doubt_is_one_line(program, tmp_path):
    question = "this is what it was about and they have not been at the house with us where can my money be or will you"
    parts = [f"part-{number} steel bolt zinc pack box" for number in range(100)]
    path = tmp_path / "parts.txt"
    path.write_text("\n".join([question, *parts]))
    options = ["--model", "dirichlet-process", "--sweeps", "1"]
    code, shown, error = program("cluster", path, *options)
    assert code == 0
    assert "no stop words left out" in shown
    assert error.startswith("textmix: no language was recognised, so no stop words are left out; those of english are")
    assert error.count("\n") == 1
    assert program("cluster", path, *options, "--language", "none")[2] == ""


def test_quiet_prints_no_warnings(program, table, tmp_path):
    (tmp_path / "seeds.txt").write_text("Money: refund\nBack: refund\n")
    command = ("cluster", table, "--seed-words", tmp_path / "seeds.txt")
    assert 'seed word "refund" stands under' in program(*command)[2]
    assert program(*command, "--quiet") == (0, "", "")


def test_a_time_that_is_none_is_named_with_its_row(program, table):
    code, _, error = program("cluster", table, "--time", "topic")
    assert (code, error.startswith("textmix: column \"topic\", row 1: 'refund' is no time; write")) == (2, True)


def test_json_is_for_programs(program, table, tmp_path):
    code, shown, error = program("cluster", table, "--json", "--label", "topic", "--out", tmp_path / "run")
    assert (code, error) == (0, "")
    result = json.loads(shown)
    assert (result["n_texts"], result["n_clusters"]) == (20, len(result["clusters"]))
    assert sum(cluster["size"] for cluster in result["clusters"]) == 20
    first = result["clusters"][0]
    assert first["examples"][0]["text"] == TEXTS[first["examples"][0]["row"] - 1]
    assert {"name", "words", "share", "stability"} <= first.keys()
    assert 0 < result["scores"]["ami"] <= 1
    code, _, error = program("cluster", table, "--json", "--quiet")
    assert (code, "leave one of them out" in error) == (2, True)


def test_what_is_printed_fits_80_columns_and_has_no_colours_in_a_file(program, table, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    code, shown, _ = program("cluster", table, "--label", "topic")
    lines = shown.splitlines()
    assert code == 0
    assert max(len(line) for line in lines if not line.startswith(("Read ", "To look at"))) <= 80
    assert "\x1b" not in shown


def test_numbers_are_said_in_words_people_use():
    assert [plural(n, "text") for n in (0, 1, 2000)] == ["0 texts", "1 text", "2,000 texts"]


def test_reproduce_without_the_studies_says_what_to_install(program, monkeypatch):
    monkeypatch.setattr("importlib.metadata.entry_points", lambda **_: ())
    code, shown, error = program("reproduce", "xdmm")
    assert (code, shown, error) == (
        2,
        "",
        "textmix: textmix reproduce needs textmix-studies: pip install textmix-studies\n",
    )
