#!/bin/sh
# Before the package's files go, the services end. The links of "systemctl enable" go too, also where
# no systemd runs: in a chroot, or in an image. $1 is "remove" with dpkg, and 0 with rpm, if no
# version stays.
set -e
case "$1" in
remove | 0) ;;
*) exit 0 ;;
esac
if [ -z "${DPKG_ROOT:-}" ] && [ -d /run/systemd/system ]; then
	systemctl stop rddp-serve.service rddp-proxy.service || true
fi
if command -v systemctl >/dev/null; then
	systemctl --root="${DPKG_ROOT:-/}" disable rddp-serve.service rddp-proxy.service || true
fi
