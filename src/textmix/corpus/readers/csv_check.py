"""Whether a CSV file is clean, and how many rows it holds, without asking DuckDB.

Clean means RFC 4180 to the letter: quotes only around whole fields and doubled inside them, every record as
wide as the header, one kind of line ending, valid UTF-8. What DuckDB makes of such a file can be trusted (and
its number of rows is compared with the one found here); what it makes of others cannot.

Blocks are looked at in pieces that start and end between records. There the quotes alternate: the first opens
a field, the second closes it, and so on, a doubled quote being one that closes and opens again.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from textmix.corpus.readers.csv_records import SUSPECT_LINES, is_utf8

# DuckDB holds vectors of 2,048 rows, so long records would make its memory grow beyond bounds.
LONGEST_CLEAN_RECORD = 1 << 20
LONGEST_MEAN_RECORD = 1 << 15
# Its time grows with the square of a run of blank lines that is longer than its buffers.
MOST_BLANK_LINES = 1 << 22

QUOTE, LINE_FEED, CARRIAGE_RETURN = 0x22, 0x0A, 0x0D


@dataclass
class CsvCheck:
    """The finding on records, the header among them; it means something only if the file is clean."""

    is_clean: bool = True
    n_records: int = 0
    n_bytes: int = 0
    n_blank: int = 0
    has_return_characters: bool | None = None


def check_csv(blocks: Iterable[bytes], delimiter: bytes, width: int) -> CsvCheck:
    """Go through the blocks of a file, up to the first thing that is not clean."""
    check = CsvCheck()
    rest = b""
    for block in blocks:
        rest = _check_piece(rest + block, check, delimiter[0], width)
        if len(rest) > LONGEST_CLEAN_RECORD:
            check.is_clean = False
        if not check.is_clean:
            return check
    if rest:
        ending = b"\r\n" if check.has_return_characters else b"\n"
        rest = _check_piece(rest + ending, check, delimiter[0], width)
        check.is_clean &= not rest
    check.is_clean &= check.n_blank <= MOST_BLANK_LINES
    check.is_clean &= check.n_bytes <= LONGEST_MEAN_RECORD * max(check.n_records, 1)
    return check


def _check_piece(piece: bytes, check: CsvCheck, delimiter: int, width: int) -> bytes:
    """Check the records that end in this piece; returns the bytes after the last of them."""
    data = np.frombuffer(piece, dtype=np.uint8)
    quotes = np.flatnonzero(data == QUOTE)
    line_feeds = np.flatnonzero(data == LINE_FEED)
    n_quotes_before = np.searchsorted(quotes, line_feeds)
    is_record_end = n_quotes_before % 2 == 0
    ends = line_feeds[is_record_end]
    if not len(ends):
        return piece
    n_complete = int(ends[-1]) + 1
    data, quotes = data[:n_complete], quotes[quotes < n_complete]
    delimiters = np.flatnonzero(data == delimiter)
    check.is_clean = (
        is_utf8(piece[:n_complete])
        and _are_quotes_clean(data, quotes, delimiter)
        and _are_line_endings_clean(data, quotes, ends, check)
        and _are_records_clean(ends, _outside(delimiters, quotes), check, width)
        and not _has_suspect_run(line_feeds, is_record_end, n_quotes_before, delimiters, width)
    )
    return piece[n_complete:]


def _outside(positions: NDArray[np.int64], quotes: NDArray[np.int64]) -> NDArray[np.int64]:
    """Those positions that are not within quotes."""
    if not len(quotes):
        return positions
    outside: NDArray[np.int64] = positions[np.searchsorted(quotes, positions) % 2 == 0]
    return outside


def _are_quotes_clean(data: NDArray[np.uint8], quotes: NDArray[np.int64], delimiter: int) -> bool:
    """Whether quotes open only at the start of a field and close only at its end."""
    opening, closing = quotes[0::2], quotes[1::2]
    before = data[opening[opening > 0] - 1]
    after = data[closing + 1]  # a piece ends with a line feed, so there is a byte after every quote
    is_field_start = (before == delimiter) | (before == LINE_FEED) | (before == QUOTE)
    is_field_end = (after == delimiter) | (after == LINE_FEED) | (after == CARRIAGE_RETURN) | (after == QUOTE)
    return bool(is_field_start.all() and is_field_end.all())


def _are_line_endings_clean(
    data: NDArray[np.uint8], quotes: NDArray[np.int64], ends: NDArray[np.int64], check: CsvCheck
) -> bool:
    """Whether all records end alike and no other carriage return is outside quotes."""
    returns = _outside(np.flatnonzero(data == CARRIAGE_RETURN), quotes)
    has_returns = len(returns) > 0
    if check.has_return_characters is None:
        check.has_return_characters = has_returns
    if has_returns != check.has_return_characters:
        return False
    return not has_returns or (len(returns) == len(ends) and bool((returns + 1 == ends).all()))


def _are_records_clean(ends: NDArray[np.int64], delimiters: NDArray[np.int64], check: CsvCheck, width: int) -> bool:
    """Whether all records are as wide as the header and none is too long; counts them."""
    starts = np.concatenate(([0], ends[:-1] + 1))
    lengths = ends - starts
    is_record = lengths > int(bool(check.has_return_characters))
    if not check.n_records and not is_record[0]:
        return False  # DuckDB takes a blank first line for the header
    if width == 1:
        is_record[:] = True  # a blank line is an empty value
    n_delimiters = np.diff(np.searchsorted(delimiters, ends), prepend=0)
    check.n_records += int(is_record.sum())
    check.n_bytes += int(lengths[is_record].sum())
    check.n_blank += int((~is_record).sum())
    return bool((n_delimiters[is_record] == width - 1).all()) and int(lengths.max()) <= LONGEST_CLEAN_RECORD


def _has_suspect_run(
    line_feeds: NDArray[np.int64],
    is_record_end: NDArray[np.bool_],
    n_quotes_before: NDArray[np.intp],
    delimiters: NDArray[np.int64],
    width: int,
) -> bool:
    """Whether quotes enclose a run of lines that look like rows (see CsvRecords.suspects)."""
    is_inside = ~is_record_end
    if width == 1 or int(is_inside.sum()) <= SUSPECT_LINES:
        return False
    n_delimiters = np.diff(np.searchsorted(delimiters, line_feeds))
    is_like_row = is_inside[:-1] & is_inside[1:] & (np.diff(n_quotes_before) == 0) & (n_delimiters == width - 1)
    breaks = np.flatnonzero(~np.concatenate(([False], is_like_row, [False])))
    return int(np.diff(breaks).max()) - 1 >= SUSPECT_LINES
