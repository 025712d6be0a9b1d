/* phoenix.conf and conf.d merged into struct phx_config: see config.h. Called
 * by phxd and by `phx config`; keeps nothing. */
#include "config/config.h"

#include <errno.h>
#include <libgen.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "config/conf.h"
#include "config/option.h"
#include "types/role.h"

enum { CONF_FILES_MAX = 1000 };

void phx_config_fini(struct phx_config *cfg)
{
	phx_list_fini(&cfg->pools);
	phx_list_fini(&cfg->pool_origins);
	phx_webhooks_fini(cfg);
	phx_record_fini(&phx_options_record, cfg);
}

static void set_origin(struct phx_origin *o, const struct phx_conf *c, const config_setting_t *s)
{
	snprintf(o->file, sizeof(o->file), "%s", c->file);
	o->line = phx_conf_line(s);
}

/* ---- pools ---- */

static int find_pool(const struct phx_config *cfg, const char *name)
{
	for (uint32_t i = 0; i < cfg->pools.n; i++)
		if (!strcmp(PHX_LIST_AT(&cfg->pools, struct phx_pool, i)->name, name))
			return (int)i;
	return -ENOENT;
}

/* Without a word about it, a pool's nodes are wiped when they leave it. */
static int read_pool(const struct phx_conf *c, const config_setting_t *s, struct phx_pool *ret,
		     struct phx_err *err)
{
	*ret = (struct phx_pool){.setup = {PHX_SETUP_WIPE, PHX_WIPE_AUTO, PHX_WHEN_RELEASE,
					   PHX_VERIFY_SAMPLE, PHX_SETUP_START_AUTO}};
	return phx_conf_group(c, s, &phx_pool_record, ret, err);
}

static int add_pool(const struct phx_conf *c, const config_setting_t *s, struct phx_config *cfg,
		    struct phx_err *err)
{
	struct phx_pool pool;
	int r = read_pool(c, s, &pool, err);
	if (r < 0)
		return r;
	int had = find_pool(cfg, pool.name);
	if (had >= 0) {
		const struct phx_origin *o =
			PHX_LIST_AT(&cfg->pool_origins, struct phx_origin, had);
		return phx_conf_fail(
			c, s, -EINVAL, err,
			"pool '%s' is already at %s:%u; each pool belongs in one place", pool.name,
			o->file, o->line);
	}
	struct phx_pool *p = phx_list_push(&cfg->pools, sizeof(*p));
	struct phx_origin *o = phx_list_push(&cfg->pool_origins, sizeof(*o));
	if (!p || !o)
		return -ENOMEM;
	*p = pool;
	set_origin(o, c, s);
	return 0;
}

static int read_pools(const struct phx_conf *c, struct phx_config *cfg, struct phx_err *err)
{
	config_setting_t *list;
	int r = phx_conf_list(c, config_root_setting(&c->cfg), "pools", &list, err);
	for (int i = 0; r == 0 && list && i < config_setting_length(list); i++)
		r = add_pool(c, config_setting_get_elem(list, (unsigned)i), cfg, err);
	return r;
}

/* ---- files ---- */

static int unknown_option(const struct phx_conf *c, const config_setting_t *s, struct phx_err *err)
{
	const char *name = config_setting_name(s);
	const char *close = NULL;
	for (int i = 0; i < PHX_OPT_COUNT_; i++) {
		const char *key = phx_option((enum phx_option_id)i)->key->name;
		if (!close && (strstr(key, name) || strstr(name, key) || !strncmp(key, name, 4)))
			close = key;
	}
	return phx_conf_fail(c, s, -EINVAL, err,
			     "unknown key '%s'; %s%s%sphoenix.conf(5) lists the keys", name,
			     close ? "is '" : "", close ? close : "", close ? "' meant? " : "");
}

