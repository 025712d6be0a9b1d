/* Roles: record tables, structural check, start order. Called by the core, by
 * the loader (lib/config) and by the agent. Pure: reads no file. */
#include "types/role.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/version.h"
#include "web/table.h"

static const char *const health_kinds[] = {"none", "http", "tcp", "exec"};
const struct phx_enum phx_health_kind_names = {"health check", health_kinds,
					       PHX_ARRAY_SIZE(health_kinds)};

static const char *const drain_signals[] = {"none", "HUP", "QUIT", "USR1", "USR2", "WINCH"};
const struct phx_enum phx_drain_signal_names = {"signal", drain_signals,
						PHX_ARRAY_SIZE(drain_signals)};

#define NAME(id, name, ...) name,
static const char *const role_boots[] = {PHX_ROLE_BOOTS(NAME)};
#define ROW(id, name, on_disk, elsewhere) {on_disk, elsewhere},
static const struct phx_role_boot_kind boot_kinds[] = {PHX_ROLE_BOOTS(ROW)};
static const char *const role_fences[] = {"none", "power"};
const struct phx_enum phx_role_fence_names = {"fence", role_fences, PHX_ARRAY_SIZE(role_fences)};

const struct phx_enum phx_role_boot_names = {"boot target", role_boots, PHX_ARRAY_SIZE(role_boots)};

PHX_RECORD_TABLE(phx_package_ref, PHX_PACKAGE_REF_FIELDS);
PHX_RECORD_TABLE(phx_service, PHX_SERVICE_FIELDS);
PHX_RECORD_TABLE(phx_health, PHX_HEALTH_FIELDS);
PHX_RECORD_TABLE(phx_role_web, PHX_ROLE_WEB_FIELDS);
PHX_RECORD_TABLE(phx_role, PHX_ROLE_FIELDS);

const struct phx_role_boot_kind *phx_role_boot(const struct phx_role *r)
{
	return &boot_kinds[r->boot];
}

void phx_role_identity(const struct phx_role *r, char *ret, size_t ret_size)
{
	size_t n = (size_t)snprintf(ret, ret_size, "%s@%s", r->image, r->image_version);
	for (uint32_t i = 0; i < r->packages.n && n < ret_size; i++) {
		const struct phx_package_ref *p =
			PHX_LIST_AT(&r->packages, struct phx_package_ref, i);
		n += (size_t)snprintf(ret + n, ret_size - n, " %s-%s", p->name, p->version);
	}
}

/* ---- older versions ---- */

bool phx_older_allowed(const struct phx_list *allow, const char *name, const char *version)
{
	char text[2 * PHX_NAME_MAX];
	snprintf(text, sizeof(text), "%s-%s", name, version);
	PHX_LIST_EACH(struct phx_word, w, allow)
		if (!strcmp(w->text, text))
			return true;
	return false;
}

static int check_newer(const struct phx_role *put, const char *name, const char *version,
		       const char *had, struct phx_err *err)
{
	if (phx_version_compare(version, had) >= 0 ||
	    phx_older_allowed(&put->allow_older, name, version))
		return 0;
	return phx_err_set(err, -ESTALE,
			   "%s %s is older than %s, which the role had: to go back, its file says "
			   "allow_older = [ \"%s-%s\" ]",
			   name, version, had, name, version);
}

int phx_role_not_older(const struct phx_role *had, const struct phx_role *put, struct phx_err *err)
{
	int r = strcmp(had->image, put->image)
		? 0
		: check_newer(put, put->image, put->image_version, had->image_version, err);
	PHX_LIST_EACH(struct phx_package_ref, p, &put->packages)
		PHX_LIST_EACH(struct phx_package_ref, q, &had->packages)
			if (r == 0 && !strcmp(p->name, q->name))
				r = check_newer(put, p->name, p->version, q->version, err);
	return r;
}

static int find_service(const struct phx_role *r, const char *name)
{
	for (uint32_t i = 0; i < r->services.n; i++)
		if (!strcmp(PHX_LIST_AT(&r->services, struct phx_service, i)->name, name))
			return (int)i;
	return -ENOENT;
}

/* Depth-first search. mark: 1 = the search is below this service, so meeting it again is a cycle; 2
 * = the service is placed. */
