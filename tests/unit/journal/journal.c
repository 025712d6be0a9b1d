/* The rule of a crash, on SQLite whose disk fails at any write, and on the store in memory: what is
 * answered lasts, what is in doubt is called so, and whoever starts next finds one whole state. */
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>
#include <cmocka.h>

#include "base/file.h"
#include "base/tree.h"
#include "fake/failing_vfs.h"
#include "journal/journal.h"
#include "journal/replay.h"
#include "journal/row.h"
#include "state/index.h"

enum { FILE_SIZE_MAX = 1 << 24, HOUR_MS = 3600 * 1000, WRITES = 12 };

static char dir[64], path[96], copied[96];
static struct phx_err err;
static struct phx_memory memory;
static struct phx_journal *journal;
static struct phx_store *store;
static int64_t wall, mono;
static bool synchronised;
static int n_acts, acts_fail, added;
static bool (*dies)(void *arg, enum phx_journal_point point, uint64_t seq,
		    const struct phx_event *ev, const struct phx_outcome *out);

static int64_t wall_ms(void *arg)
{
	(void)arg;
	return wall;
}

static int64_t mono_ms(void *arg)
{
	(void)arg;
	return mono;
}

static bool is_synchronised(void *arg)
{
	(void)arg;
	return synchronised;
}

static uint64_t draw(void *arg)
{
	(void)arg;
	return 4711;
}

static int act(void *arg, const struct phx_action *action)
{
	(void)arg;
	(void)action;
	n_acts++;
	return acts_fail-- > 0 ? -ENOMEM : 0;
}

static int begin(struct phx_journal_store of)
{
	struct phx_journal_config config = {.store = of,
					    .clock = {wall_ms, mono_ms, is_synchronised, NULL},
					    .snapshot_every = 1000,
					    .draw = draw,
					    .act = act,
					    .at = dies};
	phx_err_clear(&err);
	return phx_journal_open(&config, &journal, NULL, &err);
}

static int setup(void **state)
{
	(void)state;
	strcpy(dir, "/tmp/phx-journal.XXXXXX");
	if (!mkdtemp(dir))
		return -1;
	snprintf(path, sizeof(path), "%s/journal.db", dir);
	snprintf(copied, sizeof(copied), "%s/copied.db", dir);
	failing_vfs_register();
	failing_vfs_fail(FAKE_VFS_SOUND, 0);
	wall = 1800000000000;
	mono = 5000;
	synchronised = false;
	n_acts = acts_fail = added = 0;
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	failing_vfs_fail(FAKE_VFS_SOUND, 0);
	phx_journal_close(PHX_TAKE(journal), false);
	phx_store_close(PHX_TAKE(store));
	phx_memory_fini(&memory);
	return phx_dir_remove(dir, NULL);
}

static int add(const char *node)
{
	struct phx_event ev = {.kind = PHX_EV_node_add, .by = "test"};
	struct phx_mac *m = phx_list_push(&ev.node_add.macs, sizeof(*m));
	snprintf(m->mac, sizeof(m->mac), "02:00:00:00:%02x:%02x", added / 256, added % 256);
	added++;
	PHX_STR_SET(ev.node, node);
	phx_err_clear(&err);
	int r = phx_journal_submit(journal, &ev, NULL, &err);
	phx_event_fini(&ev);
	return r;
}

static bool knows(const char *node)
{
	return phx_state_node(phx_journal_state(journal), node) != NULL;
}

static void on_sqlite(void)
{
	assert_int_equal(phx_store_open(path, &store, &err), 0);
	assert_int_equal(begin(phx_journal_on_sqlite(store)), 0);
}

static void copy(const char *suffix)
{
	PHX_AUTO_FREE char *data = NULL;
	PHX_AUTO_FREE char *from = phx_path("%s%s", path, suffix);
	PHX_AUTO_FREE char *to = phx_path("%s%s", copied, suffix);
	size_t n;
	assert_int_equal(phx_file_read(from, FILE_SIZE_MAX, &data, &n, &err), 0);
	assert_int_equal(phx_file_write(to, data, n, 0640, &err), 0);
}

/* What a process that is killed now leaves behind, and another finds: its files as they are. */
static void recall(struct phx_recalled *ret)
{
	struct phx_store *of_copy = NULL;
	struct phx_store_findings found;
	failing_vfs_fail(FAKE_VFS_SOUND, 0);
	copy("");
	copy("-wal");
	assert_int_equal(phx_store_open(copied, &of_copy, &err), 0);
	assert_int_equal(phx_store_verify(of_copy, &found, &err), 0);
	struct phx_journal_store ops = phx_journal_on_sqlite(of_copy);
	assert_int_equal(phx_journal_recall(&ops, ret, &err), 0);
	phx_store_close(of_copy);
}

