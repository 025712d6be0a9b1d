/* Files of a node for settings of its kernel, modules, mounts, names and logs: see internal.h.
 * Called by render.c. Each goes when no setting has it any more. Pure. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "site/internal.h"

enum { MODE_READ = 0644 };

/* A file with one line for each value of a kind; none without values. */
struct listing {
	enum phx_site_value_kind kind;
	const char *path;
	void (*put)(struct phx_buf *b, const struct phx_site_value *v);
	const char *run[4];
};

static void put_sysctl(struct phx_buf *b, const struct phx_site_value *v)
{
	phx_buf_addf(b, "%s = %s\n", v->name, v->text);
}

static void put_text(struct phx_buf *b, const struct phx_site_value *v)
{
	phx_buf_addf(b, "%s\n", v->text);
}

/* blacklist alone still lets others ask for it by name. */
static void put_blocked(struct phx_buf *b, const struct phx_site_value *v)
{
	phx_buf_addf(b, "blacklist %s\ninstall %s /bin/false\n", v->text, v->text);
}

static void put_syslog(struct phx_buf *b, const struct phx_site_value *v)
{
	bool udp = phx_str_starts(v->text, "udp:");
	phx_buf_addf(b, "*.* %s%s\n", udp ? "@" : "@@", v->text + (udp ? 4 : 0));
}

static const struct listing listings[] = {
	{PHX_SITE_VALUE_sysctl,
	 "/etc/sysctl.d/90-phoenix.conf",
	 put_sysctl,
	 {"systemctl", "restart", "systemd-sysctl.service"}},
	{PHX_SITE_VALUE_modules,
	 "/etc/modules-load.d/phoenix-site.conf",
	 put_text,
	 {"systemctl", "restart", "systemd-modules-load.service"}},
	{PHX_SITE_VALUE_modules_blocked, "/etc/modprobe.d/phoenix-site.conf", put_blocked, {NULL}},
	{PHX_SITE_VALUE_syslog,
	 "/etc/rsyslog.d/90-phoenix.conf",
	 put_syslog,
	 {"systemctl", "try-restart", "rsyslog.service"}},
};

static int make_listing(struct phx_site_making *m, const struct listing *l)
{
	const struct phx_list *values = &m->e->values[l->kind];
	PHX_AUTO(phx_buf_fini) struct phx_buf b = {0};
	if (!values->n)
		return 0;
	phx_buf_addf(&b, PHX_SITE_MADE);
	PHX_LIST_EACH(struct phx_site_found, f, values)
		l->put(&b, f->value);
	return phx_site_out_add(m, l->path, MODE_READ, phx_buf_take(&b), l->run);
}

static int make_resolver(struct phx_site_making *m)
{
	const struct phx_list *dns = &m->e->values[PHX_SITE_VALUE_dns];
	const struct phx_list *search = &m->e->values[PHX_SITE_VALUE_search];
	PHX_AUTO(phx_buf_fini) struct phx_buf b = {0};
	if (!dns->n)
		return 0;
	phx_buf_addf(&b, PHX_SITE_MADE);
	PHX_LIST_EACH(struct phx_site_found, f, dns)
		phx_buf_addf(&b, "nameserver %s\n", f->value->text);
	PHX_LIST_EACH(struct phx_site_found, f, search)
		phx_buf_addf(&b, "%s%s", f == search->items ? "search " : " ", f->value->text);
	phx_buf_addf(&b, "%s", search->n ? "\n" : "");
	return phx_site_out_add(m, "/etc/resolv.conf", MODE_READ, phx_buf_take(&b), NULL);
}

/* ---- mounts ---- */

static bool is_plain(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
		c == '_' || c == ':' || c == '.';
}

