"""Data of a report for tests: the bundled tickets, a cluster for each topic, and documents that mean harm."""

from __future__ import annotations

import csv
import math
import re
from collections import Counter
from html import escape
from pathlib import Path
from typing import Any

TICKETS = Path(__file__).resolve().parents[2] / "examples" / "tickets.csv"
STOP_WORDS = frozenset(
    re.findall(
        r"\w+",
        """a an and are as at be been but by can do for from have has had i in is it its me my no not of on or our so
        that the this to was we were what when will with you your am if they there he she any all would could get got
        just now than then isn don doesn didn ve re ll out up one two still same how why which who only also did""",
    )
)
COLOURS = ("#5b7be0", "#d9822b", "#2f9e6e", "#c8476a", "#8a63c9", "#9a7b28", "#1f96a8", "#b157a8", "#6c8a2c", "#77808f")

# What each document must look like in the page is the same text, but for characters that cannot be seen.
HOSTILE = {
    "script": "<script>alert(1)</script>",
    "end of script": "</script><img src=x onerror=alert(1)><!-- <script>",
    "template": "{{7*7}} {% raw %} ${7*7} %{customdata} &lt;b&gt; &amp;",
    "arabic": "\u202eالطرد لم يصل\u202c بعد \u2067abc",
    "hebrew": "\u202dהחבילה לא הגיעה עדיין <b>",
    "emoji": "👩‍👩‍👧‍👦 package 📦 late 🏳️‍🌈 ☹️",
    "long word": "w" * 3000,
    "separators": "a\u2028b\u2029c package",
    "quotes": "\"'`\\ onmouseover=alert(1) javascript:alert(1)",
}
UNSEEN = {"controls": "nul\x00 bell\x07 escape\x1b delete\x7f next\x85", "surrogate": "lone \ud83d and \udc00 end"}
UNSEEN_SHOWN = {"controls": "nul␀ bell␇ escape␛ delete␡ next�", "surrogate": "lone � and � end"}
HOSTILE_NAME = "</title><img src=x onerror=alert(1)> & <b>“names”</b> \u202eهجوم"


def words(text: str) -> list[str]:
    """The words of a text that count."""
    return [word for word in re.findall(r"[^\W\d_]+", text.lower()) if word not in STOP_WORDS and len(word) > 1]


