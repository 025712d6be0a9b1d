# A Slurm of the test's own: munged, slurmctld, and what starts real slurmd, all below $SLURM on loopback. Sourced after
# agents.bash, or by whoever sets WORK and has port_free and until_true; its programs are run through SLURM_NET, if that is set.
#
#	slurm_init N [LINES] key, slurm.conf for n1..nN, munged
#	slurmctld_start, slurmctld_kill, slurm_stop
#	slurm_moments, slurm_dies, slurm_died   slurmctld dies while something is ordered
#	slurmd_script       what the package of a node runs
#
# slurmctld, and so whoever may order, is $SLURM_USER. Its configuration is in $SLURM_ETC, which root alone can change.

SLURM=$WORK/slurm
[ -v SLURM_NET ] || SLURM_NET=()
SLURM_USER=${SLURM_USER:-root}
CTLD=
MUNGED=
SLURM_ETC= # until slurm_init()

# a free range of N ports below those that the kernel gives to clients
slurm_ports() {
	local n=$1 i
	for (( ; ; )); do
		SLURM_PORT=$((10000 + RANDOM % 9000))
		for ((i = 0; i <= n; i++)); do port_free $((SLURM_PORT + i)) || continue 2; done
		return
	done
}

slurm_init() {
	SLURM_ETC=$SLURM-etc
	mkdir -p "$SLURM_ETC" "$SLURM"/{state,spool,log} && chmod 755 "$SLURM_ETC" "$SLURM" "$SLURM"/* &&
		chown "$SLURM_USER" "$SLURM" "$SLURM"/{state,log} || return 1
	slurm_ports "$1"
	(umask 077 && head -c 128 /dev/urandom >"$SLURM/munge.key")
	cat >"$SLURM_ETC/test.conf" <<-END
		ClusterName=test
		SlurmctldHost=localhost(127.0.0.1)
		SlurmctldPort=$SLURM_PORT
		SlurmUser=$SLURM_USER
		SlurmdUser=root
		AuthType=auth/munge
		AuthInfo=socket=$SLURM/munge.sock
		StateSaveLocation=$SLURM/state
		SlurmdSpoolDir=$SLURM/spool/%n
		SlurmctldPidFile=$SLURM/slurmctld.pid
		SlurmdPidFile=$SLURM/slurmd.%n.pid
		SlurmctldLogFile=$SLURM/log/slurmctld.log
		SlurmdLogFile=$SLURM/log/slurmd.%n.log
		ProctrackType=proctrack/linuxproc
		TaskPlugin=task/none
		MpiDefault=none
		SelectType=select/linear
		SchedulerParameters=sched_interval=1,batch_sched_delay=0,sched_min_interval=10000
		SlurmdParameters=config_overrides
		ReturnToService=2
		SlurmdTimeout=300
		MessageTimeout=20
		KillWait=2
		MaxJobCount=20000
		NodeName=n[1-$1] NodeHostname=localhost NodeAddr=127.0.0.1 Port=[$((SLURM_PORT + 1))-$((SLURM_PORT + $1))] CPUs=1 State=UNKNOWN
		PartitionName=queue Nodes=ALL Default=YES State=UP OverSubscribe=EXCLUSIVE
		${2:-}
	END
	munged --foreground --force --key-file="$SLURM/munge.key" --socket="$SLURM/munge.sock" --pid-file="$SLURM/munge.pid" \
		--log-file="$SLURM/log/munge.log" --seed-file="$SLURM/munge.seed" --num-threads=4 >>"$SLURM/log/munged.out" 2>&1 &
	MUNGED=$!
	export SLURM_CONF=$SLURM_ETC/test.conf
	until_true 15 test -S "$SLURM/munge.sock"
}

slurmctld_start() {
	"${SLURM_NET[@]}" slurmctld "$@" -D -f "$SLURM_CONF" >>"$SLURM/log/slurmctld.out" 2>&1 &
	CTLD=$!
	echo $CTLD >"$SLURM/ctld.pid"
	until_true 180 "${SLURM_NET[@]}" sinfo -h
}

slurmctld_kill() {
	kill -9 "$CTLD" 2>/dev/null
	wait "$CTLD" 2>/dev/null
	CTLD=
}

# What lies before Slurm's own scontrol on the PATH of who orders: at the moment that slurm_dies names, slurmctld dies. After a
# requeue when that is written down, which takes it some seconds: one that dies before has the job end as killed, for good.
slurm_moments() {
	local real
	real=$(command -v scontrol) && mkdir -p "$SLURM/bin" || return 1
	cat >"$SLURM/bin/scontrol" <<-END
		#!/bin/sh
		what=\$1
		{ id -u; id -G; grep NoNewPrivs /proc/self/status; env | cut -d= -f1 | grep -vE '^(PWD|OLDPWD|SHLVL|_)$' | sort; } >$SLURM/rights
		case "\$*" in
		"update nodename="*" state=drain "*) what=drain ;;
		"update nodename="*" state=resume") what=resume ;;
		esac
		written() { for i in 1 2 3 4 5 6 7 8; do [ $SLURM/state/job_state -nt $SLURM/moment ] && return; sleep 1; done; }
		dies() { [ "\$(cat $SLURM/moment 2>/dev/null)" = "\$1" ] && rm $SLURM/moment && kill -9 "\$(cat $SLURM/ctld.pid)"; }
		dies "before \$what"
		$real "\$@"
		status=\$?
		[ "\$what" != requeue ] || [ ! -e $SLURM/moment ] || { touch $SLURM/moment; written; }
		dies "after \$what"
		exit \$status
	END
	chmod 755 "$SLURM/bin/scontrol"
	PATH=$SLURM/bin:$PATH
}
# slurm_dies before|after drain|requeue|resume: as soon as that is asked for
slurm_dies() { (umask 0 && echo "$*" >"$SLURM/moment"); }
slurm_died() { [ ! -e "$SLURM/moment" ] && ! kill -0 "$CTLD" 2>/dev/null; }

# shellcheck disable=SC2016 # for the script
slurmd_script() {
	printf 'node=${PHX_PACKAGE#%s/}\nnode=${node%%%%/*}\nexec slurmd -D -N "$node" -f %s\n' "$WORK" "$SLURM_CONF"
}

# steps outlive their slurmd, and die with their job
slurm_stop() {
	local pid
	[ -n "$SLURM_ETC" ] || return 0
	[ -z "$CTLD" ] || timeout 20 "${SLURM_NET[@]}" scancel --full --signal=KILL --user=nobody 2>/dev/null
	for pid in $(pgrep -f "^slurmstepd: " 2>/dev/null); do
		grep -qzF "SLURM_CONF=$SLURM_ETC/" "/proc/$pid/environ" 2>/dev/null && kill -9 "$pid"
	done
	for pid in $CTLD $MUNGED; do { kill "$pid" && wait "$pid"; } 2>/dev/null; done
	CTLD='' MUNGED=''
}
