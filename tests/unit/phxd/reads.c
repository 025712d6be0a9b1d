/* What is shown of one node, of one RE, or of all in sum looks at no node of another: the list of
 * nodes is hidden (tests/unit/core/hidden.h) while it is made, and each page of it that is read
 * nevertheless is counted. And what is kept of it between two requests follows what happens. */
#include "unit/core/hidden.h"

#include "node/director.h"
#include "state/index.h"

#include "phxd/hosts.c" /* parts of a program, not of the library */
#include "phxd/view.c"
#include "phxd/view_hide.c"
#include "phxd/view_node.c"
#include "phxd/view_re.c"
#include "phxd/view_use.c"

static unsigned n_compared;
static int counted_strcmp(const char *a, const char *b)
{
	n_compared++;
	return strcmp(a, b);
}
/* The node that has a virtual address: the one whose table is looked at, while one is. */
static const struct phx_node *tells;
static const struct phx_node *director_of(const struct phx_state *s, const char *address,
					  int64_t *ret_since_ms)
{
	return tells ? tells : phx_director_of(s, address, ret_since_ms);
}
#define strcmp counted_strcmp
#define phx_director_of director_of
#include "phxd/view_web.c"
#undef phx_director_of
#undef strcmp

enum { FEW = 100, MANY = 10000, RE_NODES = 5, INSTANCES = 3 };

static const struct view_scopes everything = {PHX_SCOPE_ALL, PHX_SCOPE_ALL, PHX_SCOPE_ALL};
static struct daemon d;
static struct phx_store *store;
static const struct phx_state *shown;

/* what of the daemon it calls */

const struct phx_state *engine_lock(struct engine *e)
{
	(void)e;
	return shown;
}

void engine_unlock(struct engine *e)
{
	(void)e;
}

void identity_add_name(json_t *j, const char *owner)
{
	(void)j;
	(void)owner;
}

int launch_children(struct launch *l, struct phx_list *ret)
{
	(void)l;
	(void)ret;
	return 0;
}

int64_t engine_now(struct engine *e)
{
	(void)e;
	return shown->now_ms;
}

bool engine_readonly(struct engine *e, struct phx_err *ret)
{
	(void)e;
	(void)ret;
	return false;
}

struct phx_store *engine_store(struct engine *e)
{
	(void)e;
	return store;
}

void live_version(struct live *l, const char *name, char ret[PHX_TOLD_VERSION_MAX])
{
	(void)l, (void)name;
	phx_str_copy(ret, PHX_TOLD_VERSION_MAX, "0.1.0");
}

void live_put_monitor(struct live *l, const char *node, struct phx_buf *b)
{
	(void)l;
	(void)node;
	phx_buf_add(b, "null", 4);
}

int64_t live_use(struct live *l, const char *node, char ret_error[BEAT_ERROR_MAX])
{
	(void)l;
	(void)node;
	ret_error[0] = '\0';
	return 7;
}

enum site_standing site_standing(struct daemon *of, const struct phx_state *in,
				 const struct phx_node *n, char ret_error[BEAT_ERROR_MAX])
{
	(void)of;
	(void)in;
	(void)n;
	ret_error[0] = '\0';
	return SITE_NONE; /* an agent that knows of no settings of the site */
}

json_t *live_monitor(struct live *l, const char *node)
{
	(void)l;
	(void)node;
	return NULL;
}

json_t *refused_view(struct refused *r, bool whole)
{
	(void)r;
	(void)whole;
	return json_array();
}

int catalog_deploy(const struct daemon *of, struct phx_image *ret, struct phx_err *err)
{
	(void)of;
	(void)ret;
	(void)err;
	return 0;
}

enum phx_scope person_scope(struct daemon *of, const struct phx_http_peer *peer,
			    enum phx_right right)
{
	(void)of;
	(void)peer;
	(void)right;
	return PHX_SCOPE_NONE;
}

void person_of(struct daemon *of, const struct phx_http_peer *peer, struct person *ret)
{
	(void)of;
	(void)peer;
	*ret = (struct person){0};
}

/* As in people.c, of somebody who owns no RE. */
bool person_holds(const struct phx_state *s, const struct person *p, const struct phx_node *n)
{
	const struct phx_re *re = phx_state_re(s, n->pool);
	return re && !strcmp(re->agreement.owner, p->identity);
}

/* ---- what is asked ---- */

static json_t *ask_status(void)
{
	return view_status(&d, true);
}

static bool sees_all(const void *arg, const struct phx_re *re)
{
	(void)arg;
	(void)re;
	return true;
}

static json_t *ask_metrics(void)
{
	const struct view_reader reader = {sees_all, NULL};
	PHX_AUTO_FREE char *text = view_metrics(&d, &reader);
	return json_string(text);
}

static json_t *ask_re(void)
{
	return view_re(&d, shown, phx_state_re(shown, "queue"), shown->now_ms);
}

static json_t *ask_use(void)
{
	return view_use(&d, shown, phx_state_re(shown, "queue"));
}

