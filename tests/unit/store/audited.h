/* A journal that is audited, with the anchors that left its head, and what an audit of it finds:
 * for audit.c and audit_proofs.c. */
#ifndef TEST_AUDITED_H
#define TEST_AUDITED_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>
#include <errno.h>
#include <sqlite3.h>
#include <unistd.h>

#include "base/file.h"
#include "base/rng.h"
#include "base/tree.h"
#include "fake/append_one.h"
#include "fake/key_signer.h"
#include "pki/pki.h"
#include "store/audit.h"
#include "store/internal.h"

enum { EVENTS = 120, ANCHOR_EVERY = 20, ANCHORED = 100 };

static char dir[64], path[96], copy[96], key[96], pub[96];
static struct phx_store *store;
static struct phx_list anchors; /* struct phx_anchor: those that left the head */
static struct phx_audit found;
static struct phx_err err;

static const struct phx_signer signer = {.sign = fake_key_sign, .arg = key};

static inline void open_store(void)
{
	phx_store_close(PHX_TAKE(store));
	assert_int_equal(phx_store_open(path, &store, &err), 0);
	phx_store_sign_with(store, &signer);
}

static inline int setup(void **state)
{
	struct phx_pki *pki = NULL;
	(void)state;
	strcpy(dir, "/tmp/phx-audit.XXXXXX");
	if (!mkdtemp(dir))
		return -1;
	snprintf(path, sizeof(path), "%s/journal.db", dir);
	snprintf(copy, sizeof(copy), "%s/copy.db", dir);
	snprintf(key, sizeof(key), "%s/site.key", dir);
	snprintf(pub, sizeof(pub), "%s/site.pub", dir);
	phx_err_clear(&err);
	int r = phx_pki_open(dir, NULL, 0, &pki, &err);
	phx_pki_free(pki);
	store = NULL;
	anchors = (struct phx_list){0};
	open_store();
	return r;
}

static inline int teardown(void **state)
{
	(void)state;
	phx_store_close(PHX_TAKE(store));
	phx_list_fini(&anchors);
	return phx_dir_remove(dir, NULL);
}

static inline void anchor(void)
{
	struct phx_anchor *a = phx_list_push(&anchors, sizeof(*a));
	assert_int_equal(phx_store_reached(store, a), 0);
	assert_int_equal(phx_anchor_sign(a, &signer, &err), 0);
	assert_int_equal(phx_anchor_verify(a, pub, &err), 0);
}

/* `step_ms` may be negative: a clock that was set back. */
static inline void append(uint64_t first, uint64_t last, int64_t step_ms)
{
	for (uint64_t seq = first; seq <= last; seq++) {
		char event[64], node[16];
		snprintf(node, sizeof(node), "n%llu", (unsigned long long)seq % 7);
		snprintf(event, sizeof(event), "{\"by\":\"uid:%llu\"}", (unsigned long long)seq);
		assert_int_equal(append_one(store, seq, 1000000 + (int64_t)seq * step_ms, "tick",
					    node, event, "[]", NULL, &err),
				 0);
		if (seq % ANCHOR_EVERY == 0 && seq <= ANCHORED)
			anchor();
	}
}

static inline void run(sqlite3 *db, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
static inline void run(sqlite3 *db, const char *fmt, ...)
{
	char text[400], *why = NULL;
	va_list ap;
	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	if (sqlite3_exec(db, text, NULL, NULL, &why) != SQLITE_OK)
		fail_msg("%s: %s", text, why);
}

static inline int audit(const char *file)
{
	phx_err_clear(&err);
	return phx_store_audit(file, &anchors, pub, &found, &err);
}

static inline void is_found(const char *file, int what, const char *why)
{
	int r = audit(file);
	if (r != what || !strstr(found.text, why))
		fail_msg("%d '%s' '%s', not %d '%s'", r, found.text, err.text, what, why);
}

static inline void is_good(const char *file)
{
	int r = audit(file);
	if (r != 0)
		fail_msg("%d '%s' '%s'", r, found.text, err.text);
}

static inline void meddle(const char *sql)
{
	sqlite3 *db = NULL;
	phx_store_close(PHX_TAKE(store));
	assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
	run(db, "%s", sql);
	assert_int_equal(sqlite3_close(db), SQLITE_OK);
}

static inline void accept(void)
{
	uint64_t missing;
	open_store();
	assert_int_equal(phx_store_accept(store, &missing, &err), 0);
	assert_int_equal(phx_store_seal(store, PHX_ANCHOR_ACCEPTED, &err), 1);
}

#endif
