"""Admission: whose reports a campaign counts, and how many it expects."""

from __future__ import annotations

import base64
import re
from dataclasses import dataclass
from typing import Any

from noutput import _checks
from noutput._text import check_pattern
from noutput.campaign.text import NEWER
from noutput.errors import DocumentError, InvalidArgumentError

__all__ = ["EXPONENT", "KEY_BYTES", "KINDS", "MAX_PER_HOUR", "Admission", "public_key"]

KINDS = ("open", "token", "anonymous")
MAX_PER_HOUR = 10**12
_FIELDS = ("kind", "reports_per_hour", "issuer", "key")
_OF_ISSUER = ("issuer", "key")
_LABEL = r"[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?"
_PORT = r"[1-9][0-9]{0,3}|[1-5][0-9]{4}|6[0-4][0-9]{3}|65[0-4][0-9]{2}|655[0-2][0-9]|6553[0-5]"
_ISSUER = re.compile(rf"https?://(?=[a-z0-9.-]{{1,252}}(:|$)){_LABEL}(\.{_LABEL})*(:({_PORT}))?")
_KEY = re.compile("[A-Za-z0-9_-]{456}")
# A public key as RFC 9578 writes it: RSASSA-PSS with SHA-384 and a salt of 48 bytes, 2,048 bits,
# exponent 65537. Only the modulus, between both, is the key's own.
_BEFORE = bytes.fromhex(
    "30820152303d06092a864886f70d01010a3030a00d300b0609608648016503040202a11a301806092a864886f70d01"
    "0108300b0609608648016503040202a2030201300382010f003082010a0282010100"
)
_AFTER = bytes.fromhex("0203010001")
EXPONENT = 65537
KEY_BYTES = 256  # of the modulus


@dataclass(frozen=True, slots=True)
class Admission:
    """Whose reports a campaign counts.

    Parameters
    ----------
    kind : "open", "token" or "anonymous"
        Everybody's; those with a one-time token that the operator handed out; or those with a
        one-time token that an issuer has signed without seeing it (Privacy Pass, blind RSA).
    reports_per_hour : int, optional
        How many reports the operator expects per hour, from all people together.
    issuer : str, optional
        Where anonymous tokens are signed: ``https://``, the name of a host, and perhaps a port.
    key : str, optional
        The issuer's public key for this campaign, as `noutput issuer keygen` prints it: what RFC
        9578 calls a token key (RSASSA-PSS, 2,048 bits), in base64url.

    Examples
    --------
    >>> Admission().to_document(), Admission("token").to_document()
    ('open', {'kind': 'token'})
    >>> Admission(reports_per_hour=5000).to_document()
    {'kind': 'open', 'reports_per_hour': 5000}
    >>> Admission.from_document({"kind": "token"}) == Admission("token")
    True
    >>> Admission().needs_token, Admission("token").needs_token
    (False, True)
    >>> key = base64.urlsafe_b64encode(public_key(2**2048 - 1)).decode()
    >>> Admission("anonymous", issuer="https://issuer.example", key=key).modulus == 2**2048 - 1
    True
    >>> Admission("anonymous")
    Traceback (most recent call last):
        ...
    noutput.errors.InvalidArgumentError: admission.issuer must be an address such as ...
    """

    kind: str = "open"
    reports_per_hour: int | None = None
    issuer: str | None = None
    key: str | None = None

    def __post_init__(self) -> None:
        _checks.choice("admission.kind", self.kind, KINDS)
        if self.reports_per_hour is not None:
            name = "admission.reports_per_hour"
            count = _checks.whole(name, self.reports_per_hour, 1, MAX_PER_HOUR)
            object.__setattr__(self, "reports_per_hour", count)
        if self.kind == "anonymous":
            rule = "be an address such as 'https://issuer.example', without a path"
            check_pattern("admission.issuer", self.issuer, _ISSUER, rule)
            _read_key(self.key)
            return
        for name in _OF_ISSUER:
            if getattr(self, name) is not None:
                rule = f"be absent where kind is {self.kind!r}"
                raise InvalidArgumentError(f"admission.{name}", rule, getattr(self, name))

    @property
    def needs_token(self) -> bool:
        """Whether a report must carry a token."""
        return self.kind != "open"

    @property
    def modulus(self) -> int:
        """The modulus of the issuer's key; its exponent is 65537."""
        return _read_key(self.key)

    def to_document(self) -> str | dict[str, Any]:
        """Return what the campaign's document says: "open", or an object with what is named."""
        found = {name: getattr(self, name) for name in _FIELDS if getattr(self, name) is not None}
        return self.kind if found == {"kind": "open"} else found

    @classmethod
    def from_document(cls, value: object) -> Admission:
        """Read what `to_document` returns, and nothing else."""
        if value == "open" and isinstance(value, str):
            return cls()
        if not isinstance(value, dict):
            raise DocumentError("admission", f'be "open" or a JSON object: else {NEWER}', value)
        for key, entry in value.items():
            if key not in _FIELDS:
                name = f"key {f'admission.{key}'[:200]!r}"
                raise DocumentError(name, f"be absent: {NEWER}", entry)
            if entry is None:
                raise DocumentError(f"admission.{key}", "be absent where it is null", entry)
        kind = value.get("kind")
        if not isinstance(kind, str) or kind not in KINDS:
            raise DocumentError("admission.kind", f"be one of {list(KINDS)}: else {NEWER}", kind)
        if type(value.get("reports_per_hour", 0)) is not int:
            rule = "be a whole number"
            raise DocumentError("admission.reports_per_hour", rule, value["reports_per_hour"])
        result = cls(**value)
        if result == cls():
            raise DocumentError("admission", 'be "open" where nothing else is named', value)
        return result


def public_key(modulus: int) -> bytes:
    """Return a public key as RFC 9578 writes it.

    Examples
    --------
    >>> len(public_key(2**2048 - 1))
    342
    """
    return _BEFORE + modulus.to_bytes(KEY_BYTES) + _AFTER


def _read_key(value: object) -> int:
    """Return the modulus of a public key in base64url."""
    data = b""
    if isinstance(value, str) and _KEY.fullmatch(value):
        data = base64.urlsafe_b64decode(value)
    modulus = int.from_bytes(data[len(_BEFORE) : -len(_AFTER)])
    whole = len(data) == len(_BEFORE) + KEY_BYTES + len(_AFTER)
    if (
        not (whole and data.startswith(_BEFORE) and data.endswith(_AFTER))
        or modulus.bit_length() != 8 * KEY_BYTES
        or modulus % 2 == 0
    ):
        rule = "be an RSASSA-PSS key of 2,048 bits in base64url, as `noutput issuer keygen` prints"
        raise InvalidArgumentError("admission.key", rule, value)
    return modulus
