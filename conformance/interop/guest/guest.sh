#!/bin/sh
# guest.sh - a Linux kernel with its soft-iWARP driver (siw) in a throw-away QEMU guest.
#
#   guest.sh install     install what is missing, by apt (needs root only when something is missing)
#   guest.sh build       make the kernel and the initramfs, when they are not up to date
#   guest.sh boot DIR    run one guest in the foreground; its console, monitor and pid are files in DIR
#   guest.sh cache       print the directory that `build` fills
#
# Environment:
#   RDDP_INTEROP_CACHE   that directory (default: rddp-interop in the user's cache directory)
#   RDDP_INTEROP_ACCEL   kvm, tcg, or auto (default): kvm where `build` saw a guest come up with it
#   RDDP_HELLO           boot: a port on the host's 127.0.0.1 where the guest announces itself
#   RDDP_SIW             boot: siw's module parameters, e.g. "mpa_crc_required=1 mpa_version=1"
#   RDDP_ETH0            boot: what eth0 is connected to, as QEMU's -netdev has it (default: NAT, "user,ipv6=off")
set -eu
umask 022
export LC_ALL=C DEBIAN_FRONTEND=noninteractive
PATH=$PATH:/usr/local/sbin:/usr/sbin:/sbin

here=$(cd "$(dirname "$0")" && pwd)
cache=${RDDP_INTEROP_CACHE:-${XDG_CACHE_HOME:-${HOME:-/tmp/rddp-$(id -u)}/.cache}/rddp-interop}

# Debian's names. The kernel itself is not among them: it is downloaded and unpacked into the cache,
# because installing it would change what the host boots.
packages="qemu-system-x86 busybox-static cpio xz-utils gcc libc6-dev make linux-headers-amd64 linux-source
	rdma-core ibverbs-providers ibverbs-utils rdmacm-utils perftest libibverbs-dev librdmacm-dev
	iproute2 tcpdump tshark curl"

# Programs of the host that the guest gets.
programs="rping rstream ib_write_bw ib_write_lat ibv_devinfo rdma ip tc ss tcpdump"

die() { echo "guest.sh: $*" >&2; exit 1; }
say() { echo "guest.sh: $*" >&2; }

missing_packages() {
	for p in $packages; do
		[ "$(dpkg-query -W -f='${db:Status-Status}' "$p" 2>/dev/null || true)" = installed ] || echo "$p"
	done | tr '\n' ' '
}

install() {
	command -v dpkg-query >/dev/null && command -v apt-get >/dev/null ||
		die "not a Debian system (no dpkg or apt-get): the guest is built from Debian packages"
	[ "$(dpkg --print-architecture)" = amd64 ] || die "only amd64 hosts are supported so far"
	missing=$(missing_packages)
	[ -n "$missing" ] || return 0
	[ "$(id -u)" = 0 ] || die "missing packages, and not root; as root: apt-get install -y --no-install-recommends $missing"
	say "apt-get install $missing"
	apt-get -q update >&2 || die "apt-get update failed: see above"
	# shellcheck disable=SC2086
	apt-get -q install -y --no-install-recommends $missing >&2 || die "apt-get install failed: see above"
	missing=$(missing_packages)
	[ -z "$missing" ] || die "still missing after apt-get install: $missing"
}

# kernel_version prints the version that linux-headers-amd64 stands for.
kernel_version() {
	dpkg-query -W -f='${Depends}' linux-headers-amd64 | sed -n 's/^.*linux-headers-\([0-9][^ ,]*\).*$/\1/p'
}

