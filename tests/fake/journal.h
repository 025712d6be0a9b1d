/* A journal in a directory of its own, for tests of parts of phxd that read one beside the engine:
 * real, but for the engine that would write it. */
#ifndef TESTS_FAKE_JOURNAL_H
#define TESTS_FAKE_JOURNAL_H

#include <sqlite3.h>

#include "base/file.h"
#include "base/tree.h"
#include "fake/append_one.h"
#include "fake/submitted.h"

static char fake_dir[64], fake_journal[96];
static int64_t fake_journal_ms; /* when it began */

static inline int fake_journal_begin(void)
{
	strcpy(fake_dir, "/tmp/phx-part.XXXXXX");
	if (!mkdtemp(fake_dir))
		return -1;
	snprintf(fake_journal, sizeof(fake_journal), "%s/journal.db", fake_dir);
	return phx_store_open(fake_journal, &fake_store, NULL);
}

static inline int fake_journal_end(void)
{
	phx_store_close(PHX_TAKE(fake_store));
	return phx_dir_remove(fake_dir, NULL);
}

/* A second after the one before; its number. */
static inline uint64_t happens(const char *kind, const char *node, const char *event,
			       const char *actions)
{
	struct phx_err err = {0};
	uint64_t seq = phx_store_last(fake_store) + 1;
	if (append_one(fake_store, seq, fake_journal_ms + 1000 * (int64_t)seq, kind, node, event,
		       actions, NULL, &err) != 0)
		fail_msg("%s", err.text);
	return seq;
}

/* Readers that are open find no events in it any more, and not because there are none. */
static inline void fake_journal_breaks(void)
{
	sqlite3 *db = NULL;
	assert_int_equal(sqlite3_open(fake_journal, &db), SQLITE_OK);
	assert_int_equal(sqlite3_exec(db, "ALTER TABLE events RENAME TO gone", NULL, NULL, NULL),
			 SQLITE_OK);
	sqlite3_close(db);
}

static inline void fake_journal_heals(void)
{
	sqlite3 *db = NULL;
	assert_int_equal(sqlite3_open(fake_journal, &db), SQLITE_OK);
	assert_int_equal(sqlite3_exec(db, "ALTER TABLE gone RENAME TO events", NULL, NULL, NULL),
			 SQLITE_OK);
	sqlite3_close(db);
}

#endif