static json_t *ask_node(void)
{
	struct view_members members;
	struct phx_buf b = {0};
	assert_int_equal(view_members(NULL, &everything, &members, NULL), 0);
	view_node_put(&d, shown, phx_state_node(shown, "n77"), &members, &b);
	PHX_AUTO_FREE char *text = phx_buf_take(&b);
	return json_loads(text, 0, NULL);
}

static json_t *ask_balance(void)
{
	const struct phx_list none = {0};
	const struct reader reader = {.hardware = PHX_SCOPE_OWN};
	json_t *answer = table_json(&d, shown, &reader, &none);
	const json_t *service = json_array_get(json_object_get(answer, "services"), 0),
		     *servers = json_object_get(service, "servers");
	assert_int_equal(json_array_size(servers), INSTANCES);
	for (size_t i = 0; i < INSTANCES; i++)
		assert_true(*phx_json_str(json_array_get(servers, i), "node", ""));
	return answer;
}

/* Each may read so many pages, whatever the number of nodes. */
static const struct {
	const char *name;
	json_t *(*ask)(void);
	unsigned pages;
} questions[] = {
	{"status", ask_status, 0},
	{"metrics", ask_metrics, 0},
	{"one RE", ask_re, 0},
	{"use of an RE's nodes", ask_use, 3 * RE_NODES},
	{"the balancers' table", ask_balance, 3 * (RE_NODES + INSTANCES)},
	{"one node", ask_node, 3},
};
enum { QUESTIONS = PHX_ARRAY_SIZE(questions) };

static unsigned pages_of(size_t question)
{
	json_decref(questions[question].ask()); /* what is kept is made once */
	hidden_watch();
	json_t *answer = questions[question].ask();
	unsigned pages = hidden_told();
	assert_non_null(answer);
	json_decref(answer);
	return pages;
}

static void make_re(struct world *w)
{
	struct phx_agreement a = agreement("queue", PHX_RE_BATCH, RE_NODES);
	a.coordination = PHX_RE_COORDINATED_NONE;
	a.partner[0] = '\0';
	PHX_STR_SET(a.role, "compute");
	PHX_LIST_EACH(struct phx_role, role, &w->s.roles)
		if (!strcmp(role->name, a.role))
			assert_non_null(phx_list_push(&role->services, sizeof(struct phx_service)));
	assert_int_equal(create(w, &a), 0);
	assert_int_equal(operate(w, PHX_EV_re_activate, "queue"), 0);
	for (uint32_t i = 1; i <= RE_NODES; i++) { /* the others rest */
		char name[PHX_NAME_MAX];
		snprintf(name, sizeof(name), "n%u", i);
		while (world_step(w, name))
			;
	}
}

/* The last nodes run a role that is behind a balancer. */
static void make_instances(struct world *w)
{
	PHX_LIST_EACH(struct phx_role, role, &w->s.roles) {
		if (strcmp(role->name, "web") != 0)
			continue;
		role->web.port = 80;
		PHX_STR_SET(role->web.address, "10.0.0.250");
		PHX_STR_SET(role->web.scheduler, "wlc");
	}
	for (uint32_t i = 0; i < INSTANCES; i++) {
		struct phx_node *n =
			PHX_LIST_AT(&w->s.nodes, struct phx_node, w->s.nodes.n - 1 - i);
		snprintf(n->ip, sizeof(n->ip), "10.0.1.%u", i + 1);
		n->address[0] = '\0';
		n->state = PHX_NODE_ACTIVE;
		n->healthy = true;
		PHX_STR_SET(n->pool, "web");
		PHX_STR_SET(n->role, "web");
		PHX_STR_SET(n->actual_role, "web");
		phx_touch(&w->s, n);
	}
	phx_index_settle(&w->s);
}

static void count(uint32_t n)
{
	void *world = NULL;
	struct sigaction before;
	world_setup(&world);
	struct world *w = world;
	many_ready(w, n);
	make_re(w);
	make_instances(w);
	shown = &w->s;
	hide(w);
	hidden_begin(&before);
	for (size_t i = 0; i < QUESTIONS; i++) {
		unsigned pages = pages_of(i);
		print_message("%s: %u pages of %u nodes\n", questions[i].name, pages, n);
		if (pages > questions[i].pages)
			fail_msg("%s looks at %u pages of %u nodes", questions[i].name, pages, n);
	}
	assert_true(pages_of(QUESTIONS - 1) > 0); /* it is seen that one is looked at */
	sigaction(SIGSEGV, &before, NULL);
	show(w);
	hosts_fini(&d.hosts);
	world_teardown(&world);
}

static void pages_do_not_grow_with_the_cluster(void **state)
{
	(void)state;
	count(FEW);
	count(MANY);
}

/* ---- what a director tells ---- */

