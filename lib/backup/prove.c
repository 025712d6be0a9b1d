/* Does a restored journal decide what it decided? See internal.h. Called by restore.c before
 * anything is placed. */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "backup/internal.h"
#include "base/file.h"
#include "journal/compare.h"
#include "journal/replay.h"
#include "store/audit.h"

/* Those of the head's own file that its key has signed. */
static int read_anchors(const char *path, const char *pub, struct phx_list *ret,
			struct phx_err *err)
{
	PHX_AUTO(phx_list_fini) struct phx_list lines = {0};
	struct phx_err why = {0};
	uint32_t n_bad;
	int r = phx_anchor_read(path, 0, &lines, &n_bad, &why);
	if (r < 0)
		return r == -ENOENT ? 0 : phx_err_set(err, r, "%s", why.text);
	PHX_LIST_EACH(struct phx_anchor, a, &lines) {
		struct phx_anchor *kept;
		if (r < 0 || a->kind != PHX_ANCHOR_REACHED || phx_anchor_verify(a, pub, NULL) < 0)
			continue;
		if ((kept = phx_list_push(ret, sizeof(*kept))))
			*kept = *a;
		else
			r = -ENOMEM;
	}
	return r;
}

/* What another version decided before the last snapshot stands as it was recorded: the snapshot has
 * what came of it. What came after that must come out the same, for a start decides it again. */
static int recall(struct phx_store *store, const struct phx_comparison *c,
		  struct phx_backup_done *done, struct phx_err *err)
{
	struct phx_journal_store from = phx_journal_on_sqlite(store);
	struct phx_recalled recalled;
	int r = phx_journal_recall(&from, &recalled, err);
	if (r < 0)
		return r;
	done->taken = c->seq;
	done->n_events = phx_store_last(store) - recalled.snapshot_seq;
	done->n_actions = 0;
	phx_state_fini(&recalled.state);
	return 0;
}

static int differs(const char *journal, const struct phx_comparison *c,
		   struct phx_backup_done *done, struct phx_err *err)
{
	struct phx_store *store = NULL;
	struct phx_err why = {0};
	int r = phx_store_open_read(journal, &store, err);
	if (r < 0)
		return r;
	phx_store_version_of(store, c->seq, done->taken_version);
	bool other = strcmp(done->taken_version, PHX_VERSION) != 0;
	r = other ? recall(store, c, done, &why) : -EPROTO;
	phx_store_close(store);
	return r == 0
		? 0
		: phx_err_set(err, -EPROTO,
			      "the journal does not replay: event %llu (%s): %s; restore with "
			      "the version that made it (%s)",
			      (unsigned long long)c->seq, c->kind, c->reason,
			      done->manifest.version);
}

static int replay(const char *journal, struct phx_backup_done *done, struct phx_err *err)
{
	struct phx_comparison c = {0};
	int r = phx_journal_compare(journal, &c, err);
	if (r < 0)
		return r;
	done->n_events = c.n_events;
	done->n_actions = c.n_actions;
	if (!c.identical)
		r = differs(journal, &c, done, err);
	phx_comparison_fini(&c);
	return r;
}

static int audit(const char *state, const char *journal, struct phx_backup_done *done,
		 struct phx_err *err)
{
	PHX_AUTO_FREE char *path = phx_path("%s/anchors", state);
	PHX_AUTO_FREE char *pub = phx_path("%s/pki/site.pub", state);
	PHX_AUTO(phx_list_fini) struct phx_list anchors = {0};
	struct phx_audit found = {0};
	int r = path && pub ? read_anchors(path, pub, &anchors, err) : -ENOMEM;
	r = r < 0 ? r : phx_store_audit(journal, &anchors, pub, &found, err);
	if (r > 0)
		return phx_err_set(err, -EBADMSG, "the journal: %s", found.text);
	if (r == 0 && found.last != done->manifest.seq)
		return phx_err_set(
			err, -EBADMSG, "the journal ends with event %llu, the manifest says %llu",
			(unsigned long long)found.last, (unsigned long long)done->manifest.seq);
	done->first = found.first;
	done->last = found.last;
	done->n_anchors = found.n_proofs;
	return r;
}

int backup_prove(const char *state, struct phx_backup_done *done, struct phx_err *err)
{
	static const char *const beside[] = {".lock", "-wal", "-shm"};
	PHX_AUTO_FREE char *journal = phx_path("%s/journal.db", state);
	int r = journal ? replay(journal, done, err) : -ENOMEM;
	r = r < 0 ? r : audit(state, journal, done, err);
	for (size_t i = 0; journal && i < PHX_ARRAY_SIZE(beside); i++) {
		PHX_AUTO_FREE char *path = phx_path("%s%s", journal, beside[i]);
		if (path)
			unlink(path);
	}
	return r;
}
