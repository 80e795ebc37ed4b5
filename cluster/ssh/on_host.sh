# shellcheck shell=bash
# What `start` and `stop` run on each host, sent over ssh as the text of a command:
#   bash -c TEXT on_host.sh VERB FOLDER [ARGUMENT...]
# FOLDER lies in the home folder, is this cluster's and this host's alone, and holds what runs there.
set -euo pipefail
verb=$1 folder=$HOME/$2
shift 2

begun() { # PID: when the process started, so that its number used again is not taken for it
  sed 's/.*) //' "/proc/$1/stat" 2>/dev/null | cut -d ' ' -f 20
}

begin() { # NAME COMMAND...: in the background, in a session of its own
  local name=$1
  shift
  setsid "$@" >"$name.log" 2>&1 </dev/null &
  echo "$! $(begun $!)" >"$name.pid"
}

running() { # NAME
  local pid start
  read -r pid start <"$1.pid" && [ -n "$start" ] && [ "$(begun "$pid")" = "$start" ]
}

end() { # NAME: the process and its children; those that do not end within 15 s are killed
  if [ -e "$1.pid" ] && running "$1"; then
    local pid start
    read -r pid start <"$1.pid"
    kill -TERM "$pid" || true
    for _ in $(seq 150); do running "$1" || break; sleep 0.1; done
    kill -KILL -- "-$pid" 2>/dev/null || true
  fi
}

failed() { # SENTENCE NAME
  echo "$1; $(hostname):$folder/$2.log ends so:" >&2
  tail -n 5 "$2.log" >&2
  exit 1
}

# The address that ssh reached: the others reach this host by it, too.
address() { cut -d ' ' -f 3 <<<"${SSH_CONNECTION:?start runs this over ssh}"; }

configured() { # PYTHON: Dask's settings of every process here: mgraph's own, and all talk encrypted
  local pair="{cert: '$folder/cert.pem', key: '$folder/key.pem'}"
  cat >dask.yaml <<YAML
distributed:
  comm:
    require-encryption: true
    tls: {ca-file: '$folder/cert.pem', scheduler: $pair, worker: $pair, client: $pair}
YAML
  export DASK_CONFIG=$folder/dask.yaml
  local settings
  settings=$("$1" -c '
import shlex
from mgraph.distributed.protocol.settings import environment
for name, value in environment().items():
    print(f"export {name}={shlex.quote(value)}")')
  eval "$settings"
}

cores() { # PYTHON: those that this host's or container's limits leave
  "$1" -c 'from mgraph.core.host import available_cores; print(available_cores())'
}

case $verb in
receive) # a tar archive with cert.pem, key.pem on standard input
  umask 077
  mkdir -p "$folder"
  tar -xf - -C "$folder"
  ;;
warm-up) # PYTHON COMMANDS
  read -ra commands <<<"$2"
  "$1" -m mgraph warm-up --quiet "${commands[@]}"
  ;;
scheduler) # PYTHON PORT: prints the scheduler file
  python=$1 port=$2
  cd "$folder"
  configured "$python"
  begin scheduler "$python" -m dask scheduler --protocol tls --host "$(address)" --port "$port" \
    --dashboard-address 127.0.0.1:8787 --scheduler-file scheduler.json \
    --preload mgraph.distributed.scheduler_preload
  for _ in $(seq 600); do
    [ -s scheduler.json ] && exec cat scheduler.json
    running scheduler || failed "the scheduler has ended" scheduler
    sleep 0.1
  done
  failed "the scheduler did not start within a minute" scheduler
  ;;
worker) # PYTHON WORKERS SCHEDULER: prints how many workers were started
  python=$1 workers=$2 scheduler=$3
  cd "$folder"
  configured "$python"
  there=(--host "$(address)" --dashboard-address 127.0.0.1:0)
  if [ "$workers" = auto ] && command -v nvidia-smi >/dev/null && "$python" -c 'import dask_cuda' 2>/dev/null; then
    workers=$(nvidia-smi --list-gpus | wc -l)
    threads=$(($(cores "$python") / workers))
    begin worker "$python" -m dask cuda worker "$scheduler" "${there[@]}" \
      --nthreads $((threads ? threads : 1)) --death-timeout 60
  else
    [ "$workers" = auto ] && workers=$(cores "$python")
    begin worker "$python" -m dask worker "$scheduler" "${there[@]}" \
      --nworkers "$workers" --nthreads 1 --death-timeout 60
  fi
  sleep 1 # long enough to see that dask takes no such option
  running worker || failed "the workers have ended" worker
  echo "$workers"
  ;;
end) # NAME
  [ -d "$folder" ] || exit 0
  cd "$folder"
  end "$1"
  ;;
clear)
  [ -d "$folder" ] || exit 0
  cd "$folder"
  rm -f cert.pem key.pem dask.yaml scheduler.json {scheduler,worker}.{log,pid}
  cd ..
  rmdir "$folder"
  rmdir "$PWD" 2>/dev/null || true # another host's may share this home folder
  ;;
esac