static bool is_recalled(const char *node)
{
	struct phx_recalled rc;
	recall(&rc);
	bool there = phx_state_node(&rc.state, node) != NULL;
	assert_non_null(phx_state_node(&rc.state, "answered"));
	phx_state_fini(&rc.state);
	return there;
}

static void has_ended(void)
{
	assert_int_equal(phx_journal_status(journal, NULL), -EAGAIN);
	assert_int_equal(add("later"), -EAGAIN);
	assert_non_null(strstr(err.text, "phxd ends and starts again"));
}

/* ---- a disk that fails ---- */

/* SQLite takes it for undone, and the next start for committed. */
static void a_failed_fsync_is_in_doubt_and_may_last(void **state)
{
	(void)state;
	on_sqlite();
	assert_int_equal(add("answered"), 0);
	failing_vfs_fail(FAKE_VFS_SYNC, 0);
	assert_int_equal(add("doubtful"), -EIO);
	assert_true(failing_vfs.n_failed > 0);
	assert_non_null(strstr(err.text, "it is not known whether this was done"));
	assert_true(is_recalled("doubtful"));
	has_ended();
}

static void a_short_write_is_in_doubt_and_leaves_nothing_half(void **state)
{
	(void)state;
	on_sqlite();
	assert_int_equal(add("answered"), 0);
	failing_vfs_fail(FAKE_VFS_SHORT, 1);
	assert_int_equal(add("doubtful"), -EIO);
	assert_true(failing_vfs.n_failed > 0);
	assert_false(is_recalled("doubtful"));
	has_ended();
}

/* From the first write of a commit to the last one; with room again it goes on. */
static void a_disk_that_is_full_between_any_two_writes(void **state)
{
	int refused = 0;
	(void)state;
	on_sqlite();
	assert_int_equal(add("answered"), 0);
	for (int i = 0; i < WRITES; i++) {
		char name[16];
		snprintf(name, sizeof(name), "full%d", i);
		failing_vfs_fail(FAKE_VFS_FULL, i);
		int r = add(name);
		assert_true(r == 0 || r == -EROFS);
		refused += r == -EROFS;
		assert_int_equal(knows(name), r == 0);
		if (r == -EROFS)
			assert_non_null(strstr(err.text,
					       "nothing was done, the journal cannot be written"));
		phx_journal_probe(journal);
		assert_int_equal(phx_journal_status(journal, NULL), r);
		assert_int_equal(is_recalled(name), r == 0);
		mono += 5000;
		phx_journal_probe(journal);
		assert_int_equal(phx_journal_status(journal, NULL), 0);
	}
	assert_true(refused > 2 && refused < WRITES);
	assert_int_equal(add("after"), 0);
}

/* It is found out by writing: as long as that fails nothing is even applied. */
static void a_full_disk_is_probed(void **state)
{
	(void)state;
	on_sqlite();
	assert_int_equal(add("answered"), 0);
	failing_vfs_fail(FAKE_VFS_FULL, 0);
	assert_int_equal(add("full"), -EROFS);
	mono += 5000;
	phx_journal_probe(journal);
	assert_int_equal(phx_journal_status(journal, NULL), -EROFS);
	failing_vfs_fail(FAKE_VFS_SOUND, 0);
	mono += 5000;
	assert_int_equal(add("room"), 0);
}

/* ---- a store that lies, and memory that runs out ---- */

static enum phx_memory_fate next_fate;

static enum phx_memory_fate fate_of(void *arg, enum phx_memory_write write)
{
	(void)arg;
	return write == PHX_MEMORY_COMMIT ? next_fate : PHX_MEMORY_WRITTEN;
}

static void restart(void)
{
	phx_journal_close(PHX_TAKE(journal), false);
	assert_int_equal(begin(phx_journal_on_memory(&memory)), 0);
	assert_int_equal(phx_journal_resume(journal), 0);
}

static void a_commit_that_fails_and_lasts_is_there_afterwards(void **state)
{
	(void)state;
	memory.fate = fate_of;
	next_fate = PHX_MEMORY_WRITTEN;
	restart();
	assert_int_equal(add("answered"), 0);
	int acts = n_acts;
	next_fate = PHX_MEMORY_LASTS;
	assert_int_equal(add("doubtful"), -EIO);
	assert_int_equal(n_acts, acts); /* what is in doubt is not carried out */
	has_ended();
	next_fate = PHX_MEMORY_LOST;
	restart();
	assert_true(knows("answered") && knows("doubtful"));
	assert_int_equal(add("lost"), -EIO);
	next_fate = PHX_MEMORY_WRITTEN;
	restart();
	assert_false(knows("lost"));
	assert_int_equal(add("lost"), 0);
}

