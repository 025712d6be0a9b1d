/* Each kind of event of event.def is applied here (kinds.h) where there are few nodes, jobs,
 * triggers or keys to be destroyed, and where there are many, and the pages of that list that it
 * looks at are counted (hidden.h). An event about one node, job, RE, workflow or trigger looks at
 * no more of them where there are many; the kinds that concern all are a list, with the reason.
 * After each event the orders of the node, those for Slurm, and the next deadline are asked, and
 * counted, too. A kind that is in event.def and was not applied here fails. */
#include "unit/core/hidden.h"
#include "unit/core/kinds.h"

#include "state/index.h"

enum { FEW = 100, MANY = 10000, PAGES_MAX = 200 };
/* What is asked after each event; counted like a kind of event. */
enum { ORDERS = PHX_EV_COUNT_, ENGINE_ORDERS, DEADLINE, COUNTED };

/* Which list is counted, in which story. */
enum list { NODES_LIST, JOBS_LIST, TRIGGERS_LIST, KEYS_LIST, NODES_BESIDE_RE, RES_LIST };

static const struct {
	size_t at, item_size; /* offset in the state */
	/* items of the list; 1 of each list that is not counted, but FEW nodes */
	uint32_t few, many;
	bool of_re; /* only what happens to a node of an RE, and not every kind */
} lists[] = {
	[NODES_LIST] = {offsetof(struct phx_state, nodes), sizeof(struct phx_node), FEW, MANY},
	/* no more than 10,000 are open at a time */
	[JOBS_LIST] = {offsetof(struct phx_state, jobs), sizeof(struct phx_job), FEW, MANY / 2},
	/* no more than 1,000 are taken */
	[TRIGGERS_LIST] = {offsetof(struct phx_state, triggers), sizeof(struct phx_trigger), 20,
			   900},
	[KEYS_LIST] = {offsetof(struct phx_state, doomed_keys), sizeof(struct phx_doomed_key), FEW,
		       20 * MANY},
	[NODES_BESIDE_RE] = {offsetof(struct phx_state, nodes), sizeof(struct phx_node), FEW, MANY,
			     true},
	[RES_LIST] = {offsetof(struct phx_state, res), sizeof(struct phx_re), 2, 60, true},
};

/* Those that may look at all. */
static const struct {
	enum list list;
	int kind;
	const char *why;
} exceptions[] = {
	{NODES_LIST, PHX_EV_pool_remove, "any node may hold data of the pool"},
	{NODES_LIST, PHX_EV_role_put, "any node may get the role"},
	{NODES_LIST, PHX_EV_role_remove, "any node may have the role"},
	{NODES_LIST, PHX_EV_re_create, "the first RE makes the ledger: free nodes are counted"},
	{NODES_LIST, PHX_EV_re_destroy, "any node may hold data of the RE"},
	{NODES_LIST, PHX_EV_identity, "any node may hold data of the owner"},
	{JOBS_LIST, PHX_EV_restart, "the silence of each job is counted anew"},
	{JOBS_LIST, PHX_EV_re_deactivate, "the jobs of its engine leave the list"},
	{TRIGGERS_LIST, PHX_EV_trigger_create, "names and triggers of its user are counted"},
	{TRIGGERS_LIST, PHX_EV_trigger_delete, "the list closes up"},
	{TRIGGERS_LIST, PHX_EV_re_activate, "triggers of the RE try again"},
	{TRIGGERS_LIST, PHX_EV_re_resume, "triggers of the RE try again"},
	{TRIGGERS_LIST, PHX_EV_re_destroy, "triggers of the RE are deleted"},
};

/* The most pages of an event of each kind that was applied, and how many were. */
static struct {
	unsigned most[COUNTED], n[COUNTED];
} seen;

static unsigned pages_of_orders(struct world *w, const char *node)
{
	PHX_AUTO(phx_list_fini) struct phx_list orders = {0};
	hidden_watch();
	int r = phx_core_orders(&w->s, node, &orders);
	unsigned pages = hidden_told();
	PHX_LIST_EACH(struct phx_order, o, &orders)
		phx_record_fini(&phx_order_record, o);
	return r == -ENOENT ? 0 : pages;
}

