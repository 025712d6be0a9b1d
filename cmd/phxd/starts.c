/* The thread that keeps the starts of nodes: see starts.h. Called by all parts of phxd.
 *
 *   starts_tell ─▶ waiting rows ─▶ the thread: whose are they? ─▶ one transaction
 *
 * A row may name its node by its name, a MAC or an address: firmware that fetches a file says
 * nothing else. The thread knows which MAC had which address last, by the rows that have both. A
 * database that is damaged is put aside, and another one is begun; one that cannot be written at
 * all costs the rows and nothing else. */
#include "phxd/starts.h"

#include <errno.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/hash.h"
#include "base/ip.h"
#include "state/known.h"

enum {
	WAITING_MAX = 8192, /* rows that wait, of half a KiB each */
	GATHER_MS = 200,    /* rows that come together are one transaction */
	TELL_AGAIN_MS = 60000 /* a message of the same kind */,
	SELDOM_MS = 60000,
	SELDOM = 1 << 10, /* nodes that are told of seldom, at once */
	PLACES = 1 << 14  /* addresses of which the MAC is known */
};

/* Which MAC had that address last. One a place: who has the same place takes it. */
struct place {
	char address[PHX_IPV4_MAX], mac[PHX_MAC_MAX];
};

/* When a node was told of last, and what. One a place, likewise. */
struct seldom {
	char node[PHX_NAME_MAX];
	int kind;
	int64_t at_ms;
};

struct starts {
	struct daemon *d;
	char path[PHX_CONFIG_TEXT_MAX + 32];
	pthread_t thread;
	bool started;
	pthread_mutex_t lock;
	pthread_cond_t wanted, written;
	struct phx_list waiting; /* struct phx_start_row */
	struct seldom seldom[SELDOM];
	struct place *places;
	uint64_t n_told, n_done; /* rows that came, and those of them that are done with */
	uint64_t n_dropped;
	bool hurry, ended;
	/* only the thread uses these: */
	struct phx_starts *db;
	int64_t said_ms;
};

const char *starts_path(const struct starts *s)
{
	return s->path;
}

/* ---- telling ---- */

void starts_tell(struct starts *s, const struct phx_start_row *row)
{
	struct phx_start_row *to = NULL;
	if (!s || !row->node[0])
		return;
	/* not the core's time, which would need a lock */
	int64_t now_ms = phx_wall_ms();
	pthread_mutex_lock(&s->lock);
	if (s->waiting.n < WAITING_MAX && !s->ended)
		to = phx_list_push(&s->waiting, sizeof(*to));
	if (to) {
		*to = *row;
		to->at_us = row->at_us ? row->at_us : now_ms * 1000;
		s->n_told++;
		if (s->waiting.n == 1)
			pthread_cond_signal(&s->wanted);
	} else
		s->n_dropped++;
	pthread_mutex_unlock(&s->lock);
}

void starts_tell_seldom(struct starts *s, const struct phx_start_row *row)
{
	int64_t now = phx_clock_ms();
	if (!s)
		return;
	pthread_mutex_lock(&s->lock);
	size_t place = phx_hash_text(row->node) + (size_t)row->kind;
	struct seldom *last = &s->seldom[place % SELDOM];
	bool soon = last->at_ms && now - last->at_ms < SELDOM_MS && last->kind == (int)row->kind &&
		!strcmp(last->node, row->node);
	if (!soon) {
		phx_str_copy(last->node, sizeof(last->node), row->node);
		last->kind = (int)row->kind;
		last->at_ms = now;
	}
	pthread_mutex_unlock(&s->lock);
	if (!soon)
		starts_tell(s, row);
}

void starts_say(struct starts *s, const char *node, enum phx_start_kind kind, const char *fmt, ...)
{
	struct phx_start_row row = {.kind = (int)kind, .proven = true};
	va_list ap;
	va_start(ap, fmt);
	vsnprintf(row.text, sizeof(row.text), fmt, ap);
	va_end(ap);
	phx_str_copy(row.node, sizeof(row.node), node);
	starts_tell(s, &row);
}

void starts_settle(struct starts *s, int64_t ms)
{
	int64_t end_ms = phx_clock_ms() + ms;
	pthread_mutex_lock(&s->lock);
	uint64_t wanted = s->n_told;
	s->hurry = s->n_done < wanted;
	pthread_cond_signal(&s->wanted);
	while (!s->ended && s->n_done < wanted && phx_cond_until(&s->written, &s->lock, end_ms))
		;
	pthread_mutex_unlock(&s->lock);
}

