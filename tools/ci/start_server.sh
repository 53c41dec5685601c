#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# Starts a server for the steps of a pipeline that follow, and waits until it is ready. action.yml runs it;
# other systems may, too.
#
#   PORTCULLIS_PROGRAM   the program (default: portcullis, of $PATH)
#   PORTCULLIS_ARCHIVE   instead, a release archive: a file, or a URL that curl fetches
#   PORTCULLIS_SHA256    of the archive; it must match if given
#   PORTCULLIS_FLAGS     flags of `portcullis serve`
#   RUNNER_TEMP          where files are kept (default: a new folder below /tmp)
#
# Prints KUBECONFIG=… and PORTCULLIS_URL=…; appends them to $GITHUB_ENV and $GITHUB_OUTPUT where these
# exist. The server ends with `kill $(cat <folder>/pid)`, or with the machine.
set -eu

folder="$(mktemp -d "${RUNNER_TEMP:-/tmp}/portcullis-XXXXXX")"
program="${PORTCULLIS_PROGRAM:-portcullis}"
if [ -n "${PORTCULLIS_ARCHIVE:-}" ]; then
  archive="$PORTCULLIS_ARCHIVE"
  case "$archive" in
    https://* | http://*)
      curl -fsSL --retry 3 -o "$folder/archive.tar.gz" "$archive"
      archive="$folder/archive.tar.gz"
      ;;
  esac
  if [ -n "${PORTCULLIS_SHA256:-}" ]; then echo "$PORTCULLIS_SHA256  $archive" | sha256sum -c - > /dev/null; fi
  tar -xzf "$archive" -C "$folder" --strip-components=1
  program="$folder/bin/portcullis"
fi
command -v "$program" > /dev/null || {
  echo "start_server.sh: there is no $program: set PORTCULLIS_PROGRAM or PORTCULLIS_ARCHIVE" >&2
  exit 2
}

# shellcheck disable=SC2086  # the flags are words
nohup "$program" serve --store=memory --secure-port=0 --data-dir="$folder/data" --ready-file="$folder/ready" \
  --write-kubeconfig="$folder/kubeconfig" ${PORTCULLIS_FLAGS:-} > "$folder/log" 2>&1 < /dev/null &
pid=$!
echo "$pid" > "$folder/pid"
tries=0
until [ -s "$folder/ready" ]; do
  if ! kill -0 "$pid" 2> /dev/null || [ "$tries" -ge 600 ]; then
    echo "start_server.sh: the server is not ready:" >&2
    cat "$folder/log" >&2
    exit 1
  fi
  tries=$((tries + 1))
  sleep 0.05
done

url="$(cat "$folder/ready")"
for file in "${GITHUB_ENV:-}" "${GITHUB_OUTPUT:-}"; do
  [ -n "$file" ] || continue
  echo "KUBECONFIG=$folder/kubeconfig" >> "$file"
  echo "PORTCULLIS_URL=$url" >> "$file"
done
if [ -n "${GITHUB_PATH:-}" ] && [ -n "${PORTCULLIS_ARCHIVE:-}" ]; then echo "$folder/bin" >> "$GITHUB_PATH"; fi
echo "KUBECONFIG=$folder/kubeconfig"
echo "PORTCULLIS_URL=$url"