/* Who reads before the first event of a start looks for nodes as everybody does. */
static void a_state_out_of_a_snapshot_has_its_index(void **state)
{
	(void)state;
	memory.fate = NULL;
	restart();
	assert_int_equal(add("answered"), 0);
	phx_journal_close(PHX_TAKE(journal), true);
	assert_int_equal(begin(phx_journal_on_memory(&memory)), 0);
	assert_true(knows("answered"));
	assert_non_null(phx_journal_state(journal)->index);
}

static int out_of_memory(void *arg, const struct phx_store_row *rows, uint32_t n,
			 struct phx_err *why)
{
	(void)arg;
	(void)rows;
	(void)n;
	(void)why;
	return -ENOMEM;
}

static void out_of_memory_ends_it_and_nothing_was_done(void **state)
{
	struct phx_journal_store ops = phx_journal_on_memory(&memory);
	(void)state;
	ops.append = out_of_memory;
	assert_int_equal(begin(ops), 0);
	assert_int_equal(add("n1"), -EAGAIN);
	assert_non_null(strstr(err.text, "nothing was done, phxd ends and starts again"));
	has_ended();
	restart();
	assert_false(knows("n1"));
}

/* The store has a node in a state that no event could bring it into. */
static void break_node(const char *name)
{
	struct phx_node *n = phx_state_node(phx_journal_state(journal), name);
	struct phx_step *step = phx_list_push(&n->plan.steps, sizeof(*step));
	step->kind = PHX_STEP_prefetch;
	step->status = PHX_STEP_ISSUED;
	step->deadline_ms = 1;
	step->attempt = 100;
	n->state = PHX_NODE_CLEANING;
	n->plan.from_state = PHX_NODE_NEW; /* where no plan begins */
	phx_touch((struct phx_state *)phx_journal_state(journal), n);
	phx_journal_snapshot(journal);
}

static const struct phx_node *node_of(const char *name)
{
	return phx_state_node(phx_journal_state(journal), name);
}

/* The program is wrong: one's order is refused, and all else goes on from what was committed. */
static void a_state_that_cannot_be_ends_the_order_alone(void **state)
{
	struct phx_event cancel = {.kind = PHX_EV_cancel, .by = "test", .node = "n1"};
	(void)state;
	assert_int_equal(begin(phx_journal_on_memory(&memory)), 0);
	assert_int_equal(add("n1"), 0);
	break_node("n1");
	uint64_t seq = phx_journal_state(journal)->seq;
	for (int i = 0; i < 2; i++) {
		phx_err_clear(&err);
		assert_int_equal(phx_journal_submit(journal, &cancel, NULL, &err), -EPROTO);
		assert_non_null(strstr(err.text,
				       "nothing was done, because of an error in phxd: "
				       "n1 cannot become"));
		assert_int_equal(phx_journal_status(journal, NULL), 0);
		assert_int_equal(phx_journal_state(journal)->seq, seq);
		assert_int_equal(node_of("n1")->state, PHX_NODE_CLEANING);
		assert_int_equal(node_of("n1")->plan.steps.n, 1);
	}
	assert_int_equal(add("n2"), 0);
	restart();
	assert_true(knows("n1") && knows("n2"));
}

/* What comes again by itself would come for ever: the node is quarantined, with the reason. */
static void a_node_that_no_deadline_can_help_is_quarantined(void **state)
{
	struct phx_event tick = {.kind = PHX_EV_tick, .by = "phxd"};
	(void)state;
	assert_int_equal(begin(phx_journal_on_memory(&memory)), 0);
	assert_int_equal(add("n1"), 0);
	assert_int_equal(add("n2"), 0);
	break_node("n1");
	uint64_t seq = phx_journal_state(journal)->seq;
	phx_err_clear(&err);
	assert_int_equal(phx_journal_submit(journal, &tick, NULL, &err), -EPROTO);
	assert_int_equal(phx_journal_status(journal, NULL), 0);
	assert_int_equal(phx_journal_state(journal)->seq, seq + 1);
	assert_int_equal(node_of("n1")->state, PHX_NODE_QUARANTINED);
	assert_string_equal(node_of("n1")->reason,
			    "an error in phxd: n1 cannot become new: it is cleaning");
	assert_int_equal(phx_journal_submit(journal, &tick, NULL, &err), 0);
	assert_true(phx_core_next_deadline(phx_journal_state(journal)) > wall);
	assert_int_equal(add("n3"), 0);
	restart();
	assert_int_equal(node_of("n1")->state, PHX_NODE_QUARANTINED);
	assert_true(knows("n2") && knows("n3"));
}

static int unreadable(void *arg, uint64_t *ret_seq, struct phx_err *why)
{
	(void)arg;
	*ret_seq = 0;
	return added > 1 ? phx_err_set(why, -EIO, "it cannot be read") : 0;
}

