/* Accounts of members on nodes (cmd/phxd/accounts.c): who is in the list of an RE, who is left out,
 * what a name service that forgets people for a while does to them, and which nodes are told. The
 * core is real; the name service is a fake with some people in it, and what the thread would do the
 * test does. */
#include "unit/core/pair.h"

#include <sys/syscall.h>

#include "fake/thread.h"
#include "phxd/accounts.c" /* a part of a program, not of the library */
#undef pthread_create
#undef pthread_join
#include "fake/submitted.h"

static struct daemon d;
static struct accounts *a;
static struct world *w;
static struct phx_buf fake_woken;

static int64_t fake_ahead_ms;

int clock_gettime(clockid_t id, struct timespec *ts)
{
	int r = (int)syscall(SYS_clock_gettime, id, ts);
	ts->tv_sec += fake_ahead_ms / 1000;
	return r;
}

/* ---- the name service ---- */

static struct fake_user {
	const char *name;
	uint32_t uid, gid;
	const char *gecos, *home, *shell;
	int result; /* of looking him up */
} people[] = {
	{"alice", 1001, 1001, "Alice:A.\n,\xff", "/home/alice", "/bin/bash", 0},
	{"bob", 1002, 100, NULL, NULL, "", 0},
	{"carol", 1003, 1003, "Carol", "/home/carol", "/bin/sh", 0},
	{"daemon1", 200, 200, "", "/", "/bin/sh", 0},
	{"twin", 1001, 1001, "", "/home/twin", "/bin/sh", 0},
	{"odd", 1009, 1009, "", "not a path", "/bin/sh", 0},
};

static struct fake_user *user(const char *name)
{
	for (size_t i = 0; i < PHX_ARRAY_SIZE(people); i++)
		if (!strcmp(people[i].name, name))
			return &people[i];
	return NULL;
}

int phx_user_named(const char *name, struct passwd *ret, char **ret_texts)
{
	struct fake_user *u = user(name);
	assert_false(fake_engine_held); /* it may take long */
	if (!u || u->result)
		return u ? u->result : -ENOENT;
	*ret_texts = NULL;
	*ret = (struct passwd){.pw_name = (char *)u->name,
			       .pw_uid = u->uid,
			       .pw_gid = u->gid,
			       .pw_gecos = (char *)u->gecos,
			       .pw_dir = (char *)u->home,
			       .pw_shell = (char *)u->shell};
	return 0;
}

static int add(struct phx_list *to, const char *name)
{
	struct phx_word *word = phx_list_push(to, sizeof(*word));
	return PHX_STR_SET(word->text, name);
}

int phx_user_groups(const char *name, gid_t gid, struct phx_list *ret)
{
	(void)gid;
	add(ret, "staff");
	add(ret, "disk");
	return !strcmp(name, "alice") ? add(ret, "physics") : 0;
}

int phx_group_named(const char *name, gid_t *ret)
{
	*ret = !strcmp(name, "staff") ? 2000 : !strcmp(name, "physics") ? 1999 : 6;
	return 0;
}

static int fake_group_result;

int person_members(const char *group, uint32_t max, struct phx_list *ret)
{
	(void)max;
	if (group && strcmp(group, "physics") != 0)
		return -ENOENT;
	if (fake_group_result)
		return fake_group_result;
	for (size_t i = 0; i < PHX_ARRAY_SIZE(people); i++)
		if (!group || !strcmp(people[i].name, "carol"))
			add(ret, people[i].name);
	return 0;
}

/* ---- what else of the daemon it calls ---- */

void live_wake(struct live *l, const char *node)
{
	(void)l;
	assert_false(fake_engine_held);
	phx_buf_addf(&fake_woken, "%s ", node);
}
int tell_put_name(struct phx_list *to, const char *node)
{
	return add(to, node);
}

static struct phx_agreement *g; /* of the RE "mtc" */

static void agree(const char *owner, const char *users, const char *groups)
{
	PHX_STR_SET(g->owner, owner);
	PHX_STR_SET(g->users, users);
	PHX_STR_SET(g->groups, groups);
}

