"""The version that is installed."""

from importlib.metadata import PackageNotFoundError, version

try:
    __version__ = version("textmix")
except PackageNotFoundError:
    __version__ = "0+unknown"
