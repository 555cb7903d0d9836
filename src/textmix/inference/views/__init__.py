"""Representations of documents that short runs can be made on: one file each."""
