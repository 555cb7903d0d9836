"""The OpenAPI description: complete, true, and nothing that is sent by it makes the server fail."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import cycle
from typing import Any, cast

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis.errors import Unsatisfiable
from server_running import RunningServer, running, some_documents

from textmix.stream.durable import DurableStream
from textmix.stream.server.app import create_app
from textmix.stream.server.settings import Limits, Settings

pytest.importorskip("schemathesis", reason="needs schemathesis: pip install schemathesis")
import schemathesis
from schemathesis import GenerationMode
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    positive_data_acceptance,
    response_headers_conformance,
    response_schema_conformance,
    status_code_conformance,
)

CHECKS = [
    not_a_server_error,
    positive_data_acceptance,
    status_code_conformance,
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
]
LIMITS = Limits(max_body=20_000, max_batch=4, max_length=100)
METHODS = {"get", "post", "delete"}


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningServer]:
    with DurableStream(tmp_path_factory.mktemp("state")) as stream, running(stream, Settings(LIMITS)) as server:
        for document in some_documents(12):
            server.client.post("/documents", json={"documents": [document]})
        server.service.hub.close()  # streams of events end at once
        begun = cycle([True, False])
        server.service.refits.begin = lambda: next(begun)  # new fits take seconds
        yield server


@pytest.fixture(scope="module")
def described(served: RunningServer) -> dict[str, Any]:
    found: dict[str, Any] = served.client.get("/openapi.json").json()
    return found


# The description needs no stream of documents.
interface = schemathesis.openapi.from_dict(create_app(cast("DurableStream", None), Settings(LIMITS)).openapi())
OPERATIONS = {found.ok().label: found.ok() for found in interface.get_all_operations()}


@pytest.mark.parametrize("mode", list(GenerationMode), ids=lambda mode: mode.value)
@pytest.mark.parametrize("operation", OPERATIONS)
def test_whatever_is_sent_the_answer_is_one_that_is_described(
    served: RunningServer, operation: str, mode: GenerationMode
) -> None:
    address = str(served.client.base_url).rstrip("/")

    @settings(
        max_examples=20,
        derandomize=True,
        database=None,
        deadline=None,
        phases=[Phase.explicit, Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(case=OPERATIONS[operation].as_strategy(generation_mode=mode))
    def send(case: Any) -> None:
        case.call_and_validate(base_url=address, checks=CHECKS)

    try:
        send()
    except Unsatisfiable:
        assert (
            mode is GenerationMode.NEGATIVE
        )  # nothing can be wrong with a request that has neither parameters nor body
        assert not OPERATIONS[operation].body


def operations(described: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    for path, methods in described["paths"].items():
        for method, operation in methods.items():
            assert method in METHODS
            yield f"{method} {path}", operation


def test_every_operation_is_described(described: dict[str, Any]) -> None:
    assert {name for name, _ in operations(described)} == {
        "post /documents", "post /documents/remove", "get /documents/{id}", "delete /documents/{id}", "get /clusters",
        "get /clusters/{id}", "post /assign", "get /events", "get /events/stream", "get /healthz", "get /metrics",
        "get /", "get /refit", "post /refit",
    }  # fmt: skip
    for name, operation in operations(described):
        assert operation["summary"], name
        assert operation["description"], name


def test_every_error_is_described_with_an_example(described: dict[str, Any]) -> None:
    for name, operation in operations(described):
        codes = set(operation["responses"])
        success = "202" if name == "post /refit" else "200"
        assert {success, "400", "403", "421", "500"} <= codes, name
        assert ("requestBody" in operation) == ({"408", "413"} <= codes), name
        assert "503" in codes, name
        assert ("429" in codes) == (name != "get /healthz"), name
        for code in codes - {success}:
            content = operation["responses"][code]["content"]["application/json"]
            assert content["schema"] == {"$ref": "#/components/schemas/Problem"}, (name, code)
            assert content["example"]["detail"], (name, code)


def test_the_limits_of_this_server_are_in_it(described: dict[str, Any]) -> None:
    schemas = described["components"]["schemas"]
    assert schemas["NewDocuments"]["properties"]["documents"]["maxItems"] == LIMITS.max_batch
    assert schemas["NewDocument"]["properties"]["text"]["maxLength"] == LIMITS.max_length


def test_examples_of_bodies_are_accepted(served: RunningServer, described: dict[str, Any]) -> None:
    for path, model in [("/documents", "NewDocuments"), ("/documents/remove", "Ids"), ("/assign", "Texts")]:
        for example in described["components"]["schemas"][model]["examples"]:
            assert served.client.post(path, json=example).status_code == 200


def test_the_methods_that_a_path_allows_are_those_described(served: RunningServer, described: dict[str, Any]) -> None:
    for path, methods in described["paths"].items():
        refused = served.client.options(path.replace("{id}", "1"))
        assert (refused.status_code, refused.headers["allow"]) == (405, ", ".join(sorted(methods)).upper()), path