/* What was applied is not to be believed, and there is no way back to what was. */
static void a_store_that_cannot_be_read_again_ends_it(void **state)
{
	struct phx_journal_store ops = phx_journal_on_memory(&memory);
	(void)state;
	memory.fate = fate_of;
	next_fate = PHX_MEMORY_WRITTEN;
	ops.first = unreadable;
	assert_int_equal(begin(ops), 0);
	assert_int_equal(add("n1"), 0);
	next_fate = PHX_MEMORY_FULL;
	assert_int_equal(add("n2"), -EAGAIN);
	has_ended();
}

static void an_action_that_cannot_be_queued_ends_it(void **state)
{
	(void)state;
	restart();
	acts_fail = 1;
	assert_int_equal(add("n1"), 0); /* it is committed, and answered so */
	assert_true(n_acts > 0);
	has_ended();
	restart();
	assert_true(knows("n1"));
}

/* ---- one event for each of many nodes ---- */

enum { MANY = 6 };
static struct phx_each many[MANY];

/* Five of them are known. */
static void label_many(void)
{
	static const char *const names[MANY] = {"m0", "m1", "nobody", "m3", "m4", "m5"};
	struct phx_event ev = {.kind = PHX_EV_node_label, .by = "test"};
	struct phx_label *l = phx_list_push(&ev.node_label.labels, sizeof(*l));
	PHX_STR_SET(l->key, "rack");
	snprintf(l->value, sizeof(l->value), "r%d", added++);
	for (int i = 0; i < MANY; i++)
		many[i] = (struct phx_each){.node = names[i]};
	phx_journal_submit_each(journal, &ev, many, MANY);
	for (int i = 0; i < MANY; i++)
		phx_outcome_fini(&many[i].out);
	phx_event_fini(&ev);
}

static void add_many(void)
{
	static const char *const names[] = {"answered", "m0", "m1", "m3", "m4", "m5"};
	for (size_t i = 0; i < PHX_ARRAY_SIZE(names); i++)
		assert_int_equal(add(names[i]), 0);
}

static unsigned n_labelled(const struct phx_state *s)
{
	unsigned n = 0;
	PHX_NODES_EACH(node, s)
		n += node->labels.n > 0;
	return n;
}

static int writes_of[PHX_MEMORY_PROBE + 1], fails_at;
static enum phx_memory_fate count_writes(void *arg, enum phx_memory_write write)
{
	(void)arg;
	writes_of[write]++;
	return fails_at-- == 0 ? next_fate : PHX_MEMORY_WRITTEN;
}

static void count_from_here(void)
{
	memory.fate = count_writes;
	memset(writes_of, 0, sizeof(writes_of));
	fails_at = -1;
}

/* The one that the core refuses is nobody else's matter. */
static void many_nodes_are_one_transaction(void **state)
{
	(void)state;
	restart();
	add_many();
	count_from_here();
	uint64_t seq = phx_journal_state(journal)->seq;
	label_many();
	assert_int_equal(writes_of[PHX_MEMORY_ROW], MANY - 1);
	assert_int_equal(writes_of[PHX_MEMORY_COMMIT], 1);
	for (int i = 0; i < MANY; i++)
		assert_int_equal(many[i].result, i == 2 ? -ENOENT : 0);
	assert_int_equal(many[0].seq, seq + 1);
	assert_int_equal(many[2].seq, 0);
	assert_int_equal(many[MANY - 1].seq, seq + MANY - 1);
	restart();
	assert_int_equal(n_labelled(phx_journal_state(journal)), MANY - 1);
}

/* What is left of the list, and all that is found in it, is as if they had gone one by one: so a
 * start replays it. */
static void many_that_go_leave_what_a_replay_leaves(void **state)
{
	static const char *const names[] = {"m1", "nobody", "m1", "answered", "m4"};
	struct phx_each gone[PHX_ARRAY_SIZE(names)] = {0};
	struct phx_event ev = {.kind = PHX_EV_node_remove, .by = "test"};
	uint64_t seq;
	(void)state;
	restart();
	add_many();
	for (size_t i = 0; i < PHX_ARRAY_SIZE(names); i++)
		gone[i].node = names[i];
	phx_journal_submit_each(journal, &ev, gone, PHX_ARRAY_SIZE(names));
	for (size_t i = 0; i < PHX_ARRAY_SIZE(names); i++) {
		assert_int_equal(gone[i].result, i == 1 || i == 2 ? -ENOENT : 0);
		phx_outcome_fini(&gone[i].out);
	}
	assert_true(knows("m0") && knows("m3") && knows("m5"));
	assert_false(knows("m1") || knows("answered") || knows("m4"));
	assert_int_equal(phx_nodes_count(phx_journal_state(journal)), 3);
	PHX_AUTO_FREE char *live = phx_journal_state_text(journal, &seq);
	restart();
	PHX_AUTO_FREE char *replayed = phx_journal_state_text(journal, &seq);
	assert_string_equal(live, replayed);
}

