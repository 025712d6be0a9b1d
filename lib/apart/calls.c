/* See calls.h. Called by confine.c, and by processes that give up nothing else. Two filters: of
 * both answers the kernel takes the stricter, of two errors that of the second. Who says something
 * in the log of the system has a third one before that.
 *
 *   what libraries try and do without ─▶ ENOSYS, which nobody is told: as on an older kernel
 *   what is in no group               ─▶ EPERM, which the kernel tells
 *   what stays as it is               ─▶ 0, and nothing is done
 *   the socket of syslog(3)           ─▶ descriptor 0, which is open; to connect and to close it
 *                                        is answered as done
 */
#include "apart/calls.h"

#include <errno.h>
#include <linux/sockios.h>
#include <sched.h>
#include <seccomp.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <termios.h>

#include <linux/netlink.h>

#ifndef PR_SET_VMA
#define PR_SET_VMA 0x53564d41
#endif

/* Other views of users, processes, files, the network. */
#define PHX_CALLS_VIEWS \
	(CLONE_NEWNS | CLONE_NEWCGROUP | CLONE_NEWUTS | CLONE_NEWIPC | CLONE_NEWUSER | \
	 CLONE_NEWPID | CLONE_NEWNET)

enum { ARGS_MAX = 2 };
struct row {
	uint32_t group;
	int call;
	unsigned n_args;
	struct scmp_arg_cmp args[ARGS_MAX]; /* all of them hold */
};

static const struct row rows[] = {
#define GROUP(name)
#define PROCESS(name, groups)
#define ARG(arg, mask, value) \
	{ \
		arg, SCMP_CMP_MASKED_EQ, mask, value \
	}
#define CALL(group, call) {PHX_CALLS_##group, SCMP_SYS(call), 0, {{0}}},
#define WHEN(group, call, arg, mask, value) \
	{PHX_CALLS_##group, SCMP_SYS(call), 1, {ARG(arg, mask, value)}},
#define WHEN2(group, call, arg, mask, value, arg2, mask2, value2) \
	{PHX_CALLS_##group, SCMP_SYS(call), 2, {ARG(arg, mask, value), ARG(arg2, mask2, value2)}},
#include "apart/calls.def"
#undef GROUP
#undef PROCESS
#undef CALL
#undef WHEN
#undef WHEN2
};

/* The numbers of calls that came after those which the table can name: the same on every
 * machine. */
enum { FIRST_UNKNOWN = 451, N_UNKNOWN = 128 };

static int load(scmp_filter_ctx filter, int r)
{
	r = r ? r : seccomp_load(filter);
	if (filter)
		seccomp_release(filter);
	return r;
}

/* clone3: its flags lie in memory, where a filter does not look; the C library goes on to clone. */
static int each_unknown(scmp_filter_ctx filter, uint32_t action)
{
	int r = seccomp_rule_add(filter, action, SCMP_SYS(clone3), 0);
	for (int i = 0; r == 0 && i < N_UNKNOWN; i++)
		r = seccomp_rule_add(filter, action, FIRST_UNKNOWN + i, 0);
	return r;
}

/* To write into the kernel's audit takes a capability that nobody here has; PAM goes on without it
 * on a kernel that has none. */
static int no_audit(scmp_filter_ctx filter)
{
	return seccomp_rule_add(filter, SCMP_ACT_ERRNO(EPROTONOSUPPORT), SCMP_SYS(socket), 2,
				SCMP_A0_32(SCMP_CMP_EQ, AF_NETLINK),
				SCMP_A2_32(SCMP_CMP_EQ, NETLINK_AUDIT));
}

static int as_on_an_older_kernel(void)
{
	scmp_filter_ctx filter = seccomp_init(SCMP_ACT_ALLOW);
	int r = filter ? each_unknown(filter, SCMP_ACT_ERRNO(ENOSYS)) : -ENOMEM;
	return load(filter, r ? r : no_audit(filter));
}

/* A program that knows syslog(3) alone says what it says to the socket that it was given as its
 * descriptor 0: the C library opens one of its own, of this domain and type, connects it to
 * /dev/log, and closes it where it cannot send. 0, the answer of what is done, is descriptor 0. */
static int log_is_given(void)
{
	scmp_filter_ctx filter = seccomp_init(SCMP_ACT_ALLOW);
	int r = filter ? 0 : -ENOMEM;
	for (size_t i = 0; r == 0 && i < PHX_ARRAY_SIZE(rows); i++)
		if (rows[i].group == PHX_CALLS_log)
			r = seccomp_rule_add_array(filter, SCMP_ACT_ERRNO(0), rows[i].call,
						   rows[i].n_args, rows[i].args);
	return load(filter, r);
}

/* One row without a condition is the call as a whole: what conditions it has elsewhere adds
 * nothing. */
static bool is_whole(uint32_t groups, int call)
{
	for (size_t i = 0; i < PHX_ARRAY_SIZE(rows); i++)
		if (rows[i].group & groups && rows[i].call == call && !rows[i].n_args)
			return true;
	return false;
}

static int these_alone(uint32_t groups)
{
	scmp_filter_ctx filter = seccomp_init(SCMP_ACT_ERRNO(EPERM));
	int r = filter ? 0 : -ENOMEM;
	if (r == 0) /* a kernel that cannot tell it refuses all the same */
		(void)seccomp_attr_set(filter, SCMP_FLTATR_CTL_LOG, 1);
	r = r ? r : each_unknown(filter, SCMP_ACT_ALLOW); /* the filter before says what of them */
	for (size_t i = 0; r == 0 && i < PHX_ARRAY_SIZE(rows); i++) {
		const struct row *w = &rows[i];
		if (!(w->group & groups) || (w->n_args && is_whole(groups, w->call)))
			continue;
		r = seccomp_rule_add_array(
			filter, w->group == PHX_CALLS_stay ? SCMP_ACT_ERRNO(0) : SCMP_ACT_ALLOW,
			w->call, w->n_args, w->args);
		r = r == -EEXIST ? 0 : r; /* it is in another of these groups */
	}
	return load(filter, r);
}

int phx_calls_keep(uint32_t groups, const char *what, struct phx_err *err)
{
	int r = prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 ? -errno : as_on_an_older_kernel();
	r = r || !(groups & PHX_CALLS_log) ? r : log_is_given();
	r = r ? r : these_alone(groups);
	return r ? phx_err_set(err, r, "%s cannot give up its system calls: %s", what, strerror(-r))
		 : 0;
}
