/* Disk layouts as values: see layout.h. Called by the configuration, by the core, and by the agent,
 * which checks again what it is told and what it finds on its disk. Pure. */
#include "types/layout.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "types/disk_select.h"

#define MIB (1ull << 20)

#define NAME(id, name, ...) name,
static const char *const joins[] = {PHX_LAYOUT_JOINS(NAME)};
static const char *const types[] = {PHX_LAYOUT_TYPES(NAME)};
#undef NAME
static const char *const picks[] = {"one", "smallest", "largest", "all"};
static const char *const kinds[] = {"any", "ssd", "hdd"};
const struct phx_enum phx_layout_join_names = {"join", joins, PHX_ARRAY_SIZE(joins)};
const struct phx_enum phx_layout_type_names = {"file system", types, PHX_ARRAY_SIZE(types)};
const struct phx_enum phx_layout_pick_names = {"pick", picks, PHX_ARRAY_SIZE(picks)};
const struct phx_enum phx_layout_kind_names = {"kind of disk", kinds, PHX_ARRAY_SIZE(kinds)};

PHX_RECORD_TABLE(phx_layout_volume, PHX_LAYOUT_VOLUME_FIELDS);
PHX_RECORD_TABLE(phx_layout_part, PHX_LAYOUT_PART_FIELDS);
PHX_RECORD_TABLE(phx_layout, PHX_LAYOUT_FIELDS);

uint32_t phx_layout_least_disks(enum phx_layout_join join)
{
#define LEAST(id, name, least, text) least,
	static const uint32_t least_disks[] = {PHX_LAYOUT_JOINS(LEAST)};
#undef LEAST
	return least_disks[join];
}

uint64_t phx_layout_least_bytes(enum phx_layout_type type)
{
#define LEAST(id, name, least) least,
	static const uint64_t least_bytes[] = {PHX_LAYOUT_TYPES(LEAST)};
#undef LEAST
	return least_bytes[type];
}

const struct phx_layout_volume *phx_layout_volume(const struct phx_list *volumes, const char *name)
{
	PHX_LIST_EACH(struct phx_layout_volume, v, volumes)
		if (!strcmp(v->name, name))
			return v;
	return NULL;
}

bool phx_layout_same(const struct phx_list *a, const struct phx_list *b)
{
	if (a->n != b->n)
		return false;
	for (uint32_t i = 0; i < a->n; i++)
		if (!phx_record_equal(&phx_layout_volume_record,
				      PHX_LIST_AT(a, struct phx_layout_volume, i),
				      PHX_LIST_AT(b, struct phx_layout_volume, i)))
			return false;
	return true;
}

/* ---- sizes ---- */

static bool parse_percent(const char *size, uint64_t *ret)
{
	size_t digits = strspn(size, "0123456789");
	if (!digits || digits > 3 || strcmp(size + digits, "%") != 0)
		return false;
	*ret = strtoull(size, NULL, 10);
	return *ret >= 1 && *ret <= 100;
}

int phx_layout_size(const char *size, uint64_t left, uint64_t *ret, struct phx_err *err)
{
	uint64_t bytes = left, percent;
	if (parse_percent(size, &percent))
		bytes = left / 100 * percent;
	else if (size[0] && (phx_size_parse(size, &bytes) < 0 || bytes < MIB))
		return phx_err_set(err, -EINVAL,
				   "size: '%s' must be a size from 1 MiB on, as 64 GiB, or a part "
				   "of what is left, from 1%% to 100%%",
				   size);
	*ret = bytes / MIB * MIB;
	return 0;
}

/* ---- what is wrong with one ---- */

/* Below these nothing is mounted: the system or Phoenix lives there. */
static bool is_of_system(const char *path)
{
	static const char *const whole[] = {"/",    "/var",     "/var/lib", "/opt",
					    "/tmp", "/var/log", "/var/tmp"};
	static const char *const below[] = {"/bin",
					    "/boot",
					    "/dev",
					    "/etc",
					    "/lib",
					    "/lib32",
					    "/lib64",
					    "/libx32",
					    "/proc",
					    "/run",
					    "/sys",
					    "/usr",
					    "/sbin",
					    "/root",
					    "/var/run",
					    "/opt/phoenix",
					    "/var/lib/phoenix",
					    "/var/lib/systemd",
					    "/var/lib/dpkg"};
	for (size_t i = 0; i < PHX_ARRAY_SIZE(whole); i++)
		if (!strcmp(path, whole[i]))
			return true;
	for (size_t i = 0; i < PHX_ARRAY_SIZE(below); i++) {
		size_t n = strlen(below[i]);
		if (!strncmp(path, below[i], n) && (!path[n] || path[n] == '/'))
			return true;
	}
	return false;
}

