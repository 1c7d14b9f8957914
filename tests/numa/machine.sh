#!/usr/bin/env bash
# machine.sh NODES CPUS_PER_NODE MIB_PER_NODE KERNEL INITRAMFS SECONDS: boots an emulated machine
# with that many NUMA nodes and prints what it says. Distances: 16 within a pair of nodes, else 32.
#
# Emulation (TCG) on one host thread: there PAUSE hands over to the next CPU, so that spinning CPUs
# do not starve each other. It says nothing about time, only about where things are.
set -euo pipefail
nodes=$1 cpus=$2 mib=$3 kernel=$4 initramfs=$5 limit=$6
shape=()
for ((i = 0; i < nodes; i++)); do
  shape+=(-object "memory-backend-ram,id=m$i,size=${mib}M")
  shape+=(-numa "node,nodeid=$i,memdev=m$i,cpus=$((i * cpus))-$((i * cpus + cpus - 1))")
done
for ((i = 0; i < nodes; i++)); do
  for ((j = 0; j < nodes; j++)); do
    [ "$i" = "$j" ] && continue
    [ $((i / 2)) = $((j / 2)) ] && distance=16 || distance=32
    shape+=(-numa "dist,src=$i,dst=$j,val=$distance")
  done
done
exec timeout -k 5 "$limit" qemu-system-x86_64 -nodefaults -no-user-config -no-reboot \
  -display none -serial stdio -monitor none \
  -machine q35,usb=off,hpet=off -accel tcg,thread=single -cpu max \
  -smp "$((nodes * cpus)),sockets=$nodes,cores=$cpus,threads=1" -m "$((nodes * mib))M" \
  "${shape[@]}" -kernel "$kernel" -initrd "$initramfs" \
  -append "console=ttyS0 quiet panic=-1 tsc=reliable no_timer_check mitigations=off \
watchdog_thresh=60" </dev/null 2>&1
