/* RE agreements from files of either format: see agreement.h. Called by phx. */
#include "config/agreement.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/file.h"
#include "config/agreement_internal.h"
#include "config/conf.h"
#include "types/re_kind.h"

/* A scalar as text; false for what is none. */
static bool scalar_text(const config_setting_t *s, char *ret, size_t size)
{
	switch (config_setting_type(s)) {
	case CONFIG_TYPE_STRING:
		return snprintf(ret, size, "%s", config_setting_get_string(s)) < (int)size;
	case CONFIG_TYPE_BOOL:
		snprintf(ret, size, "%s", config_setting_get_bool(s) ? "true" : "false");
		return true;
	case CONFIG_TYPE_INT:
	case CONFIG_TYPE_INT64:
		snprintf(ret, size, "%lld", config_setting_get_int64(s));
		return true;
	case CONFIG_TYPE_FLOAT:
		snprintf(ret, size, "%.6f", config_setting_get_float(s));
		return true;
	default: /* libconfig's own numbers: groups, arrays, lists */
		return false;
	}
}

static bool is_line(const char *text)
{
	for (; *text; text++)
		if ((unsigned char)*text < 0x20 || *text == 0x7f)
			return false;
	return true;
}

static void put_setting(struct agreement_reading *rd, const config_setting_t *s, bool extension)
{
	char text[256];
	const char *name = config_setting_name(s);
	uint32_t line = phx_conf_line(s);
	if (!scalar_text(s, text, sizeof(text)) || !is_line(text))
		phx_agreement_find(
			rd, line, name,
			"must be one value of one printable line, of at most 255 characters");
	else if (extension)
		phx_agreement_extend(rd, name, text, line);
	else
		phx_agreement_put(rd, name, text, line);
}

static void read_extensions(struct agreement_reading *rd, const config_setting_t *s)
{
	if (config_setting_type(s) != CONFIG_TYPE_GROUP) {
		phx_agreement_find(rd, phx_conf_line(s), "extensions",
				   "must be a group: { key = \"value\"; }");
		return;
	}
	for (int i = 0; i < config_setting_length(s); i++)
		put_setting(rd, config_setting_get_elem(s, (unsigned)i), true);
}

/* "FILE:LINE: text" of the parser, taken apart. */
static void find_syntax(struct agreement_reading *rd, const char *what, const char *text)
{
	size_t n = strlen(what);
	unsigned line = 0;
	int used = 0;
	if (!strncmp(text, what, n) && sscanf(text + n, ":%u: %n", &line, &used) == 1 && used)
		text += n + (size_t)used;
	phx_agreement_find(rd, line, "", "%s", text);
}

static void read_conf(struct agreement_reading *rd, const char *text, size_t n, const char *what)
{
	struct phx_conf c;
	struct phx_err why = {0};
	if (phx_conf_parse(text, n, what, &c, &why) < 0) {
		find_syntax(rd, what, why.text);
		return;
	}
	const config_setting_t *root = config_root_setting(&c.cfg);
	for (int i = 0; i < config_setting_length(root); i++) {
		const config_setting_t *s = config_setting_get_elem(root, (unsigned)i);
		if (!strcmp(config_setting_name(s), "extensions"))
			read_extensions(rd, s);
		else
			put_setting(rd, s, false);
	}
	phx_conf_fini(&c);
}

static void found(void *arg, const char *field, const char *text)
{
	struct agreement_reading *rd = arg;
	uint32_t line = phx_agreement_line(rd, field);
	phx_agreement_find(rd, line ? line : rd->line, field, "%s", text);
}

/* What is not said: the name is the file's, the role that of its workload, and a web service begins
 * with as many instances as the paper's. */
static void complete(struct agreement_reading *rd, const char *name)
{
	if (!rd->a.name[0])
		phx_str_copy(rd->a.name, sizeof(rd->a.name), name);
	if (!rd->a.role[0])
		phx_str_copy(rd->a.role, sizeof(rd->a.role),
			     phx_re_kind(&rd->a)->roles[rd->a.engine]);
	if (!phx_agreement_line(rd, "initial_instances"))
		rd->a.initial = phx_agreement_initial(&rd->a);
	if (!phx_agreement_line(rd, "resource_coordination_model"))
		rd->a.model = phx_agreement_model(&rd->a);
	if (!phx_agreement_line(rd, "cycle"))
		rd->a.cycle_s = phx_agreement_cycle(&rd->a);
}

/* Everything has a default but how many nodes it is about: a file that says nothing asks for
 * nothing. */