/* What the engine of RE "queue" is told. */
static unsigned pages_of_engine_orders(struct world *w)
{
	PHX_AUTO(phx_list_fini) struct phx_list orders = {0};
	hidden_watch();
	phx_engine_orders(&w->s, "queue", &orders);
	return hidden_told();
}

static void note(int kind, unsigned pages)
{
	seen.n[kind]++;
	seen.most[kind] = pages > seen.most[kind] ? pages : seen.most[kind];
}

/* In place of phx_core_apply(), for whatever the test does with the world. */
static int counted_apply(struct world *w, const struct phx_event *ev, struct phx_outcome *out)
{
	hidden_watch();
	int r = phx_core_apply(&w->s, ev, out, &w->err);
	unsigned pages = hidden_told();
	if (r < 0)
		return r;
	note(ev->kind, pages);
	hidden_watch();
	phx_core_next_deadline(&w->s);
	note(DEADLINE, hidden_told());
	note(ENGINE_ORDERS, pages_of_engine_orders(w));
	if (ev->node[0])
		note(ORDERS, pages_of_orders(w, ev->node));
	return r;
}

/* ---- the comparison ---- */

static void many_jobs(struct world *w, uint32_t n)
{
	struct phx_event ev = {.kind = PHX_EV_job_submit,
			       .job_submit = {.job_nodes = 1,
					      .uid = 1001,
					      .gid = 1001,
					      .hold = true,
					      .array_to = n - 1,
					      .array_step = 1}};
	assert_int_equal(phx_text_push(&ev.job_submit.argv, "true"), 0);
	must(w, &ev);
	assert_int_equal(w->s.jobs.n, n);
}

/* Triggers of another RE, and keys, whose time comes after this test. */
static void many_triggers(struct world *w, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++) {
		struct phx_trigger *t = phx_list_push(&w->s.triggers, sizeof(*t));
		assert_non_null(t);
		t->id = ++w->s.last_trigger_id;
		t->kind = PHX_TRIGGER_TIME;
		t->uid = t->gid = 1001;
		t->at_once = 1;
		t->when.every_ms = t->next_ms = INT64_MAX / 4 + i;
		snprintf(t->name, sizeof(t->name), "other%u", i);
		PHX_STR_SET(t->re, "another");
	}
}

static void many_keys(struct world *w, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++) {
		struct phx_doomed_key *k = phx_list_push(&w->s.doomed_keys, sizeof(*k));
		assert_non_null(k);
		snprintf(k->key_id, sizeof(k->key_id), "key-%u", i);
		k->again_ms = INT64_MAX / 4 + i;
	}
}

/* They wait for nodes, or are not activated yet. */
static void many_res(struct world *w, uint32_t n)
{
	make_re(w);
	for (uint32_t i = 0; i < n; i++) {
		char name[PHX_NAME_MAX];
		snprintf(name, sizeof(name), "other%u", i);
		struct phx_agreement a = agreement(name, PHX_RE_BATCH, 1);
		a.coordination = PHX_RE_COORDINATED_NONE;
		a.partner[0] = '\0';
		PHX_STR_SET(a.role, "compute");
		assert_int_equal(create(w, &a), 0);
		if (i % 2)
			assert_int_equal(operate(w, PHX_EV_re_activate, name), 0);
	}
	assert_int_equal(w->s.res.n, n + 1);
}

