#!/usr/bin/env bash
# Installs Debian's Chromium for `npm run test:browser`, if there is none. CHROMIUM_PATH names one of your own.
set -euo pipefail

if [ -x "${CHROMIUM_PATH:-/usr/bin/chromium}" ]; then exit 0; fi
if [ -n "${CHROMIUM_PATH:-}" ]; then
  echo "CHROMIUM_PATH: expected an executable file, found \"$CHROMIUM_PATH\"." >&2
  exit 1
fi
if [ "$(id -u)" != 0 ] || ! command -v apt-get >/dev/null; then
  echo 'No Chromium for the browser tests: install it (apt-get install chromium), or set CHROMIUM_PATH.' >&2
  exit 1
fi
export DEBIAN_FRONTEND=noninteractive
apt-get update -qq
apt-get install -y -qq --no-install-recommends chromium >/dev/null