/* Each may have an event of its own, which then knows its node; a restart brings each back. */
static void many_have_events_of_their_own(void **state)
{
	static const char *const racks[] = {"r7", "", "r9"};
	struct phx_event evs[3] = {0};
	struct phx_each each[3] = {0};
	(void)state;
	restart();
	add_many();
	for (int i = 0; i < 3; i++) {
		evs[i] = (struct phx_event){.kind = PHX_EV_node_label, .by = "test"};
		snprintf(evs[i].node, sizeof(evs[i].node), "m%d", i == 1 ? 2 : i);
		struct phx_label *l = phx_list_push(&evs[i].node_label.labels, sizeof(*l));
		PHX_STR_SET(l->key, "rack");
		PHX_STR_SET(l->value, racks[i]);
		each[i] = (struct phx_each){.node = evs[i].node, .ev = &evs[i]};
	}
	PHX_STR_SET(evs[2].node, "m4");
	count_from_here();
	phx_journal_submit_each(journal, NULL, each, 3);
	assert_int_equal(writes_of[PHX_MEMORY_COMMIT], 1);
	assert_int_equal(each[1].result, -ENOENT);
	restart();
	const struct phx_state *s = phx_journal_state(journal);
	assert_string_equal(
		PHX_LIST_AT(&phx_state_node(s, "m0")->labels, struct phx_label, 0)->value, "r7");
	assert_string_equal(
		PHX_LIST_AT(&phx_state_node(s, "m4")->labels, struct phx_label, 0)->value, "r9");
	assert_int_equal(n_labelled(s), 2);
	for (int i = 0; i < 3; i++) {
		phx_outcome_fini(&each[i].out);
		phx_event_fini(&evs[i]);
	}
}

/* One that was found wrong before is passed over, and keeps what is wrong with it. */
static void a_node_with_a_result_is_passed_over(void **state)
{
	struct phx_event ev = {.kind = PHX_EV_quarantine, .by = "test"};
	struct phx_each two[] = {{.node = "m0", .result = -EBADMSG}, {.node = "m1"}};
	(void)state;
	restart();
	add_many();
	phx_journal_submit_each(journal, &ev, two, 2);
	assert_int_equal(two[0].result, -EBADMSG);
	assert_int_equal(two[1].result, 0);
	assert_int_not_equal(phx_state_node(phx_journal_state(journal), "m0")->state,
			     PHX_NODE_QUARANTINED);
	assert_int_equal(phx_state_node(phx_journal_state(journal), "m1")->state,
			 PHX_NODE_QUARANTINED);
	phx_outcome_fini(&two[1].out);
}

/* Whatever write fails, what is answered and what comes back is one of the two: all, or nothing. */
static void a_write_that_fails_among_many_undoes_all(void **state)
{
	static const enum phx_memory_fate fates[] = {PHX_MEMORY_FULL, PHX_MEMORY_CUT,
						     PHX_MEMORY_LOST, PHX_MEMORY_LASTS};
	(void)state;
	for (size_t f = 0; f < PHX_ARRAY_SIZE(fates); f++) {
		for (int at = 0; at < MANY; at++) {
			/* a row of each that is known, and the commit */
			phx_memory_fini(&memory);
			restart();
			add_many();
			int acts = n_acts;
			count_from_here();
			next_fate = fates[f];
			fails_at = at;
			label_many();
			bool in_doubt = at == MANY - 1 && fates[f] != PHX_MEMORY_FULL;
			for (int i = 0; i < MANY; i++)
				assert_int_equal(many[i].result,
						 i == 2             ? -ENOENT
							 : in_doubt ? -EIO
								    : -EROFS);
			assert_int_equal(n_acts, acts);
			count_from_here();
			if (!in_doubt)
				assert_int_equal(n_labelled(phx_journal_state(journal)), 0);
			restart();
			assert_int_equal(n_labelled(phx_journal_state(journal)),
					 in_doubt && fates[f] == PHX_MEMORY_LASTS ? MANY - 1 : 0);
		}
	}
}

/* The same on a disk: full, or failing, between any two of its writes. */
static void a_disk_that_fails_among_many_has_all_or_nothing(void **state)
{
	static const enum failing_vfs_way faults[] = {FAKE_VFS_FULL, FAKE_VFS_SHORT};
	unsigned n_none = 0, n_all = 0;
	(void)state;
	for (size_t f = 0; f < PHX_ARRAY_SIZE(faults); f++) {
		for (int at = 0; at < WRITES; at++) {
			struct phx_recalled rc;
			teardown(NULL);
			setup(NULL);
			on_sqlite();
			add_many();
			failing_vfs_fail(faults[f], at);
			label_many();
			recall(&rc);
			unsigned n = n_labelled(&rc.state);
			phx_state_fini(&rc.state);
			assert_true(n == 0 || n == MANY - 1);
			assert_true(n || many[0].result < 0);
			assert_int_equal(many[0].result, many[MANY - 1].result);
			n_none += !n;
			n_all += n > 0;
		}
	}
	assert_true(n_none > 2 && n_all > 2);
}

