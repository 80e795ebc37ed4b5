"""The TLS certificate of a cluster: self-signed, and shared by scheduler, workers and clients.

Each side trusts this certificate alone, and Dask compares no host names: whoever has the key can
connect, and no other process can.
"""

import contextlib
import datetime
import json
import os
import secrets
import stat
from dataclasses import dataclass
from typing import Any

from mgraph.distributed.protocol import settings
from mgraph.errors import ClusterError, StorageError, UsageError
from mgraph.installation import install_command
from mgraph.io.whole_file import write_atomically

DAYS = 365
MAX_DAYS = 3650
SOON_DAYS = 30  # before the end, when a warning is due
_FILES_OF_0_1_0 = ("ca-key.pem", "ca.pem")  # an authority that signed the certificate
FILES = ("key.pem", "cert.pem", "dask.yaml")


@dataclass(frozen=True)
class Certificates:
    """The paths of the files that ``make`` wrote into a folder."""

    folder: str

    @property
    def ca(self) -> str:
        """The certificate that each side trusts: the shared one, or the authority's of 0.1.0."""
        authority = os.path.join(self.folder, "ca.pem")
        return authority if os.path.isfile(authority) else self.cert

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
    return files if all(map(os.path.isfile, (files.cert, files.key))) else None


def make(
    folder: str | os.PathLike[str], *, days: int = DAYS, overwrite: bool = False
) -> Certificates:
    """Make a key, its certificate and ``dask.yaml`` in a folder of mode 0700.

    days: how long the certificate is valid. Only the owner can read the files. Raises UsageError if
    files exist already, and for invalid days; ClusterError without the package cryptography;
    StorageError if the folder cannot be written.
    """
    if not 1 <= days <= MAX_DAYS:
        raise UsageError(f"days must lie in [1, {MAX_DAYS:,}] (got {days:,})")
    made = Certificates(os.path.abspath(folder))
    existing = [
        name
        for name in (*FILES, *_FILES_OF_0_1_0)
        if os.path.lexists(os.path.join(made.folder, name))
    ]
    if existing and not overwrite:
        raise UsageError(
            f"{made.folder} already has a {existing[0]}; `overwrite=True` replaces it, after which "
            "clusters that use it must be started again"
        )
    contents = _sign(days)
    try:
        make_private_folder(made.folder)
        for name in _FILES_OF_0_1_0:
            with contextlib.suppress(FileNotFoundError):
                os.unlink(os.path.join(made.folder, name))
        contents["dask.yaml"] = _yaml(made.configuration)
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
    for file in {used.cert: None, used.ca: None}:
        end = expiry(file)
        if end is None:
            continue
        remaining = end - datetime.datetime.now(datetime.UTC)
        remedy = (
            f"mgraph cluster certificates {used.folder} --overwrite makes a new one, "
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


def _sign(days: int) -> dict[str, bytes]:
    """Return a new key and its self-signed certificate as PEM, by file name."""
    try:
        from cryptography import x509
        from cryptography.hazmat.primitives import hashes, serialization
        from cryptography.hazmat.primitives.asymmetric import ec
    except ImportError as error:
        raise ClusterError(
            f"certificates need the package cryptography, which cannot be imported ({error}); "
            f"{install_command('cluster')}"
        ) from error

    key = ec.generate_private_key(ec.SECP256R1())
    text = f"mgraph cluster {secrets.token_hex(4)}"
    name = x509.Name([x509.NameAttribute(x509.oid.NameOID.COMMON_NAME, text)])
    now = datetime.datetime.now(datetime.UTC)
    usage = dict.fromkeys(
        ("content_commitment", "key_encipherment", "data_encipherment", "key_agreement",
         "crl_sign", "encipher_only", "decipher_only"), False,
    )  # fmt: skip
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(minutes=10))  # the clocks of hosts differ
        .not_valid_after(now + datetime.timedelta(days=days))
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .add_extension(
            x509.KeyUsage(digital_signature=True, key_cert_sign=True, **usage), critical=True
        )
        .sign(key, hashes.SHA256())
    )
    pem = serialization.Encoding.PEM
    return {
        "key.pem": key.private_bytes(
            pem, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
        ),
        "cert.pem": certificate.public_bytes(pem),
    }
