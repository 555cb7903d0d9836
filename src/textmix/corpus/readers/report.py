"""What was read, what was skipped and why."""

from __future__ import annotations

from dataclasses import dataclass, field

KEPT_SKIPPED_ROWS = 100
DESCRIBED_SKIPPED_ROWS = 5

UNCLOSED_QUOTE = "unclosed quote"
TEXT_AFTER_QUOTE = "text after a closing quote"
WRONG_WIDTH = "wrong number of columns"
INVALID_UTF8 = "invalid UTF-8"
INVALID_JSON = "invalid JSON"
NOT_AN_OBJECT = "not a JSON object"
NOT_TEXT = "not UTF-8 text"
TOO_LONG = "longer than 16 MB"
NOT_A_FILE = "a pipe, socket or device"


class InputError(ValueError):
    """An input that cannot be read; its message is one sentence for the user."""


@dataclass(frozen=True)
class Fault:
    """Why a row is bad: one of the reasons above, and what there is to say about this row."""

    reason: str
    detail: str = ""


@dataclass(frozen=True)
class SkippedRow:
    """A row that was not delivered; `line` counts from 1 and is where the row starts."""

    file: str
    line: int | None
    reason: str


@dataclass(frozen=True)
class Batch:
    """Documents in the order of their files; what is missing of a row is ""."""

    texts: list[str]
    ids: list[str] | None = None
    labels: list[str] | None = None
    more: list[list[str]] = field(default_factory=list)  # other columns that were asked for


@dataclass
class ReadReport:
    """What came of a reading; complete once the reader has been iterated to its end."""

    files: list[str] = field(default_factory=list)
    n_rows: int = 0
    n_skipped: int = 0
    skipped: list[SkippedRow] = field(default_factory=list)
    reasons: dict[str, int] = field(default_factory=dict)
    text_column: str | None = None
    notes: list[str] = field(default_factory=list)

    def skip(self, file: str, line: int | None, fault: Fault) -> None:
        """Count a bad row; the first hundred are kept."""
        self.n_skipped += 1
        self.reasons[fault.reason] = self.reasons.get(fault.reason, 0) + 1
        if len(self.skipped) < KEPT_SKIPPED_ROWS:
            reason = f"{fault.reason} ({fault.detail})" if fault.detail else fault.reason
            self.skipped.append(SkippedRow(file, line, reason))

    def describe(self) -> list[str]:
        """Sentences about the rows that were skipped; none if nothing was."""
        if self.n_skipped == 0:
            return []
        by_count = sorted(self.reasons.items(), key=lambda item: (-item[1], item[0]))
        reasons = ", ".join(f"{reason} {count:,}" for reason, count in by_count)
        n_all = self.n_rows + self.n_skipped
        sentences = [f"Skipped {self.n_skipped:,} of {n_all:,} rows: {reasons}."]
        for row in self.skipped[:DESCRIBED_SKIPPED_ROWS]:
            place = row.file if row.line is None else f"{row.file}, line {row.line:,}"
            sentences.append(f"{place}: {row.reason}.")
        n_more = self.n_skipped - min(len(self.skipped), DESCRIBED_SKIPPED_ROWS)
        if n_more:
            sentences.append(f"And {n_more:,} more.")
        return sentences
