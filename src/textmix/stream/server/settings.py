"""What a server allows, and to whom."""

from __future__ import annotations

import ipaddress
from dataclasses import dataclass, field
from pathlib import Path

MIN_TOKEN_LENGTH = 16


@dataclass(frozen=True)
class Limits:
    """What one request may bring, and how many may wait."""

    max_body: int = 8_000_000  # bytes
    max_batch: int = 1_000  # documents of a request
    max_length: int = 100_000  # characters of a document
    max_queue: int = 64  # requests that wait to be worked on
    max_per_address: int = 150  # requests of one client at the same time, listeners among them


@dataclass(frozen=True)
class Settings:
    """Limits, the address, and the token that every request must bring; None: no token is asked for.

    `proxies`: addresses or networks whose X-Forwarded-For says who the client is.
    """

    limits: Limits = field(default_factory=Limits)
    host: str = "127.0.0.1"
    token: str | None = field(default=None, repr=False)
    proxies: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        for proxy in self.proxies:
            _check_proxy(proxy)
        if self.token is not None:
            _check_token(self.token)
        elif not is_loopback(self.host):
            raise ValueError(
                f"--host {self.host} can be reached by other machines, so it needs a token: "
                "give --token-file or set TEXTMIX_TOKEN, or leave out --host"
            )


def is_loopback(host: str) -> bool:
    """Whether a host's name or address is that of this machine alone."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host.lower() == "localhost"


def read_token(file: Path | None, variable: str | None) -> str | None:
    """The token in a file, or else that of the environment; None if there is neither."""
    if file is None:
        return variable or None
    try:
        return file.read_text(encoding="utf-8").strip()
    except UnicodeDecodeError:
        raise ValueError(f"{file} holds no token: it is not text") from None


def _check_proxy(proxy: str) -> None:
    try:
        ipaddress.ip_network(proxy)
    except ValueError:
        raise ValueError(f'--proxy "{proxy}" is not an IP address or network; write 127.0.0.1 or 10.0.0.0/8') from None


def _check_token(token: str) -> None:
    """ValueError, without the token in it, if it is short or cannot stand in a header."""
    if len(token) < MIN_TOKEN_LENGTH or not all("!" <= character <= "~" for character in token):
        raise ValueError(
            f"the token must have at least {MIN_TOKEN_LENGTH} characters, letters, digits and signs of ASCII without "
            "blanks; one is made by: python -c 'import secrets; print(secrets.token_urlsafe())'"
        )
