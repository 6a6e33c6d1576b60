#!/bin/bash
# What runs inside the lab's machine: two Soft-RoCE devices behind a router, perftest between them, rocetop and tcpdump
# beside it. Everything that is measured goes to /host/out. Needs: PATH of Debian, modules of the running kernel.
export PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LC_ALL=C
mount -t tmpfs none /run; mount -t tmpfs none /tmp
mkdir -p /dev/pts /dev/shm; mount -t devpts none /dev/pts; mount -t tmpfs none /dev/shm
say() { echo "$*" >/dev/console; }
say "lab: up after $(cut -d' ' -f1 /proc/uptime) s, Linux $(uname -r)"
ulimit -l unlimited
out=/host/out

lay() {
    for m in rdma_rxe veth af_packet rdma_ucm ib_umad sch_netem sch_ingress cls_bpf act_bpf; do modprobe $m; done
    ip link set lo up
    ip netns add fabric
    ip netns exec fabric sh -c 'echo 1 >/proc/sys/net/ipv4/ip_forward'
    for k in all default; do
        echo 0 >/proc/sys/net/ipv4/conf/$k/rp_filter
        echo 1 >/proc/sys/net/ipv4/conf/$k/accept_local
        echo 1 >/proc/sys/net/ipv4/conf/$k/arp_ignore
        echo 2 >/proc/sys/net/ipv4/conf/$k/arp_announce
        echo 1 >/proc/sys/net/ipv6/conf/$k/disable_ipv6
    done
    # Both ends are this machine's: without rules of their own their packets would never leave it.
    ip rule add pref 1000 lookup local; ip rule del pref 0
    for i in 1 2; do
        ip link add e$i type veth peer name p$i netns fabric
        ip addr add 10.9.$i.1/24 dev e$i; ip link set e$i up
        ip -n fabric addr add 10.9.$i.254/24 dev p$i; ip -n fabric link set p$i up
        ip route add 10.9.$i.0/24 dev e$i table 10$i
        ip route add default via 10.9.$i.254 dev e$i table 10$i
        ip rule add pref 1$i oif e$i lookup 10$i
        ip rule add pref 4$i from 10.9.$i.1 iif lo lookup 10$i
        rdma link add rxe$i type rxe netdev e$i
    done
    sleep 1
    ping -c1 -W5 -I 10.9.1.1 10.9.2.1 | sed -n 2p
}

# The place of the IPv4 address among a device's GIDs, as RoCEv2 uses it.
gid() {
    for i in 0 1 2 3 4 5; do
        if grep -q 'ffff:0a09' /sys/class/infiniband/$1/ports/1/gids/$i &&
            grep -q v2 /sys/class/infiniband/$1/ports/1/gid_attrs/types/$i; then echo $i; return; fi
    done 2>/dev/null
}

counters() {
    for f in /sys/class/infiniband/$1/ports/1/hw_counters/*; do echo "$(basename "$f") $(cat "$f" 2>/dev/null)"; done
}

# NAME, netem's words or nothing, a perftest program, its arguments.
run() {
    local name=$1 netem=$2 program=$3; shift 3
    say "lab: $name at $(cut -d' ' -f1 /proc/uptime) s"
    [ -n "$netem" ] && ip netns exec fabric tc qdisc add dev p2 root netem $netem
    for i in 1 2; do
        counters rxe$i >$out/$name.rxe$i.before
        tcpdump -i e$i -n --time-stamp-precision=nano -s 0 -B 65536 -w /tmp/$name.e$i.pcap 2>$out/$name.e$i.tcpdump &
    done
    # One end sees headers, the other sums.
    /host/rocetop live --source xdp -i e1 --counters --json >$out/$name.e1.live 2>$out/$name.e1.said &
    local one=$!
    /host/rocetop live --source xdp -i e2 --json >$out/$name.e2.live 2>$out/$name.e2.said &
    local two=$!
    for i in 1 2; do
        for wait in $(seq 600); do grep -q "^rocetop: e$i: " $out/$name.e$i.said && break; sleep 0.2; done
    done
    sleep 1
    local begin=$(cut -d' ' -f1 /proc/uptime)
    $program -d rxe2 -x $(gid rxe2) -F "$@" >$out/$name.server 2>&1 &
    # Both ends agree over the loopback, and emulation is slow.
    for wait in $(seq 300); do ss -ltn | grep -q :18515 && break; sleep 0.2; done
    timeout 60 $program -d rxe1 -x $(gid rxe1) -F "$@" 127.0.0.1 >$out/$name.client 2>&1
    echo "rc $? in $(cut -d' ' -f1 /proc/uptime) - $begin s" >>$out/$name.client
    sleep 2
    for i in 1 2; do counters rxe$i >$out/$name.rxe$i.after; done
    ip -d link show e1 >$out/$name.attached; tc filter show dev e1 egress >>$out/$name.attached
    kill -INT $one $two; wait $one $two
    pkill -INT tcpdump; sleep 1
    ip -d link show e1 >$out/$name.detached; tc filter show dev e1 egress >>$out/$name.detached
    cp /tmp/$name.e?.pcap $out/; rm -f /tmp/$name.e?.pcap
    [ -n "$netem" ] && ip netns exec fabric tc qdisc del dev p2 root
    pkill perftest; return 0
}

{
    mkdir -p $out
    lay
    # Few packets in flight: what Soft-RoCE drops behind the interface is no business of the wire.
    run write "" ib_write_bw -m 1024 -s 65536 -n 64 -t 8
    run read "" ib_read_bw -m 1024 -s 65536 -n 64 -t 4
    run send "" ib_send_bw -m 1024 -s 8192 -n 200 -t 8 -r 64
    run loss "loss 2%" ib_write_bw -m 1024 -s 65536 -n 64 -t 8
} >$out/log 2>&1
dmesg | tail -20 >>$out/log
say "lab: done after $(cut -d' ' -f1 /proc/uptime) s"
sync; echo o >/proc/sysrq-trigger; sleep 5