/* ---- whose a row is ---- */

static bool is_address(const char *text)
{
	uint32_t ip;
	return phx_ipv4_parse(text, &ip);
}

static struct place *place_of(struct starts *s, const char *address)
{
	return &s->places[phx_hash_text(address) & (PLACES - 1)];
}

static bool name_of(struct starts *s, const char *mac, char ret[PHX_NAME_MAX])
{
	const struct phx_state *state = engine_lock(s->d->engine);
	const struct phx_node *n = phx_known_next(state, PHX_KNOWN_MAC, mac, 0);
	if (n)
		phx_str_copy(ret, PHX_NAME_MAX, n->name);
	engine_unlock(s->d->engine);
	return n != NULL;
}

/* The name of the node, if there is one; what was kept by its MAC is the node's from then on.
 * False: an address of which nothing is known. */
static bool settle_node(struct starts *s, struct phx_start_row *row)
{
	char mac[PHX_MAC_MAX], name[PHX_NAME_MAX];
	if (is_address(row->node)) {
		pthread_mutex_lock(&s->lock);
		const struct place p = *place_of(s, row->node);
		pthread_mutex_unlock(&s->lock);
		if (strcmp(p.address, row->node) != 0)
			return false;
		PHX_STR_SET(row->node, p.mac);
	}
	if (phx_mac_parse(row->node, mac) < 0)
		return true;
	PHX_STR_SET(row->node, mac);
	if (name_of(s, mac, name)) {
		phx_starts_name(s->db, mac, name, NULL);
		PHX_STR_SET(row->node, name);
	}
	return true;
}

void starts_at(struct starts *s, const char *address, const char *mac)
{
	if (!s || !is_address(address))
		return;
	pthread_mutex_lock(&s->lock);
	struct place *p = place_of(s, address);
	PHX_STR_SET(p->address, address);
	PHX_STR_SET(p->mac, mac);
	pthread_mutex_unlock(&s->lock);
}

bool starts_is_at(struct starts *s, const char *address, const struct phx_list *macs)
{
	bool is = false;
	if (!s || !is_address(address))
		return false;
	pthread_mutex_lock(&s->lock);
	const struct place *p = place_of(s, address);
	if (!strcmp(p->address, address))
		PHX_LIST_EACH(const struct phx_mac, mac, macs)
			is = is || !strcmp(mac->mac, p->mac);
	pthread_mutex_unlock(&s->lock);
	return is;
}

/* ---- the thread ---- */

static void say(struct starts *s, const char *text)
{
	int64_t now_ms = phx_clock_ms();
	if (s->said_ms && now_ms - s->said_ms < TELL_AGAIN_MS)
		return;
	s->said_ms = now_ms;
	fprintf(stderr, "phxd: %s\n", text);
}

static uint64_t bytes_max(const struct starts *s)
{
	return (uint64_t)s->d->cfg.starts_max_mb << 20;
}

/* What SQLite keeps beside it would be taken for the new one's. */
static void put_aside(struct starts *s)
{
	PHX_AUTO_FREE char *aside = phx_path("%s.damaged", s->path);
	PHX_AUTO_FREE char *wal = phx_path("%s-wal", s->path);
	PHX_AUTO_FREE char *shm = phx_path("%s-shm", s->path);
	char text[PHX_CONFIG_TEXT_MAX + 160];
	if (!aside || !wal || !shm || rename(s->path, aside) < 0)
		return;
	unlink(wal);
	unlink(shm);
	snprintf(text, sizeof(text),
		 "%s is damaged: it is kept as %s, and begun anew; phx node why knows no earlier "
		 "start",
		 s->path, aside);
	say(s, text);
}

/* Opens it where it is not. A damaged one is put aside once. */
static int have_open(struct starts *s, struct phx_err *err)
{
	int r = s->db ? 0 : phx_starts_open(s->path, bytes_max(s), &s->db, err);
	if (r != -EBADMSG && r != -EPROTONOSUPPORT)
		return r;
	put_aside(s);
	phx_err_clear(err);
	return phx_starts_open(s->path, bytes_max(s), &s->db, err);
}

