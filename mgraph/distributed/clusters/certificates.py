"""TLS certificates for a cluster: an authority of its own, and one certificate that it signed.

Scheduler, workers and clients share the certificate. Dask asks each side for one that the
authority signed, and looks at no names: who holds the key is let in, nobody else is.
"""

import contextlib
import datetime
import ipaddress
import json
import os
import re
import secrets
import stat
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from mgraph.distributed.protocol import settings
from mgraph.errors import ClusterError, StorageError, UsageError
from mgraph.installation import install_command
from mgraph.io.whole_file import write_atomically

DAYS = 365
MOST_DAYS = 3650
SOON_DAYS = 30
FILES = ("ca-key.pem", "ca.pem", "key.pem", "cert.pem", "dask.yaml")
_NAME = re.compile(r"(?=.{1,253}$)[A-Za-z0-9]([A-Za-z0-9_-]{0,62})(\.[A-Za-z0-9_-]{1,63})*")


@dataclass(frozen=True)
class Certificates:
    """The files of a folder that ``make`` filled; all are paths."""

    folder: str

    @property
    def ca(self) -> str:
        """The authority's certificate."""
        return os.path.join(self.folder, "ca.pem")

    @property
    def cert(self) -> str:
        """The certificate of scheduler, workers and clients."""
        return os.path.join(self.folder, "cert.pem")

    @property
    def key(self) -> str:
        """Its key."""
        return os.path.join(self.folder, "key.pem")

    @property
    def configuration(self) -> dict[str, Any]:
        """What Dask's configuration must say to use them."""
        return settings.encrypted(self.ca, self.cert, self.key)

    def security(self) -> Any:
        """A ``distributed.Security`` with them."""
        from distributed import Security

        return Security(
            require_encryption=True,
            tls_ca_file=self.ca,
            **{
                f"tls_{role}_{what}": path
                for role in ("client", "scheduler", "worker")
                for what, path in (("cert", self.cert), ("key", self.key))
            },
        )


def found_in(folder: str | os.PathLike[str]) -> Certificates | None:
    """The certificates in a folder, or None where some file is missing."""
    found = Certificates(os.path.abspath(folder))
    return found if all(map(os.path.isfile, (found.ca, found.cert, found.key))) else None


def make(
    folder: str | os.PathLike[str],
    hosts: Sequence[str],
    *,
    days: int = DAYS,
    overwrite: bool = False,
) -> Certificates:
    """Make an authority, a certificate for ``hosts`` and ``dask.yaml`` in a folder of mode 0700.

    hosts: names or addresses. days: how long both are valid. Only the owner can read the files.
    Raises UsageError where files are there already, and for wrong names or days; ClusterError
    without the package cryptography; StorageError where the folder cannot be written.
    """
    if not 1 <= days <= MOST_DAYS:
        raise UsageError(f"days must lie in [1, {MOST_DAYS:,}], and is {days:,}")
    if not hosts:
        raise UsageError("a certificate needs the name of a host at least: --host NAME")
    for host in hosts:
        _check_host(host)
    made = Certificates(os.path.abspath(folder))
    there = [name for name in FILES if os.path.lexists(os.path.join(made.folder, name))]
    if there and not overwrite:
        raise UsageError(
            f"{made.folder} has a {there[0]} already; --overwrite replaces it, after which "
            "clusters that use it must start again"
        )
    contents = _signed(hosts, days) | {"dask.yaml": _yaml(made.configuration)}
    try:
        make_private(made.folder)
        for name in FILES:
            write_atomically(os.path.join(made.folder, name), contents[name])
    except OSError as error:
        raise StorageError(
            f"certificates cannot be written to {made.folder}: {error.strerror or error}"
        ) from error
    return made


def expiry(file: str) -> datetime.datetime | None:
    """When a certificate's validity ends (UTC), or None without the package cryptography.

    Raises ClusterError for a file that is no certificate.
    """
    try:
        from cryptography import x509
    except ImportError:
        return None
    try:
        with open(file, "rb") as stream:
            return x509.load_pem_x509_certificate(stream.read()).not_valid_after_utc
    except (OSError, ValueError) as error:
        raise ClusterError(f"{file} cannot be read as a certificate: {error}") from error


def told_of(found: Certificates) -> str | None:
    """A sentence on certificates that end within ``SOON_DAYS``, or None.

    Raises ClusterError where one has ended.
    """
    for file in (found.cert, found.ca):
        end = expiry(file)
        if end is None:
            continue
        left = end - datetime.datetime.now(datetime.UTC)
        again = (
            f"mgraph cluster certificates {found.folder} --host NAME --overwrite makes new ones, "
            "for which the cluster must start again"
        )
        if left.total_seconds() <= 0:
            raise ClusterError(f"the certificate {file} has expired on {end:%Y-%m-%d}; {again}")
        if left.days < SOON_DAYS:
            return f"the certificate {file} expires on {end:%Y-%m-%d}, in {left.days} days; {again}"
    return None


