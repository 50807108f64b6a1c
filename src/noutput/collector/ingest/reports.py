"""Reports route, which everybody calls: plain ASGI, no framework in the way."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

from noutput.campaign.problems import WireError
from noutput.campaign.tokens import issued_digest
from noutput.campaign.wire import MAX_REPORT_BYTES
from noutput.collector.http.body import LARGE_BODY, ClientGoneError, has_large_body, read_body
from noutput.collector.http.headers import SHARED, RawHeaders, raw
from noutput.collector.http.problems import ProblemError
from noutput.collector.ingest.admission import gate, refused_token
from noutput.collector.ingest.columns import (
    BODY_LIMITS,
    body_limit,
    check_rounds,
    read_columns,
    round_sizes,
)
from noutput.collector.lanes import CLIENT, BusyError
from noutput.collector.store.interface import Outcome, Submission, UnavailableError

if TYPE_CHECKING:
    from starlette.types import Receive, Scope, Send

    from noutput.collector.services import Services
    from noutput.collector.store.directory import KnownCampaign

__all__ = ["ReportsRoute"]

_SLOW_BODY = 1 << 14  # bytes of JSON that take a millisecond or more
_OK = [(b"content-type", b"application/json"), *raw(SHARED)]
_ONE_ACCEPTED = b'{"accepted":1,"repeated":0}'


class ReportsRoute:
    """``POST /campaigns/{id}/reports``.

    Guarantees
    ----------
    The answer 200 is sent after the reports are counted durably. A body is counted as a whole
    or refused as a whole. Nothing of a request is kept but its reports' ids and the counts, and
    where there is an archive the reports themselves; nothing is logged.
    """

    def __init__(self, services: Services) -> None:
        self._services = services
        self._large = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        refuse = self._services.refuse
        try:
            outcome = await self._count(scope, receive)
        except ProblemError as error:
            await refuse(error, SHARED)(scope, receive, send)
        except ClientGoneError:
            return
        except Exception:
            mistake = ProblemError("internal-error", "see the log of the collector")
            await refuse(mistake, SHARED)(scope, receive, send)
            raise  # the server logs it
        else:
            content = _content(outcome)
            headers = [*_OK, (b"content-length", b"%d" % len(content))]
            await send({"type": "http.response.start", "status": 200, "headers": headers})
            await send({"type": "http.response.body", "body": content})

    async def _count(self, scope: Scope, receive: Receive) -> Outcome:
        services = self._services
        headers: RawHeaders = scope["headers"]
        if scope["method"] != "POST":
            detail = f"{scope['method'][:20]} is not possible here"
            raise ProblemError("method-not-allowed", detail, {"Allow": "OPTIONS, POST"})
        name: str = scope["path_params"]["id"]
        entry = services.directory.peek(name) or await services.entry(name)
        media = _media(headers)
        if media not in BODY_LIMITS:
            found = media.decode("latin-1")[:100]
            detail = f"the content type must be one of the wire format; found {found!r}"
            raise ProblemError("unsupported-media-type", detail)
        await self._check_open(entry)
        ids, cells = await self._read(media, scope, receive, entry)
        await self._check_open(entry)
        submission = Submission(entry.key, ids, cells)
        sender = CLIENT.get()
        services.quotas.take(sender, entry, submission.size, _client(scope), cells)
        try:
            outcome = await services.writer.count(submission)
        except UnavailableError as error:
            services.quotas.give_back(sender, entry, submission.size, cells)
            detail = "the reports may not be counted yet; send them again"
            wait = "5" if isinstance(error, BusyError) else "1"
            raise ProblemError("unavailable", detail, {"Retry-After": wait}) from None
        if outcome is None:
            services.directory.forget(entry.campaign.id)
            raise _not_open(entry)
        services.quotas.counted(entry, outcome)
        if not outcome.accepted:  # they wait already, or were published
            services.quotas.shares.give_back(sender, entry, cells)
        services.metrics.campaign(name, outcome.accepted)
        if entry.campaign.schedule is not None:
            sizes, over = round_sizes(cells, entry.layout), entry.rounds_over(services.clock())
            services.metrics.rounds(name, sizes, outcome.accepted, over)
        return outcome

    async def _check_open(self, entry: KnownCampaign) -> None:
        """Refuse reports outside of a campaign's time, whose end is written down once it passed."""
        services = self._services
        now = services.clock()
        if entry.is_open(now):
            return
        if entry.is_over(now):
            with suppress(UnavailableError):  # the next one tries again
                await services.lanes.store.run(services.closer.close, entry)
        raise _not_open(entry)

    async def _read(
        self, media: bytes, scope: Scope, receive: Receive, entry: KnownCampaign
    ) -> tuple[bytes, bytes]:
        """Return the ids and the cells of a body; of large ones a few at a time."""
        limits, limit = self._services.limits, body_limit(media, entry.campaign)
        headers: RawHeaders = scope["headers"]
        large = limit > LARGE_BODY and has_large_body(headers)
        if large and self._large >= limits.large_bodies:
            detail = f"{self._large} large bodies are read already; send it again"
            raise ProblemError("unavailable", detail, {"Retry-After": "5", "Connection": "close"})
        self._large += large
        try:
            body = await read_body(receive, headers, limit, limits.body_seconds)
            if large:
                self._services.limiter.charge(CLIENT.get(), len(body) // LARGE_BODY)
            try:
                return await self._decode(media, body, entry)
            except WireError as error:
                newer = await self._newer(error, entry)
                if newer is None:
                    raise
            return await self._decode(media, body, newer)
        except WireError as error:
            raise ProblemError.of(error) from None
        except UnavailableError as error:
            raise self._services.unavailable(error) from None
        finally:
            self._large -= large

    async def _decode(self, media: bytes, body: bytes, entry: KnownCampaign) -> tuple[bytes, bytes]:
        """Return the ids and the cells of a body; of slow ones in a lane of their own."""
        if entry.campaign.schedule is not None:
            return await self._in_time(media, body, entry)
        return await self._columns(media, body, entry)

    async def _in_time(
        self, media: bytes, body: bytes, entry: KnownCampaign
    ) -> tuple[bytes, bytes]:
        """Return the ids and the cells of a body whose reports name rounds of now."""
        ids, cells = await self._columns(media, body, entry)
        now = self._services.clock()
        check_rounds(cells, entry.layout, entry.rounds_over(now), entry.rounds_begun(now))
        return ids, cells

    async def _columns(
        self, media: bytes, body: bytes, entry: KnownCampaign
    ) -> tuple[bytes, bytes]:
        if entry.campaign.admission.needs_token:
            return await self._admitted(media, body, entry)
        if len(body) > _SLOW_BODY and media.endswith(b"json"):
            lane = self._services.lanes.bodies
            return await lane.run(read_columns, media, body, entry.layout, aside=True)
        return read_columns(media, body, entry.layout)

    async def _newer(self, error: WireError, entry: KnownCampaign) -> KnownCampaign | None:
        """Return the campaign with a wave that another process began a moment ago."""
        if error.problem.name != "wrong-fingerprint" or not entry.awaits_wave:
            return None
        services = self._services
        found = await services.lanes.store.run(services.directory.find, entry.campaign.id)
        return None if found is None or found.awaits_wave or found.key != entry.key else found

    async def _admitted(
        self, media: bytes, body: bytes, entry: KnownCampaign
    ) -> tuple[bytes, bytes]:
        """Return the ids and the cells of a body whose tokens are all good."""
        services = self._services
        aside = len(body) > MAX_REPORT_BYTES
        tokens: list[bytes] = []
        if aside:  # signatures, or thousands of hashes
            read = await services.lanes.bodies.run(_read_tokens, media, body, entry, tokens)
        else:
            read = _read_tokens(media, body, entry, tokens, aside=False)
        if entry.campaign.admission.kind == "token":
            digests = [issued_digest(entry.campaign, token) for token in tokens]
            good = await services.lanes.store.run(services.store.issued, entry.key, digests)
            if not all(good):
                raise refused_token(good.index(False), "be one that was issued for this campaign")
        return read


def _read_tokens(
    media: bytes, body: bytes, entry: KnownCampaign, tokens: list[bytes], *, aside: bool = True
) -> tuple[bytes, bytes]:
    """Read a body and its tokens, and verify their signatures."""
    read = read_columns(media, body, entry.layout, aside=aside, tokens=tokens)
    gate(entry.campaign)(tokens, aside)
    return read


def _client(scope: Scope) -> str:
    client = scope.get("client")
    return client[0] if client else ""


def _content(outcome: Outcome) -> bytes:
    if outcome.accepted == 1 and not outcome.repeated:
        return _ONE_ACCEPTED
    return b'{"accepted":%d,"repeated":%d}' % (outcome.accepted, outcome.repeated)


def _media(headers: list[tuple[bytes, bytes]]) -> bytes:
    for name, value in headers:
        if name == b"content-type":
            return value.partition(b";")[0].strip().lower()
    return b""


def _not_open(entry: KnownCampaign) -> ProblemError:
    return ProblemError("campaign-not-open", f"{entry.campaign.id!r} is not open now")