static int setup(void **state)
{
	struct phx_agreement mtc = mtc_agreement("unix:alice", 1);
	fake_engine_begin();
	world_setup(state);
	w = *state;
	fake_state = &w->s;
	fake_ahead_ms = 0;
	fake_group_result = 0;
	for (size_t i = 0; i < PHX_ARRAY_SIZE(people); i++)
		people[i].result = 0;
	world_ready(w, "n1", true);
	world_ready(w, "n2", true);
	assert_int_equal(create(w, &mtc), 0);
	assert_int_equal(operate(w, PHX_EV_re_activate, "mtc"), 0);
	settle(w);
	assert_int_equal(held(w, "mtc"), 1);
	g = &phx_state_re(&w->s, "mtc")->agreement;
	d = (struct daemon){0};
	return accounts_new(&d, &a);
}

static int teardown(void **state)
{
	a->ended = true;
	accounts_free(PHX_TAKE(a));
	phx_buf_fini(&fake_woken);
	fake_woken = (struct phx_buf){0};
	return world_teardown(state);
}

/* The order for a node of that RE whose agent has the list `has`; NULL: there is none. */
static json_t *ordered(const char *re, uint64_t has)
{
	PHX_AUTO(phx_list_fini) struct phx_list running = {0};
	PHX_AUTO(phx_buf_fini) struct phx_buf b = {0};
	struct beat_running *r = phx_list_push(&running, sizeof(*r));
	r->kind = PHX_ORDER_accounts;
	r->id = (int64_t)has;
	accounts_orders_put(a, re, &running, &b);
	return b.n ? json_loads(b.data, 0, NULL) : NULL;
}

/* Names of the accounts in the list of "mtc". */
static void assert_listed(const char *want)
{
	PHX_AUTO(phx_buf_fini) struct phx_buf b = {0};
	PHX_AUTO_JSON json_t *order = ordered("mtc", PHX_ACCOUNTS_UNKNOWN);
	size_t i;
	json_t *row;
	json_array_foreach(json_object_get(json_object_get(order, "accounts"), "list"), i, row) {
		phx_buf_addf(&b, "%s%s", b.n ? " " : "", phx_json_str(row, "name", ""));
	}
	assert_string_equal(order ? b.n ? b.data : "" : "(no list)", want);
}

/* ---- who is in it ---- */

static void members_are_listed_once_and_in_one_order(void **state)
{
	(void)state;
	agree("unix:alice", "unix:bob alice", "physics");
	assert_true(make_all(a));
	assert_listed("alice bob carol");
}

static void a_certificate_has_the_account_as_whom_it_works(void **state)
{
	struct phx_event ev = {.kind = PHX_EV_access, .by = "uid:0"};
	(void)state;
	PHX_STR_SET(ev.access.identity, "cert:campus");
	PHX_STR_SET(ev.access.login, "carol");
	agree("cert:campus", "cert:other", "");
	assert_true(make_all(a));
	assert_listed("");
	assert_int_equal(world_apply(w, &ev, NULL), 0);
	assert_true(make_all(a));
	assert_listed("carol");
}

/* Nodes get no account of the system, none twice, and none that would break a line of a file. */
static void who_is_no_person_is_left_out(void **state)
{
	(void)state;
	agree("unix:alice", "*", "");
	assert_true(make_all(a));
	assert_listed("alice bob carol");
	agree("unix:alice", "unix:daemon1 unix:odd unix:twin", "");
	assert_true(make_all(a));
	assert_listed("alice");
}

static const json_t *account(const json_t *order, size_t i)
{
	return json_array_get(json_object_get(json_object_get(order, "accounts"), "list"), i);
}

