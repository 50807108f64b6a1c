"""The issuer's key, and the blind signature (RFC 9474)."""

from __future__ import annotations

import base64
import math
import os
import secrets
from hashlib import sha256
from typing import TYPE_CHECKING

from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa

from noutput.campaign.admission import EXPONENT, KEY_BYTES, public_key
from noutput.errors import InvalidArgumentError

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["IssuerKey"]

_BLINDING_BITS = 64


class IssuerKey:
    """A private key of 2,048 bits that signs blinded messages.

    Parameters
    ----------
    key : RSAPrivateKey

    Attributes
    ----------
    public : str
        What a campaign's `Admission` names: the public key in base64url.
    id : bytes
        SHA-256 of the public key.

    Notes
    -----
    `cryptography` offers no signature without padding, so whole numbers of Python compute it, in a
    time that depends on them. Therefore every signature is of the message times a random number,
    with exponents to which random multiples of the group's order were added (Kocher 1996): what a
    stranger sends is neither a base nor an exponent of any power. The result is checked before it
    leaves, so that a computer's mistake reveals no factor of the modulus (RFC 9474, 7.1).

    Examples
    --------
    >>> key = IssuerKey.generate()
    >>> pow(key.sign(12345), 65537, key.modulus)
    12345
    """

    def __init__(self, key: rsa.RSAPrivateKey) -> None:
        numbers = key.private_numbers()
        self._p, self._q = numbers.p, numbers.q
        self._exponents = numbers.dmp1, numbers.dmq1
        self._inverse = numbers.iqmp
        self._key = key
        self.modulus = numbers.public_numbers.n
        if numbers.public_numbers.e != EXPONENT or self.modulus.bit_length() != 8 * KEY_BYTES:
            found = f"{self.modulus.bit_length()} bits, exponent {numbers.public_numbers.e}"
            raise InvalidArgumentError("key", f"have 2048 bits and exponent {EXPONENT}", found)
        data = public_key(self.modulus)
        self.public = base64.urlsafe_b64encode(data).decode()
        self.id = sha256(data).digest()

    @classmethod
    def generate(cls) -> IssuerKey:
        """Draw a key."""
        return cls(rsa.generate_private_key(EXPONENT, 8 * KEY_BYTES))

    @classmethod
    def load(cls, path: Path) -> IssuerKey:
        """Read a key from a PEM file, which only its owner may be able to read."""
        if os.name != "nt" and path.stat().st_mode & 0o077:
            raise InvalidArgumentError("key", "be a file that only its owner can read", str(path))
        try:
            key = serialization.load_pem_private_key(path.read_bytes(), None)
        except (ValueError, TypeError) as error:
            rule = "be a PEM file with a private key, as `noutput issuer keygen` writes it"
            raise InvalidArgumentError("key", rule, f"{path}: {type(error).__name__}") from None
        if not isinstance(key, rsa.RSAPrivateKey):
            raise InvalidArgumentError("key", "be an RSA key", type(key).__name__)
        return cls(key)

    def save(self, path: Path) -> None:
        """Write the key to a new file that only its owner can read."""
        data = self._key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        )
        try:
            path.touch(mode=0o600, exist_ok=False)
        except FileExistsError:
            raise InvalidArgumentError("file", "not exist yet", str(path)) from None
        path.write_bytes(data)

    def sign(self, blinded: int) -> int:
        """Return the blind signature of a number below the modulus."""
        while True:
            factor = 1 + secrets.randbelow(self.modulus - 1)
            if math.gcd(factor, self.modulus) == 1:
                break
        hidden = blinded * pow(factor, EXPONENT, self.modulus) % self.modulus
        signature = self._power(hidden) * pow(factor, -1, self.modulus) % self.modulus
        if pow(signature, EXPONENT, self.modulus) != blinded % self.modulus:
            raise ArithmeticError("the signature is wrong, and is not given to anybody")
        return signature

    def _power(self, base: int) -> int:
        """Raise to the private exponent, modulo each prime."""
        ends = []
        for prime, exponent in zip((self._p, self._q), self._exponents, strict=True):
            hidden = exponent + secrets.randbits(_BLINDING_BITS) * (prime - 1)
            ends.append(pow(base % prime, hidden, prime))
        first, second = ends
        return second + self._q * ((first - second) * self._inverse % self._p)
