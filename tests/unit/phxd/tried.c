/* Orders that are tried and not given (cmd/phxd/tried.c), on a real core: what is refused before a
 * node is taken down for it, and that trying changes nothing. The catalogue, the process that talks
 * to BMCs, and what is shown of jobs and logins are fakes. */
#include "unit/core/pair.h"

#include "power/hands.h"
#include "power/power.h"

static const struct phx_bmc *asked_bmc; /* by the last question whether an operation can be done */
static int can_result, ready_result;
static unsigned n_ready;

static int fake_can(const struct phx_bmc *bmc, enum phx_power_op op, struct phx_err *err)
{
	static struct phx_bmc last;
	(void)op;
	last = *bmc;
	asked_bmc = &last;
	return can_result < 0 ? phx_err_set(err, can_result, "ipmi has no such thing") : 0;
}

static int fake_ready(struct phx_hands *h, const struct phx_bmc *bmc, struct phx_err *err)
{
	(void)h;
	assert_string_equal(bmc->driver, "ipmi");
	n_ready++;
	return ready_result < 0 ? phx_err_set(err, ready_result, "no file with a password") : 0;
}

#define phx_power_can fake_can
#define phx_hands_ready fake_ready
#include "phxd/tried.c" /* a part of a program, not of the library */
#include "fake/submitted.h"

static struct world *w;
static struct daemon head;
static struct phx_event ev;
static struct tried rq;
static struct phx_err said;
static json_t *results;
static int image_result; /* of debian-12 */
static unsigned n_looked_up;
static bool ends_jobs;

/* ---- what of the daemon it calls ---- */

int catalog_image(const struct daemon *of, const char *name, const char *version,
		  struct phx_image *ret, char ret_signature[PHX_SIG_HEX], struct phx_err *why)
{
	(void)ret_signature;
	assert_ptr_equal(of, &head);
	assert_false(fake_engine_held);
	if (!strcmp(name, "deploy")) {
		assert_null(version);
		return phx_err_set(why, -ENOENT, "there is none");
	}
	assert_string_equal(name, "debian-12");
	assert_string_equal(version, "1");
	n_looked_up++;
	PHX_STR_SET(ret->name, name);
	return image_result < 0 ? phx_err_set(why, image_result, "root.raw is cut off") : 0;
}

struct phx_hands *hands_process(struct hands *h)
{
	(void)h;
	return NULL;
}

json_t *view_plan(const struct phx_plan *p)
{
	return json_pack("{s:i}", "steps", (int)p->steps.n);
}

json_t *view_ends(const struct phx_state *s, const struct phx_event *of)
{
	(void)s;
	return ends_jobs ? json_pack("[s]", of->node) : json_array();
}

json_t *view_sessions(struct daemon *of, const struct phx_event *order, const struct phx_plan *p)
{
	(void)of, (void)order, (void)p;
	assert_false(fake_engine_held);
	return json_array();
}

json_t *view_notes(const struct phx_outcome *out)
{
	(void)out;
	return json_array();
}

json_t *view_serves(const struct phx_state *s, const struct phx_event *of)
{
	(void)s, (void)of;
	return json_null();
}

bool view_is_asked(const json_t *tried)
{
	return json_array_size(json_object_get(tried, "jobs")) > 0;
}

static int setup(void **state)
{
	fake_engine_begin();
	world_setup(state);
	w = *state;
	fake_state = &w->s;
	head = (struct daemon){0};
	PHX_STR_SET(head.cfg.deploy_image, "deploy");
	ev = (struct phx_event){0};
	rq = (struct tried){.d = &head, .ev = &ev};
	phx_err_clear(&said);
	results = json_array();
	can_result = ready_result = image_result = 0;
	n_looked_up = n_ready = 0;
	asked_bmc = NULL;
	ends_jobs = false;
	nodes_ready(w);
	return 0;
}

static int teardown(void **state)
{
	fake_engine_is_free();
	tried_fini(&rq);
	phx_event_fini(&ev);
	json_decref(results);
	return world_teardown(state);
}