static void what_people_call_themselves_fits_a_line(void **state)
{
	(void)state;
	agree("unix:alice", "unix:bob", "");
	assert_true(make_all(a));
	PHX_AUTO_JSON json_t *order = ordered("mtc", PHX_ACCOUNTS_UNKNOWN);
	const json_t *alice = account(order, 0), *bob = account(order, 1);
	assert_string_equal(phx_json_str(alice, "gecos", ""), "Alice A. ,?");
	assert_string_equal(phx_json_str(bob, "home", ""), "/");
	assert_string_equal(phx_json_str(bob, "shell", ""), "/bin/sh");
	/* groups of the system are each machine's own */
	const json_t *groups = json_object_get(alice, "groups");
	assert_int_equal(json_array_size(groups), 2);
	assert_string_equal(phx_json_str(json_array_get(groups, 0), "name", ""), "physics");
	assert_string_equal(phx_json_str(json_array_get(groups, 1), "name", ""), "staff");
}

/* ---- a name service that is away ---- */

static void who_is_not_found_is_kept_for_a_while(void **state)
{
	(void)state;
	agree("unix:alice", "unix:bob", "");
	assert_true(make_all(a));
	user("bob")->result = -ENOENT;
	assert_false(make_all(a)); /* is looked at again soon */
	assert_listed("alice bob");
	fake_ahead_ms = DOUBT_MS - 5000;
	assert_false(make_all(a));
	assert_listed("alice bob");
	fake_ahead_ms = DOUBT_MS + 1000;
	assert_true(make_all(a));
	assert_listed("alice");
}

/* The doubt begins anew with each time that he was there. */
static void who_comes_back_was_never_away(void **state)
{
	(void)state;
	agree("unix:alice", "unix:bob", "");
	assert_true(make_all(a));
	user("bob")->result = -ENOENT;
	assert_false(make_all(a));
	user("bob")->result = 0;
	fake_ahead_ms = DOUBT_MS - 5000;
	assert_true(make_all(a));
	user("bob")->result = -ENOENT;
	fake_ahead_ms = DOUBT_MS + 5000;
	assert_false(make_all(a));
	assert_listed("alice bob");
}

static void whom_the_agreement_drops_is_dropped_at_once(void **state)
{
	(void)state;
	agree("unix:alice", "unix:bob", "");
	assert_true(make_all(a));
	agree("unix:alice", "", "");
	assert_true(make_all(a));
	assert_listed("alice");
}

static void a_first_list_with_a_name_that_is_nobodys_waits_too(void **state)
{
	(void)state;
	agree("unix:alice", "unix:nobody-here", "no-such-group");
	assert_false(make_all(a));
	assert_listed("(no list)");
	fake_ahead_ms = DOUBT_MS + 1000;
	assert_true(make_all(a));
	assert_listed("alice");
}

/* It says that it cannot tell, which is another thing than that there is no such user. */
static void a_name_service_that_does_not_answer_changes_no_list(void **state)
{
	(void)state;
	agree("unix:alice", "unix:bob", "");
	assert_true(make_all(a));
	user("bob")->result = -EIO;
	fake_ahead_ms = 10 * DOUBT_MS;
	assert_false(make_all(a));
	assert_false(make_all(a));
	assert_listed("alice bob");
	user("bob")->result = 0;
	agree("unix:alice", "", "physics");
	fake_group_result = -EIO;
	assert_false(make_all(a));
	assert_listed("alice bob");
}

static void a_list_has_so_many_accounts_at_most(void **state)
{
	struct phx_accounts list = {0};
	struct left_out left = {0};
	(void)state;
	assert_non_null(phx_list_push(&list.list, sizeof(struct phx_account)));
	list.list.n = 1;
	for (int i = 1; i < PHX_ACCOUNTS_MAX; i++)
		((struct phx_account *)phx_list_push(&list.list, sizeof(struct phx_account)))->uid =
			5000 + (uint32_t)i;
	assert_int_equal(add_login(&list, "alice", &left), 0);
	assert_int_equal(list.list.n, PHX_ACCOUNTS_MAX);
	assert_int_equal(left.n, 1);
	phx_list_fini(&list.list);
}

/* ---- who is told ---- */

static void assert_woken(const char *want)
{
	assert_string_equal(fake_woken.n ? fake_woken.data : "", want);
	phx_buf_fini(&fake_woken);
	fake_woken = (struct phx_buf){0};
}

