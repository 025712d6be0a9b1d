/* Role files: see role.h. Called by phxd at start and reload, and by `phx role
 * check`. What a role names is looked up through the caller's functions. */
#include "config/role.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "base/file.h"
#include "config/conf.h"
#include "config/image.h"

enum { SETTLE_DEFAULT_S = 1, SERVICES_MAX = 64, PACKAGES_MAX = 64 };

/* leave = { remove = [ "PATH" ]; } */
#define LEAVE_FIELDS(F, S) \
	F(S, leave_remove, LIST(phx_word), \
	  KEY(remove, WORDS(0), "", "Paths that go with the role."))
PHX_RECORD_LOCAL(leave, phx_role, LEAVE_FIELDS);

struct reading {
	struct phx_conf c;
	const struct phx_role_lookup *lookup;
	struct phx_role role;
	struct phx_err *err;
};

static config_setting_t *member(const struct reading *rd, const char *key)
{
	return config_setting_get_member(config_root_setting(&rd->c.cfg), key);
}

/* Appends the groups of a list (NULL: none) to `ret`. */
static int read_groups(struct reading *rd, config_setting_t *list, const struct phx_record *rec,
		       struct phx_list *ret)
{
	int r = 0;
	for (int i = 0; r == 0 && list && i < config_setting_length(list); i++) {
		void *one = phx_list_push(ret, rec->size);
		r = one ? phx_conf_group(&rd->c, config_setting_get_elem(list, (unsigned)i), rec,
					 one, rd->err)
			: -ENOMEM;
	}
	return r;
}

static int read_services(struct reading *rd)
{
	config_setting_t *list;
	int r = phx_conf_list(&rd->c, config_root_setting(&rd->c.cfg), "services", &list, rd->err);
	if (r == 0 && list && config_setting_length(list) > SERVICES_MAX)
		r = phx_conf_fail(&rd->c, list, -EINVAL, rd->err, "a role has at most %d services",
				  SERVICES_MAX);
	return r ? r : read_groups(rd, list, &phx_service_record, &rd->role.services);
}

static int read_layout(struct reading *rd)
{
	config_setting_t *list;
	struct phx_err why = {0};
	uint32_t bad = 0;
	int r = phx_conf_list(&rd->c, config_root_setting(&rd->c.cfg), "layout", &list, rd->err);
	r = r ? r : read_groups(rd, list, &phx_layout_volume_record, &rd->role.layout);
	if (r == 0 && phx_layout_check(&rd->role.layout, &bad, &why) < 0)
		r = phx_conf_fail(&rd->c, config_setting_get_elem(list, bad), -EINVAL, rd->err,
				  "%s", why.text);
	return r;
}

/* The port in "http://HOST:PORT/..." or "ADDRESS:PORT"; NULL where there is none, or the kind has
 * no target. */
static const char *target_port(const struct phx_health *h)
{
	static const char scheme[] = "http://";
	bool http = h->kind == PHX_HEALTH_HTTP && phx_str_starts(h->target, scheme);
	const char *host = h->target + (http ? strlen(scheme) : 0),
		   *end = host + strcspn(host, http ? "/?#" : "");
	const char *port = NULL;
	for (const char *p = host; p < end; p++)
		port = *p == ':' ? p + 1 : *p == ']' ? NULL : port;
	return http || h->kind == PHX_HEALTH_TCP ? port : NULL;
}

/* A check of a port that cannot be would quarantine each node of the role. */
static int check_target(struct reading *rd, const config_setting_t *s)
{
	const config_setting_t *target = config_setting_get_member(s, "target");
	const char *port = target_port(&rd->role.health);
	char text[PHX_NAME_MAX];
	uint64_t v;
	if (!port && rd->role.health.kind == PHX_HEALTH_TCP)
		return phx_conf_fail(&rd->c, target ? target : s, -EINVAL, rd->err,
				     "target: '%s' must be ADDRESS:PORT", rd->role.health.target);
	if (!port)
		return 0;
	snprintf(text, sizeof(text), "%.*s", (int)strcspn(port, "/?#"), port);
	if (phx_u64_parse(text, 1, 65535, &v) == 0)
		return 0;
	return phx_conf_fail(&rd->c, target, -EINVAL, rd->err,
			     "target: port '%s' must be a number from 1 to 65535", text);
}

static int check_health(struct reading *rd)
{
	const config_setting_t *s = member(rd, "health");
	return s ? check_target(rd, s) : 0;
}

/* Where nothing asks whether a service works, that it goes on running must do. Called behind
 * read_services() and check_health(). */
