#!/usr/bin/env bash
# The tests that compare vector kernels, on an emulated machine whose processor has AVX-512 (Bochs).
# Skipped where this machine's own has it: there the ordinary tests compare all of them.
#
# SEQLOOM_SLOW, SEQLOOM_DATA and PROPTEST_CASES mean what they mean to other tests.
set -euo pipefail
cd "$(dirname "$0")/.."
target=$(realpath -m "${CARGO_TARGET_DIR:-target}")
# Seconds. Without real reads it took 254 of a core; 112 real ones should take three times that.
limit=7200

skip() {
  echo "skipped: $1"
  [ -z "${SEQLOOM_SKIP_LOG:-}" ] || echo "make avx512: Bochs machine: $1" >> "$SEQLOOM_SKIP_LOG"
  exit
}
if grep -qw avx512f /proc/cpuinfo; then
  echo "skipped: this processor has AVX-512, so that the ordinary tests compare its kernels"
  exit
fi
# bochs-term brings a screen that needs none.
for file in /usr/bin/bochs-bin /usr/lib/x86_64-linux-gnu/bochs/plugins/libbx_term_gui.so \
  /usr/share/bochs/BIOS-bochs-latest /usr/share/vgabios/vgabios.bin \
  /usr/lib/ISOLINUX/isolinux.bin /usr/lib/syslinux/modules/bios/ldlinux.c32 \
  /usr/bin/xorriso /usr/bin/busybox /usr/bin/cpio; do
  [ -e "$file" ] || skip "no $file; Debian has it in bochs, bochs-term, bochsbios, vgabios, \
isolinux, syslinux-common, xorriso, busybox-static or cpio"
done
tests/numa/kernel.sh "$target/tmp/cache/kernel" || skip "no kernel can be had"

# As it is shipped: what makes vectors of the HMM's kernels is the optimiser.
test=$("${CARGO:-cargo}" test --release -p seqloom-calling --lib --no-run --message-format=json \
  | sed -n 's/.*"executable":"\([^"]*\)".*/\1/p')

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
disc=$work/disc/isolinux
mkdir -p "$disc"
cp "$test" "$work/kernels"
files=("$work/runs")
# Few cases: an instruction takes the emulator 30 ns.
variables=(PROPTEST_CASES="${PROPTEST_CASES:-32}" PROPTEST_DISABLE_FAILURE_PERSISTENCE=1
  SEQLOOM_SLOW="${SEQLOOM_SLOW:-}")
reads=nanopore/f5c_ecoli_2kb/ecoli_2kb_region
if [ -e "${SEQLOOM_DATA:-}/$reads" ]; then
  mkdir -p "$work/$reads"
  cp -r "$SEQLOOM_DATA/$reads"/{reads.fasta,fast5_files} "$work/$reads"
  files+=("$work/nanopore")
  variables+=(SEQLOOM_DATA=/data)
fi
cat > "$work/runs" <<RUNS
flags grep -o -w -m 1 -e 'avx512[a-z]*' /proc/cpuinfo >&2
kernels ${variables[*]} kernels events::align hmm:: --nocapture --test-threads=1 >&2
RUNS
tests/numa/initramfs.sh "$disc/initrd" tests/numa/init "$work/kernels" "${files[@]}"

# Of XSAVEC and XSAVES the emulator tells another size than Linux computes, which then does without
# AVX altogether; XSAVE is enough. The other options save time.
cat > "$disc/isolinux.cfg" <<CONFIG
default linux
label linux
  kernel vmlinuz
  initrd initrd
  append $(echo console=ttyS0 clearcpuid=xsaves,xsavec panic=-1 quiet nokaslr mitigations=off \
    tsc=reliable no_timer_check lpj=1000000 cryptomgr.notests random.trust_cpu=on)
CONFIG
cp /usr/lib/ISOLINUX/isolinux.bin /usr/lib/syslinux/modules/bios/ldlinux.c32 \
  "$target/tmp/cache/kernel/vmlinuz" "$disc/"
xorriso -as mkisofs -quiet -o "$work/disc.iso" -b isolinux/isolinux.bin -c isolinux/boot.cat \
  -no-emul-boot -boot-load-size 4 -boot-info-table "$work/disc" 2>/dev/null
cat > "$work/machine" <<CONFIG
config_interface: textconfig
display_library: term
cpu: model=corei7_skylake_x, ips=50000000
memory: guest=1024, host=1024
romimage: file=/usr/share/bochs/BIOS-bochs-latest, options=fastboot
vgaromimage: file=/usr/share/vgabios/vgabios.bin
ata0-master: type=cdrom, path=$work/disc.iso, status=inserted
boot: cdrom
com1: enabled=1, mode=file, dev=$work/says
sound: driver=dummy
speaker: enabled=0
log: $work/log
panic: action=fatal
error: action=ignore
info: action=ignore
CONFIG
echo continue > "$work/debugger" # Debian's has one, which waits for a command before it starts

# The emulator's screen is a terminal of its own, and it stands still when nobody reads that.
{
  until screen=$(grep -o '/dev/pts/[0-9]*' "$work/err" 2>/dev/null); do sleep 0.2; done
  cat "$screen" >/dev/null 2>&1
} &
reader=$!
# To it the machine's power going off is an error, so that its status says nothing.
TERM=xterm timeout -k 5 "$limit" bochs-bin -q -f "$work/machine" -rc "$work/debugger" \
  </dev/null >"$work/out" 2>"$work/err" || true
kill "$reader" 2>/dev/null || true
[ -s "$work/says" ] || { cat "$work/log" "$work/err" >&2; exit 1; }
cat "$work/says"
[ "$(grep -c '\[Avx512, ' "$work/says")" = 3 ] || {
  echo "AVX-512 was not compared by three tests" >&2
  exit 1
}
grep -q '^VM RUN kernels 0 ' "$work/says" || { echo "the tests failed" >&2; exit 1; }
