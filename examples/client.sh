#!/usr/bin/env bash
# A client of exec-server in shell: its standard input and output, and jq.
#
#     examples/client.sh exec-server            # or any other words that start a server
#
# It writes and reads a file, runs a command, follows its output and writes to its input. On stdio a session ends with its
# connection, so there is nothing to resume; what can be lost is a reader. So the second half reads by a cursor, as a client
# does after a cut, and gets all of it again. docs/protocol.md explains every step.
set -euo pipefail

coproc SERVER { exec "$@" --listen stdio --log-level error; }
exec {to_server}>&"${SERVER[1]}" {from_server}<&"${SERVER[0]}"

last_id=0
answer=

# Sends a request: its method, and its parameters as JSON.
send() {
  last_id=$((last_id + 1))
  jq -cn --argjson id "$last_id" --arg method "$1" --argjson params "$2" '{$id,$method,$params}' >&"$to_server"
}

# What came and is not an answer.
notified() {
  case $(jq -r .method <<<"$1") in
    process/output) jq -r .params.chunk <<<"$1" | base64 -d ;;
    process/exited) echo "exit code $(jq .params.exitCode <<<"$1")" ;;
    process/closed) is_closed=1 ;;
  esac
}

# Reads one message. Sets `answer` when it is one.
receive() {
  local line
  IFS= read -r -u "$from_server" line || { echo "the server has ended" >&2; exit 1; }
  answer=
  if jq -e 'has("method")' <<<"$line" >/dev/null; then notified "$line"; else answer=$line; fi
}

# A request, and its result in `result`.
call() {
  send "$@"
  local id=$last_id
  until [ -n "$answer" ] && [ "$(jq .id <<<"$answer")" = "$id" ]; do receive; done
  if jq -e 'has("error")' <<<"$answer" >/dev/null; then
    echo "$1: $(jq -r '"\(.error.code) \(.error.message)"' <<<"$answer")" >&2
    exit 1
  fi
  result=$(jq -c .result <<<"$answer")
  answer=
}

call initialize '{"clientName":"examples/client.sh"}'
echo '{"method":"initialized"}' >&"$to_server"
echo "connected to a server of version $(jq -r .environmentInfo.executorVersion <<<"$result")"

# Files.
path=/tmp/exec-server-example-$$.txt
call fs/writeFile "$(jq -cn --arg path "$path" --arg data "$(base64 <<<'from a file')" '{$path,dataBase64:$data}')"
call fs/readFile "$(jq -cn --arg path "$path" '{$path}')"
echo "the file: $(jq -r .dataBase64 <<<"$result" | base64 -d)"

# Run, write, follow.
is_closed=
call process/start "$(jq -cn --arg path "$path" '{processId:"p1",
  argv:["sh","-c","cat $0; read line; echo got $line",$path],
  cwd:"/tmp",env:{PATH:"/usr/bin:/bin"},tty:false,pipeStdin:true}')"
call process/write "$(jq -cn --arg chunk "$(base64 <<<'a line')" '{processId:"p1",$chunk,writeId:"w1"}')"
until [ -n "$is_closed" ]; do receive; done

# Read it all again by a cursor, one chunk at a time: the way back after a cut.
cursor=0
while :; do
  call process/read "$(jq -cn --argjson cursor "$cursor" '{processId:"p1",afterSeq:$cursor,maxBytes:1}')"
  [ "$(jq '.chunks | length' <<<"$result")" -gt 0 ] || break
  jq -r '.chunks[].chunk' <<<"$result" | base64 -d | sed 's/^/again: /'
  cursor=$(jq '.nextSeq - 1' <<<"$result")
done

# A program that cannot be run is an error with a code.
send process/start '{"processId":"p2","argv":["/nonexistent"],"cwd":"/tmp","env":{},"tty":false}'
until [ -n "$answer" ]; do receive; done
echo "a missing program: code $(jq .error.code <<<"$answer")"
answer=

call fs/remove "$(jq -cn --arg path "$path" '{$path}')"
server=$SERVER_PID
exec {to_server}>&- {from_server}<&-
eval "exec ${SERVER[1]}>&- ${SERVER[0]}<&-"
wait "$server"
