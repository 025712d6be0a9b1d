/* What nodes told last, as the API shows it and the loop asks for it: monitor, sessions, version,
 * use of instances, settings of the site. Called by the API's threads and the loop. Changes nothing
 * but the version of an agent. */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "phxd/live_internal.h"
#include "phxd/site.h"

void live_told_version(struct live *l, const char *node, const char *version)
{
	pthread_mutex_lock(&l->lock);
	struct contact *c = live_contact(l, node, phx_clock_ms());
	if (c)
		PHX_STR_SET(c->version, version);
	pthread_mutex_unlock(&l->lock);
}

void live_version(struct live *l, const char *node, char ret[PHX_TOLD_VERSION_MAX])
{
	pthread_mutex_lock(&l->lock);
	const struct contact *c = live_find(l, node);
	phx_str_copy(ret, PHX_TOLD_VERSION_MAX, c ? c->version : "");
	pthread_mutex_unlock(&l->lock);
}

void live_put_monitor(struct live *l, const char *node, struct phx_buf *b)
{
	pthread_mutex_lock(&l->lock);
	const struct contact *c = live_find(l, node);
	const char *text = c && c->monitor ? c->monitor : "null";
	phx_buf_add(b, text, strlen(text));
	pthread_mutex_unlock(&l->lock);
}

/* The node decides how long parsing takes. */
json_t *live_monitor(struct live *l, const char *node)
{
	PHX_AUTO(phx_buf_fini) struct phx_buf b = {0};
	assert(!engine_is_locked(l->d->engine));
	live_put_monitor(l, node, &b);
	return b.failed ? NULL : json_loads(b.data, 0, NULL);
}

json_t *live_sessions(struct live *l, const char *node)
{
	assert(!engine_is_locked(l->d->engine));
	pthread_mutex_lock(&l->lock);
	const struct contact *c = live_find(l, node);
	PHX_AUTO_FREE char *text = c && c->sessions ? strdup(c->sessions) : NULL;
	pthread_mutex_unlock(&l->lock);
	return text ? json_loads(text, 0, NULL) : NULL;
}

int64_t live_use(struct live *l, const char *node, char ret_error[BEAT_ERROR_MAX])
{
	pthread_mutex_lock(&l->lock);
	const struct contact *c = live_find(l, node);
	int64_t ppm = c ? c->use_ppm : -1;
	phx_str_copy(ret_error, BEAT_ERROR_MAX, c && c->use_error ? c->use_error : "");
	pthread_mutex_unlock(&l->lock);
	return ppm;
}

int64_t live_site(struct live *l, const char *node, char ret_error[BEAT_ERROR_MAX])
{
	pthread_mutex_lock(&l->lock);
	const struct contact *c = live_find(l, node);
	int64_t id = c ? c->site : LIVE_SITE_UNHEARD;
	phx_str_copy(ret_error, BEAT_ERROR_MAX, c && c->site_error ? c->site_error : "");
	pthread_mutex_unlock(&l->lock);
	return id;
}
