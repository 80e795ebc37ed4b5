"""TLS certificates for a cluster: an authority of its own, and one certificate that it signed.

Scheduler, workers and clients share the certificate. Dask requires of each side a certificate that
the authority signed, and compares no host names: whoever has the key can connect, nobody else can.
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
MAX_DAYS = 3650
SOON_DAYS = 30  # before the end, when a warning is due
FILES = ("ca-key.pem", "ca.pem", "key.pem", "cert.pem", "dask.yaml")
_NAME = re.compile(r"(?=.{1,253}$)[A-Za-z0-9]([A-Za-z0-9_-]{0,62})(\.[A-Za-z0-9_-]{1,63})*")


@dataclass(frozen=True)
class Certificates:
    """The paths of the files that ``make`` wrote into a folder."""

    folder: str

    @property
    def ca(self) -> str:
        """The authority's certificate."""
        return os.path.join(self.folder, "ca.pem")

    @property
    def cert(self) -> str:
        """The certificate that scheduler, workers and clients share."""
        return os.path.join(self.folder, "cert.pem")

    @property
    def key(self) -> str:
        """The certificate's private key."""
        return os.path.join(self.folder, "key.pem")

    @property
    def configuration(self) -> dict[str, Any]:
        """The settings of Dask's configuration that use the certificate."""
        return settings.tls_settings(self.ca, self.cert, self.key)

    def security(self) -> Any:
        """Return a ``distributed.Security`` that uses the certificate."""
        from distributed import Security

        return Security(
            require_encryption=True,
            tls_ca_file=self.ca,
            **{
                f"tls_{role}_{file}": path
                for role in ("client", "scheduler", "worker")
                for file, path in (("cert", self.cert), ("key", self.key))
            },
        )


def find(folder: str | os.PathLike[str]) -> Certificates | None:
    """Return the certificates in a folder, or None if a file is missing."""
    files = Certificates(os.path.abspath(folder))
    return files if all(map(os.path.isfile, (files.ca, files.cert, files.key))) else None


def make(
    folder: str | os.PathLike[str],
    hosts: Sequence[str],
    *,
    days: int = DAYS,
    overwrite: bool = False,
) -> Certificates:
    """Make an authority, a certificate for ``hosts`` and ``dask.yaml`` in a folder of mode 0700.

    hosts: names or addresses. days: how long both are valid. Only the owner can read the files.
    Raises UsageError if files exist already, and for invalid names or days; ClusterError without
    the package cryptography; StorageError if the folder cannot be written.
    """
    if not 1 <= days <= MAX_DAYS:
        raise UsageError(f"days must lie in [1, {MAX_DAYS:,}] (got {days:,})")
    if not hosts:
        raise UsageError("hosts must have at least one name or address for the certificate")
    for host in hosts:
        _check_host(host)
    made = Certificates(os.path.abspath(folder))
    existing = [name for name in FILES if os.path.lexists(os.path.join(made.folder, name))]
    if existing and not overwrite:
        raise UsageError(
            f"{made.folder} already has a {existing[0]}; `overwrite=True` replaces it, after which "
            "clusters that use it must be started again"
        )
    contents = _sign(hosts, days) | {"dask.yaml": _yaml(made.configuration)}
    try:
        make_private_folder(made.folder)
        for name in FILES:
            write_atomically(os.path.join(made.folder, name), contents[name])
    except OSError as error:
        raise StorageError(
            f"certificates cannot be written to {made.folder}: {error.strerror or error}"
        ) from error
    return made