static int default_settle(struct reading *rd)
{
	config_setting_t *list = member(rd, "services");
	for (uint32_t i = 0; rd->role.health.kind == PHX_HEALTH_NONE && i < rd->role.services.n;
	     i++)
		if (!config_setting_get_member(config_setting_get_elem(list, i), "settle"))
			PHX_LIST_AT(&rd->role.services, struct phx_service, i)->settle_s =
				SETTLE_DEFAULT_S;
	return 0;
}

static int read_leave(struct reading *rd)
{
	config_setting_t *s = member(rd, "leave");
	int r = s ? phx_conf_group(&rd->c, s, &leave_record, &rd->role, rd->err) : 0;
	const config_setting_t *list = r == 0 && s ? config_setting_get_member(s, "remove") : NULL;
	for (int i = 0; r == 0 && list && i < config_setting_length(list); i++) {
		struct phx_err why = {0};
		const config_setting_t *path = config_setting_get_elem(list, (unsigned)i);
		if (phx_role_removal_check(config_setting_get_string(path), &why) < 0)
			r = phx_conf_fail(&rd->c, path, -EINVAL, rd->err, "leave.remove: %s",
					  why.text);
	}
	return r;
}

/* ports = [ 80, 443 ] */
static int read_ports(struct reading *rd)
{
	config_setting_t *s = member(rd, "ports");
	if (!s)
		return 0;
	if (config_setting_type(s) != CONFIG_TYPE_ARRAY)
		return phx_conf_fail(&rd->c, s, -EINVAL, rd->err,
				     "ports must be an array of numbers: [ 80, 443 ]");
	for (int i = 0; i < config_setting_length(s); i++) {
		uint64_t port;
		int r = phx_conf_number(&rd->c, config_setting_get_elem(s, (unsigned)i), 1, 65535,
					&port, rd->err);
		if (r < 0)
			return r;
		struct phx_word *w = phx_list_push(&rd->role.ports, sizeof(*w));
		if (!w)
			return -ENOMEM;
		snprintf(w->text, sizeof(w->text), "%u", (unsigned)port);
	}
	return 0;
}

/* ---- names that must be known ---- */

/* The lookup's own words come before its code; the place before both. */
static int unknown(struct reading *rd, const config_setting_t *s, int code, const char *what,
		   const char *name)
{
	if (code == -ENOENT)
		phx_err_clear(rd->err);
	phx_err_set(rd->err, code,
		    code == -ENOENT ? "%s '%s' does not exist" : "%s '%s' cannot be looked up",
		    what, name);
	return phx_conf_place(&rd->c, s, code, rd->err);
}

/* One of several; without a word of it the image's default, which find_image() has found. */
static int find_kernel(struct reading *rd, const char *release)
{
	const struct phx_role *role = &rd->role;
	char name[PHX_RELEASE_MAX + 2 * PHX_NAME_MAX + 16];
	if (!release[0])
		return 0;
	int r = rd->lookup->kernel(rd->lookup->arg, role->image, role->image_version, release,
				   rd->err);
	snprintf(name, sizeof(name), "%s of image %s %s", release, role->image,
		 role->image_version);
	return r < 0 ? unknown(rd, member(rd, "kernel"), r, "kernel", name) : 0;
}

static int check_kernel(struct reading *rd)
{
	const char *release = rd->role.image_kernel;
	int r = release[0] ? phx_image_release_check(release, rd->err) : 0;
	return r < 0 ? phx_conf_place(&rd->c, member(rd, "kernel"), r, rd->err) : 0;
}

static int find_image(struct reading *rd)
{
	struct phx_role *role = &rd->role;
	int r = check_kernel(rd);
	if (r < 0 || !rd->lookup || !rd->lookup->image)
		return r;
	const char *wanted = role->image_version[0] ? role->image_version : NULL;
	char version[PHX_NAME_MAX] = "", name[2 * PHX_NAME_MAX], own[PHX_RELEASE_MAX] = "";
	r = rd->lookup->image(rd->lookup->arg, role->image, wanted, version, role->image_digest,
			      own, rd->err);
	if (r < 0) {
		snprintf(name, sizeof(name), "%s%s%s", role->image, wanted ? " " : "",
			 wanted ? wanted : "");
		return unknown(rd, member(rd, wanted ? "image_version" : "image"), r, "image",
			       name);
	}
	PHX_STR_SET(role->image_version, version);
	r = find_kernel(rd, role->image_kernel);
	if (r == 0 && !role->image_kernel[0])
		PHX_STR_SET(role->image_kernel, own);
	return r;
}

static int find_pool(struct reading *rd)
{
	if (!rd->lookup || !rd->lookup->pool)
		return 0;
	int r = rd->lookup->pool(rd->lookup->arg, rd->role.pool, rd->err);
	return r < 0 ? unknown(rd, member(rd, "pool"), r, "pool", rd->role.pool) : 0;
}

