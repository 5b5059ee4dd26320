"""The OpenAPI document: what FastAPI finds out, with the problem documents, the bearer keys and links between calls."""

from typing import Any

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi

from api.guard.bearer import OPEN
from api.problems import Problem, responses

_REF = "#/components/schemas/{model}"
_OF_A_RUN = ("read_run", "run_events", "run_passages")
_OF_A_JOB = ("read_job", "cancel_job")
_OF_BODIES = responses(400, 413, 415)
_NEVER_OPEN = ("401", "429")


def openapi_of(app: FastAPI) -> dict[str, Any]:
    """The document, made once."""
    if app.openapi_schema is None:
        document = get_openapi(title=app.title, version=app.version, description=app.description, routes=app.routes)
        components = document.setdefault("components", {})
        problem = Problem.model_json_schema(ref_template=_REF)
        components.setdefault("schemas", {}).update({**problem.pop("$defs", {}), "Problem": problem})
        components["securitySchemes"] = {
            "key": {
                "type": "http",
                "scheme": "bearer",
                "description": "As `python -m api keys make` printed it; needed as soon as one was made.",
            }
        }
        for path, operations in document["paths"].items():
            for operation in operations.values():
                operation["security"] = [] if path in OPEN else [{"key": []}, {}]
                for status in _NEVER_OPEN if path in OPEN else ():
                    operation["responses"].pop(status, None)
                if "requestBody" in operation:
                    refusals = {str(status): problem for status, problem in _OF_BODIES.items()}
                    operation["responses"] = dict(sorted({**refusals, **operation["responses"]}.items()))
        app.openapi_schema = document
    return app.openapi_schema


def run_links(run_id: str) -> dict[str, Any]:
    """What can be asked of a run whose id stands at this place of the reply."""
    return {name: {"operationId": name, "parameters": {"run_id": run_id}} for name in _OF_A_RUN}


def job_links(job_id: str) -> dict[str, Any]:
    """The same of a job."""
    return {name: {"operationId": name, "parameters": {"job_id": job_id}} for name in _OF_A_JOB}


LOCATED: dict[str, Any] = {
    "description": "The run goes on, or waits for its sides; Location is its address.",
    "headers": {"Location": {"description": "The run's address.", "required": True, "schema": {"type": "string"}}},
    "links": run_links("$response.body#/id"),
}
"""The reply 202."""
JOB_LOCATED: dict[str, Any] = {
    "description": "The upload is kept, and a job stores it; Location is its address.",
    "headers": {"Location": {"description": "The job's address.", "required": True, "schema": {"type": "string"}}},
    "links": job_links("$response.body#/id"),
}
"""The same of a job."""