def report_data() -> dict[str, Any]:
    """A report with every panel; the last cluster holds the hostile documents, and one has a hostile name."""
    with TICKETS.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    texts: list[dict[str, Any]] = []
    topics = [topic for topic, _ in Counter(row["topic"] for row in rows).most_common()]
    for number, row in enumerate(rows):
        texts.append(
            {
                "row": number + 1,
                "id": row["id"],
                "label": row["topic"],
                "time": row["created"],
                "text": row["text"],
                "cut": False,
                "score": round((number * 37 % 100) / 130, 3),
                "cluster": topics.index(row["topic"]),
            }
        )
    hostile = len(topics)
    for text in (*HOSTILE.values(), *UNSEEN.values(), "A very long letter. " * 150):
        texts.append(
            {"row": len(texts) + 1, "text": text, "cut": text.startswith("A very"), "score": 0.9, "cluster": hostile}
        )
    texts.append(
        {
            "row": len(texts) + 1,
            "id": "T-1",
            "text": "Alone in its cluster.",
            "cut": False,
            "score": 0.0,
            "alone": True,
            "cluster": 99,
        }
    )

    by_cluster = [[i for i, text in enumerate(texts) if text["cluster"] == index] for index in range(hostile + 1)]
    every = Counter(word for text in texts for word in words(text["text"]))
    clusters = [cluster(index, members, texts, every) for index, members in enumerate(by_cluster)]
    clusters[-1]["name"] = HOSTILE_NAME
    clusters[-1]["stability"] = clusters[-1]["coherence"] = None
    clusters[1]["known"] = True
    clusters.sort(key=lambda item: -item["size"])
    return {
        "title": "Support tickets",
        "documents": {
            "n": len(texts),
            "n_without_words": 2,
            "n_outliers": sum(text.get("alone") or text["score"] > 0.65 for text in texts),
            "n_clusters": len(clusters) + 30,
            "n_several": len(clusters),
            "n_skipped": 1204,
            "stability": 0.41,
            "sampled": True,
        },
        "clusters": clusters,
        "texts": texts,
        "outliers": outliers(texts),
        "hierarchy": hierarchy(clusters),
        "charts": {"map": map_chart(clusters), "trace": trace_chart(), "times": times_chart(clusters)},
        "course": {
            "summary": [
                ["model", "ConsensusMixture(n_clusters=None, granularity=1.0)"],
                ["seed", "0"],
                ["file", "examples/tickets.csv"],
                ["textmix", "0.1.0"],
                ["numpy", "2.3.4"],
                ["reading", "0.02 s"],
                ["sampling", "0.41 s"],
                ["<b>hostile</b>", "</td><script>alert(1)</script>"],
            ],
            "skipped": [["no text in column “text”", 1200], ["more columns than the header", 4]],
        },
        "labels": {
            "column": "topic",
            "scores": [
                ["NMI (geometric)", 0.461, "How much clusters and labels tell about each other."],
                ["homogeneity", 0.466, "1 if each cluster has texts of one label."],
                ["AMI", 0.403, "NMI less what chance would give."],
                ["ARI", math.nan, "Of pairs of texts."],
            ],
            "names": topics,
            "rows": [
                {
                    "cluster": item["index"],
                    "name": item["name"],
                    "counts": [
                        item["size"] * 4 // 5
                        if label == item["index"]
                        else max(0, item["size"] // (7 * (label + 1)) - 1)
                        for label in range(len(topics))
                    ],
                }
                for item in clusters
            ],
        },
    }


def cluster(index: int, members: list[int], texts: list[dict[str, Any]], every: Counter[str]) -> dict[str, Any]:
    """One cluster of these members, with words counted for real."""
    own = Counter(word for i in members for word in words(texts[i]["text"]))
    total = sum(own.values())
    probable = [[word, count / total] for word, count in own.most_common(12)]
    telling = sorted(
        ([word, count * math.log(count / every[word] * len(every) / 40)] for word, count in own.items()),
        key=lambda p: -p[1],
    )[:12]
    others = [other for other in range(4) if other != index][:3]
    return {
        "index": index,
        "name": ", ".join(word for word, _ in telling[:3]),
        "known": False,
        "size": len(members),
        "share": len(members) / len(texts),
        "stability": 0.9 - (index * 7 % 11) / 20,
        "coherence": 0.4 - (index * 5 % 13) / 20,
        "n_outliers": index % 4,
        "colour": COLOURS[index % 10],
        "example": texts[members[0]]["text"],
        "probable": probable,
        "telling": telling,
        "highlight": [word for word, _ in telling + probable] + ["gift card"],
        "typical": members[:6] if index < 16 else members,
        "unusual": members[-6:],
        "nearest": [
            {
                "index": other,
                "distance": 0.35 + other / 10,
                "here": [word for word, _ in telling[:5]],
                "there": ["parcel", "courier", "<i>door</i>"],
            }
            for other in others
        ],
    }


def outliers(texts: list[dict[str, Any]]) -> dict[str, Any]:
    """Outliers by score, in steps of 0.05."""
    steps = [round(0.05 * i, 2) for i in range(20)]
    listed = sorted(range(len(texts)), key=lambda i: -math.inf if texts[i].get("alone") else -texts[i]["score"])
    return {
        "threshold": 0.65,
        "steps": steps,
        "counts": [sum(text.get("alone") or text["score"] > step for text in texts) for step in steps],
        "texts": listed[:400],
        "n_listed": 400,
        "meaning": "A text fits nowhere if the words it shares with its cluster would be as probable by chance. The "
        "score is 0 for a text that is at home in its cluster, and 1 for one that could be anywhere.",
    }


def hierarchy(clusters: list[dict[str, Any]]) -> dict[str, Any]:
    """The smallest cluster goes into one of the first four, again and again."""
    n = len(clusters)
    return {
        "names": [item["name"] for item in clusters],
        "sizes": [item["size"] for item in clusters],
        "clusters": [item["index"] for item in clusters],
        "pairs": [[node % 4 if node >= 4 else node - 1, node] for node in range(n - 1, 0, -1)],
        "costs": [None, *(0.1 * merge * merge for merge in range(1, n - 1))],
    }


def map_chart(clusters: list[dict[str, Any]]) -> dict[str, Any]:
    """Points on a spiral, so that none lies over another."""
    turns = [0.9 * i for i in range(len(clusters))]
    return {
        "data": [
            {
                "type": "scatter",
                "mode": "markers",
                "x": [(1 + 0.35 * i) * math.cos(turn) for i, turn in enumerate(turns)],
                "y": [(1 + 0.35 * i) * math.sin(turn) for i, turn in enumerate(turns)],
                "customdata": [item["index"] for item in clusters],
                "marker": {
                    "size": [item["size"] for item in clusters],
                    "sizemode": "area",
                    "sizeref": clusters[0]["size"] / 1058,
                    "sizemin": 4,
                    "color": [item["colour"] for item in clusters],
                },
            }
        ],
        "layout": {
            "xaxis": {"visible": False, "range": [-8, 8]},
            "yaxis": {"visible": False, "range": [-8, 8]},
            "showlegend": False,
            "margin": {"l": 0, "r": 0, "t": 0, "b": 0},
        },
    }


def trace_chart() -> dict[str, Any]:
    """Clusters and log joint by sweep."""
    sweeps = list(range(1, 31))
    return {
        "data": [
            {"type": "scatter", "mode": "lines", "name": "clusters", "x": sweeps, "y": [16 + 60 / s for s in sweeps]},
            {
                "type": "scatter",
                "mode": "lines",
                "name": "log joint",
                "x": sweeps,
                "y": [-9 - 3 / s for s in sweeps],
                "yaxis": "y2",
            },
        ],
        "layout": {
            "xaxis": {"title": {"text": "sweep"}},
            "yaxis": {"title": {"text": "clusters"}},
            "yaxis2": {"title": {"text": "log joint"}, "overlaying": "y", "side": "right"},
        },
    }


def times_chart(clusters: list[dict[str, Any]]) -> dict[str, Any]:
    """Texts a month, a stacked area for each of a few clusters; one has a name like markup."""
    months = [f"2024-{month:02}-01" for month in range(1, 13)]
    shown = [*clusters[:5], next(item for item in clusters if item["name"] == HOSTILE_NAME)]
    return {
        "data": [
            {
                "type": "scatter",
                "mode": "lines",
                "stackgroup": "one",
                "name": escape(item["name"], quote=False),
                "x": months,
                "y": [5 + (item["index"] * 7 + month * 3) % 13 for month in range(12)],
                "line": {"color": item["colour"]},
            }
            for item in shown
        ],
        "layout": {"yaxis": {"title": {"text": "texts"}}},
    }


def large_report_data(n_clusters: int = 1000) -> dict[str, Any]:
    """Many clusters of three texts each, and nothing optional."""
    texts = [
        {
            "row": i + 1,
            "text": f"document {i} of subject{i // 3} about thing{i % 7}",
            "cut": False,
            "score": None,
            "cluster": i // 3,
        }
        for i in range(3 * n_clusters)
    ]
    clusters = [
        {
            "index": i,
            "name": f"subject{i}",
            "known": False,
            "size": 3 * n_clusters - i,
            "share": 1 / n_clusters,
            "stability": None,
            "coherence": None,
            "n_outliers": None,
            "colour": COLOURS[i % 10],
            "example": texts[3 * i]["text"],
            "probable": [[f"subject{i}", 0.5], ["document", 0.25]],
            "telling": [[f"subject{i}", 9.0], ["thing", 1.0]],
            "highlight": [f"subject{i}"],
            "typical": [3 * i, 3 * i + 1],
            "unusual": [3 * i + 2],
            "nearest": [],
        }
        for i in range(n_clusters)
    ]
    documents = {
        "n": len(texts),
        "n_without_words": 0,
        "n_outliers": None,
        "n_clusters": n_clusters,
        "n_several": n_clusters,
    }
    documents |= {"n_skipped": 0, "stability": None, "sampled": False}
    return {"title": "Many", "documents": documents, "clusters": clusters, "texts": texts, "charts": {}}