build() {
	command -v go >/dev/null || die "no go in PATH: the guest's agent is a Go program"
	mkdir -p "$cache"
	exec 9>"$cache/lock"
	flock -w 900 9 || die "another build holds $cache/lock"
	kver=$(kernel_version)
	[ -n "$kver" ] || die "no kernel version in the dependencies of linux-headers-amd64"
	# The kernel depends on siw.sh only, the initramfs on everything the guest is made of.
	kernel=$cache/kernel-$kver-$(cksum <"$here/siw.sh" | cut -d' ' -f1)
	if [ ! -e "$kernel/done" ]; then
		rm -rf "$cache"/kernel-*
		"$here/siw.sh" "$kver" "$kernel"
		touch "$kernel/done"
	fi
	stamp=$(cat "$here/guest.sh" "$here/init" "$here"/load-* "$here"/agent/* "$here"/wire/* "$here"/../siwpeer/* | cksum)" $kernel"
	if [ "$(cat "$cache/stamp" 2>/dev/null || true)" != "$stamp" ]; then
		rm -f "$cache/stamp"
		initramfs "$kernel"
		cp "$kernel/vmlinuz" "$cache/vmlinuz"
		echo "$stamp" >"$cache/stamp"
	fi
	[ -e "$cache/accel" ] || probe >"$cache/accel"
}

# add_program ROOT FILE [NAME]: a program and the shared libraries it needs, at the paths they have here.
add_program() {
	file=$(readlink -f "$2")
	mkdir -p "$1$(dirname "${3:-$2}")"
	cp "$file" "$1${3:-$2}"
	for lib in $(ldd "$file" 2>/dev/null | grep -o '/[^ ]* (0x' | cut -d' ' -f1); do
		mkdir -p "$1$(dirname "$lib")"
		[ -e "$1$lib" ] || cp -L "$lib" "$1$lib"
	done
}

# initramfs KERNEL: siw's user space, siwpeer, the agent and KERNEL's modules.
initramfs() {
	say "building the initramfs in $cache"
	root=$cache/root
	rm -rf "$root"
	mkdir -p "$root/bin" "$root/dev" "$root/proc" "$root/sys" "$root/tmp" "$root/run" "$root/etc/libibverbs.d"
	ln -s bin "$root/sbin"
	cp "$(command -v busybox)" "$root/bin/busybox"
	# A real sh: busybox's own prefers its applets to the programs tc and ip.
	add_program "$root" /bin/sh
	for p in $programs; do
		add_program "$root" "$(command -v "$p")" "/usr/bin/$p" || die "no program $p on this host"
	done
	# The verbs providers, of siw and of rddp run, and libgcc_s, which pthread_exit loads by name.
	libdir=/usr/lib/$(gcc -dumpmachine)
	for d in siw rxe; do
		for f in "$libdir/libibverbs/lib$d"*.so; do add_program "$root" "$f"; done
		echo "driver $d" >"$root/etc/libibverbs.d/$d.driver"
	done
	f=$(gcc -print-file-name=libgcc_s.so.1)
	[ -e "$f" ] && { mkdir -p "$root$libdir"; cp -L "$f" "$root$libdir/libgcc_s.so.1"; }
	echo "root:x:0:0:root:/:/bin/sh" >"$root/etc/passwd"
	echo "root:x:0:" >"$root/etc/group"
	gcc -O2 -Wall -Wextra -Werror -o "$cache/siwpeer" "$here"/../siwpeer/*.c -lrdmacm -libverbs ||
		die "siwpeer does not compile"
	add_program "$root" "$cache/siwpeer" /usr/bin/siwpeer
	(cd "$here/agent" && CGO_ENABLED=0 GOFLAGS= GOOS=linux GOARCH=amd64 \
		go build -tags interop -ldflags='-s -w' -o "$root/bin/agent" .) || die "the agent does not compile"
	cp "$here/init" "$root/init"
	cp "$here"/load-* "$root/usr/bin/"
	chmod 755 "$root/init" "$root"/usr/bin/load-*
	cp -r "$1/lib/modules" "$root/lib/"
	(cd "$root" && find . -print0 | cpio --null -o -H newc -R 0:0 --quiet) >"$cache/initrd.new"
	mv "$cache/initrd.new" "$cache/initrd"
	rm -rf "$root"
}

# probe prints which accelerator works here. KVM is believed only when a guest comes up: a
# para-virtual or nested one may hang or crash. A guest with KVM is up after some 2 s.
probe() {
	if [ -r /dev/kvm ] && [ -w /dev/kvm ]; then
		rm -rf "$cache/probe"
		mkdir "$cache/probe"
		(RDDP_INTEROP_ACCEL=kvm RDDP_HELLO='' boot "$cache/probe") >"$cache/probe/log" 2>&1 9>&- &
		pid=$! accel=tcg n=0
		while [ $n -lt 80 ] && kill -0 $pid 2>/dev/null; do
			if grep -q '^init: up' "$cache/probe/console" 2>/dev/null; then
				accel=kvm
				break
			fi
			sleep 0.1
			n=$((n + 1))
		done
		kill $pid 2>/dev/null || true
		wait $pid || true
	fi
	echo "${accel:-tcg}"
}

# boot DIR runs QEMU in this very process. It ends with the guest, or by SIGTERM.
boot() {
	dir=$1
	mkdir -p "$dir"
	accel=${RDDP_INTEROP_ACCEL:-auto}
	[ "$accel" != auto ] || accel=$(cat "$cache/accel" 2>/dev/null || echo tcg)
	case $accel in
	kvm) accel="kvm -cpu host,-arch-capabilities" ;;
	tcg) accel="tcg,thread=multi,tb-size=256 -cpu max" ;;
	*) die "RDDP_INTEROP_ACCEL is kvm, tcg or auto, not $accel" ;;
	esac
	append="console=ttyS0 quiet panic=-1 oops=panic mitigations=off nokaslr no_timer_check random.trust_cpu=on rdinit=/init"
	append="$append rddp.hello=${RDDP_HELLO:-} rddp.siw=$(echo "${RDDP_SIW:-}" | tr ' ' ,)"
	# shellcheck disable=SC2086
	exec qemu-system-x86_64 -M q35 -accel $accel -smp 2 -m 512 \
		-nodefaults -no-user-config -display none -no-reboot \
		-kernel "$cache/vmlinuz" -initrd "$cache/initrd" -append "$append" \
		-serial "file:$dir/console" -qmp "unix:$dir/qmp,server=on,wait=off" \
		-netdev "${RDDP_ETH0:-user,ipv6=off},id=net0" \
		-device virtio-net-pci,netdev=net0,romfile=,addr=2,mac=52:54:00:12:34:56 \
		-netdev user,id=net1,ipv6=off,net=10.0.9.0/24,hostfwd=tcp:127.0.0.1:0-10.0.9.15:1 \
		-device virtio-net-pci,netdev=net1,romfile=,addr=3
}

case ${1:-} in
install | build) "$1" ;;
boot) boot "${2:?boot needs a directory}" ;;
cache) echo "$cache" ;;
*) die "usage: guest.sh install | build | boot DIR | cache" ;;
esac
