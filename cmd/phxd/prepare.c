/* What the head's process wants of its machine before it serves: locked memory for its key, files
 * for all connections, and that nothing of it is left on a disk. Called by main.c, once. What it
 * does not get it says, and goes on. */
#include "phxd/daemon.h"

#include <malloc.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include "disk/disk.h"
#include "pki/tls_key.h"

enum { LARGE_TEXT = 256 << 10, FILES_BESIDE = 1024, N_LISTENERS = 3 };
/* A connection is a descriptor, and an agent has one or two; the usual soft limit is 1024. */
static void allow_files(rlim_t n)
{
	struct rlimit files;
	if (getrlimit(RLIMIT_NOFILE, &files) < 0 || files.rlim_cur >= n)
		return;
	files.rlim_cur = n < files.rlim_max ? n : files.rlim_max;
	setrlimit(RLIMIT_NOFILE, &files);
	if (files.rlim_cur < n)
		fprintf(stderr,
			"phxd: it may open %llu files, and connections_max wants %llu: raise "
			"LimitNOFILE of its unit, or lower "
			"connections_max\n",
			(unsigned long long)files.rlim_cur, (unsigned long long)n);
}

/* What this process has of secrets may lie there when the machine is long gone. */
static int tell_swap(void *arg, const char *path)
{
	struct stat st;
	(void)arg;
	if (stat(path, &st) < 0 ||
	    phx_swap_keeps_secret("", S_ISBLK(st.st_mode) ? st.st_rdev : st.st_dev))
		return 0;
	fprintf(stderr,
		"phxd: the swap space %s is not encrypted: what requests hold may be read from it "
		"later; encrypt it, or switch it off\n",
		path);
	return 0;
}

void prepare_process(const struct daemon *d)
{
	phx_swaps_each(tell_swap, NULL);
	if (phx_pki_lock_keys() != 0)
		fprintf(stderr,
			"phxd: the key that it serves TLS with may be swapped: raise "
			"LimitMEMLOCK of its unit\n");
	phx_signals_hold(NULL);
	/* large texts (a list of all nodes, a snapshot) are returned to the system, and leave no
	 * holes in the heap */
	mallopt(M_MMAP_THRESHOLD, LARGE_TEXT);
	/* a tenth more while others are cut (lib/http/guard.c) */
	allow_files((rlim_t)d->cfg.connections_max * N_LISTENERS * 11 / 10 + FILES_BESIDE);
}
