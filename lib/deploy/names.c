/* Names of nodes for dnsmasq's DNS, one file a node, and of services, one file a service: see
 * deploy.h. dnsmasq sees new, changed and vanished files by itself. Called by phxd where names are
 * served. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/ip.h"
#include "deploy/internal.h"

enum { LINE_MAX_BYTES = 512, TEXT_MAX_BYTES = PHX_WEB_ADDRESSES_MAX * LINE_MAX_BYTES };

/* Folders below RUN_DIR/dnsmasq. */
#define NODES "names"
#define SERVICES "services"

/* The first name is the one that the address is told to have. */
static int format(const struct phx_dhcp_name *n, char *text, size_t size)
{
	return snprintf(text, size, "%s %s%s%s%s%s\n", n->ip, n->name, n->domain[0] ? "." : "",
			n->domain, n->domain[0] ? " " : "", n->domain[0] ? n->name : "");
}

/* `what`: whose name it is, a node's or a service's. */
static int check(const struct phx_dhcp_name *n, const char *what, struct phx_err *err)
{
	uint32_t address;
	return !phx_name_valid(n->name)
		? phx_err_set(err, -EINVAL, "'%s' is no name for a %s", n->name, what)
		: !phx_ipv4_parse(n->ip, &address)
		? phx_err_set(err, -EINVAL, "%s %s: '%s' is no IPv4 address", what, n->name, n->ip)
		: strpbrk(n->domain, " \n\t#")
		? phx_err_set(err, -EINVAL, "%s %s: '%s' is no name of a domain", what, n->name,
			      n->domain)
		: 0;
}

static int put(int dir, const struct phx_dhcp_name *n)
{
	char line[LINE_MAX_BYTES], had[LINE_MAX_BYTES];
	format(n, line, sizeof(line));
	dnsmasq_entry_read(dir, n->name, had, sizeof(had));
	return strcmp(line, had) ? dnsmasq_entry_write(dir, n->name, line) : 0;
}

static int open_dir(const struct phx_config *cfg, const char *folder, struct phx_err *err)
{
	PHX_AUTO_FREE char *path = phx_path("%s/dnsmasq/%s", cfg->run_dir, folder);
	int r = path ? phx_dir_make(path, 0755, err) : -ENOMEM;
	int fd = r == 0 ? open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : r;
	return fd < 0 && r == 0 ? phx_err_set(err, -errno, "%s: %s", path, strerror(errno)) : fd;
}

int phx_dhcp_name_sync(const struct phx_config *cfg, const char *node,
		       const struct phx_dhcp_name *name, struct phx_err *err)
{
	if (!phx_name_valid(node))
		return phx_err_set(err, -EINVAL, "'%s' is no name for a node", node);
	int r = name ? check(name, "node", err) : 0;
	if (r < 0)
		return r;
	PHX_AUTO_CLOSE int dir = open_dir(cfg, NODES, err);
	if (dir < 0)
		return dir;
	if (name)
		r = put(dir, name);
	else
		r = unlinkat(dir, node, 0) < 0 && errno != ENOENT ? -errno : 0;
	return r < 0 ? phx_err_set(err, r, "name of %s: %s", node, strerror(-r)) : 0;
}

/* ---- all of them ---- */

static int by_name(const void *a, const void *b)
{
	return strcmp(((const struct phx_dhcp_name *)a)->name,
		      ((const struct phx_dhcp_name *)b)->name);
}

static bool is_wanted_node(const char *name, const void *list, size_t n)
{
	struct phx_dhcp_name key = {0};
	return PHX_STR_SET(key.name, name) == 0 && n &&
		bsearch(&key, list, n, sizeof(key), by_name);
}

static bool is_wanted_service(const char *name, const void *list, size_t n)
{
	const struct phx_dhcp_service *services = list;
	for (size_t i = 0; i < n; i++)
		if (!strcmp(services[i].name, name))
			return true;
	return false;
}