def _check_host(host: str) -> None:
    with contextlib.suppress(ValueError):
        ipaddress.ip_address(host)
        return
    if not _NAME.fullmatch(host):
        raise UsageError(
            f"a host is a name or an address, as node1.example.org or 10.0.0.1, not {host!r}"
        )


def make_private(folder: str) -> None:
    """Make a folder of mode 0700, or see that nobody else can write to the one that is there.

    Raises UsageError where that is not so, OSError where it cannot be made.
    """
    os.makedirs(os.path.dirname(folder), exist_ok=True)
    with contextlib.suppress(FileExistsError):
        os.mkdir(folder, 0o700)
    found = os.stat(folder)
    if not stat.S_ISDIR(found.st_mode):
        raise UsageError(f"{folder} is a file, and a folder is needed there")
    if found.st_uid != os.getuid() or found.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        raise UsageError(
            f"others can write to {folder}; choose a folder of your own, or chmod 700 it"
        )


def _yaml(configuration: dict[str, Any]) -> bytes:
    """Dask's configuration as YAML, of which JSON is a part."""
    nested: dict[str, Any] = {}
    for key, value in configuration.items():
        *parents, last = key.split(".")
        place = nested
        for parent in parents:
            place = place.setdefault(parent, {})
        place[last] = value
    told = (
        "# TLS for Dask: DASK_CONFIG=THIS_FILE, or copy it to ~/.config/dask. Paths are absolute.\n"
    )
    return (told + json.dumps(nested, indent=2) + "\n").encode()


def _signed(hosts: Sequence[str], days: int) -> dict[str, bytes]:
    """Keys and certificates as PEM, by file name."""
    try:
        from cryptography import x509
        from cryptography.hazmat.primitives import hashes, serialization
        from cryptography.hazmat.primitives.asymmetric import ec
        from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID
    except ImportError as error:
        raise ClusterError(
            f"certificates are made by the package cryptography, which is not usable here ({error})"
            f"; {install_command('cluster')}"
        ) from error

    now = datetime.datetime.now(datetime.UTC)

    def named(name: str) -> x509.Name:
        return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])

    def begun(subject: x509.Name, key: ec.EllipticCurvePrivateKey) -> x509.CertificateBuilder:
        # A few minutes ago, since clocks of hosts differ.
        return (
            x509.CertificateBuilder()
            .subject_name(subject)
            .issuer_name(authority)
            .public_key(key.public_key())
            .serial_number(x509.random_serial_number())
            .not_valid_before(now - datetime.timedelta(minutes=10))
            .not_valid_after(now + datetime.timedelta(days=days))
            .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), False)
            .add_extension(
                x509.AuthorityKeyIdentifier.from_issuer_public_key(ca_key.public_key()), False
            )
        )

    def usage(signs: bool) -> x509.KeyUsage:
        return x509.KeyUsage(
            digital_signature=not signs,
            key_cert_sign=signs,
            crl_sign=signs,
            content_commitment=False,
            key_encipherment=False,
            data_encipherment=False,
            key_agreement=False,
            encipher_only=False,
            decipher_only=False,
        )

    authority = named(f"mgraph authority {secrets.token_hex(4)}")
    ca_key, key = (ec.generate_private_key(ec.SECP256R1()) for _ in range(2))
    ca = (
        begun(authority, ca_key)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .add_extension(usage(signs=True), critical=True)
        .sign(ca_key, hashes.SHA256())
    )
    both = [ExtendedKeyUsageOID.SERVER_AUTH, ExtendedKeyUsageOID.CLIENT_AUTH]
    cert = (
        begun(named("mgraph cluster"), key)
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .add_extension(usage(signs=False), critical=True)
        .add_extension(x509.ExtendedKeyUsage(both), critical=False)
        .add_extension(x509.SubjectAlternativeName([_alternative(host) for host in hosts]), False)
        .sign(ca_key, hashes.SHA256())
    )
    pem = serialization.Encoding.PEM

    def private(key: ec.EllipticCurvePrivateKey) -> bytes:
        return key.private_bytes(
            pem, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
        )

    return {
        "ca-key.pem": private(ca_key),
        "ca.pem": ca.public_bytes(pem),
        "key.pem": private(key),
        "cert.pem": cert.public_bytes(pem),
    }


def _alternative(host: str) -> Any:
    from cryptography import x509

    try:
        return x509.IPAddress(ipaddress.ip_address(host))
    except ValueError:
        return x509.DNSName(host)
