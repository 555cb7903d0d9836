"""Texts of a few topics, for streams."""

from __future__ import annotations

import random

from textmix.stream.durable import Document

TOPICS = {
    "parcel": "parcel courier late delivery tracking doorstep shipment",
    "password": "password login account reset email locked code",
    "refund": "refund money bank card charged invoice twice",
}


def make_text(rng: random.Random, topic: str) -> str:
    return " ".join([topic, *rng.sample(TOPICS[topic].split(), 4)])


def make_documents(n: int, seed: int = 0, prefix: str = "d") -> list[Document]:
    """Documents with ids, of the three topics in turn."""
    rng, topics = random.Random(seed), list(TOPICS)
    return [Document(f"{prefix}{i}", make_text(rng, topics[i % len(topics)])) for i in range(n)]
