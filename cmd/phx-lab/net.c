/* The lab's network: one namespace with a bridge (the head's card), a tap a
 * machine and an address a BMC. Made by iproute2; called by main.c. Never touches
 * the machine's own network. */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/spawn.h"
#include "phx-lab/lab.h"

#define LAB_OWNERS "/run/phx-lab"

/* in the lab's namespace */
#define IP(lab, err, ...) \
	({ \
		char ns_[LAB_NAME_MAX + 8]; \
		lab_ip("ip", lab_netns(lab, ns_), err, __VA_ARGS__); \
	})

bool lab_net_is_taken(const struct lab *lab)
{
	char path[64], ns[LAB_NAME_MAX + 8];
	snprintf(path, sizeof(path), "/run/netns/%s", lab_netns(lab, ns));
	return access(path, F_OK) == 0;
}

/* Where the directory of the lab is written down that has the namespace: its name alone does not
 * say whose it is, for one that a lab left may have been taken by another checkout's since. */
static void owner_path(const struct lab *lab, char path[64])
{
	char ns[LAB_NAME_MAX + 8];
	snprintf(path, 64, LAB_OWNERS "/%s", lab_netns(lab, ns));
}

static int write_owner(const struct lab *lab, struct phx_err *err)
{
	char path[64];
	owner_path(lab, path);
	int r = phx_dir_make(LAB_OWNERS, 0755, err);
	return r < 0 ? r : phx_file_write(path, lab->dir, strlen(lab->dir), 0644, err);
}

bool lab_net_exists(const struct lab *lab)
{
	char path[64];
	PHX_AUTO_FREE char *owner = NULL;
	owner_path(lab, path);
	return lab_net_is_taken(lab) &&
		phx_file_read(path, sizeof(lab->dir), &owner, NULL, NULL) == 0 &&
		!strcmp(owner, lab->dir);
}

int lab_net_add(const struct lab *lab, const struct lab_machine *m, struct phx_err *err)
{
	char tap[16], bridge[16];
	int r = 0;
	for (uint32_t i = 0; r == 0 && i <= m->nics.n; i++) {
		const struct lab_card *c = i ? PHX_LIST_AT(&m->nics, struct lab_card, i - 1) : NULL;
		lab_tap(m, i, tap);
		lab_nets_bridge(lab, c ? c->network : m->network, bridge);
		r = IP(lab, err, "tuntap add %s mode tap", tap);
		r = r ? r : IP(lab, err, "link set %s master %s up", tap, bridge);
	}
	if (r == 0 && m->bmc)
		r = IP(lab, err, "addr add %s/32 dev lo", m->bmc_ip);
	return r;
}

/* The head's addresses; the IPv6 ones so that iPXE need not wait for a router. The link-local one
 * is given by us and not doubted: the kernel's own would be checked for a double for 2 s after the
 * first machine is switched on, and the router's answer to that machine be lost. */
static int make_bridge(const struct lab *lab, struct phx_err *err)
{
	char head[32];
	snprintf(head, sizeof(head), "%.*s.%d", (int)(strrchr(lab->subnet, '.') - lab->subnet),
		 lab->subnet, LAB_HOST_HEAD);
	int r = IP(lab, err, "link set lo up");
	if (r == 0)
		r = IP(lab, err, "link add " LAB_BRIDGE " type bridge forward_delay 0 stp_state 0");
	if (r == 0)
		r = IP(lab, err, "addr add %s/24 brd + dev " LAB_BRIDGE, head);
	if (r == 0)
		r = IP(lab, err, "link set " LAB_BRIDGE " addrgenmode none");
	if (r == 0)
		r = IP(lab, err, "addr add fe80::1/64 dev " LAB_BRIDGE " nodad");
	if (r == 0)
		r = IP(lab, err, "addr add fd77::1/64 dev " LAB_BRIDGE " nodad");
	if (r == 0)
		r = IP(lab, err, "link set " LAB_BRIDGE " up");
	return r;
}

int lab_net_up(const struct lab *lab, struct phx_err *err)
{
	char ns[LAB_NAME_MAX + 8];
	int r = lab_ip("ip", NULL, err, "netns add %s", lab_netns(lab, ns));
	if (r < 0)
		return r;
	r = write_owner(lab, err);
	if (r < 0) {
		lab_ip("ip", NULL, NULL, "netns del %s", ns); /* it is not known as ours */
		return r;
	}
	r = make_bridge(lab, err);
	r = r ? r : lab_nets_up(lab, err);
	PHX_LIST_EACH(struct lab_machine, m, &lab->machines)
		if (r == 0)
			r = lab_net_add(lab, m, err);
	if (r < 0)
		lab_net_down(lab, NULL);
	return r;
}

/* Everything in the namespace is ours; what lost its pid file is found here. */
static int end_rest(const char *ns, struct phx_err *err)
{
	const char *const argv[] = {"ip", "netns", "pids", ns, NULL};
	const struct phx_run run = {.argv = argv};
	struct phx_run_result res;
	int r = phx_run_check(&run, &res, err);
	if (r < 0)
		return r;
	char *save = NULL;
	for (char *w = strtok_r(res.out, "\n", &save); w; w = strtok_r(NULL, "\n", &save)) {
		int pid = atoi(w);
		if (r == 0 && pid > 1 && pid != getpid())
			r = phx_process_end(pid, false, 0, err);
	}
	phx_run_result_fini(&res);
	return r;
}

/* Of a lab that did not come up whole it may be missing. */
static int remove_router(const char *ns, struct phx_err *err)
{
	char path[64];
	snprintf(path, sizeof(path), "/run/netns/%s", ns);
	if (access(path, F_OK) < 0)
		return 0;
	int r = end_rest(ns, err);
	return r < 0 ? r : lab_ip("ip", NULL, err, "netns del %s", ns);
}

int lab_net_down(const struct lab *lab, struct phx_err *err)
{
	char ns[LAB_NAME_MAX + 8];
	if (!lab_net_exists(lab))
		return 0;
	char router[LAB_NAME_MAX + 12];
	int r = end_rest(lab_netns(lab, ns), err);
	for (uint32_t i = 0; lab_nets_netns(lab, i, router); i++)
		r = r < 0 ? r : remove_router(router, err);
	r = r < 0 ? r : lab_ip("ip", NULL, err, "netns del %s", ns);
	char owner[64];
	owner_path(lab, owner);
	if (r == 0)
		unlink(owner);
	return r;
}

int lab_net_enter(const struct lab *lab, struct phx_err *err)
{
	char path[64], ns[LAB_NAME_MAX + 8];
	snprintf(path, sizeof(path), "/run/netns/%s", lab_netns(lab, ns));
	if (!lab_net_exists(lab))
		return phx_err_set(err, -ENOENT, "%s is not this lab's; is the lab up?", path);
	PHX_AUTO_CLOSE int fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0 || setns(fd, CLONE_NEWNET) < 0)
		return phx_err_set(err, -errno, "%s: %s; is the lab up?", path, strerror(errno));
	return 0;
}
