/* See webhook.h. Called by config.c. */
#include "config/webhook.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "config/config.h"

PHX_RECORD_TABLE(phx_webhook, PHX_WEBHOOK_FIELDS);

void phx_webhooks_fini(struct phx_config *cfg)
{
	PHX_LIST_EACH(struct phx_webhook, w, &cfg->webhooks)
		phx_record_fini(&phx_webhook_record, w);
	phx_list_fini(&cfg->webhooks);
	phx_list_fini(&cfg->webhook_origins);
}

/* phx config show tells the url to everybody who may look at the configuration. */
static const char *wrong_url(const char *url)
{
	const char *host = phx_str_starts(url, "https://") ? url + strlen("https://")
		: phx_str_starts(url, "http://")           ? url + strlen("http://")
							   : "";
	size_t n = strcspn(host, "/?#");
	if (!n)
		return "must begin with https://HOST or http://HOST";
	if (memchr(host, '@', n))
		return "must name no user: a secret belongs into secret_file";
	return strpbrk(url, " \\\"") ? "must have no blank, backslash or quote" : NULL;
}

static const char *wrong_file(const char *path)
{
	return path[0] && path[0] != '/' ? "must be a whole path, from / on" : NULL;
}

int phx_event_kinds_check(const struct phx_list *kinds, struct phx_err *err)
{
	int kind;
	PHX_LIST_EACH(struct phx_word, k, kinds)
		if (phx_enum_parse(&phx_event_kind_names, k->text, &kind, NULL) < 0)
			return phx_err_set(err, -EINVAL,
					   "kinds: '%s' is no kind of event: phx events -o wide "
					   "shows them, as missing, quarantine, step_result",
					   k->text);
	return 0;
}

static int check(const struct phx_webhook *w, struct phx_err *err)
{
	const char *wrong = wrong_url(w->url), *secret = wrong_file(w->secret_file),
		   *ca = wrong_file(w->ca_file);
	if (wrong)
		return phx_err_set(err, -EINVAL, "url %s", wrong);
	if (secret || ca)
		return phx_err_set(err, -EINVAL, "%s %s", secret ? "secret_file" : "ca_file",
				   secret ? secret : ca);
	return phx_event_kinds_check(&w->kinds, err);
}

static int check_new(const struct phx_config *cfg, const struct phx_webhook *w, struct phx_err *err)
{
	for (uint32_t i = 0; i < cfg->webhooks.n; i++) {
		const struct phx_origin *o =
			PHX_LIST_AT(&cfg->webhook_origins, struct phx_origin, i);
		if (!strcmp(PHX_LIST_AT(&cfg->webhooks, struct phx_webhook, i)->name, w->name))
			return phx_err_set(err, -EINVAL, "webhook '%s' is already at %s:%u",
					   w->name, o->file, o->line);
	}
	return cfg->webhooks.n < PHX_WEBHOOKS_MAX
		? check(w, err)
		: phx_err_set(err, -EINVAL, "there may be %d webhooks at most", PHX_WEBHOOKS_MAX);
}

static int add(const struct phx_conf *c, const config_setting_t *s, struct phx_config *cfg,
	       struct phx_err *err)
{
	struct phx_webhook w = {0};
	int r = phx_conf_group(c, s, &phx_webhook_record, &w, err);
	if (r == 0 && check_new(cfg, &w, err) < 0)
		r = phx_conf_place(c, s, -EINVAL, err);
	struct phx_webhook *to = r ? NULL : phx_list_push(&cfg->webhooks, sizeof(*to));
	struct phx_origin *o = to ? phx_list_push(&cfg->webhook_origins, sizeof(*o)) : NULL;
	if (!o) {
		if (to)
			cfg->webhooks.n--;
		phx_record_fini(&phx_webhook_record, &w);
		return r ? r : -ENOMEM;
	}
	*to = w;
	PHX_STR_SET(o->file, c->file);
	o->line = phx_conf_line(s);
	return 0;
}

int phx_webhooks_read(const struct phx_conf *c, struct phx_config *cfg, struct phx_err *err)
{
	config_setting_t *list;
	int r = phx_conf_list(c, config_root_setting(&c->cfg), "webhooks", &list, err);
	for (int i = 0; r == 0 && list && i < config_setting_length(list); i++)
		r = add(c, config_setting_get_elem(list, (unsigned)i), cfg, err);
	return r;
}

int phx_webhooks_show(const struct phx_config *cfg, struct phx_list *lines)
{
	for (uint32_t i = 0; i < cfg->webhooks.n; i++) {
		const struct phx_webhook *w = PHX_LIST_AT(&cfg->webhooks, struct phx_webhook, i);
		const struct phx_origin *o =
			PHX_LIST_AT(&cfg->webhook_origins, struct phx_origin, i);
		struct phx_config_line *l = phx_list_push(lines, sizeof(*l));
		size_t n;
		if (!l)
			return -ENOMEM;
		snprintf(l->key, sizeof(l->key), "webhooks.%s", w->name);
		snprintf(l->value, sizeof(l->value), "url=%s timeout_s=%u kinds=", w->url,
			 w->timeout_s);
		PHX_LIST_EACH(struct phx_word, k, &w->kinds) {
			n = strlen(l->value);
			snprintf(l->value + n, sizeof(l->value) - n, "%s%s",
				 k == w->kinds.items ? "" : ",", k->text);
		}
		snprintf(l->origin, sizeof(l->origin), "%s:%u", o->file, o->line);
	}
	return 0;
}
