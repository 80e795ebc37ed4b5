# shellcheck shell=bash
# Sourced by `start` and `stop`, which set: here, the folder of this file; id, the cluster's; and
# ssh, the command as an array.

quoted() { # WORD...: as any POSIX shell takes them
  local word end="'\\''"
  for word; do printf "'%s' " "${word//\'/$end}"; done
}

on() { # HOST VERB ARGUMENT...: runs on_host.sh there; standard input is passed on
  local host=$1 verb=$2
  shift 2
  # ssh joins its arguments for the shell over there, whichever that is.
  "${ssh[@]}" "$host" "$(quoted bash -c "$(<"$here/on_host.sh")" on_host.sh "$verb" ".mgraph/ssh-$id/$host" "$@")"
}
