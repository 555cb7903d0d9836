"""What can stop a large run. Messages state facts; which option of the command line helps is added by cli/large.py."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal


class LargeRunError(ValueError):
    """A large run cannot begin, be resumed, or be finished."""

    def __reduce__(self) -> tuple[Any, ...]:
        """For pickles: a worker process hands its error on. Otherwise the message would be taken for the arguments."""
        return type(self).__new__, (type(self), *self.args), self.__dict__


class InMemoryOnlyError(LargeRunError):
    """A setting that cannot be had with counts on disk, and what to do instead."""

    def __init__(self, setting: str, advice: str) -> None:
        super().__init__(f"{setting} needs all counts in memory; with counts on disk or on Dask {advice}")
        self.setting = setting
        self.advice = advice


class WorkFolderError(LargeRunError):
    """The work folder cannot be used."""

    def __init__(self, message: str, problem: Literal["foreign", "file", "taken", "not made"]) -> None:
        super().__init__(message)
        self.problem = problem


class NestedFoldersError(LargeRunError):
    """The work folder and the folder of the results are not apart."""

    def __init__(self, work: Path, out: Path) -> None:
        folders = f'"{work}" to work in and "{out}" for the results'
        super().__init__(f"{folders} must be two folders, none inside the other")
        self.work = work
        self.out = out


class LeftOverError(LargeRunError):
    """The work folder holds a run that was not finished, and it was not said what to do with it."""

    def __init__(self, work: Path, *, can_resume: bool) -> None:
        super().__init__(f'"{work}" is left from a run that was not finished')
        self.can_resume = can_resume


class CannotResumeError(LargeRunError):
    """The run that was left cannot be resumed."""

    def __init__(
        self,
        message: str,
        problem: Literal["input", "files", "setting", "other state", "damaged state"],
        setting: str = "",
    ) -> None:
        super().__init__(message)
        self.problem = problem
        self.setting = setting  # the message begins with it

    @classmethod
    def of_setting(cls, setting: str, now: Any, before: Any, work: Path) -> CannotResumeError:
        """A setting is not what it was."""
        return cls(f'{setting} is {now!r}, but the run in "{work}" began with {before!r}', "setting", setting)


class MemoryLimitError(LargeRunError):
    """A run needs more bytes than it was allowed."""

    def __init__(
        self, what: str, needed: int, allowed: int, stage: Literal["start", "counting", "sampling", "online sampling"]
    ) -> None:
        advice = "; allow more: leaving out rare words does not help, since all are counted first"
        problem = f"{what} need {megabytes(needed)} of memory, but {megabytes(allowed)} are allowed"
        super().__init__(problem + advice if stage == "counting" else problem)
        self.what = what
        self.needed = needed
        self.allowed = allowed
        self.stage = stage


class NoSpaceError(LargeRunError):
    """A disk is full."""

    def __init__(self, work: Path, out: Path) -> None:
        super().__init__(f'no space left on the disk of "{work}" or of "{out}"')
        self.work = work
        self.out = out


@dataclass(frozen=True)
class Remains:
    """What is left of a run that broke off."""

    work: Path | None  # where it can be resumed from; None: nothing is kept
    files_changed: bool = False  # since they were counted: there is no resuming

    def __str__(self) -> str:
        if self.files_changed:
            return "start anew with the files as they are now"
        if self.work is None:
            return "nothing is kept, since the texts cannot be read again"
        return f'what was done is kept in "{self.work}"'


class UnfinishedError(LargeRunError):
    """A run broke off after its texts were counted; `cause` is why."""

    def __init__(self, cause: BaseException, remains: Remains) -> None:
        super().__init__(f"{cause}; {remains}")
        self.cause = cause
        self.remains = remains


class InterruptedRun(KeyboardInterrupt):
    """Ctrl-C, and what is left of the run."""

    def __init__(self, remains: Remains) -> None:
        super().__init__(str(remains))
        self.remains = remains


def megabytes(n_bytes: int) -> str:
    """ "512 MB"."""
    return f"{n_bytes / 1e6:,.0f} MB"
