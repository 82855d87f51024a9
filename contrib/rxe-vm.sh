#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# rxe-vm.sh - run a command on a Debian kernel with real verbs devices (rdma_rxe)
#
#   rxe-vm.sh [-c cpus] [-m mem] [-t timeout] [-w dir] [-k kernel] [-v] -- COMMAND [ARG...]
#   rxe-vm.sh -p                # only fill the cache (fetch the kernel, build the initramfs)
#
# Boots the guest under QEMU software emulation (no /dev/kvm wanted), with the
# host's file system as its root: read-only over virtio-9p, with a tmpfs over
# it, so the guest may write anywhere and nothing of it reaches the host.  One
# directory (-w, default $RXE_VM_CACHE/share) is shared read-write under the
# same path.  COMMAND runs as root, in the caller's directory, with the caller's
# environment; its stdout and stderr come out live and apart; its exit status is
# ours (124: timed out, 125: the guest did not come up or died).
#
# In the guest:  rxe0 on veth0 (10.77.0.1, MTU 9000)   \ one veth pair, one
#                rxe1 on veth1 (10.77.0.2, MTU 9000)   / network namespace
# Packets between the two really cross the veth pair (not lo), so `tc netem`,
# `ip link set veth1 down` and the like act on them; a link that was down has
# lost its routes: run $RXE_VM_NET to have them back.
#
# Environment: RXE_VM_CACHE (kernel and initramfs, 220 MB), RXE_VM_KERNEL or -k
# (a version: 6.1.0-57-amd64; default: the cached one, else the newest), RXE_VM_DEB
# (a kernel package already fetched), RXE_VM_MTU, RXE_VM_CPU, RXE_VM_ACCEL.
# Set in the guest: RXE_VM=1, RXE_VM_SHARE (the shared directory), RXE_VM_NET.
#
# Debian packages: qemu-system-x86 busybox-static iproute2 xz-utils (and zstd for kernels after 6.1)
# (what COMMAND uses is its own affair: ibverbs-providers, ibverbs-utils, ...)
set -euo pipefail

cpus=2 mem=2G limit=300 share='' kver=${RXE_VM_KERNEL:-} verbose=0 prepare=0
cache=${RXE_VM_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/rxe-vm}
cpu=${RXE_VM_CPU:-max} accel=${RXE_VM_ACCEL:-tcg,thread=multi,tb-size=512}
rxe_mtu=${RXE_VM_MTU:-9000}

die() { echo "rxe-vm: $*" >&2; exit 125; }
usage() { sed -n '4,8p' "$0" | sed 's/^# \?//' >&2; exit 125; }
while getopts c:m:t:w:k:vph o; do
    case $o in
        c) cpus=$OPTARG ;;  m) mem=$OPTARG ;;  t) limit=$OPTARG ;;
        w) share=$OPTARG ;; k) kver=$OPTARG ;; v) verbose=1 ;;
        p) prepare=1 ;;     *) usage ;;
    esac
