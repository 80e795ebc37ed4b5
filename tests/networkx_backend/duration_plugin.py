"""A plugin of pytest: the seconds that the tests themselves take, with a backend that refuses."""

from mgraph.networkx_backend.interface import Backend

seconds = []


def pytest_addoption(parser):
    parser.addoption("--refuse", action="store_true", help="no function pays")


def pytest_configure(config):
    if config.getoption("--refuse"):
        Backend.should_run = staticmethod(lambda name, args, kwargs: False)


def pytest_runtest_logreport(report):
    if report.when == "call":
        seconds.append(report.duration)


def pytest_terminal_summary(terminalreporter):
    terminalreporter.write_line(f"all tests: {sum(seconds):.4f} s")