static void order(int kind, const char *node, const char *role)
{
	ev = (struct phx_event){.kind = kind};
	PHX_STR_SET(ev.by, "unix:root");
	PHX_STR_SET(ev.node, node);
	if (role)
		PHX_STR_SET(ev.order.role, role);
}

static void names_of(const char *text, struct phx_nodeset *ret)
{
	*ret = (struct phx_nodeset){0};
	assert_int_equal(phx_nodeset_parse(text, NULL, NULL, ret, NULL), 0);
}

static const json_t *result(size_t i, const char *key)
{
	return json_object_get(json_array_get(results, i), key);
}

/* ---- an order that cannot begin ---- */

static void an_incomplete_image_takes_no_node_down(void **state)
{
	(void)state;
	order(PHX_EV_assign, "n1", "compute");
	assert_int_equal(tried_begins(&rq, &said), 0);
	tried_fini(&rq);
	rq = (struct tried){.d = &head, .ev = &ev};
	image_result = -EBADMSG;
	for (int i = 1; i <= NODES; i++) {
		phx_err_clear(&said);
		snprintf(ev.node, sizeof(ev.node), "n%d", i);
		assert_int_equal(tried_begins(&rq, &said), -EBADMSG);
		assert_string_equal(said.text, "image debian-12: root.raw is cut off");
	}
	assert_int_equal(n_looked_up, 2); /* once for all nodes of a request */
}

/* What it says is better than what could be said here. */
static void what_else_is_wrong_is_left_to_the_core(void **state)
{
	(void)state;
	image_result = -ENOENT;
	order(PHX_EV_assign, "n1", "compute");
	assert_int_equal(tried_begins(&rq, &said), 0);
	image_result = -EBADMSG;
	order(PHX_EV_assign, "n9", "compute");
	assert_int_equal(tried_begins(&rq, &said), 0);
	order(PHX_EV_assign, "n1", "nobody");
	assert_int_equal(tried_begins(&rq, &said), 0);
	order(PHX_EV_quarantine, "n1", NULL);
	assert_int_equal(tried_begins(&rq, &said), 0);
}

static void a_bmc_that_cannot_is_told_at_once(void **state)
{
	(void)state;
	order(PHX_EV_power, "n1", NULL);
	assert_int_equal(tried_begins(&rq, &said), 0);
	assert_int_equal(n_ready, 1);
	can_result = -EOPNOTSUPP;
	assert_int_equal(tried_begins(&rq, &said), -EOPNOTSUPP);
	assert_int_equal(n_ready, 1);
	can_result = 0;
	ready_result = -ENOENT;
	phx_err_clear(&said);
	assert_int_equal(tried_begins(&rq, &said), -ENOENT);
	assert_string_equal(said.text, "no file with a password");
	/* the files of thousands are looked at by the order itself */
	rq.ends_only = true;
	assert_int_equal(tried_begins(&rq, &said), 0);
}

static void without_a_bmc_nobody_is_asked(void **state)
{
	(void)state;
	world_add(w, "n6", false);
	order(PHX_EV_power, "n6", NULL);
	assert_int_equal(tried_begins(&rq, &said), 0);
	order(PHX_EV_power, "n9", NULL);
	assert_int_equal(tried_begins(&rq, &said), 0);
	assert_null(asked_bmc);
}

/* A BMC of which only the address is told has no driver still. */
static void a_changed_bmc_must_be_one(void **state)
{
	(void)state;
	world_add(w, "n6", false);
	order(PHX_EV_node_bmc, "n6", NULL);
	struct phx_word *only = phx_list_push(&ev.node_bmc.only, sizeof(*only));
	PHX_STR_SET(only->text, "address");
	PHX_STR_SET(ev.node_bmc.bmc.address, "10.0.0.6");
	assert_int_equal(tried_begins(&rq, &said), -EINVAL);
	assert_string_equal(said.text, "bmc: driver: is missing");
	phx_err_clear(&said);
	PHX_STR_SET(ev.node, "n9");
	assert_int_equal(tried_begins(&rq, &said), 0);
}

