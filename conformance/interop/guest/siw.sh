#!/bin/sh
# siw.sh KVER OUT - a Debian kernel with a siw.ko of its own: OUT/vmlinuz and OUT/lib/modules/KVER.
#
# Debian leaves CONFIG_RDMA_SIW off, so siw.ko is built out of tree from Debian's linux-source. siw's
# settings are constants upstream; here they become module parameters that can be written at run time
# (/sys/module/siw/parameters) and keep upstream's values as defaults. The driver is otherwise unchanged,
# but for one repair that is off by default: fix_split_trailer.
set -eu
kver=$1 out=$2
series=$(echo "$kver" | grep -o '^[0-9]*\.[0-9]*')

# What the guest loads besides siw; what the kernel has built in is no module and no error.
modules="virtio_pci virtio_net af_packet sch_netem crc32c_generic crc32c_intel
	ib_core ib_uverbs iw_cm rdma_cm rdma_ucm rdma_rxe crc32_generic"

die() { echo "siw.sh: $*" >&2; exit 1; }

# change FILE EXPRESSION WANT COUNT: a sed edit after which WANT must stand in FILE COUNT times.
change() {
	sed -i "$2" "$1"
	[ "$(grep -c -- "$3" "$1")" = "$4" ] || die "siw of Linux $kver is not as expected: $1 has no \"$3\" after the edit"
}

mkdir -p "$out"
echo "siw.sh: Debian kernel $kver" >&2

# The image, unpacked only. The download goes to a directory that apt's own user may not enter: hence the option.
(cd "$out" && apt-get -q -o APT::Sandbox::User=root download "linux-image-$kver" >download.log 2>&1) || {
	cat "$out/download.log" >&2
	die "apt cannot download linux-image-$kver (is the headers package older than the archive? apt-get update && apt-get upgrade)"
}
mkdir "$out/image"
dpkg-deb -x "$out"/linux-image-*.deb "$out/image"
rm "$out"/linux-image-*.deb
for d in "$out/image/lib/modules" "$out/image/usr/lib/modules"; do
	if [ -d "$d" ]; then mkdir -p "$out/all/lib" && mv "$d" "$out/all/lib/modules"; fi
done
mv "$out/image/boot/vmlinuz-$kver" "$out/vmlinuz"
rm -rf "$out/image"

# The driver's source.
mkdir "$out/siw"
for tarball in "/usr/src/linux-source-$series".tar.*; do
	tar -xf "$tarball" -C "$out/siw" --strip-components=5 --wildcards "linux-source-$series/drivers/infiniband/sw/siw/*" ||
		die "no siw in $tarball"
done
cd "$out/siw"

# Constants become module parameters.
for p in zcopy_tx try_gso mpa_crc_required mpa_crc_strict siw_tcp_nagle peer_to_peer; do
	change siw_main.c "s/^const bool $p\\( = [a-z]*\\)\\{0,1\\};/bool $p\\1;\\nmodule_param($p, bool, 0644);/" \
		"^module_param($p," 1
done
change siw_main.c 's/^\(const \)\{0,1\}u_char mpa_version = \(.*\);/u_char mpa_version = \2;\nmodule_param(mpa_version, byte, 0644);/' \
	'^module_param(mpa_version,' 1
sed -i 's/^extern const \(bool\|u_char\) /extern \1 /; s/^extern bool loopback_enabled/extern const bool loopback_enabled/' siw.h

# rtr_kinds: which RTRs siw offers as Initiator of a peer-to-peer connection: 0x8000 Write, 0x4000 Read.
change siw_cm.c 's/^static __be16 rtr_type = .*;/static ushort rtr_kinds = 0xc000;\nmodule_param(rtr_kinds, ushort, 0644);\n#define rtr_type cpu_to_be16(rtr_kinds)/' \
	'^module_param(rtr_kinds,' 1
sed -i '0,/^#include/s/^#include/#include <linux\/module.h>\n#include/' siw_cm.c

# fix_split_trailer: when an FPDU's pad and CRC arrive in two pieces, upstream copies the second piece
# over the first and then sees a bad CRC. With the parameter set, it is copied behind it.
change siw_qp_rx.c 's/skb_copy_bits(skb, srx->skb_offset, tbuf, avail);/skb_copy_bits(skb, srx->skb_offset, tbuf +\n\t\t      (fix_split_trailer ? srx->pad + MPA_CRC_SIZE - srx->fpdu_part_rem : 0), avail);/' \
	'fix_split_trailer ?' 1
sed -i '0,/^#include/s/^#include/#include <linux\/module.h>\n#include/' siw_qp_rx.c
change siw_qp_rx.c '0,/^static int/s/^static int/static bool fix_split_trailer;\nmodule_param(fix_split_trailer, bool, 0644);\n\nstatic int/' \
	'^module_param(fix_split_trailer,' 1

make -s -C "/usr/src/linux-headers-$kver" M="$PWD" CONFIG_RDMA_SIW=m modules >"$out/make.log" 2>&1 || {
	cat "$out/make.log" >&2
	die "siw.ko does not compile against linux-headers-$kver"
}
strip --strip-debug siw.ko

# Keep siw, the modules above and what they depend on, uncompressed.
all=$out/all/lib/modules/$kver some=$out/lib/modules/$kver
find "$all" -name 'siw.ko*' -delete # where the kernel has one of its own
mkdir -p "$all/extra" "$some"
cp siw.ko "$all/extra/"
busybox depmod -b "$out/all" "$kver"
for m in $modules siw; do
	sed -n "s|^\([^:]*/$(echo "$m" | sed 's/_/[-_]/g')\.ko[.xz]*\):|\1|p" "$all/modules.dep"
done | tr ' ' '\n' | sed '/^$/d' | sort -u | while read -r m; do
	mkdir -p "$some/$(dirname "$m")"
	case $m in
	*.xz) xz -dc "$all/$m" >"$some/${m%.xz}" ;;
	*) cp "$all/$m" "$some/$m" ;;
	esac
done
busybox depmod -b "$out" "$kver"
grep -q 'siw\.ko:' "$some/modules.dep" || die "no siw.ko among the modules"
rm -rf "$out/all" "$out/siw"
