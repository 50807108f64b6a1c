"""Route that shows the log of administrative actions. It needs an admin token."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from fastapi import APIRouter, Query

from noutput.collector.administration.summaries import log_page
from noutput.collector.http.access import FullAdmin, Shared  # noqa: TC001 (FastAPI reads them)
from noutput.collector.http.models import ActionLog  # noqa: TC001 (too)
from noutput.collector.http.openapi import refusals

if TYPE_CHECKING:
    from noutput.collector.store.interface import LogEntry, Store

__all__ = ["router"]

router = APIRouter(tags=["administration"])
_BEFORE = "Entries with smaller numbers only, to read on from `next`."


@router.get(
    "/log", responses=refusals("invalid-parameter", "token-required", "token-not-sufficient")
)
async def get_log(
    services: Shared,
    _: FullAdmin,
    before: Annotated[int | None, Query(ge=1, lt=1 << 63, description=_BEFORE)] = None,
    limit: Annotated[int, Query(ge=1, le=1000)] = 100,
) -> ActionLog:
    """Return who did what to campaigns and tokens, the newest first."""
    entries = await services.lanes.changes.run(_read, services.store, before, limit)
    return log_page(entries, limit)


def _read(store: Store, before: int | None, limit: int) -> list[LogEntry]:
    return store.log(before=before, limit=limit)
