/* phxd, of the same objects as the one that is installed, with the points of death of lib/journal
 * armed: by PHXD_TEST_CRASH_AT=STAGE:SEQ it ends itself by SIGKILL at STAGE (apply, commit, act) of
 * event SEQ, or of the next one where that was committed together with one before; by
 * STAGE:label:N at that of the Nth label. Nothing else can hit that instant. Linked with
 * --wrap=phx_journal_open (Makefile); --wrap=launcher_restarts: the one that died stays dead. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "fake/failing_vfs.h"
#include "journal/journal.h"

static bool die_here(void *arg, enum phx_journal_point point, uint64_t seq,
		     const struct phx_event *ev, const struct phx_outcome *out)
{
	static const char *const stages[] = {"apply", "commit", "act"};
	static int n_labels[PHX_ARRAY_SIZE(stages)]; /* with the journal's lock, or nearly so */
	const char *at = getenv("PHXD_TEST_CRASH_AT");
	char here[64];
	(void)arg;
	(void)out;
	size_t n = strlen(stages[point]);
	if (at && !strncmp(at, stages[point], n) && at[n] == ':' && at[n + 1] >= '0' &&
	    at[n + 1] <= '9' && seq >= strtoull(at + n + 1, NULL, 10))
		raise(SIGKILL); /* kill() is not a head's */
	if (ev->kind == PHX_EV_node_label)
		snprintf(here, sizeof(here), "%s:label:%d", stages[point], ++n_labels[point]);
	if (at && !strcmp(here, at))
		raise(SIGKILL); /* kill() is not a head's */
	if (at && !strcmp(at, "fsync") && point == PHX_JOURNAL_APPLIED &&
	    ev->kind == PHX_EV_node_add)
		failing_vfs_fail(FAKE_VFS_SYNC, 0);
	return false;
}

int __real_phx_journal_open(const struct phx_journal_config *config, struct phx_journal **ret,
			    struct phx_err *ret_damage, struct phx_err *err);
int __wrap_phx_journal_open(const struct phx_journal_config *config, struct phx_journal **ret,
			    struct phx_err *ret_damage, struct phx_err *err);

int __wrap_phx_journal_open(const struct phx_journal_config *config, struct phx_journal **ret,
			    struct phx_err *ret_damage, struct phx_err *err)
{
	struct phx_journal_config armed = *config;
	armed.at = die_here;
	return __real_phx_journal_open(&armed, ret, ret_damage, err);
}

bool __wrap_launcher_restarts(int sig);

bool __wrap_launcher_restarts(int sig)
{
	(void)sig;
	return false;
}

/* before the store is opened */
__attribute__((constructor)) static void fail_later(void)
{
	failing_vfs_register();
}
