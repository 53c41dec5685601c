#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Installs the Debian packages of packages.txt that are missing.
#
#   tools/install_packages.sh run      what building and running needs
#   tools/install_packages.sh check    that, and what the checks need
set -euo pipefail
cd "$(dirname "$0")/.."

wanted=()
while read -r line; do
  case "$line" in
    "# --- only for ./check ---") [ "${1:-run}" = check ] || break ;;
    "" | "#"*) ;;
    *) wanted+=("$line") ;;
  esac
done < packages.txt

# node 18 or later, of whatever origin, and its npm.
has_node() {
  command -v npm > /dev/null && node -e 'process.exit(parseInt(process.versions.node) >= 18 ? 0 : 1)' 2> /dev/null
}

missing=()
for package in "${wanted[@]}"; do
  # A tool of another origin serves as well as Debian's package.
  case "$package" in nodejs | npm) has_node && continue ;; esac
  [ "$(dpkg-query -W -f '${db:Status-Status}' "$package" 2> /dev/null || true)" = installed ] ||
    missing+=("$package")
done
[ ${#missing[@]} -eq 0 ] && exit 0

echo "installing Debian packages: ${missing[*]}"
sudo=""
if [ "$(id -u)" -ne 0 ]; then
  command -v sudo > /dev/null || {
    echo "these packages are missing and neither root nor sudo is at hand: ${missing[*]}" >&2
    exit 2
  }
  sudo=sudo
fi
export DEBIAN_FRONTEND=noninteractive
$sudo apt-get update -qq
$sudo apt-get install -y -qq --no-install-recommends "${missing[@]}" > /dev/null
