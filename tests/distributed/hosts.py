"""Several hosts on one machine: network namespaces on one bridge, each with an address and a name.

Needs root and Debian's iproute2. Each host has a disk of its own where ``own`` says, and shares the
rest with the others.
"""

import contextlib
import os
import pathlib
import shutil
import subprocess
import sys
import uuid

import psutil


def why_not():
    """Why there can be no hosts here, or None."""
    if os.geteuid() != 0:
        return "network namespaces need root"
    if not shutil.which("ip") or not shutil.which("unshare"):
        return "network namespaces need iproute2 and util-linux"
    name = f"mg{uuid.uuid4().hex[:6]}"
    made = subprocess.run(["ip", "netns", "add", name], capture_output=True, text=True, check=False)
    if made.returncode:
        return f"network namespaces cannot be made here: {made.stderr.strip()}"
    subprocess.run(["ip", "netns", "del", name], check=True)
    return None


class Host:
    """One host. address: its IPv4 address."""

    def __init__(self, network, name, address, own):
        self.network, self.name, self.address, self.own = network, name, address, own
        self.space = f"{network.prefix}-{name}"
        self.environment = {}

    def start(self, *command, log=None):
        """Start a command on the host; its output goes to a file of that name."""
        if log is not None:
            with open(log, "ab") as stream:
                return self._popen(command, stdout=stream, stderr=stream)
        return self._popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

    def run(self, *command, seconds=120):
        """Run a command on the host; returns its status, output and errors."""
        process = self._popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        try:
            out, err = process.communicate(timeout=seconds)
        except subprocess.TimeoutExpired:
            end(process)
            out, err = process.communicate()
            raise AssertionError(f"{command} took over {seconds} s: {out}{err}") from None
        return process.returncode, out, err

    def mgraph(self, *arguments, seconds=120):
        """Run ``mgraph`` on the host."""
        return self.run(*mgraph(*arguments), seconds=seconds)

    def link(self, up):
        """Cut the host off, or join it again."""
        self.network.hub("ip", "link", "set", self.port, "up" if up else "down")

    @contextlib.contextmanager
    def cut_off(self):
        """No packet reaches the host or leaves it for the length of a block."""
        self.link(False)
        try:
            yield
        finally:
            self.link(True)

    @property
    def port(self):
        """The bridge's end of the host's link."""
        return f"p-{self.name}"

    def _popen(self, command, **options):
        own = 'mount -t tmpfs none "$0" && ' if self.own else ""
        shell = f'hostname {self.name} && {own}exec "$@"'
        inside = ["unshare", "-m", "-u", "sh", "-c", shell, str(self.own), *map(str, command)]
        process = subprocess.Popen(
            ["ip", "netns", "exec", self.space, *inside],
            env=os.environ | self.environment,
            start_new_session=True,
            **options,
        )
        self.network.processes.append(process)
        return process


class Network:
    """Hosts on a bridge. own: a folder that each process started on one has for itself, or None."""

    def __init__(self, names, own=None):
        self.prefix = f"mg{uuid.uuid4().hex[:6]}"
        self.processes = []
        self.hosts = {
            name: Host(self, name, f"10.77.0.{index + 1}", own) for index, name in enumerate(names)
        }

    def __enter__(self):
        try:
            self._build()
        except BaseException:
            self._remove()
            raise
        return self

    def __exit__(self, *_):
        for process in reversed(self.processes):
            end(process)
        self._remove()

    def __getitem__(self, name):
        return self.hosts[name]

    def hub(self, *command):
        """Run a command where the bridge is."""
        _call("ip", "netns", "exec", f"{self.prefix}-hub", *command)

    def _build(self):
        _call("ip", "netns", "add", f"{self.prefix}-hub")
        self.hub("ip", "link", "add", "bridge", "type", "bridge")
        self.hub("ip", "link", "set", "bridge", "up")
        for host in self.hosts.values():
            _call("ip", "netns", "add", host.space)
            self.hub("ip", "link", "add", host.port, "type", "veth", "peer", "name", "eth0",
                     "netns", host.space)  # fmt: skip
            self.hub("ip", "link", "set", host.port, "master", "bridge", "up")
            for command in (
                ["ip", "address", "add", f"{host.address}/24", "dev", "eth0"],
                ["ip", "link", "set", "eth0", "up"],
                ["ip", "link", "set", "lo", "up"],
            ):
                _call("ip", "netns", "exec", host.space, *command)

    def _remove(self):
        spaces = [f"{self.prefix}-hub", *(host.space for host in self.hosts.values())]
        for space in spaces:
            subprocess.run(["ip", "netns", "del", space], capture_output=True, check=False)


def end(process, seconds=10):
    """End a process and all below it."""
    try:
        family = [psutil.Process(process.pid)]
        family += family[0].children(recursive=True)
    except psutil.NoSuchProcess:
        process.wait()
        return
    for one in family:
        with contextlib.suppress(psutil.NoSuchProcess):
            one.kill()
    psutil.wait_procs(family, timeout=seconds)
    process.wait()


def mgraph(*arguments):
    """The command line of ``mgraph``."""
    return [sys.executable, "-m", "mgraph.cli.main", *map(str, arguments)]


def dask(what, *arguments):
    """The command line of ``dask scheduler`` or ``dask worker``."""
    return [sys.executable, "-m", "dask", what, *map(str, arguments)]


def _call(*command):
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{command}: {done.stderr}"


def parts_in(folder, pattern="part-*"):
    """The parts that stand in a folder of results."""
    return sorted(path.name for path in pathlib.Path(folder).glob(pattern))