/* The name of the unit of a mount point, as systemd.unit(5) has it: "/a-b/c" is a\x2db-c.mount. */
static void put_unit(struct phx_buf *b, const char *where)
{
	for (const char *c = where + 1; *c; c++) {
		bool first = c == where + 1;
		if (*c == '/')
			phx_buf_addf(b, "-");
		else if (is_plain(*c) && !(first && *c == '.'))
			phx_buf_add(b, c, 1);
		else
			phx_buf_addf(b, "\\x%02x", (unsigned char)*c);
	}
	phx_buf_addf(b, ".mount");
}

static bool is_remote(const struct phx_site_mount *mount)
{
	static const char *const types[] = {"nfs",  "nfs4",   "cifs",     "lustre",
					    "ceph", "beegfs", "glusterfs"};
	for (size_t i = 0; i < PHX_ARRAY_SIZE(types); i++)
		if (!strcmp(mount->type, types[i]))
			return true;
	return false;
}

/* In a unit a % begins a specifier. */
static void put_value(struct phx_buf *b, const char *key, const char *text)
{
	phx_buf_addf(b, "%s=", key);
	for (const char *c = text; *c; c++)
		phx_buf_addf(b, *c == '%' ? "%%%%" : "%c", *c);
	phx_buf_addf(b, "\n");
}

static int make_mount(struct phx_site_making *m, const struct phx_site_mount *mount,
		      struct phx_buf *units)
{
	static const char *const reload[] = {"systemctl", "daemon-reload", NULL};
	PHX_AUTO(phx_buf_fini) struct phx_buf b = {0}, path = {0}, unit = {0};
	put_unit(&unit, mount->where);
	phx_buf_addf(&path, "/etc/systemd/system/%s", unit.data ? unit.data : "");
	phx_buf_addf(units, " %s", unit.data ? unit.data : "");
	phx_buf_addf(&b, PHX_SITE_MADE "[Unit]\nBefore=phoenix-mounts.target\n");
	if (is_remote(mount))
		phx_buf_addf(&b, "Wants=network-online.target\nAfter=network-online.target\n");
	phx_buf_addf(&b, "\n[Mount]\n");
	put_value(&b, "What", mount->what);
	put_value(&b, "Where", mount->where);
	put_value(&b, "Type", mount->type);
	if (mount->options[0])
		put_value(&b, "Options", mount->options);
	return path.failed || unit.failed
		? -ENOMEM
		: phx_site_out_add(m, path.data, MODE_READ, phx_buf_take(&b), reload);
}

/* One target has all of them. It is below /usr/local, so that it is the last by its path: it is
 * started when systemd knows the units. */
static int make_mounts(struct phx_site_making *m)
{
	static const char *const start[] = {"systemctl", "restart", "phoenix-mounts.target", NULL};
	static const char *const reload[] = {"systemctl", "daemon-reload", NULL};
	PHX_AUTO(phx_buf_fini) struct phx_buf units = {0}, target = {0};
	int r = 0;
	if (!m->e->mounts.n)
		return 0;
	PHX_LIST_EACH(struct phx_site_found, f, &m->e->mounts)
		r = r ? r : make_mount(m, f->mount, &units);
	phx_buf_addf(&target, PHX_SITE_MADE "[Unit]\nDescription=Mounts of the site\nRequires=%s\n",
		     units.data ? units.data + 1 : "");
	r = r ? r
		: units.failed
		? -ENOMEM
		: phx_site_out_add(
			  m, "/etc/systemd/system/multi-user.target.d/phoenix.conf", MODE_READ,
			  strdup(PHX_SITE_MADE "[Unit]\nWants=phoenix-mounts.target\n"), reload);
	return r ? r
		 : phx_site_out_add(m, "/usr/local/lib/systemd/system/phoenix-mounts.target",
				    MODE_READ, phx_buf_take(&target), start);
}

int phx_site_make_system(struct phx_site_making *m)
{
	int r = 0;
	for (size_t i = 0; i < PHX_ARRAY_SIZE(listings); i++)
		r = r ? r : make_listing(m, &listings[i]);
	r = r ? r : make_resolver(m);
	return r ? r : make_mounts(m);
}