/* Comparisons until each of `n` servers of two services is found. */
static unsigned compared(uint32_t n)
{
	struct its_table its = {.director = "d1"};
	const struct phx_node director = {.name = "d1"};
	struct phx_web_table *table = &its.table;
	struct shown of = {.d = &d};
	tells = &director;
	for (int i = 0; i < 2; i++) {
		struct phx_web_service *s = phx_list_push(&table->services, sizeof(*s));
		PHX_STR_SET(s->address, "10.0.0.250");
		s->port = i ? 443 : 80;
		for (uint32_t k = 0; k < n; k++) {
			struct phx_web_server *v = phx_list_push(&s->servers, sizeof(*v));
			snprintf(v->address, sizeof(v->address), "10.1.%u.%u", k / 250, k % 250);
		}
	}
	n_compared = 0;
	find_told(shown, &its, &of.told, &of.told_at);
	PHX_LIST_EACH(struct phx_web_service, s, &table->services)
		PHX_LIST_EACH(struct phx_web_server, v, &s->servers)
			assert_ptr_equal(told_of(&of, s, v->address), v);
	struct phx_web_service other = {.port = 8080};
	PHX_STR_SET(other.address, "10.0.0.250");
	assert_null(told_of(&of, &other, "10.1.0.1"));
	/* what another one tells of the address counts for nothing */
	struct phx_list none = {0};
	PHX_STR_SET(its.director, "d2");
	find_told(shown, &its, &none, &of.told_at);
	assert_int_equal(none.n, 0);
	tells = NULL;
	phx_hash_fini(&of.told_at);
	phx_list_fini(&of.told);
	phx_web_table_fini(table);
	return n_compared;
}

static void a_server_is_found_among_many(void **state)
{
	unsigned few = compared(FEW), many = compared(10 * FEW);
	(void)state;
	print_message("%u comparisons for %u servers, %u for %u\n", few, FEW, many, 10 * FEW);
	assert_in_range(few, 2 * FEW, 8 * FEW);
	assert_true(many <= 20 * few);
}

/* ---- what is kept ---- */

static const char *hosts_of(const json_t *answer, const char *pool)
{
	size_t i;
	json_t *p;
	json_array_foreach(json_object_get(answer, "pools"), i, p) {
		if (!strcmp(phx_json_str(p, "name", ""), pool))
			return phx_json_str(p, "hosts", "?");
	}
	return "no such pool";
}

static void assert_hosts(const char *pool, const char *hosts, const char *held)
{
	PHX_AUTO_JSON json_t *status = ask_status(), *re = ask_re();
	assert_string_equal(hosts_of(status, pool), hosts);
	assert_string_equal(phx_json_str(re, "hosts", "?"), held);
}

/* Also where there is no index yet, as after a start. */
static void hosts_follow_what_happens(void **state)
{
	struct world *w = *state;
	many_ready(w, 40);
	make_re(w);
	shown = &w->s;
	assert_hosts("queue", "n[1-5]", "n[1-5]");
	assert_hosts("free", "n[6-40]", "n[1-5]");
	assert_int_equal(world_order(w, PHX_EV_quarantine, "n5", ""), 0);
	settle(w);
	assert_hosts("queue", "n[1-4,6]", "n[1-4,6]");
	phx_index_drop(&w->s);
	assert_hosts("queue", "n[1-4,6]", "n[1-4,6]");
}

/* The members of node n6 that `list` asks for. */
static json_t *ask_members(const char *list, bool sparse)
{
	struct view_members members;
	struct phx_buf b = {0};
	assert_int_equal(view_members(list, &everything, &members, NULL), 0);
	members.less.empty = sparse;
	view_node_put(&d, shown, phx_state_node(shown, "n6"), &members, &b);
	PHX_AUTO_FREE char *text = phx_buf_take(&b);
	return json_loads(text, 0, NULL);
}

/* A long list says what is under way: of a plan that is over nothing, unless all is asked for. */
static void a_plan_that_is_over_is_in_no_long_list(void **state)
{
	struct world *w = *state;
	many_ready(w, 6);
	make_re(w);
	shown = &w->s;
	assert_int_equal(world_order(w, PHX_EV_assign, "n6", "compute"), 0);
	struct phx_plan *plan = &phx_state_node(&w->s, "n6")->plan;
	assert_true(plan->steps.n > 0 && plan->cursor < plan->steps.n);
	PHX_AUTO_JSON json_t *under_way = ask_members("name,plan", true);
	assert_non_null(json_object_get(json_object_get(under_way, "plan"), "steps"));
	plan->cursor = plan->steps.n;
	PHX_AUTO_JSON json_t *over = ask_members("name,plan", true);
	assert_int_equal(json_object_size(over), 1);
	PHX_AUTO_JSON json_t *all = ask_members("name,plan", false);
	assert_non_null(json_object_get(json_object_get(all, "plan"), "steps"));
}

static int setup(void **state)
{
	struct phx_err err = {0};
	assert_int_equal(phx_store_open(":memory:", &store, &err), 0);
	return world_setup(state);
}

static int teardown(void **state)
{
	hosts_fini(&d.hosts);
	phx_store_close(store);
	return world_teardown(state);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(pages_do_not_grow_with_the_cluster, setup,
						teardown),
		cmocka_unit_test(a_server_is_found_among_many),
		cmocka_unit_test_setup_teardown(hosts_follow_what_happens, setup, teardown),
		cmocka_unit_test_setup_teardown(a_plan_that_is_over_is_in_no_long_list, setup,
						teardown),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
