/* Host files of dnsmasq, one a node: see deploy.h. Called by phxd at its start, and whenever the
 * core says that the entry of a node changed. dnsmasq sees a new file by itself; of a
 * changed or vanished one it learns by SIGHUP only. No tags in these files:
 * a tag with a lease and a SIGHUP aborts dnsmasq 2.90. */
#include <arpa/inet.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "deploy/internal.h"

enum { LINE_MAX_BYTES = 256, MACS_MAX = 4 };

/* Hidden, which dnsmasq does not read: who writes host files needs to write nowhere else. */
#define FORMER ".former-cards"
#define TEMPORARY ".host.tmp"

/* What came of all files. */
struct sync {
	int change;  /* PHX_DHCP_SAME, ... */
	bool former; /* some entry has cards of before */
};

static int check_host(const struct phx_dhcp_host *h, struct phx_err *err)
{
	char mac[PHX_MAC_MAX];
	struct in_addr a;
	if (!phx_name_valid(h->name))
		return phx_err_set(err, -EINVAL, "'%s' is no name for a node", h->name);
	if (phx_mac_parse(h->mac, mac) < 0 || strcmp(mac, h->mac))
		return phx_err_set(err, -EINVAL,
				   "node %s: '%s' is no MAC address like 52:54:00:00:00:01",
				   h->name, h->mac);
	if (h->ip[0] && inet_pton(AF_INET, h->ip, &a) != 1)
		return phx_err_set(err, -EINVAL, "node %s: '%s' is no IPv4 address", h->name,
				   h->ip);
	return 0;
}

static int by_mac(const void *a, const void *b)
{
	return strcmp((*(const struct phx_dhcp_host *const *)a)->mac,
		      (*(const struct phx_dhcp_host *const *)b)->mac);
}
static int by_ip(const void *a, const void *b)
{
	return strcmp((*(const struct phx_dhcp_host *const *)a)->ip,
		      (*(const struct phx_dhcp_host *const *)b)->ip);
}
static int by_name(const void *a, const void *b)
{
	return strcmp((*(const struct phx_dhcp_host *const *)a)->name,
		      (*(const struct phx_dhcp_host *const *)b)->name);
}

/* What may be there once only. */
static const struct unique {
	const char *what;
	int (*compare)(const void *a, const void *b);
	size_t offset;
} uniques[] = {
	{"IP address", by_ip, offsetof(struct phx_dhcp_host, ip)},
	{"MAC address", by_mac, offsetof(struct phx_dhcp_host, mac)},
	{"name", by_name, offsetof(struct phx_dhcp_host, name)},
};

static int check_unique(const struct phx_dhcp_host **sorted, size_t n, const struct unique *u,
			struct phx_err *err)
{
	qsort(sorted, n, sizeof(*sorted), u->compare);
	for (size_t i = 1; i < n; i++) {
		const char *value = (const char *)sorted[i] + u->offset;
		if (*value && !u->compare(&sorted[i - 1], &sorted[i]))
			return phx_err_set(err, -EINVAL, "nodes %s and %s have the same %s %s",
					   sorted[i - 1]->name, sorted[i]->name, u->what, value);
	}
	return 0;
}

/* Checked, and at the end sorted by name. */
static int check_hosts(const struct phx_dhcp_host *hosts, size_t n,
		       const struct phx_dhcp_host **sorted, struct phx_err *err)
{
	int r = 0;
	for (size_t i = 0; r == 0 && i < n; i++) {
		r = check_host(&hosts[i], err);
		sorted[i] = &hosts[i];
	}
	for (size_t i = 0; r == 0 && i < PHX_ARRAY_SIZE(uniques); i++)
		r = check_unique(sorted, n, &uniques[i], err);
	return r;
}

/* A host file as it is: "MAC[,MAC..][,IP],NAME". */
struct entry {
	char macs[MACS_MAX][PHX_MAC_MAX];
	uint32_t n_macs;
	char ip[46];
	char name[PHX_NAME_MAX];
};

static void format_entry(const struct entry *e, char line[LINE_MAX_BYTES])
{
	size_t n = 0;
	for (uint32_t i = 0; i < e->n_macs; i++)
		n += (size_t)snprintf(line + n, LINE_MAX_BYTES - n, "%s,", e->macs[i]);
	snprintf(line + n, LINE_MAX_BYTES - n, "%s%s%s\n", e->ip, e->ip[0] ? "," : "", e->name);
}

