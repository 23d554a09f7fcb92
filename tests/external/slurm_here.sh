#!/bin/bash
# A real SLURM on this machine, which it takes for two nodes, for as long as a command runs:
#     tests/external/slurm_here.sh COMMAND...
# Needs root (a container will do) and Debian's packages: apt-get install slurm-wlm
set -euo pipefail
place=$(mktemp -d -t trajet-slurm-XXXXXX)
chmod 755 "$place"
cleanup() {
    code=$?
    scancel --user=root --full 2>/dev/null || true
    for pid_file in "$place"/{slurmd-node1,slurmd-node2,slurmctld,munged}.pid; do
        if [ -e "$pid_file" ]; then
            pid=$(cat "$pid_file")
            kill "$pid" 2>/dev/null || true
            timeout 10 tail --pid="$pid" -f /dev/null || true
        fi
    done
    if [ $code -ne 0 ]; then tail -n 20 "$place"/*.log >&2 || true; fi
    rm -rf "$place"
}
trap cleanup EXIT
trap "exit 143" INT TERM

# By a key and a socket of our own the daemons know each other.
dd if=/dev/urandom of="$place/key" bs=1024 count=1 status=none
chmod 400 "$place/key"
munged --force --key-file="$place/key" --socket="$place/munge" --log-file="$place/munged.log" \
    --pid-file="$place/munged.pid" --seed-file="$place/seed"

export SLURM_CONF=$place/slurm.conf
cat >"$SLURM_CONF" <<EOF
ClusterName=one
SlurmctldHost=$(hostname -s)
SlurmctldPort=16817
SlurmUser=root
AuthType=auth/munge
AuthInfo=socket=$place/munge
StateSaveLocation=$place/state
SlurmdSpoolDir=$place/spool-%n
SlurmctldPidFile=$place/slurmctld.pid
SlurmdPidFile=$place/slurmd-%n.pid
SlurmctldLogFile=$place/slurmctld.log
SlurmdLogFile=$place/slurmd-%n.log
ProctrackType=proctrack/pgid
TaskPlugin=task/none
# Four cores and 4 GB a node, whatever there are.
SlurmdParameters=config_overrides
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
ReturnToService=2
KillWait=5
NodeName=node1 NodeHostname=$(hostname -s) NodeAddr=127.0.0.1 Port=16818 CPUs=4 RealMemory=4000
NodeName=node2 NodeHostname=$(hostname -s) NodeAddr=127.0.0.1 Port=16819 CPUs=4 RealMemory=4000
PartitionName=all Nodes=node1,node2 Default=YES State=UP MaxTime=60
EOF
mkdir "$place/state" "$place/spool-node1" "$place/spool-node2"
slurmctld
slurmd -N node1
slurmd -N node2
for _ in $(seq 60); do
    [ "$(sinfo --noheader --states=idle --format=%D 2>/dev/null)" = 2 ] && break
    sleep 0.5
done
sinfo
"$@"
