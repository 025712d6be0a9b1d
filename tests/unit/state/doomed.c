/* Keys that are to be destroyed: each is found by its name and by no other, whatever came and went
 * before it, with an index and without; they are ordered to be destroyed in the order in which they
 * came, and are told after a restart, and none else. */
#include "unit/core/world.h"

#include "state/doomed.h"
#include "state/index.h"
#include "state/timed.h"

enum { ROUNDS = 4000 };

/* The same keys in a plain list, as they came. */
struct model {
	struct phx_list keys; /* struct phx_word */
	unsigned n_made;
};

static void doom(struct world *w, struct model *m)
{
	struct phx_word *word = phx_list_push(&m->keys, sizeof(*word));
	struct phx_doomed_key *k = phx_list_push(&w->s.doomed_keys, sizeof(*k));
	snprintf(word->text, sizeof(word->text), "n%u-%u", m->n_made % 7, m->n_made);
	m->n_made++;
	assert_null(phx_doomed_find(&w->s, word->text));
	PHX_STR_SET(k->key_id, word->text);
	k->again_ms = w->now;
	phx_doomed_named(&w->s, k);
	phx_timed_set(&w->s, PHX_TIMED_KEY, k);
}

static void gone(struct world *w, struct model *m, uint32_t i)
{
	struct phx_word word = *PHX_LIST_AT(&m->keys, struct phx_word, i);
	phx_doomed_gone(&w->s, phx_doomed_find(&w->s, word.text));
	phx_list_remove(&m->keys, sizeof(word), i);
	assert_null(phx_doomed_find(&w->s, word.text));
}

static void check(struct world *w, const struct model *m)
{
	struct phx_list pending = {0};
	struct phx_err err = {0};
	const struct phx_doomed_key *due = NULL;
	w->s.now_ms = w->now;
	assert_int_equal(phx_core_pending(&w->s, &pending), 0);
	assert_int_equal(pending.n, m->keys.n);
	for (uint32_t i = 0; i < m->keys.n; i++) {
		const char *name = PHX_LIST_AT(&m->keys, struct phx_word, i)->text;
		const struct phx_doomed_key *first = w->s.doomed_keys.items;
		assert_string_equal(PHX_LIST_AT(&pending, struct phx_action, i)->key_id, name);
		due = phx_timed_next(&w->s, PHX_TIMED_KEY, due ? (uint32_t)(due - first) + 1 : 0);
		assert_ptr_equal(due, phx_doomed_find(&w->s, name));
	}
	assert_null(phx_doomed_find(&w->s, ""));
	assert_null(phx_doomed_find(&w->s, "n"));
	if (w->s.index && phx_doomed_check(&w->s, &err) < 0)
		fail_msg("%s", err.text);
	phx_list_fini(&pending);
}

/* So many are kept on average, and the last go, too. */
static void come_and_go(struct world *w, uint32_t about)
{
	struct model m = {0};
	unsigned random = 1;
	for (unsigned i = 0; i < ROUNDS; i++) {
		random = random * 1103515245 + 12345;
		if ((random >> 16) % (2 * about) >= m.keys.n)
			doom(w, &m);
		else
			gone(w, &m, (random >> 8) % m.keys.n);
		if (i % 100 == 0)
			check(w, &m);
	}
	assert_true(w->s.doomed_keys.n <= 2 * m.keys.n + 64);
	while (m.keys.n) {
		gone(w, &m, m.keys.n / 3);
		if (m.keys.n % 100 == 0)
			check(w, &m);
	}
	assert_int_equal(w->s.doomed_keys.n, 0);
	phx_list_fini(&m.keys);
}

static void each_is_found_in_its_turn(void **state)
{
	struct world *w = *state;
	assert_int_equal(phx_index_ready(&w->s), 0);
	come_and_go(w, 10);
	come_and_go(w, 500);
}

static void also_without_an_index(void **state)
{
	struct world *w = *state;
	phx_index_drop(&w->s);
	come_and_go(w, 300);
}

/* One is made of a state from a snapshot, in which places may be empty. */
static void also_with_a_new_index(void **state)
{
	struct world *w = *state;
	struct model m = {0};
	assert_int_equal(phx_index_ready(&w->s), 0);
	for (unsigned i = 0; i < 200; i++)
		doom(w, &m);
	for (unsigned i = 0; i < 90; i++)
		gone(w, &m, i);
	assert_int_equal(w->s.doomed_keys.n, 200);
	phx_index_drop(&w->s);
	assert_int_equal(phx_index_ready(&w->s), 0);
	check(w, &m);
	for (unsigned i = 0; i < 11; i++)
		gone(w, &m, 0);
	assert_int_equal(w->s.doomed_keys.n, m.keys.n);
	check(w, &m);
	phx_list_fini(&m.keys);
}

int main(void)
{
	const struct CMUnitTest tests[] = {WORLD_TEST(each_is_found_in_its_turn),
					   WORLD_TEST(also_without_an_index),
					   WORLD_TEST(also_with_a_new_index)};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