static enum phx_journal_point dies_point;
static uint64_t dies_seq;
static bool die_at(void *arg, enum phx_journal_point point, uint64_t seq,
		   const struct phx_event *ev, const struct phx_outcome *out)
{
	(void)arg;
	(void)out;
	if (point != dies_point || seq != dies_seq)
		return false;
	assert_string_equal(ev->node, many[seq - MANY - 1 + (seq - MANY > 2)].node);
	return true;
}

/* Before the commit nothing of them is there, after it everything. */
static void death_among_many_leaves_all_or_nothing(void **state)
{
	(void)state;
	for (int point = PHX_JOURNAL_APPLIED; point <= PHX_JOURNAL_ACTED; point++) {
		for (uint64_t nth = 1; nth < MANY; nth++) {
			phx_memory_fini(&memory);
			restart();
			add_many();
			phx_journal_close(PHX_TAKE(journal), false);
			dies = die_at;
			dies_point = (enum phx_journal_point)point;
			dies_seq = MANY + nth;
			assert_int_equal(begin(phx_journal_on_memory(&memory)), 0);
			label_many();
			dies = NULL;
			for (int i = 0; i < MANY; i++)
				assert_true(many[i].result < 0);
			restart();
			assert_int_equal(n_labelled(phx_journal_state(journal)),
					 point == PHX_JOURNAL_APPLIED ? 0 : MANY - 1);
		}
	}
}

/* ---- clocks ---- */

static int64_t last_time(void)
{
	return PHX_LIST_AT(&memory.events, struct phx_store_event, memory.events.n - 1)->time_ms;
}

static void time_never_goes_back_over_starts(void **state)
{
	static const int64_t steps[] = {
		-2 * HOUR_MS, 0, 3 * HOUR_MS, -400LL * 24 * HOUR_MS, 400LL * 24 * HOUR_MS, HOUR_MS};
	int64_t last = 0;
	(void)state;
	for (size_t i = 0; i < PHX_ARRAY_SIZE(steps); i++) {
		char name[16];
		snprintf(name, sizeof(name), "n%zu", i);
		wall += steps[i];
		restart();
		assert_int_equal(add(name), 0);
		assert_true(last_time() >= last);
		last = last_time();
		mono += 1000;
	}
}

static void a_clock_that_is_months_ahead_is_not_believed(void **state)
{
	(void)state;
	restart();
	assert_int_equal(add("n1"), 0);
	int64_t last = last_time();
	wall += 60LL * 24 * HOUR_MS;
	restart();
	assert_true(phx_journal_clock_held(journal) > 0);
	assert_int_equal(add("n2"), 0);
	assert_true(last_time() - last < HOUR_MS);
	synchronised = true;
	mono += 5000;
	assert_true(phx_journal_clock_believe(journal));
	assert_int_equal(add("n3"), 0);
	assert_true(last_time() - last > 59LL * 24 * HOUR_MS);
}

/* ---- snapshots that another thread takes ---- */

static struct phx_journal_store below;
static int n_due, snapshots_fail;

static void due(void *arg)
{
	(void)arg;
	n_due++;
}

/* Whoever orders something while a snapshot is packed is not kept waiting. */
static int pack_beside(uint64_t seq, const char *text, struct phx_store_packed *ret)
{
	char name[16];
	(void)seq;
	snprintf(name, sizeof(name), "meanwhile%d", n_due);
	assert_int_equal(add(name), 0);
	ret->bytes = strdup(text);
	return ret->bytes ? 0 : -ENOMEM;
}

/* Nor is, while it is written, who looks. */
static int snapshot_beside(void *arg, uint64_t seq, const char *text,
			   const struct phx_store_packed *packed, struct phx_err *why)
{
	assert_string_equal(packed->bytes, text);
	assert_true(phx_journal_lock(journal)->seq > seq);
	phx_journal_unlock(journal);
	return snapshots_fail-- > 0 ? -ENOSPC : below.snapshot(arg, seq, text, packed, why);
}