static bool only(const char *text, const char *allowed)
{
	for (; *text; text++)
		if (!(*text >= 'a' && *text <= 'z') && !(*text >= 'A' && *text <= 'Z') &&
		    !(*text >= '0' && *text <= '9') && !strchr(allowed, *text))
			return false;
	return true;
}

/* "/a/b": no "//", ".", "..", no '/' at the end. */
static bool is_plain(const char *path)
{
	size_t n = strlen(path);
	return path[0] == '/' && path[n - 1] != '/' && !strstr(path, "//") &&
		!strstr(path, "/./") && !strstr(path, "/../") &&
		strcmp(path + n - (n > 1 ? 2 : 1), "/.") != 0 &&
		(n < 3 || strcmp(path + n - 3, "/..") != 0);
}

static int check_mount(const struct phx_layout_volume *v, struct phx_err *err)
{
	bool swap = v->type == PHX_LAYOUT_SWAP;
	if (swap && (v->mount[0] || v->options[0] || v->scratch))
		return phx_err_set(err, -EINVAL,
				   "swap has no mount, no options, and is no scratch");
	if (swap)
		return 0;
	if (!v->mount[0])
		return phx_err_set(err, -EINVAL, "mount is missing: where it is mounted");
	if (!only(v->mount, "/._-") || !is_plain(v->mount) || is_of_system(v->mount))
		return phx_err_set(err, -EINVAL,
				   "mount: '%s' must be an absolute path of letters, digits and "
				   "._-, without \"..\" and \"//\", and no directory that the "
				   "system or Phoenix lives by",
				   v->mount);
	if (!only(v->options, "=,._-:"))
		return phx_err_set(err, -EINVAL,
				   "options: '%s' must be words of letters, digits and =._-: with "
				   "commas between",
				   v->options);
	return 0;
}

static int check_disks(const struct phx_layout_volume *v, struct phx_err *err)
{
	uint64_t size;
	bool one = v->pick != PHX_LAYOUT_ALL;
	uint32_t least = phx_layout_least_disks((enum phx_layout_join)v->join),
		 n = one ? 1 : v->count;
	PHX_LIST_EACH(struct phx_word, w, &v->disks) {
		struct phx_err why = {0};
		if (phx_disk_selector_check(w->text, &why) < 0)
			return phx_err_set(err, -EINVAL, "disks: \"%.100s\" %s", w->text, why.text);
	}
	if (one && v->count)
		return phx_err_set(err, -EINVAL, "count is for pick = \"all\"");
	if (n && n < least)
		return phx_err_set(err, -EINVAL,
				   "join: %s needs %u disks or more: pick = \"all\"%s",
				   joins[v->join], least, one ? "" : ", and a larger count");
	if (!one && v->join == PHX_LAYOUT_PLAIN && v->count != 1)
		return phx_err_set(err, -EINVAL,
				   "join: several disks are no plain volume: it must be raid0, "
				   "raid1, raid10 or lvm");
	return phx_layout_size(v->size, UINT64_MAX, &size, err);
}

static int check_others(const struct phx_list *volumes, uint32_t i, struct phx_err *err)
{
	const struct phx_layout_volume *v = PHX_LIST_AT(volumes, struct phx_layout_volume, i);
	for (uint32_t k = 0; k < i; k++) {
		const struct phx_layout_volume *b =
			PHX_LIST_AT(volumes, struct phx_layout_volume, k);
		if (!strcmp(b->name, v->name))
			return phx_err_set(err, -EINVAL, "there are two of that name");
		if (v->mount[0] && !strcmp(b->mount, v->mount))
			return phx_err_set(err, -EINVAL, "mount: %s has volume '%s' already",
					   v->mount, b->name);
	}
	return 0;
}

int phx_layout_check(const struct phx_list *volumes, uint32_t *ret_index, struct phx_err *err)
{
	for (uint32_t i = 0; i < volumes->n; i++) {
		const struct phx_layout_volume *v =
			PHX_LIST_AT(volumes, struct phx_layout_volume, i);
		int r = phx_name_valid(v->name) && only(v->name, "._-")
			? 0
			: phx_err_set(err, -EINVAL, "that is no name");
		r = r ? r : check_disks(v, err);
		r = r ? r : check_mount(v, err);
		r = r ? r : check_others(volumes, i, err);
		if (r == 0 && i >= PHX_LAYOUT_VOLUMES_MAX)
			r = phx_err_set(err, -EINVAL, "there may be %d volumes",
					PHX_LAYOUT_VOLUMES_MAX);
		if (r < 0 && ret_index)
			*ret_index = i;
		if (r < 0)
			return phx_err_prefix(err, r, "layout: volume '%s'", v->name);
	}
	return 0;
}