/* The pages of each kind where there are `n` items of the list, of somebody else. */
static void count(struct world *w, enum list list, uint32_t n)
{
	struct phx_list *l = (struct phx_list *)((char *)&w->s + lists[list].at);
	memset(&seen, 0, sizeof(seen));
	bool of_nodes = list == NODES_LIST || list == NODES_BESIDE_RE;
	many_ready(w, of_nodes ? n : FEW);
	many_jobs(w, list == JOBS_LIST ? n : 1);
	many_triggers(w, list == TRIGGERS_LIST ? n : 1);
	many_keys(w, list == KEYS_LIST ? n : 1);
	phx_index_drop(&w->s); /* it does not know of them */
	world_add_pool(w, "lab", "uni", (struct phx_setup){0});
	world_add_role(w, "lab", "lab", false, PHX_ROLE_BOOT_DISK);
	node_event(w, PHX_EV_tick, "", ""); /* what is derived of all items is made once */
	if (lists[list].of_re)
		many_res(w, list == RES_LIST ? n : 1);
	hide_list(l, lists[list].item_size);
	w->apply = counted_apply;
	if (lists[list].of_re)
		a_node_of_an_re(w);
	else
		every_kind(w);
	w->apply = NULL;
	show_list(l, lists[list].item_size);
}

/* Why the kind may look at all; NULL: it may not. */
static const char *why_all(enum list list, int kind)
{
	for (size_t i = 0; i < PHX_ARRAY_SIZE(exceptions); i++)
		if (exceptions[i].list == list && exceptions[i].kind == kind)
			return exceptions[i].why;
	return NULL;
}

static const char *name_of(int kind)
{
	return kind == ORDERS           ? "orders"
		: kind == ENGINE_ORDERS ? "orders for an engine"
		: kind == DEADLINE      ? "next deadline"
					: phx_enum_name(&phx_event_kind_names, kind);
}

static const char *what_is_wrong(enum list list, int kind, unsigned few, unsigned many)
{
	bool grows = many > 2 * few + 4 || many > PAGES_MAX;
	if (!seen.n[kind] && lists[list].of_re)
		return NULL;
	if (!seen.n[kind])
		return "it was not applied: add it to this test";
	if (grows && !why_all(list, kind))
		return "it looks at all";
	return !grows && why_all(list, kind) ? "it looks at few: it is no exception any more"
					     : NULL;
}

static void compare(struct world *w, enum list list)
{
	unsigned few[COUNTED], n_wrong = 0;
	struct sigaction before;
	void *other = NULL;
	hidden_begin(&before);
	count(w, list, lists[list].few);
	memcpy(few, seen.most, sizeof(few));
	world_setup(&other);
	count(other, list, lists[list].many);
	world_teardown(&other);
	sigaction(SIGSEGV, &before, NULL);
	for (int kind = 0; kind < COUNTED; kind++) {
		const char *wrong = what_is_wrong(list, kind, few[kind], seen.most[kind]);
		const char *said = wrong ? wrong : why_all(list, kind);
		if (!seen.n[kind] && !wrong)
			continue;
		print_message("%s: %u pages of %u, %u of %u%s%s\n", name_of(kind), few[kind],
			      lists[list].few, seen.most[kind], lists[list].many, said ? ": " : "",
			      said ? said : "");
		n_wrong += wrong != NULL;
	}
	assert_int_equal(n_wrong, 0);
}

static void no_kind_looks_at_all_nodes(void **state)
{
	compare(*state, NODES_LIST);
}

static void no_kind_looks_at_all_jobs(void **state)
{
	compare(*state, JOBS_LIST);
}

static void no_kind_looks_at_all_triggers(void **state)
{
	compare(*state, TRIGGERS_LIST);
}

static void no_kind_looks_at_all_keys(void **state)
{
	compare(*state, KEYS_LIST);
}

static void nor_does_one_of_an_res_node(void **state)
{
	compare(*state, NODES_BESIDE_RE);
}

static void nor_at_all_res(void **state)
{
	compare(*state, RES_LIST);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		WORLD_TEST(no_kind_looks_at_all_nodes),    WORLD_TEST(no_kind_looks_at_all_jobs),
		WORLD_TEST(no_kind_looks_at_all_triggers), WORLD_TEST(no_kind_looks_at_all_keys),
		WORLD_TEST(nor_does_one_of_an_res_node),   WORLD_TEST(nor_at_all_res),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
