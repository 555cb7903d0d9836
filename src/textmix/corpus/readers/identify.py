"""What a file is: how it is packed, its format, and why it is none that can be read."""

from __future__ import annotations

import re
from pathlib import Path

from textmix.corpus.readers.columns import TEXT_COLUMN_NAMES
from textmix.corpus.readers.csv_dialect import CsvDialect, detect_dialect
from textmix.corpus.readers.formats import (
    COMPRESSIONS_BY_EXTENSION,
    FORMAT_OPTIONS,
    FORMATS,
    FORMATS_BY_EXTENSION,
    FORMATS_BY_NAME,
    Format,
)
from textmix.corpus.readers.inputs import InputFile
from textmix.corpus.readers.report import InputError
from textmix.corpus.readers.source import GZIP_MAGIC, ZSTD_MAGICS, ByteSource, Compression, unreadable

# Beginnings that no text has: a short one of letters alone would refuse a table with a column "ORCID".
OTHER_FILES: tuple[tuple[bytes, str], ...] = (
    (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "an old Excel or Word file; save it as CSV"),
    (b"\x89PNG", "a PNG image"),
    (b"\xff\xd8\xff", "a JPEG image"),
    (b"GIF87a", "a GIF image"),
    (b"GIF89a", "a GIF image"),
    (b"%PDF", "a PDF file; extract its text first"),
    (b"{\\rtf", "an RTF file; save it as plain text"),
    (b"\xfd7zXZ\x00", "an xz archive; unpack it first"),
    (b"7z\xbc\xaf\x27\x1c", "a 7-Zip archive; unpack it first"),
    (b"SQLite format 3\x00", "an SQLite database; export the table as CSV"),
    (b"ARROW1\x00\x00", "an Arrow file; save it as Parquet"),
    (b"\x93NUMPY", "a NumPy array"),
    (b"\x89HDF", "an HDF5 file; export the table as CSV"),
    (b"Obj\x01", "an Avro file; save it as Parquet"),
    (b"\x7fELF", "a program"),
    *((b"BZh%d1AY&SY" % level, "a bzip2 archive; unpack it first") for level in range(1, 10)),
)

# Most bytes of a text are printable; of random bytes a tenth are control characters.
MOST_CONTROL_CHARACTERS = 0.05
_CONTROL_CHARACTERS = bytes(code for code in range(32) if code not in b"\t\n\v\f\r\x1b") + b"\x7f"


def check_format_name(name: str | None) -> None:
    """Refuse a format that does not exist."""
    if name is not None and name.lower() not in FORMATS_BY_NAME:
        raise InputError(f'unknown format "{name}"; use one of {", ".join(FORMATS_BY_NAME)}')


def open_source(file: InputFile) -> ByteSource:
    """The file with its compression, as its first bytes and its name say."""
    try:
        with open(file.path, "rb") as opened:
            magic = opened.read(8)
    except OSError as error:
        raise unreadable(file.name, error) from error
    extension = Path(file.name).suffix.lower()
    promised = None if file.is_standard_input else COMPRESSIONS_BY_EXTENSION.get(extension)
    found: Compression = "uncompressed"
    if magic.startswith(GZIP_MAGIC):
        found = "gzip"
    elif magic.startswith(ZSTD_MAGICS):
        found = "zstd"
    if promised and magic and found != promised:
        raise InputError(f'"{file.name}" is damaged: its name ends in {extension} but it is not such a file')
    return ByteSource(file.path, file.name, found)


def identify(file: InputFile, source: ByteSource, head: bytes, *, given: str | None, text: str | None) -> Format:
    """The file's format: the one given, else by its name, else by its content; refuses what is not text."""
    format = FORMATS_BY_NAME[given.lower()] if given else None
    if format is None and not file.is_standard_input:
        format = FORMATS_BY_EXTENSION.get(_format_extension(file.name, source))
    if format is not FORMATS_BY_NAME["txt"]:
        format = next((known for known in FORMATS if known.magic and head.startswith(known.magic)), format)
    if format is not None and format.magic:
        if source.compression != "uncompressed":
            raise InputError(f'"{file.name}" is a compressed {format.title} file; unpack it first')
        if head and not head.startswith(format.magic):
            raise InputError(f'"{file.name}" is not a {format.title} file, or a damaged one')
        return format
    finding = describe_binary(head)
    if finding is not None:
        raise InputError(f'"{file.name}" {finding}')
    if format is None:
        format = _sniff(head, text=text, is_standard_input=file.is_standard_input)
    if format is None:
        raise InputError(f'cannot tell what "{file.name}" is; say so with {FORMAT_OPTIONS}')
    return format


def describe_binary(head: bytes) -> str | None:
    """What a file is if not UTF-8 text, as the end of a sentence that starts with its name."""
    if head[:2] in (b"\xff\xfe", b"\xfe\xff"):
        encoding = "UTF-32" if head[:4] == b"\xff\xfe\x00\x00" else "UTF-16"
        return f"is encoded as {encoding}; save it as UTF-8"
    if head.startswith(b"PK\x03\x04"):
        if b"word/" in head:
            return "looks like a Word file; save it as plain text"
        is_excel = b"xl/" in head or b"[Content_Types].xml" in head
        return f"looks like {'an Excel file; save it as CSV' if is_excel else 'a zip archive; unpack it first'}"
    for magic, kind in OTHER_FILES:
        if head.startswith(magic):
            return f"looks like {kind}"
    n_control = len(head) - len(head.translate(None, _CONTROL_CHARACTERS))
    if n_control <= MOST_CONTROL_CHARACTERS * len(head):
        return None
    n_zeros_by_parity = head[::2].count(0), head[1::2].count(0)
    if max(n_zeros_by_parity) > 0.3 * len(head) and min(n_zeros_by_parity) < 0.1 * max(n_zeros_by_parity):
        return "seems to be encoded as UTF-16; save it as UTF-8"
    return "is a binary file, not text"


def _format_extension(name: str, source: ByteSource) -> str:
    path = Path(name)
    if source.compression != "uncompressed" and path.suffix.lower() in COMPRESSIONS_BY_EXTENSION:
        path = path.with_suffix("")
    return path.suffix.lower()


def _sniff(head: bytes, *, text: str | None, is_standard_input: bool) -> Format | None:
    """A format by content: JSON, CSV, and for standard input, which has no name, plain text."""
    if re.match(rb"\s*(\{|\[\s*\{)", head):
        return FORMATS_BY_NAME["json"]
    if not head.strip():
        return FORMATS_BY_NAME["txt"]
    if text is not None and is_standard_input:
        return FORMATS_BY_NAME["csv"]
    dialect = detect_dialect(head)
    if dialect is not None and (_looks_like_table(dialect) or _names_column(dialect, text)):
        return FORMATS_BY_NAME["csv"]
    return FORMATS_BY_NAME["txt"] if is_standard_input else None


def _names_column(dialect: CsvDialect, text: str | None) -> bool:
    return text is not None and text.casefold() in (name.casefold() for name in dialect.names)


def _looks_like_table(dialect: CsvDialect) -> bool:
    """Several columns, all sampled rows as wide as the header, and a header of names rather than of prose."""
    if len(dialect.names) < 2 or not dialect.is_regular:
        return False
    has_usual_name = any(name.casefold() in TEXT_COLUMN_NAMES for name in dialect.names)
    is_all_names = dialect.n_sampled >= 3 and all(re.fullmatch(r"\w+", name) for name in dialect.names)
    return has_usual_name or is_all_names
