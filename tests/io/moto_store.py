"""An S3 store on this machine, by moto, for the tests that need one."""

import contextlib
import os

import pytest


@contextlib.contextmanager
def moto_bucket(name, cluster=None):
    """The address of an empty bucket; processes started while it lives inherit how to reach it.

    cluster: its workers, which were started before, receive it.
    """
    boto3 = pytest.importorskip("boto3")
    server_module = pytest.importorskip("moto.server")
    server = server_module.ThreadedMotoServer("127.0.0.1", port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    environment = {
        "AWS_ENDPOINT_URL": f"http://{host}:{port}",
        "AWS_ACCESS_KEY_ID": "test",
        "AWS_SECRET_ACCESS_KEY": "test",
        "AWS_DEFAULT_REGION": "us-east-1",
        "AWS_EC2_METADATA_DISABLED": "true",
    }
    with pytest.MonkeyPatch.context() as patch:
        for variable, value in environment.items():
            patch.setenv(variable, value)
        boto3.client("s3").create_bucket(Bucket=name)
        if cluster is not None:
            cluster.client.run(_know, environment)
        yield f"s3://{name}"
        if cluster is not None:
            cluster.client.run(_forget, list(environment))
    server.stop()


def _know(environment):
    os.environ.update(environment)


def _forget(names):
    for name in names:
        os.environ.pop(name, None)


def keys(bucket, prefix):
    """The keys of a bucket's objects, without the marks of empty folders."""
    import boto3

    listed = boto3.client("s3").list_objects_v2(Bucket=bucket, Prefix=prefix)
    found = (entry["Key"] for entry in listed.get("Contents", []))
    return sorted(key for key in found if not key.endswith("/"))
