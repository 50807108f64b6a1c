"""Blind RSA signatures (RFC 9474), the person's side: RSABSSA-SHA384-PSS-Deterministic.

Whole numbers of Python do the arithmetic, in a time that depends on them. The person blinds once
per campaign, with numbers that are drawn anew, on a device of their own: there is nothing that
somebody could measure again and again. The signer has other worries; see `noutput.issuer.keys`.
"""

from __future__ import annotations

import math
import secrets
from hashlib import sha384

from noutput.campaign.admission import EXPONENT
from noutput.errors import InvalidArgumentError

__all__ = ["SALT_BYTES", "blind", "draw_factor", "encode", "finalize"]

SALT_BYTES = 48
_HASH_BYTES = 48


def draw_factor(modulus: int) -> int:
    """Return a random blinding factor: a unit of the ring.

    Examples
    --------
    >>> draw_factor(35) in range(1, 35)
    True
    """
    while True:
        factor = 1 + secrets.randbelow(modulus - 1)
        if math.gcd(factor, modulus) == 1:
            return factor


def blind(message: bytes, modulus: int, salt: bytes, factor: int) -> int:
    """Return what the signer gets to see: for every message, any number is equally likely.

    Parameters
    ----------
    message : bytes
    modulus : int
        Of the signer's public key, whose exponent is 65537.
    salt : bytes
        48 random bytes.
    factor : int
        From `draw_factor`.
    """
    encoded = int.from_bytes(encode(message, modulus.bit_length() - 1, salt))
    if math.gcd(encoded, modulus) != 1:  # the factor would be one of what the signer sees
        rule = "have no factor of the message: it is no product of two large primes"
        raise InvalidArgumentError("modulus", rule, "one that has")
    return encoded * pow(factor, EXPONENT, modulus) % modulus


def finalize(
    message: bytes, blinded_signature: int, modulus: int, salt: bytes, factor: int
) -> bytes | None:
    """Return the signature of the message, or None where the signer has not made one."""
    signature = blinded_signature * pow(factor, -1, modulus) % modulus
    wanted = int.from_bytes(encode(message, modulus.bit_length() - 1, salt))
    good = blinded_signature < modulus and pow(signature, EXPONENT, modulus) == wanted
    return signature.to_bytes(-(-modulus.bit_length() // 8)) if good else None


def encode(message: bytes, bits: int, salt: bytes) -> bytes:
    """Return a message in the form that is signed: EMSA-PSS-ENCODE of RFC 8017 with SHA-384.

    Parameters
    ----------
    message : bytes
    bits : int
        How many the result has at most: one less than the modulus.
    salt : bytes
    """
    size = -(-bits // 8)
    digest = sha384(bytes(8) + sha384(message).digest() + salt).digest()
    data = (b"\x01" + salt).rjust(size - _HASH_BYTES - 1, b"\0")
    masked = bytearray(a ^ b for a, b in zip(data, _mask(digest, len(data)), strict=True))
    masked[0] &= 0xFF >> (8 * size - bits)
    return bytes(masked) + digest + b"\xbc"


def _mask(seed: bytes, size: int) -> bytes:
    """MGF1 of RFC 8017 with SHA-384."""
    count = -(-size // _HASH_BYTES)
    return b"".join(sha384(seed + i.to_bytes(4)).digest() for i in range(count))[:size]
