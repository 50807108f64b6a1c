"""The application: all routes, one way to refuse."""

from __future__ import annotations

from contextlib import asynccontextmanager, suppress
from typing import TYPE_CHECKING, Any, cast

from noutput.errors import MissingExtraError

try:
    from fastapi import FastAPI, Request
except ImportError:
    raise MissingExtraError("fastapi", "collector") from None
from fastapi.exceptions import RequestValidationError
from fastapi.openapi.utils import get_openapi
from starlette.exceptions import HTTPException
from starlette.responses import Response

from noutput import __version__
from noutput.collector.clock import Clock, system_clock
from noutput.collector.dashboard import routes as dashboard
from noutput.collector.dashboard.pages import error_page
from noutput.collector.http import admin, admission, log, public, strata, tokens
from noutput.collector.http.access import wants_page
from noutput.collector.http.body import ClientGoneError
from noutput.collector.http.guard import Guard
from noutput.collector.http.limits import Limits
from noutput.collector.http.problems import ProblemError
from noutput.collector.ingest.reports import ReportsRoute
from noutput.collector.publishing import ReleasePolicy
from noutput.collector.services import Services
from noutput.collector.store.interface import Store, UnavailableError

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from noutput.collector.archive.archive import Archive

__all__ = ["create_app"]

_FRAMEWORK = {404: "not-found", 405: "method-not-allowed"}


def create_app(
    store: Store,
    *,
    clock: Clock = system_clock,
    limits: Limits | None = None,
    policy: ReleasePolicy | None = None,
    archive: Archive | None = None,
) -> Guard:
    """Make a collector over a store.

    Parameters
    ----------
    store : Store
        From `open_store`; the caller closes it after the application ended.
    clock : callable
        Says what time it is, for opening and closing times.
    limits : Limits, optional
    policy : ReleasePolicy, optional
        When counts are published.
    archive : Archive, optional
        From `open_archive`: reports are kept there as well; the caller closes it, too.

    Guarantees
    ----------
    Addresses, user agents and other headers of requests are neither stored nor logged. Of a
    report, its id and one more in a count are kept, and where there is an archive its question
    and output.
    """
    services = Services(store, clock, limits or Limits(), policy or ReleasePolicy(), archive)
    return Guard(_framework_app(services), ReportsRoute(services), services)


def _framework_app(services: Services) -> FastAPI:
    """Make all routes but one, with everything that FastAPI does for them."""

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        with suppress(UnavailableError):  # then the counters of campaigns begin with 0
            await services.lanes.store.run(services.count_stored)
        services.writer.start()
        services.recorder.start()
        services.closer.start()
        services.adapter.start()
        services.merger.start()
        services.watcher.start()
        if services.archiver is not None:
            services.archiver.start()
        yield
        await services.watcher.stop()
        await services.adapter.stop()
        await services.closer.stop()
        await services.writer.stop()
        await services.recorder.stop()
        await services.merger.stop()
        if services.archiver is not None:
            await services.archiver.stop()

    app = FastAPI(
        title="noutput collector", version=__version__, lifespan=lifespan,
        docs_url=None, redoc_url=None, redirect_slashes=False,
        summary="Counts private reports, each once, and estimates what they say.",
    )  # fmt: skip
    app.state.services = services
    app.include_router(public.router)
    app.include_router(strata.router)
    app.include_router(admin.router)
    app.include_router(tokens.router)
    app.include_router(admission.router)
    app.include_router(log.router)
    app.include_router(dashboard.router)
    _answer_errors(app, services)
    _describe(app)
    return app


def _answer_errors(app: FastAPI, services: Services) -> None:
    def answer(request: Request, error: ProblemError) -> Response:
        rendered = services.refuse(error)
        return error_page(error) if wants_page(request) else rendered

    async def on_problem(request: Request, error: Exception) -> Response:
        return answer(request, cast(ProblemError, error))

    async def on_framework(request: Request, error: Exception) -> Response:
        status = error.status_code if isinstance(error, HTTPException) else 400
        detail = f"{request.method} is not possible at {request.url.path[:200]!r}"
        headers = dict(getattr(error, "headers", None) or {})
        problem = ProblemError(_FRAMEWORK.get(status, "bad-request"), detail, headers)
        return answer(request, problem)

    async def on_validation(request: Request, error: Exception) -> Response:
        first = cast(RequestValidationError, error).errors()[0]
        where = ".".join(str(part) for part in first["loc"][1:])
        return answer(request, ProblemError("invalid-parameter", f"{where}: {first['msg']}"))

    async def on_unavailable(request: Request, error: Exception) -> Response:
        return answer(request, services.unavailable(cast(UnavailableError, error)))

    async def on_gone(_: Request, __: Exception) -> Response:
        return Response(status_code=400)  # nobody is there to read it

    async def on_mistake(request: Request, __: Exception) -> Response:
        return answer(request, ProblemError("internal-error", "see the log of the collector"))

    app.add_exception_handler(ProblemError, on_problem)
    app.add_exception_handler(HTTPException, on_framework)
    app.add_exception_handler(RequestValidationError, on_validation)
    app.add_exception_handler(UnavailableError, on_unavailable)
    app.add_exception_handler(ClientGoneError, on_gone)
    app.add_exception_handler(Exception, on_mistake)


def _describe(app: FastAPI) -> None:
    def openapi() -> dict[str, Any]:
        if app.openapi_schema is None:
            document = get_openapi(
                title=app.title, version=app.version, summary=app.summary,
                openapi_version="3.1.0", routes=app.routes,
            )  # fmt: skip
            _drop_validation_errors(document)
            app.openapi_schema = document
        return app.openapi_schema

    app.openapi = openapi  # type: ignore[method-assign]


def _drop_validation_errors(document: dict[str, Any]) -> None:
    """Leave out the framework's own form of errors, which is never sent."""
    for path in document["paths"].values():
        for operation in path.values():
            answer = operation["responses"].get("422", {})
            if "HTTPValidationError" in str(answer.get("content", "")):
                del operation["responses"]["422"]
    for name in ("HTTPValidationError", "ValidationError"):
        document.get("components", {}).get("schemas", {}).pop(name, None)
