"""A finished run as plain data."""