static int place_service(const struct phx_role *r, uint32_t i, unsigned char *mark, uint32_t *order,
			 uint32_t *n, struct phx_err *err)
{
	const struct phx_service *s = PHX_LIST_AT(&r->services, struct phx_service, i);
	if (mark[i] == 2)
		return 0;
	if (mark[i] == 1)
		return phx_err_set(err, -ELOOP, "service '%s' waits for itself", s->name);
	mark[i] = 1;
	PHX_LIST_EACH(struct phx_word, dep, &s->after) {
		int k = find_service(r, dep->text);
		if (k < 0)
			return phx_err_set(
				err, -ENOENT,
				"service '%s' comes after '%s', which is not in the role", s->name,
				dep->text);
		int rc = place_service(r, (uint32_t)k, mark, order, n, err);
		if (rc < 0)
			return rc;
	}
	mark[i] = 2;
	order[(*n)++] = i;
	return 0;
}

int phx_role_order(const struct phx_role *r, uint32_t *ret_order, struct phx_err *err)
{
	if (!r->services.n)
		return 0;
	PHX_AUTO_FREE unsigned char *mark = calloc(r->services.n, 1);
	PHX_AUTO_FREE uint32_t *order = calloc(r->services.n, sizeof(*order));
	if (!mark || !order)
		return -ENOMEM;
	uint32_t n = 0;
	for (uint32_t i = 0; i < r->services.n; i++) {
		int rc = place_service(r, i, mark, order, &n, err);
		if (rc < 0)
			return rc;
	}
	memcpy(ret_order, order, n * sizeof(*order));
	return 0;
}

static bool has_package(const struct phx_role *r, const char *name)
{
	PHX_LIST_EACH(struct phx_package_ref, p, &r->packages)
		if (!strcmp(p->name, name))
			return true;
	return false;
}

static int check_service(const struct phx_role *r, uint32_t i, struct phx_err *err)
{
	const struct phx_service *s = PHX_LIST_AT(&r->services, struct phx_service, i);
	if (!phx_name_valid(s->name))
		return phx_err_set(err, -EINVAL, "services[%u].name: '%s' is no name", i, s->name);
	if (find_service(r, s->name) != (int)i)
		return phx_err_set(err, -EINVAL, "service '%s' is there twice", s->name);
	if (!s->argv.n || !PHX_LIST_AT(&s->argv, struct phx_word, 0)->text[0])
		return phx_err_set(err, -EINVAL, "service '%s' has no command", s->name);
	if (s->package[0] && !has_package(r, s->package))
		return phx_err_set(
			err, -EINVAL,
			"service '%s' runs from package '%s', which the role does not list",
			s->name, s->package);
	if (!s->package[0] && PHX_LIST_AT(&s->argv, struct phx_word, 0)->text[0] != '/')
		return phx_err_set(err, -EINVAL,
				   "service '%s': '%s' must be an absolute path, or the service "
				   "must name a package",
				   s->name, PHX_LIST_AT(&s->argv, struct phx_word, 0)->text);
	return 0;
}

/* A role that leaves a node may remove paths below these directories... */
static const char *const removable[] = {"/var/lib/", "/var/cache/", "/var/log/", "/srv/",
					"/etc/opt/"};

/* ...but none of these and no path in them: the system or Phoenix needs them. */
static const char *const kept[] = {
	"/var/lib/phoenix", "/var/lib/dpkg",      "/var/lib/apt",     "/var/lib/systemd",
	"/var/lib/dbus",    "/var/cache/phoenix", "/var/log/journal",
};

static bool inside(const char *path, const char *dir)
{
	size_t n = strlen(dir);
	return !strncmp(path, dir, n) && (!path[n] || path[n] == '/');
}

/* Is a part of the path empty, "." or ".."? A slash at the end makes an empty part. */
static bool winds(const char *path)
{
	for (const char *part = path; part; part = strchr(part, '/')) {
		part += *part == '/';
		size_t n = strcspn(part, "/");
		if (n == 0 || (n <= 2 && !strncmp(part, "..", n)))
			return true;
	}
	return false;
}

int phx_role_removal_check(const char *path, struct phx_err *err)
{
	bool ok = false;
	for (size_t i = 0; i < PHX_ARRAY_SIZE(removable); i++)
		ok = ok || (phx_str_starts(path, removable[i]) && path[strlen(removable[i])]);
	if (!ok || winds(path))
		return phx_err_set(err, -EINVAL,
				   "'%s' must be a plain path below /var/lib, /var/cache, "
				   "/var/log, /srv or /etc/opt",
				   path);
	for (size_t i = 0; i < PHX_ARRAY_SIZE(kept); i++)
		if (inside(path, kept[i]))
			return phx_err_set(err, -EINVAL, "'%s' belongs to the system (%s)", path,
					   kept[i]);
	return 0;
}

static int check_leave_path(const char *path, struct phx_err *err)
{
	int r = phx_role_removal_check(path, err);
	return r < 0 ? phx_err_prefix(err, r, "leave_remove") : 0;
}