/* ---- on a copy ---- */

static void trying_changes_nothing(void **state)
{
	PHX_AUTO(phx_nodeset_fini) struct phx_nodeset names;
	(void)state;
	names_of("n1,n2,n9", &names);
	order(PHX_EV_quarantine, "", NULL);
	assert_int_equal(tried_all(&rq, &names, results), 0);
	assert_int_equal(json_array_size(results), 3);
	assert_int_equal(json_integer_value(result(0, "code")), 0);
	assert_true(json_is_true(result(1, "changed")));
	assert_int_equal(json_integer_value(result(2, "code")), -ENOENT);
	assert_string_not_equal(json_string_value(result(2, "error")), "");
	assert_int_equal(world_node(w, "n1")->state, PHX_NODE_READY);
	assert_int_equal(fake_events.n, 0);
}

/* Each is tried as it would be carried out, after those before it. */
static void the_second_is_tried_after_the_first(void **state)
{
	PHX_AUTO(phx_nodeset_fini) struct phx_nodeset names;
	(void)state;
	names_of("n1", &names);
	order(PHX_EV_node_remove, "", NULL);
	tried_all(&rq, &names, results);
	assert_int_equal(json_integer_value(result(0, "code")), 0);
	struct phx_nodeset twice = {.names = (char *[]){names.names[0], names.names[0]}, .n = 2};
	json_array_clear(results);
	tried_all(&rq, &twice, results);
	assert_int_equal(json_integer_value(result(0, "code")), 0);
	assert_int_equal(json_integer_value(result(1, "code")), -ENOENT);
	assert_non_null(world_node(w, "n1"));
}

static void only_what_a_person_is_asked_about_is_told(void **state)
{
	PHX_AUTO(phx_nodeset_fini) struct phx_nodeset names;
	(void)state;
	names_of("n1,n2", &names);
	rq.ends_only = true;
	order(PHX_EV_quarantine, "", NULL);
	tried_all(&rq, &names, results);
	assert_int_equal(json_array_size(results), 0);
	ends_jobs = true;
	tried_all(&rq, &names, results);
	assert_int_equal(json_array_size(results), 2);
}

/* ---- plans ---- */

static void plans_are_shown_and_not_begun(void **state)
{
	PHX_AUTO(phx_nodeset_fini) struct phx_nodeset names;
	(void)state;
	names_of("n1,n2,n9", &names);
	order(PHX_EV_assign, "", "compute");
	tried_plan_all(&rq, &names, results);
	assert_int_equal(json_array_size(results), 3);
	assert_true(json_is_true(result(0, "changed")));
	assert_true(json_integer_value(json_object_get(result(0, "plan"), "steps")) > 0);
	assert_true(json_integer_value(result(2, "code")) < 0);
	assert_true(json_is_null(result(2, "plan")));
	assert_int_equal(world_node(w, "n1")->plan.steps.n, 0);
	assert_int_equal(n_looked_up, 1);
}

static void a_plan_of_an_incomplete_image_is_none(void **state)
{
	PHX_AUTO(phx_nodeset_fini) struct phx_nodeset names;
	(void)state;
	image_result = -EBADMSG;
	names_of("n1", &names);
	order(PHX_EV_assign, "", "compute");
	tried_plan_all(&rq, &names, results);
	assert_int_equal(json_integer_value(result(0, "code")), -EBADMSG);
	assert_true(json_is_null(result(0, "plan")));
	assert_false(json_is_true(result(0, "changed")));
}

int main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
	const struct CMUnitTest tests[] = {
		T(an_incomplete_image_takes_no_node_down),
		T(what_else_is_wrong_is_left_to_the_core),
		T(a_bmc_that_cannot_is_told_at_once),
		T(without_a_bmc_nobody_is_asked),
		T(a_changed_bmc_must_be_one),
		T(trying_changes_nothing),
		T(the_second_is_tried_after_the_first),
		T(only_what_a_person_is_asked_about_is_told),
		T(plans_are_shown_and_not_begun),
		T(a_plan_of_an_incomplete_image_is_none),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