/* Our own text of before; anything else reads as an entry without a MAC. */
static void parse_entry(char *line, struct entry *ret)
{
	char *save = NULL, mac[PHX_MAC_MAX];
	struct in_addr a;
	*ret = (struct entry){0};
	for (char *w = strtok_r(line, ",\n", &save); w; w = strtok_r(NULL, ",\n", &save)) {
		if (phx_mac_parse(w, mac) == 0 && ret->n_macs < MACS_MAX)
			strcpy(ret->macs[ret->n_macs++], mac);
		else if (inet_pton(AF_INET, w, &a) == 1)
			PHX_STR_SET(ret->ip, w);
		else
			PHX_STR_SET(ret->name, w);
	}
}

/* Not phx_file_write(): dnsmasq would read the temporary beside the file. No
 * fsync: the directory is made anew at each start. */
int dnsmasq_entry_write(int dir, const char *name, const char *line)
{
	int r;
	{
		PHX_AUTO_CLOSE int fd =
			openat(dir, TEMPORARY, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
		if (fd < 0)
			return -errno;
		/* dnsmasq, another user, reads it, whatever our umask is */
		r = fchmod(fd, 0644) < 0 ? -errno : phx_write_all(fd, line, strlen(line));
	}
	if (r == 0 && renameat(dir, TEMPORARY, dir, name) < 0)
		r = -errno;
	if (r < 0)
		unlinkat(dir, TEMPORARY, 0);
	return r;
}

void dnsmasq_entry_read(int dir, const char *name, char *line, size_t size)
{
	PHX_AUTO_CLOSE int fd = openat(dir, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	ssize_t n = fd < 0 ? 0 : read(fd, line, size - 1);
	line[n < 0 ? 0 : n] = '\0';
}

static bool wanted(const char *name, const struct phx_dhcp_host **sorted, size_t n)
{
	struct phx_dhcp_host key = {0};
	const struct phx_dhcp_host *p = &key;
	return PHX_STR_SET(key.name, name) == 0 && bsearch(&p, sorted, n, sizeof(*sorted), by_name);
}

static int remove_others(const char *path, int dir, const struct phx_dhcp_host **sorted, size_t n,
			 int *change)
{
	DIR *d = opendir(path);
	if (!d)
		return -errno;
	int r = 0;
	for (struct dirent *e; r == 0 && (e = readdir(d));) {
		if (!strcmp(e->d_name, ".") || !strcmp(e->d_name, "..") ||
		    !strcmp(e->d_name, FORMER) || wanted(e->d_name, sorted, n))
			continue;
		*change = PHX_DHCP_SIGHUP;
		r = unlinkat(dir, e->d_name, 0) < 0 ? -errno : 0;
	}
	closedir(d);
	return r;
}

static bool mac_in_use(const char *mac, const struct phx_dhcp_host **hosts, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (!strcmp(hosts[i]->mac, mac))
			return true;
	return false;
}

/* What the file is to say. A card that the node had before stays behind the new one: dnsmasq takes
 * a lease away from a card only for another card of the same entry. */
static void wanted_entry(const struct phx_dhcp_host *h, const struct entry *had,
			 const struct phx_dhcp_host **hosts, size_t n, struct entry *ret)
{
	*ret = (struct entry){.n_macs = 1};
	PHX_STR_SET(ret->macs[0], h->mac);
	PHX_STR_SET(ret->ip, h->ip);
	PHX_STR_SET(ret->name, h->name);
	for (uint32_t i = 0; i < had->n_macs && ret->n_macs < MACS_MAX; i++)
		if (!mac_in_use(had->macs[i], hosts, n))
			strcpy(ret->macs[ret->n_macs++], had->macs[i]);
}

/* What came of a file: *change is PHX_DHCP_SAME, or what came of those before. */
static int put_line(int dir, const char *name, const char *line, const char *had_line, int *change)
{
	if (!strcmp(line, had_line))
		return 0;
	if (had_line[0])
		*change = PHX_DHCP_SIGHUP;
	else if (*change == PHX_DHCP_SAME)
		*change = PHX_DHCP_LIVE;
	return dnsmasq_entry_write(dir, name, line);
}

static int put_host(int dir, const struct phx_dhcp_host *h, const struct phx_dhcp_host **hosts,
		    size_t n, struct sync *to)
{
	char line[LINE_MAX_BYTES], had_line[LINE_MAX_BYTES], copy[LINE_MAX_BYTES];
	struct entry had, want;
	dnsmasq_entry_read(dir, h->name, had_line, sizeof(had_line));
	memcpy(copy, had_line, sizeof(copy));
	parse_entry(copy, &had);
	/* most files stay as they are: no search through all nodes for them */
	bool plain = had.n_macs == 1 && !strcmp(had.macs[0], h->mac);
	wanted_entry(h, &had, hosts, plain ? 0 : n, &want);
	want.n_macs = plain ? 1 : want.n_macs;
	format_entry(&want, line);
	to->former = to->former || want.n_macs > 1;
	return put_line(dir, h->name, line, had_line, &to->change);
}

/* A file says that some entry has cards of before: one that another node gets must go from
 * there. */
static void note_former(int dir, bool former)
{
	int fd = former ? openat(dir, FORMER, O_WRONLY | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0644)
			: unlinkat(dir, FORMER, 0);
	if (fd > 0)
		close(fd);
}

int phx_dhcp_hosts_sync(const struct phx_config *cfg, const struct phx_dhcp_host *hosts,
			size_t n_hosts, struct phx_err *err)
{
	PHX_AUTO_FREE const struct phx_dhcp_host **sorted = calloc(n_hosts + 1, sizeof(*sorted));
	PHX_AUTO_FREE char *path = phx_path("%s/dnsmasq/hosts", cfg->run_dir);
	if (!sorted || !path)
		return -ENOMEM;
	int r = check_hosts(hosts, n_hosts, sorted, err);
	if (r == 0)
		r = phx_dir_make(path, 0755, err);
	if (r < 0)
		return r;
	PHX_AUTO_CLOSE int dir = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct sync to = {.change = PHX_DHCP_SAME};
	r = dir < 0 ? -errno : remove_others(path, dir, sorted, n_hosts, &to.change);
	for (size_t i = 0; r == 0 && i < n_hosts; i++)
		r = put_host(dir, sorted[i], sorted, n_hosts, &to);
	if (dir >= 0)
		note_former(dir, to.former);
	return r < 0 ? phx_err_set(err, r, "%s: %s", path, strerror(-r)) : to.change;
}

/* ---- one node ---- */

static int remove_one(int dir, const char *name)
{
	if (unlinkat(dir, name, 0) == 0)
		return PHX_DHCP_SIGHUP;
	return errno == ENOENT ? PHX_DHCP_SAME : -errno;
}

static int put_one(int dir, const struct phx_dhcp_host *h)
{
	char line[LINE_MAX_BYTES], had_line[LINE_MAX_BYTES], copy[LINE_MAX_BYTES];
	struct entry had, want;
	int change = PHX_DHCP_SAME;
	dnsmasq_entry_read(dir, h->name, had_line, sizeof(had_line));
	memcpy(copy, had_line, sizeof(copy));
	parse_entry(copy, &had);
	if (had_line[0] && (had.n_macs != 1 || strcmp(had.macs[0], h->mac)))
		return PHX_DHCP_ALL;
	wanted_entry(h, &had, NULL, 0, &want);
	want.n_macs = 1;
	format_entry(&want, line);
	int r = put_line(dir, h->name, line, had_line, &change);
	return r < 0 ? r : change;
}

int phx_dhcp_host_sync(const struct phx_config *cfg, const char *name,
		       const struct phx_dhcp_host *host, struct phx_err *err)
{
	PHX_AUTO_FREE char *path = phx_path("%s/dnsmasq/hosts", cfg->run_dir);
	if (!path)
		return -ENOMEM;
	if (!phx_name_valid(name))
		return phx_err_set(err, -EINVAL, "'%s' is no name for a node", name);
	int r = host ? check_host(host, err) : 0;
	if (r < 0)
		return r;
	PHX_AUTO_CLOSE int dir = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (dir >= 0 && faccessat(dir, FORMER, F_OK, 0) == 0)
		return PHX_DHCP_ALL;
	r = dir < 0 ? -errno : host ? put_one(dir, host) : remove_one(dir, name);
	return r < 0 ? phx_err_set(err, r, "%s: %s", path, strerror(-r)) : r;
}
