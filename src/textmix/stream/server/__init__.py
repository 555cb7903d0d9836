"""The stream over HTTP: one writer behind a bounded queue, reads beside it, and a live page."""
