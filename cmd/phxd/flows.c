/* The texts of workflows: each is kept in a file named by its digest, and read when a task is given
 * to a node or shown. The core has only the shape of a workflow. Called by tasks.c and the API, on
 * any thread; a text in use holds the lock. */
#include "phxd/daemon.h"

#include <dirent.h>
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "trace/wfformat.h"

enum {
	READ_MAX = 16,   /* workflows that are in memory at a time */
	SWEEP_EACH = 64, /* texts that were taken */
};
#define TEXT_MAX ((size_t)FLOW_TEXT_MAX_MB << 20)
static const char prefix[] = "workflow-";

struct text {
	char digest[PHX_SHA256_HEX];
	struct phx_flow flow;
	uint64_t used;
};

/* A text that is kept and not settled yet. */
struct keeping {
	char digest[PHX_SHA256_HEX];
	uint32_t n; /* number of callers that keep it */
};

struct flows {
	struct daemon *d;
	pthread_mutex_t kept_lock; /* taken before the engine's */
	struct phx_list keeping;   /* struct keeping */
	uint32_t n_taken;          /* texts, since unwanted ones were removed */
	pthread_mutex_t lock;
	struct text texts[READ_MAX];
	uint64_t n_used;
};

static char *path_of(const struct daemon *d, const char *digest)
{
	return phx_path("%s/%s%s", d->cfg.output_dir, prefix, digest);
}

static bool is_wanted(const struct phx_state *s, const char *digest)
{
	PHX_LIST_EACH(struct phx_trigger, t, &s->triggers)
		if (!strcmp(t->flow.digest, digest) || !strcmp(t->look.digest, digest))
			return true;
	PHX_LIST_EACH(struct phx_flowrun, w, &s->workflows)
		if (!strcmp(w->digest, digest))
			return true;
	return false;
}

static struct keeping *keeping_of(struct flows *f, const char *digest)
{
	PHX_LIST_EACH(struct keeping, k, &f->keeping)
		if (!strcmp(k->digest, digest))
			return k;
	return NULL;
}

static int begin_to_keep(struct flows *f, const char *digest)
{
	pthread_mutex_lock(&f->kept_lock);
	struct keeping *k = keeping_of(f, digest);
	if (!k && (k = phx_list_push(&f->keeping, sizeof(*k))))
		PHX_STR_SET(k->digest, digest);
	if (k)
		k->n++;
	pthread_mutex_unlock(&f->kept_lock);
	return k ? 0 : -ENOMEM;
}

/* With kept_lock held. */
static void remove_if_unwanted(struct flows *f, const char *digest)
{
	PHX_AUTO_FREE char *path = path_of(f->d, digest);
	const struct phx_state *s = engine_lock(f->d->engine);
	bool wanted = is_wanted(s, digest) || keeping_of(f, digest);
	engine_unlock(f->d->engine);
	if (path && !wanted)
		unlink(path);
}

/* Not what another thread is just writing: its name is of no digest yet. */
static int is_text(const struct dirent *e)
{
	return phx_str_starts(e->d_name, prefix) &&
		(!phx_file_is_temporary(e->d_name, NULL) || phx_file_is_abandoned(e->d_name));
}

/* The core forgets old runs; their texts are removed here. With kept_lock held. */
static void sweep(struct flows *f)
{
	struct dirent **found = NULL;
	int n = scandir(f->d->cfg.output_dir, &found, is_text, NULL);
	for (int i = 0; i < n; i++) {
		remove_if_unwanted(f, found[i]->d_name + strlen(prefix));
		free(found[i]);
	}
	free(found);
	f->n_taken = 0;
}

/* Has the engine refused it for certain? After other errors it may have been accepted: the next
 * start will know. */
static bool is_refusal(int r)
{
	return r < 0 && r != -EIO && r != -EROFS && r != -EAGAIN && r != -ENOMEM;
}

void flows_settle(struct flows *f, const char *digest, int r)
{
	pthread_mutex_lock(&f->kept_lock);
	struct keeping *k = keeping_of(f, digest);
	if (k && --k->n == 0) {
		phx_list_remove(&f->keeping, sizeof(*k),
				(uint32_t)(k - PHX_LIST_AT(&f->keeping, struct keeping, 0)));
		if (is_refusal(r))
			remove_if_unwanted(f, digest);
		else if (r == 0 && ++f->n_taken >= SWEEP_EACH)
			sweep(f);
	}
	pthread_mutex_unlock(&f->kept_lock);
}

