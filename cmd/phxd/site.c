/* See site.h. Decides nothing: what is in a bundle, lib/site says. */
#include "phxd/site.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/hash.h"
#include "base/record_file.h"
#include "core/site.h"
#include "phxd/beat.h"
#include "phxd/site_internal.h"

enum { NODES_KNOWN_MAX = 200000 };

/* The bundle of a node, by its id, as long as the node's facts hash so. */
struct known {
	char node[PHX_NAME_MAX];
	uint64_t hash, id;
	char lacks[BEAT_ERROR_MAX]; /* a file that it does not get, and why; "" none */
};

struct site {
	struct daemon *d;
	pthread_mutex_t lock;
	pthread_mutex_t turn;      /* of who applies settings; taken before any other lock */
	struct phx_site *settings; /* empty if there are none; never moves: the index borrows it */
	struct phx_site_index *index;
	bool there;
	struct phx_list known; /* struct known */
	struct phx_hash places;
};

/* ---- facts ---- */

/* Has the plan come to its step activate? Until then the node has what is of the role it leaves. */
static bool activates(const struct phx_plan *p)
{
	for (uint32_t i = 0; i <= p->cursor && i < p->steps.n; i++)
		if (PHX_LIST_AT(&p->steps, struct phx_step, i)->kind == PHX_STEP_activate)
			return true;
	return false;
}

static bool may_have(const struct phx_node *n)
{
	return n->state != PHX_NODE_NEW && n->state != PHX_NODE_COMMISSIONING &&
		n->state != PHX_NODE_QUARANTINED;
}

bool site_facts_of(const struct phx_state *s, const struct phx_node *n, struct site_facts *ret)
{
	struct site_facts f = {0};
	bool moves = phx_node_step(n);
	if (!may_have(n) || (moves && !activates(&n->plan)))
		return false;
	PHX_STR_SET(f.name, n->name);
	PHX_STR_SET(f.address, n->address[0] ? n->address : n->ip);
	PHX_STR_SET(f.role, moves ? n->plan.to_role : n->role);
	PHX_STR_SET(f.pool, moves ? n->plan.to_pool : n->pool);
	PHX_STR_SET(f.os, n->facts.os);
	f.waits = phx_site_waits(s, n);
	PHX_LIST_EACH(struct phx_label, l, &n->labels) {
		struct phx_label *to = phx_list_push(&f.labels, sizeof(*to));
		if (!to) {
			phx_list_fini(&f.labels);
			return false;
		}
		*to = *l;
	}
	*ret = f;
	return true;
}

void site_facts_fini(struct site_facts *f)
{
	phx_list_fini(&f->labels);
}

struct phx_site_node site_node_of(const struct site_facts *f)
{
	return (struct phx_site_node){f->name, f->address, f->role, f->pool, f->os, &f->labels};
}

/* ---- ids: under the lock ---- */

static struct known *find(struct site *s, const char *node)
{
	uint32_t hash = phx_hash_text(node), i;
	for (uint32_t at = hash; phx_hash_next(&s->places, hash, &at, &i);) {
		struct known *k = PHX_LIST_AT(&s->known, struct known, i);
		if (!strcmp(k->node, node))
			return k;
	}
	return NULL;
}

static void forget_known(struct site *s)
{
	phx_list_fini(&s->known);
	phx_hash_clear(&s->places);
}

static struct known *find_or_add(struct site *s, const char *node)
{
	struct known *k = find(s, node);
	if (k)
		return k;
	if (s->known.n >= NODES_KNOWN_MAX)
		forget_known(s);
	if (phx_hash_reserve(&s->places, s->known.n + 1) < 0 ||
	    !(k = phx_list_push(&s->known, sizeof(*k))))
		return NULL;
	PHX_STR_SET(k->node, node);
	phx_hash_put(&s->places, phx_hash_text(node), s->known.n - 1);
	return k;
}

