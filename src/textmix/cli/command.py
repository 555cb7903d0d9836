"""How a command takes its options: one that takes a value is given once."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any, TypeVar

import typer
from typer.core import TyperCommand, TyperOption

Function = TypeVar("Function", bound=Callable[..., Any])


class Command(TyperCommand):
    """A command that refuses an option given twice, of which Typer would silently use the last."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Read the arguments as ever, which may end in help; then look for options that came twice."""
        rest = super().parse_args(ctx, list(args))
        _, _, given = self.make_parser(ctx).parse_args(list(args))
        for parameter, number in Counter(filter(_takes_one_value, given)).items():
            if number > 1:
                name = max(parameter.opts, key=len)
                raise ValueError(f"{name} is given {number} times, but takes one value; give it once")
        return rest


class Program(typer.Typer):
    """A program all of whose commands are of this kind."""

    def command(self, *arguments: Any, **settings: Any) -> Callable[[Function], Function]:
        """A decorator for the function of a command."""
        return super().command(*arguments, **{"cls": Command, **settings})


def _takes_one_value(parameter: object) -> bool:
    return isinstance(parameter, TyperOption) and not (parameter.is_flag or parameter.multiple or parameter.count)