int flows_new(struct daemon *d, struct flows **ret)
{
	struct flows *f = calloc(1, sizeof(*f));
	if (!f)
		return -ENOMEM;
	f->d = d;
	pthread_mutex_init(&f->lock, NULL);
	pthread_mutex_init(&f->kept_lock, NULL);
	sweep(f);
	*ret = f;
	return 0;
}

void flows_free(struct flows *f)
{
	if (!f)
		return;
	for (size_t i = 0; i < READ_MAX; i++)
		phx_flow_fini(&f->texts[i].flow);
	pthread_mutex_destroy(&f->lock);
	pthread_mutex_destroy(&f->kept_lock);
	phx_list_fini(&f->keeping);
	free(f);
}

int flows_read_text(const char *text, size_t n, char ret_digest[PHX_SHA256_HEX],
		    struct phx_flow *ret, struct phx_err *err)
{
	int r = phx_sha256_of(text, n, ret_digest);
	return r ? r : phx_wfformat_read("workflow", text, n, ret, err);
}

int flows_read(const char *path, char ret_digest[PHX_SHA256_HEX], struct phx_flow *ret,
	       struct phx_err *err)
{
	PHX_AUTO_FREE char *text = NULL;
	size_t n = 0;
	int r = phx_file_read(path, TEXT_MAX, &text, &n, err);
	return r ? r : flows_read_text(text, n, ret_digest, ret, err);
}

/* A text that could not be written is kept by nobody. */
static int kept(struct flows *f, const char *digest, int r)
{
	if (r < 0)
		flows_settle(f, digest, r);
	return r;
}

int flows_keep(struct flows *f, const char *from, const char *digest, struct phx_err *err)
{
	PHX_AUTO_FREE char *path = path_of(f->d, digest);
	int r = path ? begin_to_keep(f, digest) : -ENOMEM;
	return r ? r : kept(f, digest, phx_file_publish(from, path, err));
}

int flows_keep_text(struct flows *f, const char *text, size_t n, const char *digest,
		    struct phx_err *err)
{
	PHX_AUTO_FREE char *path = path_of(f->d, digest);
	int r = path ? begin_to_keep(f, digest) : -ENOMEM;
	return r ? r : kept(f, digest, phx_file_write(path, text, n, 0600, err));
}

char *flows_path(const struct flows *f, const char *digest)
{
	return path_of(f->d, digest);
}

/* The slot of this digest, or the least recently used one, emptied. */
static struct text *slot_of(struct flows *f, const char *digest)
{
	struct text *oldest = &f->texts[0];
	for (size_t i = 0; i < READ_MAX; i++) {
		if (!strcmp(f->texts[i].digest, digest))
			return &f->texts[i];
		if (f->texts[i].used < oldest->used)
			oldest = &f->texts[i];
	}
	phx_flow_fini(&oldest->flow);
	oldest->digest[0] = '\0';
	return oldest;
}

static int load(struct flows *f, struct text *t, const char *digest, struct phx_err *err)
{
	char is[PHX_SHA256_HEX];
	PHX_AUTO_FREE char *path = path_of(f->d, digest);
	int r = path ? flows_read(path, is, &t->flow, err) : -ENOMEM;
	if (r == 0 && strcmp(is, digest) != 0) {
		phx_flow_fini(&t->flow);
		return phx_err_set(err, -EBADMSG, "%s is not what it was", path);
	}
	if (r == 0)
		PHX_STR_SET(t->digest, digest);
	return r;
}

const struct phx_flow *flows_lock(struct flows *f, const char *digest, struct phx_err *err)
{
	pthread_mutex_lock(&f->lock);
	struct text *t = slot_of(f, digest);
	if (!t->digest[0] && load(f, t, digest, err) < 0) {
		pthread_mutex_unlock(&f->lock);
		return NULL;
	}
	t->used = ++f->n_used;
	return &t->flow;
}

void flows_unlock(struct flows *f)
{
	pthread_mutex_unlock(&f->lock);
}