static void need_lower(struct agreement_reading *rd)
{
	bool leases = phx_policy((enum phx_policy_id)rd->a.model)->per_job_lease;
	if (!rd->findings.n && !leases && !phx_agreement_line(rd, "lower_bound_size"))
		phx_agreement_find(rd, rd->line, "lower_bound_size",
				   "is missing: how many nodes are guaranteed");
}

static int first_finding(const struct agreement_reading *rd, const char *what, struct phx_err *err)
{
	const struct phx_agreement_finding *f =
		PHX_LIST_AT(&rd->findings, struct phx_agreement_finding, 0);
	const char *field = f->field, *between = *field ? ": " : "";
	if (!f->line)
		return phx_err_set(err, -EINVAL, "%s: %s%s%s", what, field, between, f->text);
	return phx_err_set(err, -EINVAL, "%s:%u: %s%s%s", what, f->line, field, between, f->text);
}

static bool is_xml(const char *text, size_t n)
{
	size_t i = n >= 3 && !memcmp(text, "\xef\xbb\xbf", 3) ? 3 : 0;
	while (i < n && isspace((unsigned char)text[i]))
		i++;
	return i < n && text[i] == '<';
}

static void read_any(struct agreement_reading *rd, const char *text, size_t n, const char *what)
{
	phx_agreement_init(&rd->a);
	if (is_xml(text, n))
		phx_agreement_read_xml(rd, text, n);
	else
		read_conf(rd, text, n, what);
}

uint32_t phx_agreement_line_in(const char *path, const char *field)
{
	struct agreement_reading rd = {.line = 1};
	PHX_AUTO_FREE char *text = NULL;
	size_t n = 0;
	if (phx_file_read(path, PHX_AGREEMENT_FILE_MAX, &text, &n, NULL) < 0)
		return 0;
	read_any(&rd, text, n, path);
	uint32_t line = phx_agreement_line(&rd, field);
	phx_list_fini(&rd.given);
	phx_list_fini(&rd.findings);
	phx_record_fini(&phx_agreement_record, &rd.a);
	return line;
}

int phx_agreement_given_in(const char *text, size_t n, struct phx_list *ret)
{
	struct agreement_reading rd = {.line = 1};
	*ret = (struct phx_list){0};
	if (n <= PHX_AGREEMENT_FILE_MAX)
		read_any(&rd, text, n, "");
	phx_list_fini(&rd.findings);
	phx_record_fini(&phx_agreement_record, &rd.a);
	if (rd.error == 0)
		*ret = rd.given;
	else
		phx_list_fini(&rd.given);
	return rd.error;
}

int phx_agreement_parse(const char *text, size_t n, const char *what, const char *name,
			struct phx_agreement *ret, struct phx_list *ret_findings,
			struct phx_err *err)
{
	struct agreement_reading rd = {.line = 1};
	if (n > PHX_AGREEMENT_FILE_MAX)
		return phx_err_set(err, -EFBIG, "%s: an agreement has at most %u bytes", what,
				   PHX_AGREEMENT_FILE_MAX);
	read_any(&rd, text, n, what);
	complete(&rd, name);
	if (!rd.findings.n)
		phx_agreement_check_new(&rd.a, found, &rd);
	need_lower(&rd);
	int r = rd.error ? rd.error : rd.findings.n ? first_finding(&rd, what, err) : 0;
	phx_list_fini(&rd.given);
	if (r == 0)
		*ret = rd.a;
	else
		phx_record_fini(&phx_agreement_record, &rd.a);
	if (ret_findings)
		*ret_findings = rd.findings;
	else
		phx_list_fini(&rd.findings);
	return r;
}

/* "dir/batch.conf" is the RE batch; "" where that is no name. */
static void name_of_file(const char *path, char ret[PHX_NAME_MAX])
{
	const char *base = strrchr(path, '/');
	base = base ? base + 1 : path;
	const char *dot = strrchr(base, '.');
	size_t n = dot && dot != base ? (size_t)(dot - base) : strlen(base);
	snprintf(ret, PHX_NAME_MAX, "%.*s", n < PHX_NAME_MAX ? (int)n : 0, base);
	if (!phx_name_valid(ret))
		ret[0] = '\0';
}

int phx_agreement_load(const char *path, struct phx_agreement *ret, struct phx_list *ret_findings,
		       struct phx_err *err)
{
	PHX_AUTO_FREE char *text = NULL;
	char name[PHX_NAME_MAX];
	size_t n = 0;
	if (ret_findings)
		*ret_findings = (struct phx_list){0};
	int r = phx_file_read(path, PHX_AGREEMENT_FILE_MAX, &text, &n, err);
	if (r < 0)
		return r;
	name_of_file(path, name);
	return phx_agreement_parse(text, n, path, name, ret, ret_findings, err);
}