def expiry(file: str) -> datetime.datetime | None:
    """Return when a certificate expires (UTC), or None without the package cryptography.

    Raises ClusterError for a file that is not a certificate.
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


def expiry_warning(used: Certificates) -> str | None:
    """Return a warning for certificates that expire within ``SOON_DAYS``, or None.

    Raises ClusterError for an expired one.
    """
    for file in (used.cert, used.ca):
        end = expiry(file)
        if end is None:
            continue
        remaining = end - datetime.datetime.now(datetime.UTC)
        remedy = (
            f"mgraph cluster certificates {used.folder} --host NAME --overwrite makes new ones, "
            "for which the cluster must be started again"
        )
        if remaining.total_seconds() <= 0:
            raise ClusterError(f"the certificate {file} expired on {end:%Y-%m-%d}; {remedy}")
        if remaining.days < SOON_DAYS:
            return (
                f"the certificate {file} expires on {end:%Y-%m-%d}, in {remaining.days} days; "
                f"{remedy}"
            )
    return None


def _check_host(host: str) -> None:
    with contextlib.suppress(ValueError):
        ipaddress.ip_address(host)
        return
    if not _NAME.fullmatch(host):
        raise UsageError(
            f"hosts must be names or addresses, as in node1.example.org or 10.0.0.1 (got {host!r})"
        )


def make_private_folder(folder: str) -> None:
    """Make a folder of mode 0700, or check that only its owner can write to an existing one.

    Raises UsageError if others can, OSError if it cannot be made.
    """
    os.makedirs(os.path.dirname(folder), exist_ok=True)
    with contextlib.suppress(FileExistsError):
        os.mkdir(folder, 0o700)
    status = os.stat(folder)
    if not stat.S_ISDIR(status.st_mode):
        raise UsageError(f"{folder} is a file; give a folder")
    if status.st_uid != os.getuid() or status.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        raise UsageError(
            f"other users can write to {folder}; give a folder of your own, or run chmod 700 on it"
        )


def _yaml(configuration: dict[str, Any]) -> bytes:
    """Return Dask's configuration as YAML, of which JSON is a subset."""
    nested: dict[str, Any] = {}
    for key, value in configuration.items():
        *parents, last = key.split(".")
        group = nested
        for parent in parents:
            group = group.setdefault(parent, {})
        group[last] = value
    head = "# TLS for Dask: set DASK_CONFIG=THIS_FILE, or copy it to ~/.config/dask.\n"
    return (head + json.dumps(nested, indent=2) + "\n").encode()


def _sign(hosts: Sequence[str], days: int) -> dict[str, bytes]:
    """Return keys and certificates as PEM, by file name."""
    try:
        from cryptography import x509
        from cryptography.hazmat.primitives import hashes, serialization
        from cryptography.hazmat.primitives.asymmetric import ec
        from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID
    except ImportError as error:
        raise ClusterError(
            f"certificates need the package cryptography, which cannot be imported ({error}); "
            f"{install_command('cluster')}"
        ) from error

    now = datetime.datetime.now(datetime.UTC)

    def make_name(name: str) -> x509.Name:
        return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])

    def begin(subject: x509.Name, key: ec.EllipticCurvePrivateKey) -> x509.CertificateBuilder:
        # Valid from some minutes ago on, since the clocks of hosts differ.
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

    def key_usage(signs: bool) -> x509.KeyUsage:
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

    authority = make_name(f"mgraph authority {secrets.token_hex(4)}")
    ca_key, key = (ec.generate_private_key(ec.SECP256R1()) for _ in range(2))
    ca = (
        begin(authority, ca_key)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .add_extension(key_usage(signs=True), critical=True)
        .sign(ca_key, hashes.SHA256())
    )
    purposes = [ExtendedKeyUsageOID.SERVER_AUTH, ExtendedKeyUsageOID.CLIENT_AUTH]
    cert = (
        begin(make_name("mgraph cluster"), key)
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .add_extension(key_usage(signs=False), critical=True)
        .add_extension(x509.ExtendedKeyUsage(purposes), critical=False)
        .add_extension(
            x509.SubjectAlternativeName([_alternative_name(host) for host in hosts]), False
        )
        .sign(ca_key, hashes.SHA256())
    )
    pem = serialization.Encoding.PEM

    def encode_key(key: ec.EllipticCurvePrivateKey) -> bytes:
        return key.private_bytes(
            pem, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
        )

    return {
        "ca-key.pem": encode_key(ca_key),
        "ca.pem": ca.public_bytes(pem),
        "key.pem": encode_key(key),
        "cert.pem": cert.public_bytes(pem),
    }


def _alternative_name(host: str) -> Any:
    from cryptography import x509

    try:
        return x509.IPAddress(ipaddress.ip_address(host))
    except ValueError:
        return x509.DNSName(host)