/* Removes files of names that are not in the list. */
static int remove_others(int dir, bool (*wanted)(const char *name, const void *list, size_t n),
			 const void *list, size_t n)
{
	int r = 0, copy = openat(dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *d = copy < 0 ? NULL : fdopendir(copy);
	if (!d) {
		r = -errno;
		if (copy >= 0)
			close(copy);
		return r;
	}
	for (struct dirent *e; (e = readdir(d));) {
		if (!strcmp(e->d_name, ".") || !strcmp(e->d_name, ".."))
			continue;
		if (!wanted(e->d_name, list, n) && unlinkat(dir, e->d_name, 0) < 0)
			r = r ? r : -errno;
	}
	closedir(d);
	return r;
}

static int put_right(int dir, const struct phx_dhcp_name *n, struct phx_err *err)
{
	int r = check(n, "node", err);
	if (r < 0)
		return r;
	r = put(dir, n);
	return r < 0 ? phx_err_set(err, r, "name of %s: %s", n->name, strerror(-r)) : 0;
}

static int put_all(int dir, const struct phx_dhcp_name *names, size_t n, struct phx_err *err)
{
	struct phx_err first = {0}, other = {0};
	size_t n_wrong = 0;
	int r = 0;
	for (size_t i = 0; i < n; i++) {
		int it = put_right(dir, &names[i], n_wrong ? &other : &first);
		r = r ? r : it;
		n_wrong += it < 0;
	}
	if (n_wrong > 1)
		return phx_err_set(err, r, "%s, and %zu more", first.text, n_wrong - 1);
	return r < 0 ? phx_err_set(err, r, "%s", first.text) : 0;
}

int phx_dhcp_names_sync(const struct phx_config *cfg, struct phx_dhcp_name *names, size_t n,
			struct phx_err *err)
{
	if (n)
		qsort(names, n, sizeof(*names), by_name);
	PHX_AUTO_CLOSE int dir = open_dir(cfg, NODES, err);
	if (dir < 0)
		return dir;
	int gone = remove_others(dir, is_wanted_node, names, n), r = put_all(dir, names, n, err);
	return r == 0 && gone < 0
		? phx_err_set(err, gone, "names of nodes that have none: %s", strerror(-gone))
		: r;
}

/* ---- services ---- */

/* Line `i` of its file; false: it has no such address. */
static bool line_of(const struct phx_dhcp_service *s, uint32_t i, struct phx_dhcp_name *ret)
{
	char address[PHX_WEB_ADDRESS_MAX];
	*ret = (struct phx_dhcp_name){0};
	if (!phx_web_address_at(s->addresses, i, address))
		return false;
	PHX_STR_SET(ret->name, s->name);
	PHX_STR_SET(ret->ip, address);
	PHX_STR_SET(ret->domain, s->domain);
	return true;
}

static int check_service(const struct phx_dhcp_service *s, struct phx_err *err)
{
	struct phx_dhcp_name line;
	int r = 0;
	for (uint32_t i = 0; r == 0 && line_of(s, i, &line); i++)
		r = check(&line, "service", err);
	return r;
}

static int put_service(int dir, const struct phx_dhcp_service *s)
{
	char text[TEXT_MAX_BYTES] = "", had[TEXT_MAX_BYTES];
	struct phx_dhcp_name line;
	size_t n = 0;
	for (uint32_t i = 0; i < PHX_WEB_ADDRESSES_MAX && line_of(s, i, &line); i++)
		n += (size_t)format(&line, text + n, sizeof(text) - n);
	dnsmasq_entry_read(dir, s->name, had, sizeof(had));
	return strcmp(text, had) ? dnsmasq_entry_write(dir, s->name, text) : 0;
}

/* As of nodes: what is wrong holds up no other, and the first is told. */
int phx_dhcp_services_sync(const struct phx_config *cfg, const struct phx_dhcp_service *services,
			   size_t n, struct phx_err *err)
{
	PHX_AUTO_CLOSE int dir = open_dir(cfg, SERVICES, err);
	if (dir < 0)
		return dir;
	int first = remove_others(dir, is_wanted_service, services, n);
	if (first < 0)
		phx_err_set(err, first, "names of services that have none: %s", strerror(-first));
	for (size_t i = 0; i < n; i++) {
		struct phx_err why = {0};
		int r = check_service(&services[i], &why);
		if (r == 0 && (r = put_service(dir, &services[i])) < 0)
			phx_err_set(&why, r, "name of the service %s: %s", services[i].name,
				    strerror(-r));
		if (r < 0 && first == 0)
			phx_err_set(err, r, "%s", why.text);
		first = first ? first : r;
	}
	return first;
}
