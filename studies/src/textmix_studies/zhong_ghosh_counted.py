"""Claims that count collections: "on 12 of 15", "on most".

Such a claim holds if ours are at least the same share of the collections at hand, rounded down; where the paper says
"only on one", at most the same share, rounded up.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from textmix_studies.study import Claim
from textmix_studies.zhong_ghosh_numbers import COLLECTIONS, verdict

NOT_COMPUTED = "not computed"


def in_favour(p_values: Mapping[str, float]) -> list[str]:
    """The sets on which a hypothesis is significant."""
    return [name for name, p in p_values.items() if verdict(p) > 0]


def against(p_values: Mapping[str, float]) -> list[str]:
    """The sets on which its reverse is."""
    return [name for name, p in p_values.items() if verdict(p) < 0]


def listed_of(found: Sequence[str], sets: Sequence[str] | Mapping[str, float]) -> str:
    """How many of the sets, and which."""
    others = [name for name in sets if name not in found]
    few = f"all but {', '.join(others)}" if 0 < len(others) < len(found) else ", ".join(found) if others else ""
    names = f" ({few})" if few else ""
    return f"{len(found)} of the {len(sets)} sets at hand{names}"


def least_of(n_printed: int, sets: Mapping[str, float]) -> int:
    """The paper's share of the sets, rounded down, but one."""
    return max(1, math.floor(n_printed * len(sets) / len(COLLECTIONS)))


def most_of(n_printed: int, sets: Mapping[str, float]) -> int:
    """The paper's share of the sets, rounded up, but not all."""
    return min(math.ceil(n_printed * len(sets) / len(COLLECTIONS)), len(sets) - 1)


def at_least(text: str, found: Sequence[str], sets: Mapping[str, float], n_printed: int) -> Claim:
    """Holds on at least the share of the sets that the paper has, rounded down."""
    if not sets:
        return Claim(text, None, NOT_COMPUTED)
    wanted = least_of(n_printed, sets)
    return Claim(text, len(found) >= wanted, f"{listed_of(found, sets)}; holds if at least {wanted}, the paper's share")


def at_most(text: str, found: Sequence[str], sets: Mapping[str, float], n_printed: int) -> Claim:
    """Holds on at most the share of the sets that the paper has, rounded up."""
    if not sets:
        return Claim(text, None, NOT_COMPUTED)
    allowed = most_of(n_printed, sets)
    return Claim(
        text, len(found) <= allowed, f"{listed_of(found, sets)}; holds if at most {allowed}, the paper's share"
    )


def majority(text: str, found: Sequence[str], sets: Sequence[str], how: str = "") -> Claim:
    """Holds on more than half of the sets."""
    if not sets:
        return Claim(text, None, NOT_COMPUTED)
    evidence = f"{listed_of(found, sets)}{f', {how}' if how else ''}; holds if on more than half"
    return Claim(text, len(found) > len(sets) / 2.0, evidence)


def no_cluto(text: str) -> Claim:
    """What cannot be told without CLUTO."""
    return Claim(text, None, "CLUTO is closed software")
