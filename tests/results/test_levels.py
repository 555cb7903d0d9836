"""Names of the groups of a level."""

from __future__ import annotations

import numpy as np
import scipy.sparse

from textmix.results.levels import describe_levels, level_columns
from textmix.results.words import ClusterWords

VOCABULARY = ["refund", "card", "transfer", "parcel", "late", "broken"]
COUNTS = scipy.sparse.csr_array(
    [[20, 9, 0, 0, 0, 0], [18, 0, 8, 0, 0, 0], [0, 0, 0, 15, 6, 0], [0, 0, 0, 12, 0, 5], [0, 1, 0, 0, 0, 0]]
)
SIZES = np.array([10, 9, 8, 7, 1])
COARSE, FINE = np.array([0, 0, 1, 1, 0], np.int32), np.array([0, 1, 2, 3, 0], np.int32)


def test_names_tell_siblings_apart():
    coarse, fine = describe_levels([COARSE, FINE], SIZES, ClusterWords(COUNTS, 0.1, VOCABULARY))
    assert [group.name.split(",")[0] for group in coarse.groups] == ["refund", "parcel"]
    assert [group.name for group in fine.groups] == [
        "refund: card",
        "refund: transfer",
        "parcel: late",
        "parcel: broken",
    ]
    assert [group.size for group in coarse.groups] == [20, 15]
    assert [group.clusters for group in fine.groups] == [(0, 4), (1,), (2,), (3,)]


def test_an_only_child_has_the_name_of_its_parent():
    only = np.array([0, 0, 1, 2, 0], np.int32)
    coarse, fine = describe_levels([COARSE, only], SIZES, ClusterWords(COUNTS, 0.1, VOCABULARY))
    assert fine.groups[0].name == coarse.groups[0].name


def test_columns_have_number_and_name_of_the_group_of_each_document():
    levels = describe_levels([COARSE], SIZES, ClusterWords(COUNTS, 0.1, VOCABULARY))
    number, name = level_columns(levels, np.array([4, 2, -1], np.int32))
    assert (number.name, name.name) == ("level_1", "level_1_name")
    assert number.values.tolist() == [0, 1, -1]
    assert name.values.tolist() == [levels[0].groups[0].name, levels[0].groups[1].name, ""]