static int merge_file(void *into, const char *path, struct phx_err *err)
{
	struct phx_config *cfg = into;
	PHX_AUTO(phx_conf_fini) struct phx_conf c = {0};
	int r = phx_conf_read(path, &c, err);
	const config_setting_t *root = r == 0 ? config_root_setting(&c.cfg) : NULL;
	for (int i = 0; r == 0 && i < config_setting_length(root); i++) {
		const config_setting_t *s = config_setting_get_elem(root, (unsigned)i);
		const struct phx_field *o =
			phx_key_find(&phx_options_record, config_setting_name(s));
		if (!o && strcmp(config_setting_name(s), "pools") &&
		    strcmp(config_setting_name(s), "webhooks"))
			return unknown_option(&c, s, err);
		if (!o)
			continue;
		r = phx_conf_value(&c, s, o, (char *)cfg + o->offset, err);
		set_origin(&cfg->origins[o - phx_options_record.fields], &c, s);
	}
	r = r < 0 ? r : read_pools(&c, cfg, err);
	return r < 0 ? r : phx_webhooks_read(&c, cfg, err);
}

/* ---- paths that begin with another ---- */

static int expand_one(const struct phx_field *o, const char *word, const char *dir,
		      struct phx_config *cfg, struct phx_err *err)
{
	char *member = (char *)cfg + o->offset;
	char text[PHX_CONFIG_TEXT_MAX * 2];
	if (!phx_str_starts(member, word))
		return 0;
	snprintf(text, sizeof(text), "%s%s", dir, member + strlen(word));
	if (strlen(text) > o->key->max)
		return phx_err_set(err, -EINVAL, "%s = \"%s\" has more than %u characters", o->name,
				   text, o->key->max);
	return phx_str_copy(member, o->size, text);
}

static int expand_paths(const char *config_dir, struct phx_config *cfg, struct phx_err *err)
{
	const struct {
		const char *word, *dir;
	} words[] = {{"{config_dir}", config_dir},
		     {"{state_dir}", cfg->state_dir},
		     {"{run_dir}", cfg->run_dir}};
	int r = 0;
	for (size_t w = 0; r == 0 && w < PHX_ARRAY_SIZE(words); w++)
		for (int i = 0; r == 0 && i < PHX_OPT_COUNT_; i++) {
			const struct phx_field *o = phx_option((enum phx_option_id)i);
			if (o->key->form == PHX_KEY_PLACE)
				r = expand_one(o, words[w].word, words[w].dir, cfg, err);
		}
	if (r == 0 && (cfg->state_dir[0] != '/' || cfg->run_dir[0] != '/'))
		r = phx_err_set(err, -EINVAL,
				"state_dir and run_dir may not begin with each other");
	return r;
}

int phx_config_defaults(const char *config_dir, struct phx_config *ret, struct phx_err *err)
{
	struct phx_config cfg = {0};
	int r = phx_key_defaults(&phx_options_record, &cfg, err);
	if (r == 0)
		r = expand_paths(config_dir, &cfg, err);
	if (r < 0)
		phx_config_fini(&cfg);
	else
		*ret = cfg;
	return r;
}

int phx_config_load(const char *path, struct phx_config *ret, struct phx_err *err)
{
	PHX_AUTO_FREE char *copy = realpath(path, NULL);
	if (!copy)
		return phx_err_set(err, -errno, "%s: %s", path, strerror(errno));
	char file[PHX_CONFIG_TEXT_MAX];
	if (PHX_STR_SET(file, copy) < 0)
		return phx_err_set(err, -ENAMETOOLONG, "%s: too long a path", path);
	const char *dir = dirname(copy);
	PHX_AUTO_FREE char *conf_d = phx_path("%s/conf.d", dir);
	struct phx_config cfg = {0};
	int r = conf_d ? phx_key_defaults(&phx_options_record, &cfg, err) : -ENOMEM;
	if (r == 0)
		r = merge_file(&cfg, path, err);
	bool there = access(conf_d, F_OK) == 0 || errno != ENOENT;
	if (r == 0 && there)
		r = phx_conf_each(conf_d, CONF_FILES_MAX, merge_file, &cfg, err);
	if (r == 0)
		r = expand_paths(dir, &cfg, err);
	if (r == 0)
		r = phx_config_check(&cfg, path, err);
	PHX_STR_SET(cfg.file, file);
	if (r < 0)
		phx_config_fini(&cfg);
	else
		*ret = cfg;
	return r;
}

/* A beat may be half a second late; and whoever is quiet has a second at least to be heard
 * again. */
enum { LATE_MS = 500, REST_MIN_MS = 1000 };

uint32_t phx_config_quiet_ms(const struct phx_config *cfg)
{
	uint32_t half_ms = cfg->balance_after_ms / 2, soonest_ms = cfg->heartbeat_ms + LATE_MS;
	return half_ms > soonest_ms ? half_ms : soonest_ms;
}