/* "a-b-1.0": as a name, then "a-b" + "1.0", then "a" + "b-1.0". */
static int find_package(const struct phx_role_lookup *l, const char *text,
			struct phx_package_ref *ret, struct phx_err *err)
{
	char name[PHX_NAME_MAX];
	int r = l->package(l->arg, text, NULL, ret, err);
	PHX_STR_SET(name, text);
	for (char *dash; r == -ENOENT && (dash = strrchr(name, '-')) && dash != name;) {
		*dash = '\0';
		phx_err_clear(err);
		if (phx_name_valid(text + (dash - name) + 1))
			r = l->package(l->arg, name, text + (dash - name) + 1, ret, err);
	}
	return r;
}

static int read_package(struct reading *rd, const config_setting_t *s)
{
	static const struct phx_key key = {.name = "packages", .form = PHX_KEY_NAME};
	static const struct phx_field name = {.type = PHX_F_STR, .size = PHX_NAME_MAX, .key = &key};
	struct phx_package_ref *ref = phx_list_push(&rd->role.packages, sizeof(*ref));
	char text[PHX_NAME_MAX];
	if (!ref)
		return -ENOMEM;
	int r = phx_conf_value(&rd->c, s, &name, text, rd->err);
	if (r < 0)
		return r;
	if (!rd->lookup || !rd->lookup->package)
		return PHX_STR_SET(ref->name, text);
	r = find_package(rd->lookup, text, ref, rd->err);
	return r < 0 ? unknown(rd, s, r, "package", text) : 0;
}

static int read_packages(struct reading *rd)
{
	config_setting_t *s = member(rd, "packages");
	if (!s)
		return 0;
	int type = config_setting_type(s), n = config_setting_length(s);
	if (type != CONFIG_TYPE_ARRAY && type != CONFIG_TYPE_LIST)
		return phx_conf_fail(&rd->c, s, -EINVAL, rd->err,
				     "packages must be a list of names: [ \"web-nginx\" ]");
	if (n > PACKAGES_MAX)
		return phx_conf_fail(&rd->c, s, -EINVAL, rd->err, "a role has at most %d packages",
				     PACKAGES_MAX);
	int r = 0;
	for (int i = 0; r == 0 && i < n; i++)
		r = read_package(rd, config_setting_get_elem(s, (unsigned)i));
	return r;
}

/* ---- names inside the file ---- */

static bool has_service(const struct phx_role *role, const char *name)
{
	PHX_LIST_EACH(struct phx_service, s, &role->services)
		if (!strcmp(s->name, name))
			return true;
	return false;
}

static bool has_package(const struct phx_role *role, const char *name)
{
	PHX_LIST_EACH(struct phx_package_ref, p, &role->packages)
		if (!strcmp(p->name, name))
			return true;
	return false;
}

/* phx_role_check() finds these too, but knows no lines. */
static int check_service_names(struct reading *rd, const config_setting_t *s)
{
	const config_setting_t *package = config_setting_get_member(s, "package");
	const config_setting_t *after = config_setting_get_member(s, "after");
	if (package && !has_package(&rd->role, config_setting_get_string(package)))
		return phx_conf_fail(&rd->c, package, -ENOENT, rd->err,
				     "package '%s' is not among the role's packages",
				     config_setting_get_string(package));
	for (int i = 0; after && i < config_setting_length(after); i++) {
		const config_setting_t *word = config_setting_get_elem(after, (unsigned)i);
		if (!has_service(&rd->role, config_setting_get_string(word)))
			return phx_conf_fail(&rd->c, word, -ENOENT, rd->err,
					     "service '%s' is not in this role",
					     config_setting_get_string(word));
	}
	return 0;
}

static int check_names(struct reading *rd)
{
	config_setting_t *list = member(rd, "services");
	int r = 0;
	for (int i = 0; r == 0 && list && i < config_setting_length(list); i++)
		r = check_service_names(rd, config_setting_get_elem(list, (unsigned)i));
	return r;
}

/* Where in the file lib/node, which knows no lines, has found something: its text begins with the
 * name of the key. */
static const config_setting_t *place_of(struct reading *rd, const char *why)
{
	static const char *const keys[] = {"health", "web", "fence", "director", "layout"};
	for (uint32_t i = 0; i < rd->role.services.n; i++) {
		char says[PHX_NAME_MAX + 16];
		snprintf(says, sizeof(says), "service '%s'",
			 PHX_LIST_AT(&rd->role.services, struct phx_service, i)->name);
		if (phx_str_starts(why, says))
			return config_setting_get_elem(member(rd, "services"), i);
	}
	for (size_t i = 0; i < PHX_ARRAY_SIZE(keys); i++)
		if (phx_str_starts(why, keys[i]))
			return member(rd, keys[i]);
	return NULL;
}

