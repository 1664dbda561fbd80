#!/bin/sh
# After the package's files have come or gone, systemd must read the units again.
set -e
if [ -z "${DPKG_ROOT:-}" ] && [ -d /run/systemd/system ]; then
	systemctl daemon-reload || true
fi
