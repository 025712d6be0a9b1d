/* Events of many nodes at once (cmd/phxd/tell.c): in portions, and whose event was not
 * journalled is known afterwards. */
#include "unit/core/world.h"

#include "journal/journal.h"
#include "phxd/tell.c" /* a part of a program, not of the library */
#include "fake/submitted.h"

static struct daemon d;
static uint32_t fake_n_told, fake_n_portions, fake_largest;

/* Nodes whose name ends with a 7 are not journalled. */
void engine_submit_each(struct engine *e, struct phx_event *ev, struct phx_each *each, uint32_t n)
{
	(void)e;
	assert_int_equal(ev->kind, PHX_EV_quiet);
	assert_string_equal(ev->by, "phxd");
	fake_n_portions++;
	fake_n_told += n;
	fake_largest = n > fake_largest ? n : fake_largest;
	for (uint32_t i = 0; i < n; i++)
		each[i].result = each[i].node[strlen(each[i].node) - 1] == '7' ? -EROFS : 0;
}

static void names_that_could_not_be_told_stay_in_their_order(void **state)
{
	PHX_AUTO(phx_list_fini) struct phx_list names = {0};
	char name[16];
	const uint32_t n = 2 * PHX_JOURNAL_PORTION + 10;
	uint32_t n_left = 0;
	(void)state;
	fake_n_told = fake_n_portions = fake_largest = 0;
	for (uint32_t i = 0; i < n; i++) {
		snprintf(name, sizeof(name), "n%u", i);
		assert_int_equal(tell_put_name(&names, name), 0);
		n_left += i % 10 == 7;
	}
	tell_nodes(&d, PHX_EV_quiet, &names);
	assert_int_equal(fake_n_told, n);
	assert_int_equal(fake_n_portions, 3);
	assert_int_equal(fake_largest, PHX_JOURNAL_PORTION);
	assert_int_equal(names.n, n_left);
	for (uint32_t i = 0; i < names.n; i++) {
		snprintf(name, sizeof(name), "n%u", 10 * i + 7);
		assert_string_equal(PHX_LIST_AT(&names, struct phx_word, i)->text, name);
	}
}

static void nobody_is_told_of_nobody(void **state)
{
	struct phx_list none = {0};
	(void)state;
	fake_n_portions = 0;
	tell_nodes(&d, PHX_EV_quiet, &none);
	assert_int_equal(fake_n_portions, 0);
	assert_int_equal(none.n, 0);
}

static void nodes_that_are_up_are_found(void **state)
{
	PHX_AUTO(phx_list_fini) struct phx_list names = {0};
	struct world *w = *state;
	fake_engine_begin();
	fake_state = &w->s;
	world_ready(w, "n1", true);
	world_ready(w, "n2", true);
	world_add(w, "n3", true); /* was never heard */
	world_node(w, "n1")->up = false;
	tell_up_nodes(&d, &names);
	assert_int_equal(names.n, 1);
	assert_string_equal(PHX_LIST_AT(&names, struct phx_word, 0)->text, "n2");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(names_that_could_not_be_told_stay_in_their_order),
		cmocka_unit_test(nobody_is_told_of_nobody),
		WORLD_TEST(nodes_that_are_up_are_found),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
