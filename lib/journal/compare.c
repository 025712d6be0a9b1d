/* A journal against the core of today: see compare.h. Called by phx sim replay and by tests; never
 * writes. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/json.h"
#include "journal/compare.h"
#include "journal/replay.h"
#include "store/store.h"

void phx_comparison_fini(struct phx_comparison *r)
{
	free(r->recorded);
	free(r->now);
	*r = (struct phx_comparison){0};
}

struct replay {
	struct phx_comparison *out;
	struct phx_state state;
	uint64_t snapshot_seq;
	char *snapshot; /* of the newest, to compare the state with */
	struct phx_err *err;
};

static void replay_fini(struct replay *rp)
{
	phx_state_fini(&rp->state);
	free(rp->snapshot);
}

/* Remember the first difference; a positive result ends the walk. */
static int differ(struct replay *rp, uint64_t seq, const char *kind, const char *recorded,
		  const char *now, const char *reason)
{
	struct phx_comparison *o = rp->out;
	o->identical = false;
	o->seq = seq;
	phx_str_copy(o->kind, sizeof(o->kind), kind);
	o->recorded = strdup(recorded);
	o->now = strdup(now);
	phx_str_copy(o->reason, sizeof(o->reason), reason);
	return o->recorded && o->now ? 1 : -ENOMEM;
}

/* The first place where two values differ, as "nodes.3.state"; both values then stand there. */
static void find_difference(const json_t **a, const json_t **b, char *path, size_t size)
{
	size_t n = 0;
	for (bool deeper = true; deeper && n < size;) {
		const json_t *of_a = *a, *of_b = *b;
		const char *key;
		json_t *v;
		size_t i;
		deeper = false;
		json_object_foreach((json_t *)of_a, key, v) {
			if (deeper || !json_is_object(of_b) ||
			    json_equal(v, json_object_get(of_b, key)))
				continue;
			*a = v, *b = json_object_get(of_b, key), deeper = true;
			n += (size_t)snprintf(path + n, size - n, "%s%s", n ? "." : "", key);
		}
		json_array_foreach(of_a, i, v) {
			if (deeper || !json_is_array(of_b) ||
			    json_equal(v, json_array_get(of_b, i)))
				continue;
			*a = v, *b = json_array_get(of_b, i), deeper = true;
			n += (size_t)snprintf(path + n, size - n, "%s%zu", n ? "." : "", i);
		}
	}
}

static char *text_or_nothing(const json_t *j)
{
	return j ? json_dumps(j, JSON_COMPACT | JSON_ENCODE_ANY) : strdup("nothing");
}

/* As this version writes it: an older one has no words for what was added since. */
static int read_snapshot(struct replay *rp, json_t **ret)
{
	struct phx_state s = {0};
	int r = phx_journal_parse_state(rp->snapshot, &s, rp->err);
	if (r < 0)
		return r;
	*ret = phx_json_from_record(&phx_state_record, &s);
	phx_state_fini(&s);
	return *ret ? 0 : -ENOMEM;
}

/* The clock is no part of the comparison: events that change nothing move it and are not
 * journalled. */
static int compare_snapshot(struct replay *rp)
{
	PHX_AUTO_JSON json_t *now = phx_json_from_record(&phx_state_record, &rp->state);
	PHX_AUTO_JSON json_t *kept = NULL;
	int r = read_snapshot(rp, &kept);
	if (r < 0 || !now)
		return r < 0 ? r : -ENOMEM;
	json_object_del(now, "now_ms");
	json_object_del(kept, "now_ms");
	rp->out->checked_snapshot = rp->snapshot_seq;
	if (json_equal(now, kept))
		return 0;
	const json_t *a = kept, *b = now;
	char path[256] = "", reason[PHX_ERR_TEXT_MAX];
	find_difference(&a, &b, path, sizeof(path));
	snprintf(reason, sizeof(reason), "the state is another than that of the snapshot, at %s",
		 *path ? path : "its top");
	PHX_AUTO_FREE char *recorded = text_or_nothing(a);
	PHX_AUTO_FREE char *mine = text_or_nothing(b);
	if (!recorded || !mine)
		return -ENOMEM;
	return differ(rp, rp->snapshot_seq, "snapshot", recorded, mine, reason);
}

