"""Documents from files, in batches: CSV, TSV, JSON, Parquet, plain text, folders, standard input.

| file | what it knows |
|---|---|
| reader.py | `DocumentReader`: the inputs' checks, the choice of columns, the batches |
| inputs.py | which files a list of paths, patterns and "-" stands for |
| formats.py | the table of formats, from which options, help and messages derive |
| identify.py | what a file is: compression, format, "this is an Excel file" |
| source.py | the bytes of a file, unpacked, in blocks and lines |
| columns.py | which column holds the text; a column that is missing |
| table.py | what every format offers |
| duck.py | how DuckDB is asked |
| csv_table.py, json_table.py, parquet_table.py, text_table.py | one format each |
| csv_dialect.py | the delimiter and the header of a CSV file |
| csv_check.py | the proof that a CSV file is clean |
| csv_records.py | CSV read with care |
| json_records.py | JSON read with care |
| report.py | what was read and what was skipped |

CSV and JSON have two ways through. DuckDB is fast, but what it does with a broken file cannot be trusted (an
unclosed quote swallows the rows after it). So a file goes to DuckDB only if an independent look at its bytes
finds it clean and knows the number of rows to expect; every other file is read record by record in Python,
where each bad row has a line number and a reason, and the rows after it are recovered.
"""

from textmix.lazy_names import lazy_names

__getattr__, __dir__, __all__ = lazy_names(__spec__)