static void a_snapshot_is_written_beside_events(void **state)
{
	(void)state;
	below = phx_journal_on_memory(&memory);
	struct phx_journal_store ops = below;
	ops.pack = pack_beside;
	ops.snapshot = snapshot_beside;
	struct phx_journal_config config = {.store = ops,
					    .clock = {wall_ms, mono_ms, is_synchronised, NULL},
					    .snapshot_every = 3,
					    .draw = draw,
					    .act = act,
					    .snapshot_due = due};
	n_due = 0;
	snapshots_fail = 1;
	assert_int_equal(phx_journal_open(&config, &journal, NULL, &err), 0);
	assert_int_equal(add("n1") | add("n2") | add("n3") | add("n4"), 0);
	assert_int_equal(n_due, 1); /* asked for once */
	phx_journal_snapshot(journal);
	assert_int_equal(memory.snapshots[0].seq, 0); /* it failed, and is due again */
	assert_int_equal(add("n5"), 0);
	assert_int_equal(n_due, 2);
	uint64_t seq = phx_journal_state(journal)->seq;
	phx_journal_snapshot(journal);
	assert_int_equal(memory.snapshots[0].seq, seq); /* of when it began */
	phx_journal_close(PHX_TAKE(journal), false);
	assert_int_equal(begin(below), 0);
	for (unsigned i = 1; i <= 5; i++)
		assert_true(knows((char[]){'n', (char)('0' + i), '\0'}));
	assert_true(knows("meanwhile1") && knows("meanwhile2"));
}

/* ---- whom an event is about ---- */

static void add_note(struct phx_list *actions, int kind, const char *node, const char *re,
		     const char *other_re)
{
	struct phx_action *act = phx_list_push(actions, sizeof(*act));
	act->kind = kind;
	PHX_STR_SET(act->node, node);
	PHX_STR_SET(act->re, re);
	PHX_STR_SET(act->other_re, other_re);
}

/* Its notes say so, and its own node is found without. */
static void an_event_is_found_by_all_whom_it_is_about(void **state)
{
	static const char *const names[] = {PHX_STORE_BY "uid:7", "queue", "web", "n2"};
	struct phx_journal_config config = {.draw = draw};
	struct phx_event ev = {.kind = PHX_EV_quarantine, .by = "uid:7", .node = "n1"};
	struct phx_each each = {.node = ev.node, .seq = 1};
	struct phx_store_row row = {0};
	struct phx_state s;
	(void)state;
	add_note(&each.out.actions, PHX_ACT_NOTE, "n1", "queue", "web");
	add_note(&each.out.actions, PHX_ACT_POWER, "n3", "", "");
	add_note(&each.out.actions, PHX_ACT_NOTE, "n2", "", "");
	assert_int_equal(phx_state_init(&s), 0);
	assert_int_equal(phx_journal_row(&config, &s, &ev, &each, &row, &err), 0);
	assert_string_equal(row.event.node, "n1");
	assert_int_equal(row.about.n, PHX_ARRAY_SIZE(names));
	for (uint32_t i = 0; i < row.about.n; i++)
		assert_string_equal(PHX_LIST_AT(&row.about, struct phx_word, i)->text, names[i]);
	phx_journal_row_fini(&row);
	phx_outcome_fini(&each.out);
	phx_state_fini(&s);
}

/* Whom agents and the head itself speak for is no person. */
static void what_no_person_caused_is_not_noted_as_one(void **state)
{
	static const char *const who[] = {"node:n1", "phxd", ""};
	struct phx_journal_config config = {.draw = draw};
	struct phx_state s;
	(void)state;
	assert_int_equal(phx_state_init(&s), 0);
	for (size_t i = 0; i < PHX_ARRAY_SIZE(who); i++) {
		struct phx_event ev = {.kind = PHX_EV_quarantine, .node = "n1"};
		struct phx_each each = {.node = ev.node, .seq = 1};
		struct phx_store_row row = {0};
		PHX_STR_SET(ev.by, who[i]);
		assert_int_equal(phx_journal_row(&config, &s, &ev, &each, &row, &err), 0);
		assert_int_equal(row.about.n, 0);
		phx_journal_row_fini(&row);
	}
	phx_state_fini(&s);
}

/* ---- while the state becomes a text ---- */

enum { PATIENCE_S = 20 };

static struct {
	char *base;
	size_t n;
	sem_t reached, go_on;
	bool alone;
} page;

static bool wait_long(sem_t *sem)
{
	struct timespec until;
	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_sec += PATIENCE_S;
	return sem_timedwait(sem, &until) == 0;
}

/* The thread that makes the text has come to the nodes, and stays there for as long as the test
 * wants. */
static void at_the_nodes(int signo, siginfo_t *si, void *context)
{
	char *at = si->si_addr;
	(void)context;
	if (at < page.base || at >= page.base + page.n) {
		signal(signo, SIG_DFL); /* a mistake like any other */
		return;
	}
	mprotect(page.base, page.n, PROT_READ | PROT_WRITE);
	sem_post(&page.reached);
	page.alone = !wait_long(&page.go_on);
}

