#!/usr/bin/env bash
# The peers that the integration tests talk to and are judged by: sshd, etcd, cfssl, ClusterShell, openssl, curl,
# chromium, pdftotext, promtool. Installs from apt what is missing when it runs as root; otherwise says what to install. Starts no
# service. CHROMIUM=/path/to/a/chromium takes that one, where apt has none.
set -euo pipefail

declare -A packages=(
  [/usr/sbin/sshd]=openssh-server
  [/usr/bin/ssh]=openssh-client
  [/usr/bin/etcd]=etcd-server
  [/usr/bin/etcdctl]=etcd-client
  [/usr/bin/cfssl]=golang-cfssl
  [/usr/bin/multirootca]=golang-cfssl
  [/usr/bin/nodeset]=clustershell
  [/usr/bin/openssl]=openssl
  [/usr/bin/curl]=curl
  [/usr/sbin/ip]=iproute2
  [${CHROMIUM:-/usr/bin/chromium}]=chromium
  [/usr/bin/pdftotext]=poppler-utils
  [/usr/bin/promtool]=prometheus
)

missing=()
for program in "${!packages[@]}"; do
  [ -x "$program" ] || command -v "$(basename "$program")" >/dev/null || missing+=("${packages[$program]}")
done
[ ${#missing[@]} -eq 0 ] && exit 0
mapfile -t missing < <(printf '%s\n' "${missing[@]}" | sort -u)

if [ "$(id -u)" -ne 0 ] || ! command -v apt-get >/dev/null; then
  echo "The integration tests need programs that are not here. On Debian or Ubuntu:" >&2
  echo "  sudo apt-get install ${missing[*]}" >&2
  exit 1
fi

# Packages of servers start them when they are installed; this says not to, and is taken away again.
policy=/usr/sbin/policy-rc.d
if [ ! -e "$policy" ]; then
  trap 'rm -f "$policy"' EXIT
  printf '#!/bin/sh\nexit 101\n' >"$policy"
  chmod 755 "$policy"
fi
echo "Installing from apt: ${missing[*]}"
export DEBIAN_FRONTEND=noninteractive
apt-get update -qq </dev/null >/dev/null
apt-get install -y -qq --no-install-recommends "${missing[@]}" </dev/null >/dev/null
