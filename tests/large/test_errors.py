"""Errors of large runs reach other processes as they are."""

from __future__ import annotations

import pickle
from pathlib import Path

import pytest

from textmix.large import errors

WORK, OUT = Path("work"), Path("out")
EXAMPLES = [
    errors.InMemoryOnlyError("granularity", "leave it out"),
    errors.WorkFolderError("no", "taken"),
    errors.NestedFoldersError(WORK, OUT),
    errors.LeftOverError(WORK, can_resume=True),
    errors.CannotResumeError.of_setting("n_clusters", 3, 4, WORK),
    errors.MemoryLimitError("words", 2_000_000, 1_000_000, "counting"),
    errors.NoSpaceError(WORK, OUT),
    errors.UnfinishedError(OSError("gone"), errors.Remains(WORK)),
]


@pytest.mark.parametrize("error", EXAMPLES, ids=lambda error: type(error).__name__)
def test_a_pickle_has_the_message_and_the_facts(error):
    again = pickle.loads(pickle.dumps(error))
    assert type(again) is type(error)
    assert str(again) == str(error)
    assert again.__dict__.keys() == error.__dict__.keys()
    assert repr(again.__dict__) == repr(error.__dict__)


def test_there_is_an_example_of_every_error():
    assert {type(error) for error in EXAMPLES} == set(errors.LargeRunError.__subclasses__())
