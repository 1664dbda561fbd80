#!/bin/sh
# After the package's files have come or gone, systemd has to read the units anew.
set -e
if [ -z "${DPKG_ROOT:-}" ] && [ -d /run/systemd/system ]; then
	systemctl daemon-reload || true
fi