static int check_health(const struct phx_health *h, struct phx_err *err)
{
	switch ((enum phx_health_kind)h->kind) {
	case PHX_HEALTH_NONE:
		return 0;
	case PHX_HEALTH_HTTP:
		if (!phx_str_starts(h->target, "http://"))
			return phx_err_set(err, -EINVAL,
					   "health.target: '%s' must begin with http://",
					   h->target);
		return 0;
	case PHX_HEALTH_TCP:
		if (!strrchr(h->target, ':'))
			return phx_err_set(err, -EINVAL, "health.target: '%s' must be ADDRESS:PORT",
					   h->target);
		return 0;
	case PHX_HEALTH_EXEC:
		if (!h->argv.n)
			return phx_err_set(err, -EINVAL,
					   "health.exec: an exec check needs a command");
		return 0;
	}
	return phx_err_set(err, -EINVAL, "health.kind: %d is no health check", h->kind);
}

bool phx_role_web_address(const struct phx_role_web *w, uint32_t i, char ret[PHX_WEB_ADDRESS_MAX])
{
	return i ? phx_web_address_at(w->more, i - 1, ret) : phx_web_address_at(w->address, 0, ret);
}

static int check_web(const struct phx_role *r, struct phx_err *err)
{
	struct phx_web_service s = {.port = r->web.port};
	bool any = r->web.address[0] || r->web.cpu_milli;
	if (any && r->director)
		return phx_err_set(err, -EINVAL,
				   "director: a balancer cannot be an instance too (web)");
	if (r->fence != PHX_ROLE_FENCE_NONE && !r->director)
		return phx_err_set(err, -EINVAL,
				   "fence: only a director has a successor to be kept apart from");
	if (!any)
		return 0;
	/* a role without an address uses its RE's; any valid one will do for the check */
	PHX_STR_SET(s.address, r->web.address[0] ? r->web.address : "127.0.0.1");
	PHX_STR_SET(s.scheduler, r->web.scheduler);
	int rc = phx_web_service_check(&s, err);
	return rc < 0 ? phx_err_prefix(err, rc, "web") : 0;
}

int phx_kernel_args_check(const char *args, struct phx_err *err)
{
	static const char *const ours[] = {"phx.", "initrd=", "BOOTIF="};
	for (const char *p = args; *p; p++)
		if ((unsigned char)*p < 0x20 || (unsigned char)*p > 0x7e || strchr("$`\\\"'", *p))
			return phx_err_set(err, -EINVAL,
					   "kernel_args: printable ASCII without $ ` \\ \" '");
	for (const char *p = args; *p; p += strcspn(p, " ")) {
		p += strspn(p, " ");
		for (size_t i = 0; i < PHX_ARRAY_SIZE(ours); i++)
			if (!strncmp(p, ours[i], strlen(ours[i])))
				return phx_err_set(err, -EINVAL,
						   "kernel_args: words that begin with '%s' are "
						   "set by the head",
						   ours[i]);
	}
	return 0;
}

static int check_layout(const struct phx_role *r, struct phx_err *err)
{
	if (r->layout.n && !phx_role_boot(r)->on_disk)
		return phx_err_set(err, -EINVAL, "layout: needs boot = \"disk\"");
	return phx_layout_check(&r->layout, NULL, err);
}

int phx_role_check(const struct phx_role *r, struct phx_err *err)
{
	if (!phx_name_valid(r->name))
		return phx_err_set(err, -EINVAL, "name: '%s' is no name", r->name);
	if (!phx_name_valid(r->image))
		return phx_err_set(err, -EINVAL, "image: '%s' is no name", r->image);
	if (!phx_name_valid(r->pool))
		return phx_err_set(err, -EINVAL, "pool: '%s' is no name", r->pool);
	int rc = phx_kernel_args_check(r->kernel_args, err);
	for (uint32_t i = 0; rc == 0 && i < r->services.n; i++)
		rc = check_service(r, i, err);
	PHX_LIST_EACH(struct phx_word, path, &r->leave_remove)
		rc = rc ? rc : check_leave_path(path->text, err);
	PHX_LIST_EACH(struct phx_word, port, &r->ports) {
		uint64_t v;
		if (rc == 0 && phx_u64_parse(port->text, 1, 65535, &v) < 0)
			rc = phx_err_set(err, -EINVAL,
					 "ports: '%s' must be a number from 1 to 65535",
					 port->text);
	}
	rc = rc ? rc : check_health(&r->health, err);
	rc = rc ? rc : check_web(r, err);
	rc = rc ? rc : check_layout(r, err);
	if (rc < 0 || !r->services.n)
		return rc;
	PHX_AUTO_FREE uint32_t *order = calloc(r->services.n, sizeof(*order));
	return order ? phx_role_order(r, order, err) : -ENOMEM;
}
