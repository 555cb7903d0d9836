"""What goes over the wire: the bodies of requests and of answers."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, WithJsonSchema

from textmix.stream.records import MAX_ID_LENGTH

ID_DESCRIPTION = 'A number is taken as its digits: 7 is "7", 7.0 is "7.0". null: one is made up.'
LARGEST_NUMBER = 2**63 - 1  # of SQLite

Id = Annotated[str, Field(min_length=1, max_length=MAX_ID_LENGTH, examples=["ticket-17"])]
_EXACT = Field(ge=-(2**53 - 1), le=2**53 - 1)  # what every reader of JSON has exactly
Number = Annotated[int, _EXACT] | Annotated[float, _EXACT]
_WRITTEN_TIME = [{"type": "string", "format": written} for written in ("date-time", "date")]
_COUNTED_TIME = {"type": "number", "minimum": -62_135_596_800, "maximum": 253_402_300_799_000}  # the years 1 to 9999
Time = (
    Annotated[str, WithJsonSchema({"anyOf": _WRITTEN_TIME})]
    | Annotated[int, WithJsonSchema(_COUNTED_TIME)]
    | Annotated[float, Field(allow_inf_nan=False), WithJsonSchema(_COUNTED_TIME)]
)
Probability = Annotated[float | None, Field(description="Of that cluster; null for a text without words.")]
OutlierScore = Annotated[
    float | None, Field(description="Above 0: the text fits nowhere. null: it has no words, or is the first of all.")
]
ClusterId = Annotated[int, Field(description="Never used again or renumbered. −1: the text has no words.")]


def _example(example: dict[str, Any]) -> ConfigDict:
    return ConfigDict(json_schema_extra={"examples": [example]})


class Request(BaseModel):
    """A body that is taken as it is: nothing is converted, and no field may be misspelt."""

    model_config = ConfigDict(strict=True, extra="forbid")


class NewDocument(Request):
    """A text to be added; with an id that is there already it takes the place of that text."""

    id: Annotated[Id | Number | None, Field(description=ID_DESCRIPTION)] = None
    text: str = Field(examples=["My parcel has not arrived"])
    time: Annotated[
        Time | None,
        Field(
            description="ISO 8601, or seconds or milliseconds since 1970; null: now.", examples=["2024-03-04T06:02:53Z"]
        ),
    ] = None


class NewDocuments(Request):
    """A batch of texts."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {
                    "documents": [
                        {"id": "ticket-17", "text": "My parcel has not arrived", "time": "2024-03-04T06:02:53Z"},
                        {"id": "ticket-18", "text": "I forgot my password"},
                    ]
                }
            ]
        }
    )
    documents: list[NewDocument]


class Ids(Request):
    """Documents to be taken out."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"ids": ["ticket-17", "ticket-18"]}]})
    ids: list[Id | Number]


class Texts(Request):
    """Texts to be put into the clusters there are."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"texts": ["Where is my parcel?"]}]})
    texts: list[str]


class Assignment(BaseModel):
    """Where a text belongs."""

    cluster: ClusterId
    name: str
    probability: Probability
    outlier_score: OutlierScore


class Placed(Assignment):
    """Where a text that was added went."""

    id: str
    new: bool = Field(description="Whether the cluster came up with this text.")


class PlacedDocuments(BaseModel):
    """An answer for each document of the batch, in its order; all are on disk."""

    model_config = _example(
        {
            "documents": [
                {
                    "id": "ticket-17",
                    "cluster": 4,
                    "name": "parcel, arrived",
                    "probability": 0.98,
                    "outlier_score": -7.2,
                    "new": False,
                }
            ]
        }
    )
    documents: list[Placed]


class AssignedTexts(BaseModel):
    """An answer for each text, in order; nothing was learned."""

    model_config = _example(
        {"texts": [{"cluster": 4, "name": "parcel, arrived", "probability": 0.98, "outlier_score": -7.2}]}
    )
    texts: list[Assignment]


class Removed(BaseModel):
    """The documents that were there and are not any more."""

    model_config = _example({"removed": ["ticket-17"]})
    removed: list[str]


class StoredText(BaseModel):
    """A document as it is kept."""

    model_config = _example(
        {
            "id": "ticket-17",
            "text": "My parcel has not arrived",
            "time": "2024-03-04T06:02:53Z",
            "cluster": 4,
            "probability": 0.98,
            "outlier_score": -7.2,
        }
    )
    id: str
    text: str
    time: str = Field(description="ISO 8601, in UTC.")
    cluster: ClusterId
    probability: Probability
    outlier_score: OutlierScore


class Word(BaseModel):
    """A word that tells a cluster from the others."""

    word: str
    score: float | None


class ClusterSummary(BaseModel):
    """A cluster: its name, how many texts it has, its most telling words."""

    model_config = _example(
        {
            "id": 4,
            "name": "parcel, arrived",
            "size": 127,
            "words": [{"word": "parcel", "score": 3.1}],
            "born": "2024-03-04T06:02:53Z",
        }
    )
    id: int
    name: str
    size: int
    words: list[Word]
    born: str


class ClusterPage(BaseModel):
    """Some of the clusters, by falling size."""

    n_documents: int
    n_clusters: int
    clusters: list[ClusterSummary]
    next: int | None = Field(description="The offset of the next page; null: this is the last.", examples=[50])


class ClusterDetails(ClusterSummary):
    """A cluster with the texts that came to it last."""

    examples: list[StoredText]


class StreamEvent(BaseModel):
    """Something that happened to a cluster."""

    model_config = _example(
        {
            "number": 12,
            "time": "2024-03-04T06:02:53Z",
            "kind": "born",
            "cluster": 4,
            "into": None,
            "size": 1,
            "name": "parcel, arrived",
        }
    )
    number: int
    time: str
    kind: str = Field(description="born, grows, merged or died.", examples=["born"])
    cluster: int
    into: int | None = Field(description="Of merged: the cluster that it is part of now.")
    size: int
    name: str


class EventPage(BaseModel):
    """Events, oldest first."""

    events: list[StreamEvent]
    last: int = Field(description="The number to ask for next, as after.", examples=[12])


class RefitChanges(BaseModel):
    """What a new fit has changed."""

    n_documents: int
    n_moved: int = Field(description="Documents in clusters of another id.")
    n_clusters_before: int
    n_clusters: int
    n_same: int = Field(description="Clusters that kept their ids.")


class RefitState(BaseModel):
    """Whether all documents are being clustered anew, and how the last fit ended."""

    running: bool
    failed: bool = Field(description="Of the last fit: nothing has changed; the log says why.")
    changed: RefitChanges | None


class Health(BaseModel):
    """That the server works."""

    status: Literal["ok"]


class Problem(BaseModel):
    """What was wrong, where, and what to do."""

    detail: str
