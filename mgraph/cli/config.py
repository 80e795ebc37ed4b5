"""``mgraph config`` and ``mgraph completion``: what is set, and how a shell completes commands."""

import json
from typing import Any

import click

from mgraph.cli.help import command, option
from mgraph.cli.options import TEXT, Choice
from mgraph.errors import UsageError

# Click's own scripts know the verbs, options and choices. Added to them: files, where nothing
# else fits; --option=value, in Zsh for files alone; and for Bash, which cuts words at = and
# :, the words as mgraph will see them.
_BASH = r"""
_mgraph_words() {
    local line=$COMP_LINE word i
    local -a words=()
    for ((i = 0; i <= COMP_CWORD; i++)); do
        word=${COMP_WORDS[i]}
        if ((i == 0)) || [[ $line == [[:space:]]* ]]; then words+=("$word")
        else words[-1]+=$word; fi
        line=${line#"${line%%[![:space:]]*}"}
        line=${line#"$word"}
    done
    local -a COMP_WORDS=("${words[@]}")
    local COMP_CWORD=$((${#words[@]} - 1))
    _mgraph_completion "$@" 2>/dev/null
}
complete -o nosort -o bashdefault -o default -F _mgraph_words mgraph
"""
_ZSH = r"""
_mgraph_or_files() {
    if [[ $PREFIX == --*=* ]]; then compset -P 1 '*='  # where Click's would lose the option
    else _mgraph_completion "$@"; fi
    (( compstate[nmatches] )) || _files
}
[[ $zsh_eval_context[-1] == loadautofunc ]] || compdef _mgraph_or_files mgraph
"""
_FISH = r"""
function _mgraph_joined
    set -l option (string match --regex -- '^--[^=]+=' (commandline --current-token))
    for completion in (_mgraph_completion)
        echo "$option$completion"
    end
end
complete --erase --command mgraph
complete --command mgraph --arguments "(_mgraph_joined)"
"""
_ADDITIONS = {"bash": _BASH, "zsh": _ZSH, "fish": _FISH}


def _complete_settings(ctx: Any, param: Any, incomplete: str) -> list[str]:
    from mgraph.distributed.protocol.configuration import DASK_SETTINGS, SETTINGS

    names = [*SETTINGS, *(f"mgraph.{key}" for key in SETTINGS), *DASK_SETTINGS]
    return [name for name in names if name.startswith(incomplete)]


@command(examples=("mgraph config", "mgraph config runs"))
@click.argument("key", required=False, type=TEXT, shell_complete=_complete_settings)
@option("--json", "as_json", is_flag=True, help="Print JSON, with the origin of each value.")
def config(key: str | None, as_json: bool) -> None:
    """Show the settings and where they come from, or the value of KEY alone.

    Settings are Dask's configuration: ~/.config/dask/mgraph.yaml, or environment variables as
    DASK_MGRAPH__CANCEL_GRACE for mgraph.cancel-grace.
    """
    from mgraph.distributed.protocol import configuration

    rows = configuration.rows() if key is None else [configuration.row(key)]
    if as_json:
        shown = {row.name: {"value": row.value, "from": row.source} for row in rows}
        click.echo(json.dumps(shown, indent=1, default=str))
    elif key is not None:
        click.echo("" if rows[0].value is None else rows[0].value)
    else:
        values = ["none" if row.value is None else str(row.value) for row in rows]
        widths = max(len(row.name) for row in rows), max(map(len, values))
        for row, value in zip(rows, values, strict=True):
            click.echo(f"{row.name:{widths[0]}s}  {value:{widths[1]}s}  {row.source}")


@command(
    examples=(
        "mgraph completion bash > ~/.mgraph-completion && . ~/.mgraph-completion",
        "mgraph completion fish > ~/.config/fish/completions/mgraph.fish",
    )
)
@click.argument("shell", required=False, type=Choice(sorted(_ADDITIONS)))
def completion(shell: str | None) -> None:
    """Print the script that has SHELL complete mgraph's commands.

    \b
    bash: mkdir -p ~/.local/share/bash-completion/completions
          mgraph completion bash > ~/.local/share/bash-completion/completions/mgraph
          (or, without the package bash-completion: mgraph completion bash >> ~/.bashrc)
    zsh:  mgraph completion zsh >> ~/.zshrc
    fish: mkdir -p ~/.config/fish/completions
          mgraph completion fish > ~/.config/fish/completions/mgraph.fish
    """
    from click.shell_completion import get_completion_class

    from mgraph.cli.main import cli

    if shell is None:
        raise UsageError(f"SHELL must be one of {', '.join(sorted(_ADDITIONS))} (got none)")
    completion_class = get_completion_class(shell)
    if completion_class is None:
        raise UsageError(f"this version of click does not know the shell {shell}")
    # Not its source(), which asks for the shell's version: the script may be for another machine.
    script = completion_class(cli, {}, "mgraph", "_MGRAPH_COMPLETE")
    click.echo(
        completion_class.source_template % script.source_vars() + _ADDITIONS[shell], nl=False
    )
