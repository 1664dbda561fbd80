#!/bin/sh
# Before the package's files go, the services end. dpkg says "remove" then, and rpm says 0, for no
# version that is left.
set -e
case "$1" in
remove | 0) ;;
*) exit 0 ;;
esac
if [ -z "${DPKG_ROOT:-}" ] && [ -d /run/systemd/system ]; then
	systemctl disable --now rddp-serve.service rddp-proxy.service || true
fi
