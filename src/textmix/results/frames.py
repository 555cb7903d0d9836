"""Tables as users take them: pandas or polars, whichever they have; Arrow and CSV in any case."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from html import escape
from importlib import import_module
from pathlib import Path
from typing import IO, Any

import numpy as np

from textmix.results.tables import Column, arrow_stream, as_arrays, save_csv, write_csv

N_SHOWN = 10  # rows of a table that is printed
N_CHARACTERS = 60  # of a cell


class Frame:
    """A table: columns by name, and what other packages make of it.

    ``frame["size"]`` is a column as an array. Anything else that a data frame of pandas or polars has
    (``frame.head()``) is that of `to_frame()`. Packages that know Arrow's C stream take it as it is:
    ``pyarrow.table(frame)``, ``polars.DataFrame(frame)``.
    """

    def __init__(self, columns: Sequence[Column]) -> None:
        self._columns = list(columns)

    @property
    def columns(self) -> list[str]:
        """The names of the columns."""
        return [column.name for column in self._columns]

    def __len__(self) -> int:
        return len(self._columns[0].values)

    def __getitem__(self, key: Any) -> Any:
        for column in self._columns:
            if isinstance(key, str) and column.name == key:
                return as_arrays([column])[key]
        if isinstance(key, str):
            raise KeyError(f"there is no column {key!r}; there are: {', '.join(self.columns)}")
        return self.to_frame()[key]

    def __iter__(self) -> Iterator[Any]:
        return iter(self.columns)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        return getattr(self.to_frame(), name)

    def __array__(self, *_: Any, **__: Any) -> Any:
        """Not an array: what pandas would make of one has no columns."""
        raise TypeError("this is a table; take to_pandas(), to_polars() or to_arrow()")

    def to_frame(self) -> Any:
        """A data frame of pandas, or of polars if there is no pandas."""
        for convert in (self.to_pandas, self.to_polars):
            try:
                return convert()
            except ImportError:
                continue
        raise ImportError("a data frame needs the package pandas or polars: pip install pandas")

    def to_pandas(self) -> Any:
        """A data frame of pandas."""
        return _imported("pandas").DataFrame(as_arrays(self._columns))

    def to_polars(self) -> Any:
        """A data frame of polars."""
        return _imported("polars").DataFrame(self)

    def to_arrow(self) -> Any:
        """A table of pyarrow."""
        return _imported("pyarrow").table(self)

    def to_csv(self, path: str | os.PathLike[str] | IO[str], *, escape_formulas: bool = True) -> None:
        """Write CSV to a path or an open file, UTF-8: a header, then a row a line; nothing in place of NaN.

        Texts that a spreadsheet would take for a formula get an apostrophe before them, unless `escape_formulas` is
        False.
        """
        if isinstance(path, str | os.PathLike):
            save_csv(Path(path), self._columns, escape_formulas=escape_formulas)
        else:
            write_csv(path, self._columns, escape_formulas=escape_formulas)

    def to_dict(self) -> dict[str, list[Any]]:
        """Lists by the name of the column."""
        return {name: array.tolist() for name, array in as_arrays(self._columns).items()}

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """Arrow's C stream, made by DuckDB."""
        return arrow_stream(self._columns, requested_schema)

    def _repr_html_(self) -> str:
        """A neat table in a notebook."""
        head = "".join(f"<th>{escape(name)}</th>" for name in self.columns)
        rows = "".join(f"<tr>{''.join(f'<td>{escape(cell)}</td>' for cell in row)}</tr>" for row in self._shown())
        more = f"<p>{len(self):,} rows</p>" if len(self) > N_SHOWN else ""
        return f"<table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>{more}"

    def __repr__(self) -> str:
        rows = [self.columns, *self._shown()]
        widths = [max(len(row[i]) for row in rows) for i in range(len(self.columns))]
        lines = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows]
        return "\n".join([*lines, *([f"… {len(self):,} rows"] if len(self) > N_SHOWN else [])])

    def _shown(self) -> list[list[str]]:
        columns = [column._replace(values=column.values[:N_SHOWN]) for column in self._columns]
        return [[_shorten(value) for value in row] for row in zip(*as_arrays(columns).values(), strict=True)]


def _shorten(value: Any) -> str:
    """A cell as people read it."""
    if isinstance(value, float | np.floating):
        return "" if value != value else f"{value:.3f}"
    if isinstance(value, int | np.integer) and not isinstance(value, bool | np.bool_):
        return f"{value:,}"
    text = " ".join(str(value).split())
    return text if len(text) <= N_CHARACTERS else f"{text[: N_CHARACTERS - 1]}…"


def _imported(package: str) -> Any:
    try:
        return import_module(package)
    except ImportError as error:
        raise ImportError(f"this needs the package {package}: pip install {package}") from error