/* A service that waits for itself, at the line where it is. */
static int check_order(struct reading *rd)
{
	PHX_AUTO_FREE uint32_t *order = calloc(rd->role.services.n + 1, sizeof(*order));
	struct phx_err why = {0};
	if (!order)
		return -ENOMEM;
	int r = phx_role_order(&rd->role, order, &why);
	if (r == -ELOOP)
		return phx_conf_fail(&rd->c, place_of(rd, why.text), r, rd->err, "after: %s",
				     why.text);
	return 0; /* what else is wrong is found by phx_role_check() */
}

/* ---- the whole ---- */

static int name_from_path(const char *path, char ret_name[PHX_NAME_MAX], struct phx_err *err)
{
	const char *base = strrchr(path, '/');
	base = base ? base + 1 : path;
	size_t n = strlen(base);
	if (n <= 5 || n - 5 >= PHX_NAME_MAX || strcmp(base + n - 5, ".conf"))
		return phx_err_set(err, -EINVAL, "%s: a role's file is named NAME.conf", path);
	memcpy(ret_name, base, n - 5);
	ret_name[n - 5] = '\0';
	if (!phx_name_valid(ret_name))
		return phx_err_set(
			err, -EINVAL,
			"%s: '%s' is no name for a role: that has letters, digits, '-', '_' "
			"and '.'",
			path, ret_name);
	return 0;
}

static int check_role(struct reading *rd)
{
	int r = phx_role_check(&rd->role, rd->err);
	const config_setting_t *at = r < 0 ? place_of(rd, rd->err->text) : NULL;
	if (at)
		return phx_conf_place(&rd->c, at, r, rd->err);
	return r < 0 ? phx_err_prefix(rd->err, r, "%s", rd->c.file) : 0;
}

static int read_role(struct reading *rd)
{
	static int (*const parts[])(struct reading * rd) = {
		read_services, check_health, default_settle, read_leave,  read_ports,  read_layout,
		find_pool,     find_image,   read_packages,  check_names, check_order, check_role,
	};
	int r = phx_conf_group(&rd->c, config_root_setting(&rd->c.cfg), &phx_role_record, &rd->role,
			       rd->err);
	for (size_t i = 0; r == 0 && i < PHX_ARRAY_SIZE(parts); i++)
		r = parts[i](rd);
	return r;
}

int phx_role_load(const char *path, const struct phx_role_lookup *lookup, struct phx_role *ret,
		  struct phx_err *err)
{
	struct phx_err local = {0};
	struct reading rd = {.lookup = lookup, .err = err ? err : &local};
	int r = name_from_path(path, rd.role.name, rd.err);
	if (r == 0)
		r = phx_conf_read(path, &rd.c, rd.err);
	if (r == 0)
		r = read_role(&rd);
	phx_conf_fini(&rd.c);
	if (r < 0)
		phx_record_fini(&phx_role_record, &rd.role);
	else
		*ret = rd.role;
	return r;
}

void phx_roles_fini(struct phx_list *roles)
{
	PHX_LIST_EACH(struct phx_role, role, roles)
		phx_record_fini(&phx_role_record, role);
	phx_list_fini(roles);
}

/* Roles that are being read, and files that are none. */
struct loading {
	const struct phx_role_lookup *lookup;
	struct phx_list roles, bad;
	bool keep_bad;
};

static int add_role(void *arg, const char *path, struct phx_err *err)
{
	struct loading *l = arg;
	struct phx_err why = {0};
	struct phx_role role;
	if (phx_str_eq(strrchr(path, '/'), "/rules.conf"))
		return 0;
	int r = phx_role_load(path, l->lookup, &role, l->keep_bad ? &why : err);
	if (r < 0 && (!l->keep_bad || r == -ENOMEM))
		return r;
	if (r < 0) {
		struct phx_role_bad *b = phx_list_push(&l->bad, sizeof(*b));
		if (!b)
			return -ENOMEM;
		snprintf(b->file, sizeof(b->file), "%s", path);
		PHX_STR_SET(b->reason, why.text);
		return 0;
	}
	struct phx_role *to = phx_list_push(&l->roles, sizeof(*to));
	if (!to) {
		phx_record_fini(&phx_role_record, &role);
		return -ENOMEM;
	}
	*to = role;
	return 0;
}

int phx_roles_load(const char *dir, const struct phx_role_lookup *lookup,
		   struct phx_list *ret_roles, struct phx_list *ret_bad, struct phx_err *err)
{
	struct loading l = {.lookup = lookup, .keep_bad = ret_bad};
	int r = phx_conf_each(dir, INT_MAX, add_role, &l, err);
	if (r < 0) {
		phx_roles_fini(&l.roles);
		phx_list_fini(&l.bad);
		return r;
	}
	*ret_roles = l.roles;
	if (ret_bad)
		*ret_bad = l.bad;
	return 0;
}