static int write_rows(struct starts *s, struct phx_list *rows, struct phx_err *err)
{
	uint32_t n = 0;
	int r = have_open(s, err);
	if (r < 0)
		return r;
	PHX_LIST_EACH(struct phx_start_row, row, rows)
		if (settle_node(s, row))
			*PHX_LIST_AT(rows, struct phx_start_row, n++) = *row;
	rows->n = n;
	return phx_starts_put(s->db, rows->items, rows->n, err);
}

/* Once more with a new file, where this one is damaged. */
static void write_all(struct starts *s, struct phx_list *rows)
{
	char text[PHX_ERR_TEXT_MAX + 80];
	struct phx_err err = {0};
	int r = write_rows(s, rows, &err);
	if (r == -EBADMSG) {
		phx_starts_close(PHX_TAKE(s->db));
		phx_err_clear(&err);
		r = write_rows(s, rows, &err);
	}
	if (r == 0)
		return;
	phx_starts_close(PHX_TAKE(s->db));
	snprintf(text, sizeof(text),
		 "starts of nodes cannot be kept, phx node why will lack them: %s",
		 err.text[0] ? err.text : strerror(-r));
	say(s, text);
}

static void add_lost(struct phx_list *rows, uint64_t n)
{
	struct phx_start_row *last =
		n && rows->n ? PHX_LIST_AT(rows, struct phx_start_row, rows->n - 1) : NULL;
	struct phx_start_row row = {.kind = PHX_START_lost, .proven = true};
	if (!last)
		return;
	row.at_us = last->at_us;
	PHX_STR_SET(row.node, last->node);
	snprintf(row.text, sizeof(row.text),
		 "%llu rows of this or other nodes are missing: more came than could be written",
		 (unsigned long long)n);
	last = phx_list_push(rows, sizeof(*last));
	if (last)
		*last = row;
}

/* Called with the lock, which is released while it waits. */
static void wait_for_rows(struct starts *s)
{
	while (!s->ended && !s->waiting.n && phx_cond_until(&s->wanted, &s->lock, INT64_MAX))
		;
	int64_t until_ms = phx_clock_ms() + GATHER_MS;
	while (!s->ended && !s->hurry && phx_cond_until(&s->wanted, &s->lock, until_ms))
		;
}

static void *work(void *arg)
{
	struct starts *s = arg;
	bool ends = false;
	pthread_mutex_lock(&s->lock);
	while (!ends) {
		wait_for_rows(s);
		ends = s->ended;
		struct phx_list rows = s->waiting;
		s->waiting = (struct phx_list){0};
		uint64_t told = s->n_told, dropped = s->n_dropped;
		s->n_dropped = 0;
		s->hurry = false;
		pthread_mutex_unlock(&s->lock);
		add_lost(&rows, dropped);
		if (rows.n)
			write_all(s, &rows);
		phx_list_fini(&rows);
		pthread_mutex_lock(&s->lock);
		s->n_done = told;
		pthread_cond_broadcast(&s->written);
	}
	pthread_mutex_unlock(&s->lock);
	return NULL;
}

/* ---- start and end ---- */

int starts_new(struct daemon *d, struct starts **ret)
{
	struct starts *s = calloc(1, sizeof(*s));
	if (!s || !(s->places = calloc(PLACES, sizeof(*s->places)))) {
		free(s);
		return -ENOMEM;
	}
	s->d = d;
	snprintf(s->path, sizeof(s->path), "%s/starts.db", d->cfg.state_dir);
	pthread_mutex_init(&s->lock, NULL);
	phx_cond_init(&s->wanted);
	phx_cond_init(&s->written);
	int code = pthread_create(&s->thread, NULL, work, s);
	s->started = code == 0;
	if (code) {
		starts_free(s);
		return -code;
	}
	*ret = s;
	return 0;
}

void starts_free(struct starts *s)
{
	if (!s)
		return;
	pthread_mutex_lock(&s->lock);
	s->ended = true;
	pthread_cond_broadcast(&s->wanted);
	pthread_mutex_unlock(&s->lock);
	if (s->started)
		pthread_join(s->thread, NULL);
	phx_starts_close(s->db);
	phx_list_fini(&s->waiting);
	pthread_cond_destroy(&s->wanted);
	pthread_cond_destroy(&s->written);
	pthread_mutex_destroy(&s->lock);
	free(s->places);
	free(s);
}
