#!/bin/sh
# Installs this release folder: ./install.sh [PREFIX], by default ~/.local, as root /usr/local.
set -eu
folder=$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd)
if [ "$(id -u)" = 0 ]; then prefix=${1:-/usr/local}; else prefix=${1:-$HOME/.local}; fi
mkdir -p "$prefix"
cp -R "$folder/bin" "$folder/share" "$prefix"
# haft takes a launcher only if both have the same age.
touch "$prefix/bin/haft" "$prefix/bin/haft-launcher"
echo "installed: $prefix/bin/haft"
case ":$PATH:" in
  *":$prefix/bin:"*) ;;
  *) echo "add it to your PATH: export PATH=\"$prefix/bin:\$PATH\"" ;;
esac
"$prefix/bin/haft" doctor --fix 2>/dev/null | sed 's/^/to complete this machine: /'
