/* Selectors of disks: see disk_select.h. Called by the configuration, which checks them, by the
 * core and by the agent, which both leave protected disks alone. Pure. */
#include "types/disk_select.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

PHX_RECORD_TABLE(phx_protect, PHX_PROTECT_FIELDS);
PHX_RECORD_TABLE(phx_protect_group, PHX_PROTECT_GROUP_FIELDS);
PHX_RECORD_TABLE(phx_protect_node, PHX_PROTECT_NODE_FIELDS);

/* ---- terms ---- */

static bool meets_text(const char *have, const char *pattern)
{
	return have[0] && phx_str_matches(pattern, have);
}

static bool meets_id(const struct phx_disk_facts *d, const char *value)
{
	return meets_text(d->id, value);
}

static bool meets_serial(const struct phx_disk_facts *d, const char *value)
{
	return meets_text(d->serial, value);
}

static bool meets_model(const struct phx_disk_facts *d, const char *value)
{
	return meets_text(d->model, value);
}

static bool meets_transport(const struct phx_disk_facts *d, const char *value)
{
	return meets_text(d->transport, value);
}

static bool meets_path(const struct phx_disk_facts *d, const char *value)
{
	char paths[sizeof(d->path)];
	PHX_STR_SET(paths, d->path);
	for (char *save, *path = strtok_r(paths, " ", &save); path;
	     path = strtok_r(NULL, " ", &save))
		if (phx_str_matches(value, path))
			return true;
	return false;
}

/* "MIN..MAX", either of them may be missing; or one size. */
static int parse_range(const char *value, uint64_t *ret_min, uint64_t *ret_max)
{
	char min[PHX_SELECTOR_MAX];
	const char *dots = strstr(value, "..");
	if (PHX_STR_SET(min, value) < 0)
		return -EINVAL;
	*ret_min = 0;
	*ret_max = UINT64_MAX;
	if (!dots) {
		int r = phx_size_parse(value, ret_min);
		*ret_max = *ret_min;
		return r;
	}
	min[dots - value] = '\0';
	int r = min[0] ? phx_size_parse(min, ret_min) : 0;
	if (r == 0 && dots[2])
		r = phx_size_parse(dots + 2, ret_max);
	return r < 0 || *ret_min > *ret_max || (!min[0] && !dots[2]) ? -EINVAL : 0;
}

static bool meets_size(const struct phx_disk_facts *d, const char *value)
{
	uint64_t min, max;
	return d->size_bytes && parse_range(value, &min, &max) == 0 && d->size_bytes >= min &&
		d->size_bytes <= max;
}

static int check_size(const char *value)
{
	uint64_t min, max;
	return parse_range(value, &min, &max);
}

static const struct term {
	const char *key;
	bool (*meets)(const struct phx_disk_facts *d, const char *value);
	int (*check)(const char *value); /* NULL: any text is right */
} terms[] = {
	{"id", meets_id, NULL},       {"serial", meets_serial, NULL},
	{"model", meets_model, NULL}, {"transport", meets_transport, NULL},
	{"path", meets_path, NULL},   {"size", meets_size, check_size},
};

static const struct term *find_term(const char *key)
{
	for (size_t i = 0; i < PHX_ARRAY_SIZE(terms); i++)
		if (!strcmp(terms[i].key, key))
			return &terms[i];
	return NULL;
}

/* ---- selectors ---- */

/* Cuts the next "KEY=VALUE" off, without the blanks around it; NULL: there is none. *ret_value:
 * NULL without '='. */
static char *next_term(char **rest, char **ret_value)
{
	char *term = *rest, *comma = term ? strchr(term, ',') : NULL;
	if (!term)
		return NULL;
	*rest = comma ? comma + 1 : NULL;
	if (comma)
		*comma = '\0';
	term += strspn(term, " ");
	for (size_t n = strlen(term); n && term[n - 1] == ' '; n--)
		term[n - 1] = '\0';
	*ret_value = strchr(term, '=');
	if (*ret_value)
		*(*ret_value)++ = '\0';
	return term;
}

int phx_disk_selector_check(const char *selector, struct phx_err *err)
{
	char copy[PHX_SELECTOR_MAX], *rest = copy, *value;
	if (PHX_STR_SET(copy, selector) < 0)
		return phx_err_set(err, -EINVAL, "must have less than %d characters",
				   PHX_SELECTOR_MAX);
	if (strchr(copy, '\n'))
		return phx_err_set(err, -EINVAL, "must be one line");
	for (char *key; (key = next_term(&rest, &value));) {
		const struct term *t = find_term(key);
		if (!t || !value || !value[0])
			return phx_err_set(err, -EINVAL,
					   "must be KEY=VALUE, or several with commas between; "
					   "keys are id, serial, model, transport, path, size");
		if (t->check && t->check(value) < 0)
			return phx_err_set(err, -EINVAL,
					   "must have a size as in size=100GiB..2TiB, size=1TiB.. "
					   "or size=..64GB");
	}
	return 0;
}

bool phx_disk_selected(const char *selector, const struct phx_disk_facts *d)
{
	char copy[PHX_SELECTOR_MAX], *rest = copy, *value;
	bool all = PHX_STR_SET(copy, selector) == 0;
	for (char *key; all && (key = next_term(&rest, &value));) {
		const struct term *t = find_term(key);
		all = t && value && t->meets(d, value);
	}
	return all;
}

/* ---- protection ---- */

int phx_protect_add(struct phx_protect *p, const char *selectors)
{
	size_t had = strlen(p->selectors), more = strlen(selectors);
	if (had + 1 + more >= sizeof(p->selectors))
		return -E2BIG;
	snprintf(p->selectors + had, sizeof(p->selectors) - had, "%s%s", had && more ? "\n" : "",
		 selectors);
	return 0;
}

int phx_protect_check(const struct phx_protect *p, struct phx_err *err)
{
	char lines[PHX_SELECTORS_BOTH_MAX];
	int r = 0;
	PHX_STR_SET(lines, p->selectors);
	for (char *save, *line = strtok_r(lines, "\n", &save); r == 0 && line;
	     line = strtok_r(NULL, "\n", &save)) {
		r = phx_disk_selector_check(line, err);
		if (r < 0)
			phx_err_prefix(err, r, "\"%s\"", line);
	}
	return r;
}

bool phx_disk_protected(const struct phx_protect *p, const struct phx_disk_facts *d,
			char ret_why[PHX_PROTECTED_WHY_MAX])
{
	char lines[PHX_SELECTORS_BOTH_MAX];
	if (p->remote && d->remote) {
		snprintf(ret_why, PHX_PROTECTED_WHY_MAX,
			 "remote (%s), setting protect_remote_disks", d->transport);
		return true;
	}
	PHX_STR_SET(lines, p->selectors);
	for (char *save, *line = strtok_r(lines, "\n", &save); line;
	     line = strtok_r(NULL, "\n", &save)) {
		if (!phx_disk_selected(line, d))
			continue;
		snprintf(ret_why, PHX_PROTECTED_WHY_MAX, "setting protected_disks: %.70s", line);
		return true;
	}
	return false;
}