static const char *node_of_mtc(void)
{
	PHX_NODES_EACH(n, &w->s)
		if (!strcmp(n->pool, "mtc"))
			return n->name;
	fail_msg("the RE has no node");
	return NULL;
}

static void nodes_of_the_re_are_woken_when_its_list_changes_and_no_others(void **state)
{
	char want[PHX_NAME_MAX + 2];
	(void)state;
	snprintf(want, sizeof(want), "%s ", node_of_mtc());
	agree("unix:alice", "", "");
	assert_true(make_all(a));
	assert_woken(want);
	assert_true(make_all(a));
	assert_woken("");
	agree("unix:alice", "unix:bob", "");
	assert_true(make_all(a));
	assert_woken(want);
}

static void an_agent_is_told_what_it_does_not_have(void **state)
{
	PHX_AUTO(phx_list_fini) struct phx_list running = {0};
	PHX_AUTO(phx_buf_fini) struct phx_buf b = {0};
	(void)state;
	assert_null(ordered("mtc", PHX_ACCOUNTS_UNKNOWN)); /* it is not made yet */
	agree("unix:alice", "", "");
	assert_true(make_all(a));
	PHX_AUTO_JSON json_t *order = ordered("mtc", PHX_ACCOUNTS_UNKNOWN);
	uint64_t id = (uint64_t)phx_json_int(order, "id", 0);
	assert_string_equal(phx_json_str(json_object_get(order, "accounts"), "re", ""), "mtc");
	assert_null(ordered("mtc", id));
	assert_null(ordered("other", id));
	/* an older agent knows of no accounts */
	assert_false(accounts_are_known(&running));
	accounts_orders_put(a, "mtc", &running, &b);
	assert_int_equal(b.n, 0);
}

static void a_node_of_no_re_has_nobodys_accounts(void **state)
{
	(void)state;
	PHX_AUTO_JSON json_t *order = ordered("", 77);
	assert_int_equal(phx_json_int(order, "id", -1), 0);
	assert_int_equal(json_object_size(json_object_get(order, "accounts")), 0);
	assert_null(ordered("", 0)); /* as it is already */
}

/* Another RE that gets its name begins with nobody's accounts, whether or not the name service
 * answers by then. */
static void the_list_of_an_re_goes_with_it(void **state)
{
	(void)state;
	agree("unix:alice", "", "");
	assert_true(make_all(a));
	assert_listed("alice");
	struct phx_re *re = phx_state_re(&w->s, "mtc");
	int was = re->state;
	re->state = PHX_RE_STATE_NONE;
	assert_true(make_all(a));
	assert_listed("(no list)");
	re->state = was;
	assert_true(make_all(a));
	assert_listed("alice");
	/* one that was created between two looks */
	re->created_ms++;
	agree("unix:bob", "", "");
	user("bob")->result = -EIO;
	assert_false(make_all(a));
	assert_listed("(no list)");
	user("bob")->result = 0;
	assert_true(make_all(a));
	assert_listed("bob");
}

static void news_are_looked_at_soon(void **state)
{
	(void)state;
	assert_true(a->due_ms == INT64_MAX);
	accounts_look(a);
	assert_int_equal(a->due_ms, 0);
	accounts_look(NULL);
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(members_are_listed_once_and_in_one_order),
		TEST(a_certificate_has_the_account_as_whom_it_works),
		TEST(who_is_no_person_is_left_out),
		TEST(what_people_call_themselves_fits_a_line),
		TEST(who_is_not_found_is_kept_for_a_while),
		TEST(who_comes_back_was_never_away),
		TEST(whom_the_agreement_drops_is_dropped_at_once),
		TEST(a_first_list_with_a_name_that_is_nobodys_waits_too),
		TEST(a_name_service_that_does_not_answer_changes_no_list),
		TEST(a_list_has_so_many_accounts_at_most),
		TEST(nodes_of_the_re_are_woken_when_its_list_changes_and_no_others),
		TEST(an_agent_is_told_what_it_does_not_have),
		TEST(a_node_of_no_re_has_nobodys_accounts),
		TEST(the_list_of_an_re_goes_with_it),
		TEST(news_are_looked_at_soon),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
