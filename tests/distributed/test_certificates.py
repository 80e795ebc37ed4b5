"""Certificates: who may read them, how long they are valid, and invalid requests."""

import contextlib
import datetime
import os
import ssl
import stat
import sys

import dask
import pytest
import yaml

from mgraph.distributed.clusters import certificates
from mgraph.errors import ClusterError, MgraphError, StorageError, UsageError

pytest.importorskip("cryptography", reason="certificates are made by the package cryptography")


def mode(path):
    return stat.S_IMODE(os.stat(path).st_mode)


def test_only_the_owner_can_read_them(tmp_path):
    before = os.umask(0)
    try:
        made = certificates.make(tmp_path / "tls")
    finally:
        os.umask(before)
    assert mode(made.folder) == 0o700
    assert sorted(os.listdir(made.folder)) == sorted(certificates.FILES)
    assert {mode(tmp_path / "tls" / name) for name in certificates.FILES} == {0o600}


def test_no_file_can_ever_be_read_by_others(tmp_path, monkeypatch):
    opened = []
    real = os.open

    def watched(path, flags, mode=0o777, **more):
        if flags & os.O_CREAT:
            opened.append((flags & os.O_EXCL, mode))
        return real(path, flags, mode, **more)

    monkeypatch.setattr(os, "open", watched)
    certificates.make(tmp_path / "tls")
    assert opened == [(os.O_EXCL, 0o600)] * len(certificates.FILES)


def test_python_accepts_it_under_its_strictest_rules(tmp_path):
    made = certificates.make(tmp_path, days=7)
    server = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH, cafile=made.ca)
    client = ssl.create_default_context(cafile=made.ca)
    for context in (server, client):
        context.load_cert_chain(made.cert, made.key)
        context.check_hostname, context.verify_mode = False, ssl.CERT_REQUIRED
        context.verify_flags |= ssl.VERIFY_X509_STRICT
    to_server, to_client = ssl.MemoryBIO(), ssl.MemoryBIO()
    ours = client.wrap_bio(to_client, to_server)
    theirs = server.wrap_bio(to_server, to_client, server_side=True)
    for side in (ours, theirs, ours, theirs):
        try:
            side.do_handshake()
        except ssl.SSLWantReadError:
            continue
    assert ours.version() == "TLSv1.3"
    assert theirs.getpeercert()["subject"] == ours.getpeercert()["subject"]


def test_another_certificate_is_refused(tmp_path):
    made, other = (certificates.make(tmp_path / name) for name in ("made", "other"))
    server = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH, cafile=made.ca)
    server.load_cert_chain(made.cert, made.key)
    server.verify_mode = ssl.CERT_REQUIRED
    client = ssl.create_default_context(cafile=made.ca)
    client.load_cert_chain(other.cert, other.key)
    client.check_hostname = False
    to_server, to_client = ssl.MemoryBIO(), ssl.MemoryBIO()
    ours = client.wrap_bio(to_client, to_server)
    theirs = server.wrap_bio(to_server, to_client, server_side=True)
    for side in (ours, theirs, ours):
        with contextlib.suppress(ssl.SSLWantReadError):
            side.do_handshake()
    with pytest.raises(ssl.SSLCertVerificationError):
        theirs.do_handshake()


def test_dask_reads_its_configuration(tmp_path):
    made = certificates.make(tmp_path)
    content = yaml.safe_load((tmp_path / "dask.yaml").read_text())
    from distributed import Security

    with dask.config.set(dask.config.merge(dask.config.config, content)):
        found = Security()
    assert found.require_encryption is True
    assert found.tls_ca_file == made.ca
    for role in ("client", "scheduler", "worker"):
        arguments = found.get_connection_args(role)
        assert arguments["ssl_context"].verify_mode == ssl.CERT_REQUIRED
    own = made.security()
    assert all(getattr(own, name) == getattr(found, name) for name in own.__slots__)


def test_keys_are_overwritten_only_on_request(tmp_path):
    certificates.make(tmp_path)
    key = tmp_path / "key.pem"
    before = key.read_text()
    with pytest.raises(UsageError, match="`overwrite=True` replaces it"):
        certificates.make(tmp_path)
    assert key.read_text() == before
    certificates.make(tmp_path, overwrite=True)
    assert key.read_text() != before
    assert mode(key) == 0o600


@pytest.mark.parametrize("name", certificates.FILES)
def test_one_existing_file_is_enough_to_refuse(tmp_path, name):
    (tmp_path / name).symlink_to("nowhere")
    with pytest.raises(UsageError, match="`overwrite=True`"):
        certificates.make(tmp_path)
    assert os.listdir(tmp_path) == [name]


@pytest.mark.parametrize("days", [0, -1, 3651])
def test_days_are_checked(tmp_path, days):
    with pytest.raises(UsageError, match=r"days must lie in \[1, 3,650\]"):
        certificates.make(tmp_path / "t", days=days)
    assert not (tmp_path / "t").exists()


def test_a_folder_of_0_1_0_is_used_until_it_is_overwritten(tmp_path):
    """An authority had signed the certificate."""
    made = certificates.make(tmp_path)
    for name in ("ca.pem", "ca-key.pem"):
        (tmp_path / name).write_text("of an authority")
    assert certificates.find(tmp_path).ca == str(tmp_path / "ca.pem")
    with pytest.raises(UsageError, match="`overwrite=True` replaces it"):
        certificates.make(tmp_path)
    certificates.make(tmp_path, overwrite=True)
    assert sorted(os.listdir(tmp_path)) == sorted(certificates.FILES)
    assert certificates.find(tmp_path).ca == made.cert


def test_a_folder_that_others_can_write_is_refused(tmp_path):
    tmp_path.chmod(0o777)
    with pytest.raises(UsageError, match="other users can write to"):
        certificates.make(tmp_path)
    (tmp_path / "file").touch()
    with pytest.raises(UsageError, match="is a file"):
        certificates.make(tmp_path / "file")
    with pytest.raises(StorageError, match="cannot be written"):
        certificates.make(tmp_path / "file" / "deeper")


def test_expiry_is_warned_of_and_then_an_error(tmp_path, monkeypatch):
    made = certificates.make(tmp_path, days=certificates.SOON_DAYS + 2)
    left = certificates.expiry(made.cert) - datetime.datetime.now(datetime.UTC)
    assert left.days == certificates.SOON_DAYS + 1
    assert certificates.expiry_warning(made) is None
    certificates.make(tmp_path, days=5, overwrite=True)
    assert "expires on" in certificates.expiry_warning(made)

    class Later(datetime.datetime):
        @classmethod
        def now(cls, zone=None):
            return super().now(zone) + datetime.timedelta(days=6)

    monkeypatch.setattr(certificates.datetime, "datetime", Later)
    with pytest.raises(ClusterError, match=r"cert\.pem expired on"):
        certificates.expiry_warning(made)
    (tmp_path / "cert.pem").write_text("nothing")
    with pytest.raises(ClusterError, match="cannot be read as a certificate"):
        certificates.expiry(made.cert)


def test_certificates_need_the_package_cryptography(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "cryptography", None)
    with pytest.raises(MgraphError, match=r"pip install .*\[cluster\]'"):
        certificates.make(tmp_path / "t")
    assert not (tmp_path / "t").exists()
    assert certificates.expiry("anything") is None


def test_a_folder_with_a_missing_file_has_no_certificates(tmp_path):
    made = certificates.make(tmp_path)
    assert certificates.find(tmp_path) == made
    os.unlink(made.key)
    assert certificates.find(tmp_path) is None