static uint64_t wanted(struct site *s, const struct site_facts *f)
{
	const struct phx_site_node n = site_node_of(f);
	uint64_t hash = phx_site_node_hash(&n);
	struct phx_site_bundle b;
	struct phx_err lacks = {0};
	struct known *k = s->there ? find_or_add(s, f->name) : NULL;
	if (!k || (k->id && k->hash == hash))
		return k ? k->id : 0;
	if (phx_site_render(s->index, &n, &b, &lacks) < 0)
		return 0;
	phx_str_copy(k->lacks, sizeof(k->lacks), lacks.text);
	k->hash = hash;
	k->id = b.id;
	phx_record_fini(&phx_site_bundle_record, &b);
	return k->id;
}

uint64_t site_wanted(struct site *s, const struct site_facts *f, char ret_lacks[BEAT_ERROR_MAX])
{
	if (!s)
		return 0;
	pthread_mutex_lock(&s->lock);
	uint64_t id = wanted(s, f);
	const struct known *k = id && ret_lacks ? find(s, f->name) : NULL;
	if (ret_lacks)
		phx_str_copy(ret_lacks, BEAT_ERROR_MAX, k ? k->lacks : "");
	pthread_mutex_unlock(&s->lock);
	return id;
}

enum site_standing site_standing_of(struct daemon *d, const struct site_facts *f,
				    char ret_error[BEAT_ERROR_MAX])
{
	char lacks[BEAT_ERROR_MAX] = "";
	int64_t has = live_site(d->live, f->name, ret_error);
	uint64_t want = has < 0 ? 0 : site_wanted(d->site, f, lacks);
	if (want && lacks[0] && !ret_error[0])
		phx_str_copy(ret_error, BEAT_ERROR_MAX, lacks);
	if (!want)
		return SITE_NONE;
	if ((uint64_t)has != want)
		return f->waits && has ? SITE_WAITING : SITE_APPLYING;
	return ret_error[0] ? SITE_FAILED : SITE_CURRENT;
}

enum site_standing site_standing(struct daemon *d, const struct phx_state *s,
				 const struct phx_node *n, char ret_error[BEAT_ERROR_MAX])
{
	struct site_facts f;
	ret_error[0] = '\0';
	if (n->env != PHX_ENV_OS || !site_facts_of(s, n, &f))
		return SITE_NONE;
	enum site_standing is = site_standing_of(d, &f, ret_error);
	site_facts_fini(&f);
	return is;
}

int site_bundle(struct site *s, const struct site_facts *f, struct phx_site_bundle *ret)
{
	const struct phx_site_node n = site_node_of(f);
	pthread_mutex_lock(&s->lock);
	int r = s->there ? phx_site_render(s->index, &n, ret, NULL) : -ENOENT;
	pthread_mutex_unlock(&s->lock);
	return r;
}

void site_orders_put(struct site *s, const struct site_facts *f, const struct phx_list *running,
		     struct phx_buf *b)
{
	const struct beat_running *has = beat_running_of(running, PHX_ORDER_site);
	bool keeps = has && has->id && f->waits;
	uint64_t id = has && !keeps ? site_wanted(s, f, NULL) : 0;
	if (!id || (uint64_t)has->id == id)
		return;
	phx_json_put_item(b);
	phx_buf_addf(b, "{\"kind\":\"%s\",\"id\":%llu}", phx_order_name(PHX_ORDER_site),
		     (unsigned long long)id);
}

/* ---- the settings ---- */

char *site_file(const struct daemon *d, const char *digest)
{
	return phx_path("%s/site-%s.json", d->cfg.state_dir, digest);
}

void site_turn_begin(struct site *s)
{
	pthread_mutex_lock(&s->turn);
}

bool site_turn_try(struct site *s)
{
	return pthread_mutex_trylock(&s->turn) == 0;
}

void site_turn_end(struct site *s)
{
	pthread_mutex_unlock(&s->turn);
}