static uint32_t rest_ms(const struct phx_config *cfg)
{
	uint32_t quiet_ms = phx_config_quiet_ms(cfg), out_ms = cfg->balance_after_ms;
	return out_ms > quiet_ms + REST_MIN_MS ? out_ms - quiet_ms : REST_MIN_MS;
}

void phx_config_settings(const struct phx_config *cfg, struct phx_settings *ret)
{
	*ret = (struct phx_settings){
		.auto_assign = cfg->auto_assign,
		.missing_after_ms = cfg->missing_after_ms,
		.repairs_max = cfg->repairs_max,
		.power_off_quarantined = cfg->power_off_quarantined,
		.job_heartbeat_timeout_ms = cfg->job_heartbeat_timeout_s * 1000,
		.job_output_max_mb = cfg->job_output_max_mb,
		.balance_rest_ms = rest_ms(cfg),
		.jobs_per_user = cfg->jobs_per_user,
		.triggers_per_user = cfg->triggers_per_user,
		.job_mb_per_user = cfg->job_mb_per_user,
		.looks = true,
		.tokens = true,
		.attests = true,
		.measures = true,
		.rekeys = true,
		.resets = true,
		.takes_back = true,
		.takes_unheard = true,
		.shares_triggers = true,
		.doubts_claims = true,
		.protects = true,
		.keeps_left = true,
		.serves_late = true,
		.doubts_uuids = true,
		.redoes_role = true,
		.shares_addresses = true,
		.address_back_s = cfg->address_back_s,
		.restart_silent_s = cfg->restart_silent_s,
		.soft_off_s = cfg->soft_off_s,
	};
	PHX_STR_SET(ret->image_deploy, cfg->deploy_image);
	ret->protect.remote = cfg->protect_remote_disks;
	phx_config_selectors(cfg, ret->protect.selectors);
}

/* ---- showing ---- */

PHX_RECORD_TABLE(phx_config_line, PHX_CONFIG_LINE_FIELDS);

static void format_origin(const struct phx_origin *o, char *buf, size_t size)
{
	if (o->line)
		snprintf(buf, size, "%s:%u", o->file, o->line);
	else
		snprintf(buf, size, "default");
}

static int show_pools(const struct phx_config *cfg, struct phx_list *lines)
{
	for (uint32_t i = 0; i < cfg->pools.n; i++) {
		const struct phx_pool *p = PHX_LIST_AT(&cfg->pools, struct phx_pool, i);
		struct phx_config_line *l = phx_list_push(lines, sizeof(*l));
		if (!l)
			return -ENOMEM;
		snprintf(l->key, sizeof(l->key), "pools.%s", p->name);
		snprintf(l->value, sizeof(l->value),
			 "owner=%s setup=%s method=%s when=%s verify=%s start=%s", p->owner,
			 phx_enum_name(&phx_setup_mode_names, p->setup.mode),
			 phx_enum_name(&phx_wipe_method_names, p->setup.method),
			 phx_enum_name(&phx_setup_when_names, p->setup.when),
			 phx_enum_name(&phx_verify_names, p->setup.verify),
			 phx_enum_name(&phx_setup_start_names, p->setup.start));
		format_origin(PHX_LIST_AT(&cfg->pool_origins, struct phx_origin, i), l->origin,
			      sizeof(l->origin));
	}
	return 0;
}

int phx_config_show(const struct phx_config *cfg, struct phx_list *ret_lines)
{
	struct phx_list lines = {0};
	for (int i = 0; i < PHX_OPT_COUNT_; i++) {
		const struct phx_field *o = phx_option((enum phx_option_id)i);
		struct phx_config_line *l = phx_list_push(&lines, sizeof(*l));
		if (!l) {
			phx_list_fini(&lines);
			return -ENOMEM;
		}
		PHX_STR_SET(l->key, o->key->name);
		phx_key_format(o, (const char *)cfg + o->offset, l->value, sizeof(l->value));
		format_origin(&cfg->origins[i], l->origin, sizeof(l->origin));
	}
	if (show_pools(cfg, &lines) < 0 || phx_webhooks_show(cfg, &lines) < 0) {
		phx_list_fini(&lines);
		return -ENOMEM;
	}
	*ret_lines = lines;
	return 0;
}