done
shift $((OPTIND - 1))
[ $prepare = 1 ] || [ $# -gt 0 ] || usage
for t in qemu-system-x86_64 busybox xz dpkg-deb; do
    command -v $t >/dev/null || die "$t is missing: apt-get install qemu-system-x86 busybox-static iproute2 xz-utils"
done
if ldd "$(command -v busybox)" >/dev/null 2>&1; then
    die "busybox is not a static one (apt-get install busybox-static)"
fi
mkdir -p "$cache"
cache=$(cd "$cache" && pwd -P)

# ---------------------------------------------------------------- the kernel
# $cache/<version>/{vmlinux,boot/,lib/modules/<version>/}
resolve_kernel() {              # newest kernel package behind linux-image-amd64
    apt-cache depends linux-image-amd64 2>/dev/null |
        sed -n 's/^ *Depends: *\(linux-image-[0-9].*-amd64\)$/\1/p' |
        grep -v -e cloud -e '-rt-' | sort -V | tail -1
}
unpack_kernel() {               # unpack_kernel DEB DIR
    local deb=$1 dir=$2 vz off len
    # (a pattern that matches nothing makes tar fail: what counts comes below)
    dpkg-deb --fsys-tarfile "$deb" | tar -x -C "$dir" --wildcards \
        './boot/vmlinuz-*' './lib/modules/*/modules.*' './lib/modules/*/kernel/drivers/infiniband/*' \
        './lib/modules/*/kernel/drivers/virtio/*' './lib/modules/*/kernel/drivers/net/*' \
        './lib/modules/*/kernel/drivers/char/*' './lib/modules/*/kernel/fs/*' './lib/modules/*/kernel/net/*' \
        './lib/modules/*/kernel/crypto/*' './lib/modules/*/kernel/lib/*' './lib/modules/*/kernel/arch/*' 2>/dev/null || true
    vz=$(echo "$dir"/boot/vmlinuz-*)
    [ -s "$vz" ] || { echo "rxe-vm: no kernel in $deb" >&2; return 1; }
    find "$dir/lib/modules" -name '*.ko.xz' -exec xz -d {} + || return 1
    [ -n "$(find "$dir/lib/modules" -name rdma_rxe.ko)" ] || { echo "rxe-vm: no rdma_rxe in $deb" >&2; return 1; }
    # The bzImage header says where its payload lies; unpacking it here saves
    # the guest some seconds of emulated xz.
    off=$((($(od -An -tu1 -j497 -N1 "$vz") + 1) * 512 + $(od -An -tu4 -j584 -N4 "$vz")))
    len=$(($(od -An -tu4 -j588 -N4 "$vz")))
    tail -c +$((off + 1)) "$vz" | head -c "$len" >"$dir/payload" || true
    case $(od -An -tx1 -N4 "$dir/payload" | tr -d ' ') in
        fd377a58) xz -dc --single-stream <"$dir/payload" >"$dir/vmlinux" || return 1 ;;
        28b52ffd) zstd -dcq <"$dir/payload" >"$dir/vmlinux" 2>/dev/null || true ;; # garbage follows
        *) echo "rxe-vm: $vz: its payload is neither xz nor zstd" >&2; return 1 ;;
    esac
    rm -f "$dir/payload"
    [ -s "$dir/vmlinux" ] && busybox depmod -b "$dir" "$(basename "$dir"/lib/modules/*)"
}
fetch_kernel() {                # fetch_kernel DIR: a package and its content in DIR/t
    local p
    if [ -n "${RXE_VM_DEB:-}" ]; then cp "$RXE_VM_DEB" "$1/k.deb" || return 1
    else
        p=linux-image-$kver
        chmod 755 "$1"
        (cd "$1" && { apt-get -o APT::Sandbox::User=root download -q "$p" || { apt-get update -q && apt-get -o APT::Sandbox::User=root download -q "$p"; }; }) >&2 || return 1
        mv "$1"/*.deb "$1/k.deb" || return 1
    fi
    mkdir "$1/t" && unpack_kernel "$1/k.deb" "$1/t"
}
get_kernel() {
    local pkg tmp
    if [ -z "$kver" ]; then         # a cached one will do: no network wanted
        kver=$(cd "$cache" && find . -mindepth 2 -maxdepth 2 -path './[0-9]*/vmlinux' | sort -V | tail -1)
        kver=${kver#./}
        kver=${kver%/vmlinux}
        [ -z "$kver" ] || return 0
        pkg=$(resolve_kernel) || true
        [ -n "$pkg" ] || { apt-get update -q >&2; pkg=$(resolve_kernel) || true; }
        [ -n "$pkg" ] || die "apt knows no linux-image-amd64"
        kver=${pkg#linux-image-}
    fi
    [ ! -s "$cache/$kver/vmlinux" ] || return 0
    tmp=$(mktemp -d "$cache/.get.XXXXXX")
    fetch_kernel "$tmp" || { rm -rf "$tmp"; die "cannot get linux-image-$kver"; }
    kver=$(basename "$tmp"/t/lib/modules/*)
    mv -T "$tmp/t" "$cache/$kver" 2>/dev/null || true   # another run may have been quicker
    rm -rf "$tmp"
    [ -s "$cache/$kver/vmlinux" ] || die "cannot get linux-image-$kver"
}

# ------------------------------------------------------------- the initramfs
guest_init() { cat <<'INIT'
#!/bin/busybox sh
# PID 1 of the guest: runs from the initramfs, never leaves it
B=/bin/busybox
$B mkdir -p /proc /sys /dev /lower /upper /root
$B mount -t proc proc /proc
$B mount -t sysfs sys /sys
$B mount -t devtmpfs dev /dev
die() { echo "rxe-vm init: $*" >/dev/kmsg; $B reboot -f; }
for m in $($B cat /modules); do $B insmod /m/$m || echo "rxe-vm init: insmod $m failed" >/dev/kmsg; done
for w in $($B cat /proc/cmdline); do
    case $w in vm.run=*) run=${w#*=} ;; vm.share=*) share=${w#*=} ;; vm.mtu=*) mtu=${w#*=} ;; esac
done
for i in 1 2 3 4 5 6 7 8 9 10; do [ -e /sys/class/virtio-ports/vport0p3 ] && break; $B sleep 0.1; done
O='trans=virtio,version=9p2000.L,msize=512000'
$B mount -t 9p -o ro,$O,cache=loose,noatime root /lower || die "no root file system"
$B mount -t tmpfs -o size=90% upper /upper
$B mkdir /upper/u /upper/w
$B mount -t overlay -o lowerdir=/lower,upperdir=/upper/u,workdir=/upper/w root /root || die "no overlay"
R=/root
$B mount -t proc proc $R/proc
$B mount -t sysfs sys $R/sys
$B mount -t devtmpfs dev $R/dev
$B mkdir -p $R/dev/pts $R/dev/shm
$B mount -t devpts devpts $R/dev/pts
$B mount -t tmpfs -o mode=1777 shm $R/dev/shm
$B mount -t tmpfs -o mode=755 run $R/run
$B ln -sf /proc/self/fd $R/dev/fd; $B ln -sf /proc/self/fd/0 $R/dev/stdin
$B ln -sf /proc/self/fd/1 $R/dev/stdout; $B ln -sf /proc/self/fd/2 $R/dev/stderr
$B mkdir -p "$R$share"
$B mount -t 9p -o rw,$O,cache=none share "$R$share" || die "no share"
V=$($B uname -r)
$B mkdir -p $R/lib/modules/$V
$B mount -o bind "/lower${run%/*}/modules/$V" $R/lib/modules/$V 2>/dev/null
$B hostname rxe-vm
export mtu run share
$B chroot $R /bin/bash "$run/boot" </dev/null >/dev/vport0p1 2>/dev/vport0p2
rc=$?
echo $rc >/dev/vport0p3
$B sync
$B reboot -f
INIT
}
# runs inside the chroot, by the host's bash
guest_boot() { cat <<'BOOT'
cat >/run/rxe-net <<'NET'
#!/bin/bash
# Both ends live in one namespace (rdma_rxe hears only the initial one): what is
# sent from one address to the other must leave by the pair, so those routes come
# before the local table.  May be run again at any time.
ip -force -batch - <<END
neigh replace 10.77.0.2 lladdr 02:00:00:00:77:02 dev veth0 nud permanent
neigh replace 10.77.0.1 lladdr 02:00:00:00:77:01 dev veth1 nud permanent
route replace 10.77.0.2 dev veth0 src 10.77.0.1 table 101
route replace 10.77.0.1 dev veth1 src 10.77.0.2 table 102
END
ip -6 -force -batch - <<END
neigh replace fe80::ff:fe00:7702 lladdr 02:00:00:00:77:02 dev veth0 nud permanent
neigh replace fe80::ff:fe00:7701 lladdr 02:00:00:00:77:01 dev veth1 nud permanent
route replace fe80::ff:fe00:7702 dev veth0 table 101
route replace fe80::ff:fe00:7701 dev veth1 table 102
END
NET
chmod 755 /run/rxe-net
net() {
    cd /proc/sys/net/ipv4/conf
    for i in all default; do echo 0 >$i/rp_filter; echo 1 >$i/accept_local; done
    echo 0 >/proc/sys/net/ipv6/conf/default/accept_dad
    ip -batch - <<END
link set lo up
link add veth0 address 02:00:00:00:77:01 mtu $mtu type veth peer name veth1 address 02:00:00:00:77:02 mtu $mtu
addr add 10.77.0.1/24 dev veth0
addr add 10.77.0.2/24 dev veth1
link set veth0 up
link set veth1 up
rule add pref 10 from 10.77.0.1 to 10.77.0.2 iif lo lookup 101
rule add pref 11 from 10.77.0.2 to 10.77.0.1 iif lo lookup 102
rule add pref 100 lookup local
rule del pref 0
END
    ip -6 -batch - <<END
rule add pref 10 from fe80::ff:fe00:7701 to fe80::ff:fe00:7702 iif lo lookup 101
rule add pref 11 from fe80::ff:fe00:7702 to fe80::ff:fe00:7701 iif lo lookup 102
rule add pref 100 lookup local
rule del pref 0
END
    . /run/rxe-net
    printf 'link add rxe%d type rxe netdev veth%d\n' 0 0 1 1 | rdma -b -
}
PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
net >/dev/kmsg 2>&1
ulimit -l unlimited
ulimit -c 0
read -r up _ </proc/uptime; echo "up $up" >/dev/vport0p3
. "$run/cmd"
BOOT
}
build_initramfs() {             # $cache/initramfs-<kernel>-<hash of this script>
    local d m want dep
    irfs=$cache/initramfs-$kver-$(sha256sum <"$0" | cut -c1-12)
    [ ! -s "$irfs" ] || return 0
    find "$cache" -maxdepth 1 -name 'initramfs-*' -mmin +1440 -delete   # those of older scripts
    d=$(mktemp -d "$cache/.irfs.XXXXXX")
    mkdir -p "$d/bin" "$d/m"
    cp "$(command -v busybox)" "$d/bin/busybox"
    guest_init >"$d/init"; chmod 755 "$d/init"
    local base=$cache/$kver/lib/modules/$kver
    for want in virtio_pci virtio_console 9pnet_virtio 9p overlay veth \
                crc32_generic ib_uverbs rdma_ucm rdma_rxe sch_netem; do
        m=$(grep -E "(^|/)$want\.ko:" "$base/modules.dep" | head -1) || true
        [ -n "$m" ] || { grep -q "/$want\.ko" "$base/modules.builtin" && continue; die "no module $want in $kver"; }
        for dep in $(echo "${m#*:}" | tr ' ' '\n' | tac) "${m%%:*}"; do
            [ -e "$d/m/$(basename "$dep")" ] && continue
            cp "$base/${dep#/lib/modules/"$kver"/}" "$d/m/"
            basename "$dep" >>"$d/modules"
        done
    done
    (cd "$d" && find . | busybox cpio -o -H newc 2>/dev/null) >"$irfs.$$"
    mv "$irfs.$$" "$irfs"
    rm -rf "$d"
}

get_kernel
build_initramfs
[ $prepare = 0 ] || { echo "rxe-vm: linux $kver in $cache" >&2; exit 0; }

# -------------------------------------------------------------------- a run
share=${share:-$cache/share}
mkdir -p "$share"; share=$(cd "$share" && pwd -P)
case $share in *[[:space:],]*) die "no blanks or commas in $share, please" ;; esac
run=$(mktemp -d /tmp/rxe-vm.XXXXXX)
pids=()
# shellcheck disable=SC2317  # runs from the trap
cleanup() {
    trap - EXIT
    {
        for p in "${pids[@]}"; do kill -9 "$p" || true; done
        wait || true
    } 2>/dev/null
    rm -rf "$run"
}
trap cleanup EXIT
trap 'exit 130' INT; trap 'exit 143' TERM; trap 'exit 129' HUP
mkdir "$run/r"
ln -s "$cache/$kver/lib/modules" "$run/modules"
guest_boot >"$run/r/boot"
{
    export -p | grep -vE '^declare -x (PWD|OLDPWD|SHLVL|TERM|_|RXE_VM_SHARE)(=|$)' || true
    printf 'export RXE_VM=1 RXE_VM_NET=/run/rxe-net RXE_VM_SHARE=%q\n' "$share"
    printf 'cd %q 2>/dev/null || cd /\n' "$PWD"
    printf 'exec'; printf ' %q' "$@"; echo
} >"$run/r/cmd"
mkfifo "$run/out" "$run/err"
: >"$run/rc"
exec 8<>"$run/out" 9<>"$run/err"     # so that no open of them waits for the other end
cat <"$run/out" 8>&- 9>&- & pids+=($!); outp=$!
cat <"$run/err" >&2 8>&- 9>&- & pids+=($!); errp=$!
[ $verbose = 1 ] && log=(console=ttyS0 loglevel=6 ignore_loglevel) || log=(console=ttyS0 quiet loglevel=4)

read -ra extra <<<"${RXE_VM_QEMU:-}"
setpriv --pdeathsig KILL -- qemu-system-x86_64 -nodefaults -no-user-config -display none -no-reboot \
    -machine "${RXE_VM_MACHINE:-q35,usb=off,smbus=off,sata=off,hpet=off,vmport=off}" \
    -accel "$accel" -cpu "$cpu" -smp "$cpus" -m "$mem" \
    -kernel "$cache/$kver/vmlinux" -initrd "$irfs" \
    -append "${log[*]} panic=-1 oops=panic nokaslr mitigations=off audit=0 apparmor=0 \
cryptomgr.notests random.trust_cpu=on rcupdate.rcu_expedited=1 no_timer_check tsc=reliable \
clocksource=tsc vm.run=$run/r vm.share=$share vm.mtu=$rxe_mtu ${RXE_VM_APPEND:-}" \
    -serial file:"$run/console" -monitor none \
    -device virtio-serial-pci,max_ports=4 \
    -chardev file,id=out,path="$run/out" -device virtserialport,chardev=out,nr=1,name=out \
    -chardev file,id=err,path="$run/err" -device virtserialport,chardev=err,nr=2,name=err \
    -chardev file,id=rc,path="$run/rc" -device virtserialport,chardev=rc,nr=3,name=rc \
    -fsdev local,id=root,path=/,security_model=passthrough,readonly=on,multidevs=remap \
    -device virtio-9p-pci,fsdev=root,mount_tag=root \
    -fsdev local,id=share,path="$share",security_model=passthrough,multidevs=remap \
    -device virtio-9p-pci,fsdev=share,mount_tag=share \
    "${extra[@]}" </dev/null >"$run/qemu" 2>&1 8>&- 9>&- &
qemu=$!; pids+=("$qemu")
setpriv --pdeathsig KILL -- sleep "$limit" 8>&- 9>&- & dog=$!; pids+=("$dog")

wait -n "$qemu" "$dog" 2>/dev/null || true
if kill -0 "$qemu" 2>/dev/null && ! kill -0 "$dog" 2>/dev/null; then
    kill -9 "$qemu" 2>/dev/null || true
    echo "rxe-vm: timed out after $limit s" >&2
    rc=124
else
    rc=$(grep -a '^[0-9]' "$run/rc" | tail -1 | tr -cd 0-9) || true
    if [ -z "$rc" ]; then
        echo "rxe-vm: the guest died; its console's end:" >&2
        tail -n 40 "$run/console" "$run/qemu" >&2 || true
        rc=125
    fi
fi
{ kill "$dog" && wait "$dog"; } 2>/dev/null || true
wait "$qemu" 2>/dev/null || true
exec 8>&- 9>&-
wait "$outp" "$errp" 2>/dev/null || true
if [ $verbose = 1 ]; then
    { echo "--- console"; cat "$run/console" "$run/qemu"; echo "--- command started at $(sed -n 's/^up //p' "$run/rc") s of guest uptime"; } >&2
fi
exit "$rc"