static void settings_free(struct phx_site *settings)
{
	if (settings)
		phx_record_fini(&phx_site_record, settings);
	free(settings);
}

int site_take(struct site *s, struct phx_site *settings)
{
	struct phx_site *new = malloc(sizeof(*new));
	struct phx_site_index *index = NULL;
	if (new)
		*new = *settings;
	int r = new ? phx_site_index_new(new, &index) : -ENOMEM;
	if (r < 0) {
		free(new);
		return r;
	}
	*settings = (struct phx_site){0};
	pthread_mutex_lock(&s->lock);
	struct phx_site *former = s->settings;
	struct phx_site_index *former_index = s->index;
	s->settings = new;
	s->index = index;
	s->there = true;
	forget_known(s);
	pthread_mutex_unlock(&s->lock);
	phx_site_index_free(former_index);
	settings_free(former);
	return 0;
}

int site_origins(struct site *s, const char *node, phx_site_origin_fn fn, void *arg)
{
	pthread_mutex_lock(&s->lock);
	int r = s->there ? phx_site_origins(s->index, node, fn, arg) : -ENOENT;
	pthread_mutex_unlock(&s->lock);
	return r;
}

char *site_kernel_args(struct site *s, const char *node)
{
	pthread_mutex_lock(&s->lock);
	char *args = s->there ? phx_site_kernel_args(s->index, node) : strdup("");
	pthread_mutex_unlock(&s->lock);
	return args;
}

bool site_goes_by_label(struct site *s, const char *key)
{
	pthread_mutex_lock(&s->lock);
	bool does = phx_site_goes_by_label(s->settings, key);
	pthread_mutex_unlock(&s->lock);
	return does;
}

int site_copy(struct site *s, bool *ret_there, struct phx_site *ret)
{
	pthread_mutex_lock(&s->lock);
	int r = phx_record_copy(&phx_site_record, ret, s->settings);
	*ret_there = s->there;
	pthread_mutex_unlock(&s->lock);
	return r;
}

const struct phx_site *site_borrow(struct site *s)
{
	pthread_mutex_lock(&s->lock);
	return s->settings;
}

void site_return(struct site *s)
{
	pthread_mutex_unlock(&s->lock);
}

/* ---- start and end ---- */

static int load(struct site *s)
{
	char digest[PHX_SHA256_HEX];
	struct phx_site settings;
	struct phx_err err = {0};
	const struct phx_state *state = engine_lock(s->d->engine);
	PHX_STR_SET(digest, state->site.digest);
	engine_unlock(s->d->engine);
	if (!digest[0])
		return 0;
	PHX_AUTO_FREE char *path = site_file(s->d, digest);
	int r = path ? phx_record_file_read(path, SITE_FILE_MAX, &phx_site_record, &settings, &err)
		     : -ENOMEM;
	if (r < 0) {
		fprintf(stderr,
			"phxd: settings of the site: %s: nodes keep what they have; apply them "
			"again: phx site apply\n",
			err.text);
		return r == -ENOMEM ? r : 0;
	}
	r = site_take(s, &settings);
	phx_record_fini(&phx_site_record, &settings);
	return r;
}

int site_new(struct daemon *d, struct site **ret)
{
	struct site *s = calloc(1, sizeof(*s));
	if (s)
		s->settings = calloc(1, sizeof(*s->settings));
	if (!s || !s->settings) {
		free(s);
		return -ENOMEM;
	}
	s->d = d;
	pthread_mutex_init(&s->lock, NULL);
	pthread_mutex_init(&s->turn, NULL);
	*ret = s;
	return load(s);
}

void site_free(struct site *s)
{
	if (!s)
		return;
	phx_site_index_free(s->index);
	settings_free(s->settings);
	forget_known(s);
	phx_hash_fini(&s->places);
	pthread_mutex_destroy(&s->lock);
	pthread_mutex_destroy(&s->turn);
	free(s);
}
