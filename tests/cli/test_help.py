"""``--help``: commands in the order of use, every option explained, examples that are right."""

import shlex

import click
import pytest
from click.testing import CliRunner

from mgraph.cli.main import SECTIONS, VERBS, cli


def commands():
    """Every command that does something, by its words."""
    for name in VERBS:
        command = cli.get_command(click.Context(cli), name)
        if isinstance(command, click.Group):
            yield from ((f"{name} {sub}", each) for sub, each in command.commands.items())
        else:
            yield name, command


ALL = list(commands())


def help_of(*words):
    done = CliRunner().invoke(cli, [*words, "--help"])
    assert done.exit_code == 0
    return done.output


def test_commands_stand_in_the_order_of_use_and_are_explained_in_full():
    text = help_of()
    places = [text.index(f"{heading}:\n") for heading in SECTIONS]
    places_of_verbs = [text.index(f"\n  {name} ") for name in VERBS]
    assert places == sorted(places)
    assert places_of_verbs == sorted(places_of_verbs)
    assert "…" not in text.replace("s3://…", "")
    for section in SECTIONS.values():
        assert all(text.endswith(".") for _, text in section.values())


@pytest.mark.parametrize(("words", "command"), ALL, ids=[words for words, _ in ALL])
def test_every_option_is_a_sentence(words, command):
    for parameter in command.params:
        if isinstance(parameter, click.Option):
            text = parameter.help or ""
            sentence = text.partition("  [")[0]
            assert sentence[:1].isupper(), f"{words} {parameter.opts[0]}: {text!r}"
            assert sentence.endswith("."), f"{words} {parameter.opts[0]}: {text!r}"
            assert not sentence.startswith("Of "), f"{words} {parameter.opts[0]}: {text!r}"


@pytest.mark.parametrize(("words", "command"), ALL, ids=[words for words, _ in ALL])
def test_every_command_has_examples_that_can_be_typed(words, command):
    assert command.examples
    for example in command.examples:
        assert f"  {example}\n" in help_of(*words.split())
        before = example.partition(" > ")[0]
        arguments = shlex.split(before)
        assert arguments[: 1 + len(words.split())] == ["mgraph", *words.split()]
        rest = arguments[1 + len(words.split()) :]
        command.make_context(words, rest)  # raises for what it does not know


@pytest.mark.parametrize(
    ("words", "option"),
    [
        ("sssp", "method"), ("steiner", "method"), ("steiner", "search"), ("msf", "method"),
        ("knapsack", "method"), ("knapsack", "key"), ("generate", "method"), ("generate", "start"),
    ],
)  # fmt: skip
def test_the_values_of_every_choice_are_listed(words, option):
    command = dict(ALL)[words]
    (parameter,) = (one for one in command.params if one.name == option)
    assert isinstance(parameter.type, click.Choice)
    values = "|".join(parameter.type.choices)
    assert f"[{values}]" in help_of(words)
    assert "[default: " in help_of(words)