static int replay_event(void *arg, const struct phx_store_event *stored)
{
	struct replay *rp = arg;
	struct phx_comparison *o = rp->out;
	struct phx_replayed done;
	int r = phx_journal_replay(&rp->state, stored, &done, rp->err);
	if (r < 0)
		return r;
	o->first = o->n_events ? o->first : stored->seq;
	o->first_ms = o->n_events ? o->first_ms : stored->time_ms;
	o->last = stored->seq;
	o->last_ms = stored->time_ms;
	o->n_events++;
	o->n_actions += done.n_actions;
	if (done.difference[0])
		r = differ(rp, stored->seq, stored->kind, stored->actions, done.actions,
			   done.difference);
	free(done.actions);
	if (r == 0 && rp->snapshot && stored->seq == rp->snapshot_seq)
		r = compare_snapshot(rp);
	return r;
}

static int begin_from(struct replay *rp, uint64_t seq, const char *snapshot)
{
	int r = phx_journal_parse_state(snapshot, &rp->state, rp->err);
	if (r < 0)
		return phx_err_prefix(rp->err, -EBADMSG, "snapshot %llu", (unsigned long long)seq);
	rp->out->from_snapshot = seq;
	return 0;
}

/* From the beginning where the journal reaches back so far; else from the older snapshot if all
 * that follows it is there, so that the newest is compared; else from that one. */
static int begin_state(struct replay *rp, struct phx_store *store)
{
	PHX_AUTO_FREE char *older = NULL;
	uint64_t first = 0, older_seq = 0;
	int64_t time_ms;
	int r = phx_store_latest(store, &rp->snapshot_seq, &rp->snapshot, rp->err);
	r = r < 0 ? r : phx_store_first(store, &first, &time_ms, rp->err);
	if (r < 0)
		return r;
	if (first <= 1 || !rp->snapshot)
		return phx_state_init(&rp->state);
	r = phx_store_latest_before(store, rp->snapshot_seq, &older_seq, &older, rp->err);
	if (r == 0 && older && first <= older_seq + 1)
		return begin_from(rp, older_seq, older);
	return r < 0 ? r : begin_from(rp, rp->snapshot_seq, rp->snapshot);
}

/* The store would lock any file, and make a journal of an empty one. */
static int check_journal(const char *path, struct phx_err *err)
{
	static const char magic[] = "SQLite format 3";
	char head[sizeof(magic)];
	PHX_AUTO_CLOSE int fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return phx_err_set(err, -errno, "%s: %s", path, strerror(errno));
	if (read(fd, head, sizeof(head)) != (ssize_t)sizeof(head) ||
	    memcmp(head, magic, sizeof(magic)))
		return phx_err_set(err, -EBADMSG, "%s: this is no journal", path);
	return 0;
}

int phx_journal_compare(const char *path, struct phx_comparison *ret, struct phx_err *err)
{
	struct phx_comparison out = {.identical = true};
	PHX_AUTO(replay_fini) struct replay rp = {.out = &out, .err = err};
	struct phx_store *store = NULL;
	int r = check_journal(path, err);
	if (r < 0)
		return r;
	r = phx_store_open_read(path, &store, err);
	if (r == -EBUSY)
		return phx_err_prefix(
			err, r, "phxd has it open; replay a copy (sqlite3 FILE '.backup COPY')");
	r = r < 0 ? r : begin_state(&rp, store);
	r = r < 0 ? r : phx_store_events(store, rp.state.seq, 0, NULL, replay_event, &rp, err);
	phx_store_close(store);
	if (r < 0) {
		phx_comparison_fini(&out);
		return strstr(err->text, path) ? r : phx_err_prefix(err, r, "%s", path);
	}
	*ret = out;
	return 0;
}
