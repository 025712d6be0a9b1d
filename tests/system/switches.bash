# How often threads have gone to sleep: sourced by tests and benches, which compare two times.

# switches PID THREAD: voluntary context switches of the process's thread of that name; "-THREAD": of all but it; "": of all
switches() {
	cat /proc/"$1"/task/*/status | awk -v only="${2#-}" -v but="${2:0:1}" '/^Name:/ { name = $2 }
		/^voluntary_ctxt_switches:/ && (only == "" || (name == only) == (but != "-")) { n += $2 } END { print n + 0 }'
}
