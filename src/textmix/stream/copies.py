"""Copies of a stream's file, whole or not there; what a copy that was killed has left is removed by the next one."""

from __future__ import annotations

import os
import shutil
import sqlite3
import tempfile
from contextlib import closing
from pathlib import Path

from textmix.corpus.files import flush_folder
from textmix.corpus.folder_lock import FolderLock
from textmix.stream.database import Database

_PREFIX = ".textmix-copy-"  # of the folder in which a copy is made, locked meanwhile


def copy_database(source: Path, target: Path) -> None:
    """Copy a stream's file as it is at one moment, also while it is written; the copy is whole or not there."""
    if target.exists():
        raise ValueError(f'"{target}" is there already; name a new file')
    if not target.parent.is_dir():
        raise ValueError(f'there is no folder "{target.parent}" to write "{target.name}" to')
    remove_abandoned_copies(target.parent)
    with closing(Database(source, read_only=True)) as database:
        database.verify()
        folder = Path(tempfile.mkdtemp(prefix=_PREFIX, dir=target.parent))
        lock = FolderLock(folder)
        lock.hold(f'"{folder}" is in use; try again')
        try:
            temporary = folder / target.name
            with closing(sqlite3.connect(temporary)) as copy:
                database.copy_to(copy)
                copy.execute("PRAGMA journal_mode = DELETE")  # one file, that needs none beside it
            with open(temporary, "rb+") as file:
                os.fsync(file.fileno())
            os.replace(temporary, target)
            flush_folder(target.parent)
        finally:
            shutil.rmtree(folder, ignore_errors=True)
            lock.release()


def remove_abandoned_copies(folder: Path) -> None:
    """Remove what copies that were killed have left in a folder, unless a program is still at work on them."""
    for left in folder.glob(f"{_PREFIX}*"):
        lock = FolderLock(left)
        try:
            lock.hold("")
        except (ValueError, OSError):
            continue
        if lock.is_held:
            shutil.rmtree(left, ignore_errors=True)
        lock.release()