static void *take_one(void *arg)
{
	(void)arg;
	phx_journal_snapshot(journal);
	return NULL;
}

static void *add_one(void *arg)
{
	assert_int_equal(add("meanwhile"), 0);
	sem_post(arg);
	return NULL;
}

/* The list of nodes moves to pages of its own. */
static void hide_nodes(void)
{
	struct phx_list *nodes = (struct phx_list *)&phx_journal_state(journal)->nodes;
	size_t unit = (size_t)sysconf(_SC_PAGESIZE);
	page.n = ((nodes->n + 4) * sizeof(struct phx_node) / unit + 1) * unit;
	page.base = mmap(NULL, page.n, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	assert_true(page.base != MAP_FAILED);
	memcpy(page.base, nodes->items, nodes->n * sizeof(struct phx_node));
	free(nodes->items);
	nodes->items = page.base;
	nodes->cap = nodes->n + 4;
	mprotect(page.base, page.n, PROT_NONE);
}

static void show_nodes(void)
{
	struct phx_list *nodes = (struct phx_list *)&phx_journal_state(journal)->nodes;
	void *items = malloc(nodes->n * sizeof(struct phx_node));
	assert_non_null(items);
	memcpy(items, nodes->items, nodes->n * sizeof(struct phx_node));
	nodes->items = items;
	nodes->cap = nodes->n;
	munmap(page.base, page.n);
}

/* Who looks does not wait for it; what changes the state does: the text is that of one event. */
static void whoever_looks_does_not_wait_for_a_snapshot(void **state)
{
	struct sigaction fault = {.sa_sigaction = at_the_nodes, .sa_flags = SA_SIGINFO}, before;
	pthread_t taker, adder;
	sem_t added_one;
	int n_added = -1;
	(void)state;
	assert_int_equal(sem_init(&page.reached, 0, 0) | sem_init(&page.go_on, 0, 0) |
				 sem_init(&added_one, 0, 0),
			 0);
	assert_int_equal(sigaction(SIGSEGV, &fault, &before), 0);
	assert_int_equal(begin(phx_journal_on_memory(&memory)), 0);
	assert_int_equal(add("n1") | add("n2"), 0);
	uint64_t seq = phx_journal_state(journal)->seq;
	hide_nodes();
	assert_int_equal(pthread_create(&taker, NULL, take_one, NULL), 0);
	assert_true(wait_long(&page.reached));
	assert_true(phx_journal_lock(journal)->seq == seq);
	phx_journal_unlock(journal);
	assert_true(phx_journal_now(journal) > 0);
	assert_int_equal(pthread_create(&adder, NULL, add_one, &added_one), 0);
	for (int i = 0; i < 500 && n_added <= 0; i++) {
		sched_yield(); /* it has its chance */
		sem_getvalue(&added_one, &n_added);
	}
	sem_post(&page.go_on);
	pthread_join(taker, NULL);
	pthread_join(adder, NULL);
	sigaction(SIGSEGV, &before, NULL);
	show_nodes();
	assert_false(page.alone);
	assert_int_equal(n_added, 0);
	assert_int_equal(memory.snapshots[0].seq, seq);
	assert_null(strstr(memory.snapshots[0].state, "meanwhile"));
	assert_int_equal(phx_journal_state(journal)->seq, seq + 1);
}

#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(a_failed_fsync_is_in_doubt_and_may_last),
		T(a_short_write_is_in_doubt_and_leaves_nothing_half),
		T(a_disk_that_is_full_between_any_two_writes),
		T(a_full_disk_is_probed),
		T(a_commit_that_fails_and_lasts_is_there_afterwards),
		T(a_state_out_of_a_snapshot_has_its_index),
		T(out_of_memory_ends_it_and_nothing_was_done),
		T(a_state_that_cannot_be_ends_the_order_alone),
		T(a_node_that_no_deadline_can_help_is_quarantined),
		T(a_store_that_cannot_be_read_again_ends_it),
		T(an_action_that_cannot_be_queued_ends_it),
		T(a_snapshot_is_written_beside_events),
		T(whoever_looks_does_not_wait_for_a_snapshot),
		T(an_event_is_found_by_all_whom_it_is_about),
		T(what_no_person_caused_is_not_noted_as_one),
		T(many_nodes_are_one_transaction),
		T(many_that_go_leave_what_a_replay_leaves),
		T(many_have_events_of_their_own),
		T(a_node_with_a_result_is_passed_over),
		T(a_write_that_fails_among_many_undoes_all),
		T(a_disk_that_fails_among_many_has_all_or_nothing),
		T(death_among_many_leaves_all_or_nothing),
		T(time_never_goes_back_over_starts),
		T(a_clock_that_is_months_ahead_is_not_believed),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
