/* The use of a web RE's instances (cmd/phxd/view_use.c): the mean of those that told theirs, and of
 * each other one why not; and for whom that is worth a sentence. The core is real; what agents
 * told, the test says. */
#include "unit/core/pair.h"

#include "phxd/view_use.c" /* a part of a program, not of the library */

static struct world *w;
static struct daemon head;
/* of n1, n2 ...; -1: it told none, and `reasons` says why */
static int64_t told[NODES + 1];
static const char *reasons[NODES + 1];

int64_t live_use(struct live *l, const char *node, char ret_reason[BEAT_ERROR_MAX])
{
	unsigned i = world_index(node);
	(void)l;
	snprintf(ret_reason, BEAT_ERROR_MAX, "%s", reasons[i] ? reasons[i] : "");
	return told[i];
}

static struct phx_role *role(const char *name)
{
	return phx_state_role(&w->s, name);
}

/* RE "shop" has n4 and n5. */
static int setup(void **state)
{
	world_setup(state);
	w = *state;
	struct phx_service *s = phx_list_push(&role("web")->services, sizeof(*s));
	PHX_STR_SET(s->name, "httpd");
	pair_running(w, 3, 2);
	for (int i = 0; i <= NODES; i++) {
		told[i] = -1;
		reasons[i] = NULL;
	}
	head.cfg.measure_web_use = true;
	return 0;
}

static const struct phx_re *re(const char *name)
{
	return phx_state_re(&w->s, name);
}

static void assert_use(const char *want)
{
	PHX_AUTO_JSON json_t *j = view_use(&head, &w->s, re("shop"));
	PHX_AUTO_FREE char *text = json_dumps(j, JSON_COMPACT);
	assert_string_equal(text, want);
}

/* The sentences, a line each. */
static void assert_notes(const char *want)
{
	PHX_AUTO_JSON json_t *notes = json_array();
	PHX_AUTO(phx_buf_fini) struct phx_buf b = {0};
	size_t i;
	json_t *note;
	view_use_notes(&head, &w->s, re("shop"), notes);
	json_array_foreach(notes, i, note)
		phx_buf_addf(&b, "%s\n", json_string_value(note));
	assert_string_equal(b.n ? b.data : "", want);
}

#define N4_WAITS \
	"{\"node\":\"n4\",\"role\":\"web\",\"reason\":\"its agent has not told its use yet\"," \
	"\"waits\":true}"

static void use_is_the_mean_of_those_that_told_it(void **state)
{
	(void)state;
	told[1] = 999999; /* of another RE */
	told[4] = 100;
	told[5] = 201;
	assert_use("{\"ppm\":150,\"nodes\":2,\"unknown\":[]}");
	told[4] = 0; /* idle is a use */
	assert_use("{\"ppm\":100,\"nodes\":2,\"unknown\":[]}");
	told[4] = -1;
	assert_use("{\"ppm\":201,\"nodes\":1,\"unknown\":[" N4_WAITS "]}");
	/* as much as a node may tell */
	told[4] = told[5] = UINT32_MAX;
	assert_use("{\"ppm\":4294967295,\"nodes\":2,\"unknown\":[]}");
}

static void who_told_none_is_named_with_the_reason(void **state)
{
	(void)state;
	assert_notes("");
	reasons[5] = "no cgroup of httpd.service";
	assert_use("{\"ppm\":null,\"nodes\":0,\"unknown\":[" N4_WAITS
		   ",{\"node\":\"n5\",\"role\":\"web\",\"reason\":\"no cgroup of httpd.service\","
		   "\"waits\":false}]}");
	/* what comes by itself is worth no sentence */
	assert_notes("RE shop cannot follow its load: use of role web cannot be measured on n5: no "
		     "cgroup of httpd.service\n");
	head.cfg.measure_web_use = false; /* somebody else tells it */
	assert_notes("");
}

/* What it told before it fell silent counts no more, be it a use or a reason. */
static void a_silent_node_has_no_use(void **state)
{
	struct phx_event ev = {.kind = PHX_EV_missing, .node = "n5"};
	PHX_AUTO_JSON json_t *j = json_object();
	(void)state;
	told[4] = 10;
	told[5] = 500000;
	assert_int_equal(world_apply(w, &ev, NULL), 0);
	const struct phx_node *n = world_node(w, "n5");
	view_node_use(&head, n, j);
	assert_true(json_is_null(json_object_get(j, "use_ppm")));
	assert_string_equal(phx_json_str(j, "use_reason", ""), "it is not heard");
	reasons[5] = "no cgroup";
	view_node_use(&head, n, j);
	assert_string_equal(phx_json_str(j, "use_reason", ""), "it is not heard");
	assert_notes("");
	assert_use("{\"ppm\":10,\"nodes\":1,\"unknown\":[]}"); /* it is away */
	/* one that the RE holds, and that starts anew */
	world_node(w, "n4")->up = false;
	reasons[4] = "no cgroup";
	assert_notes("");
}

static void a_use_is_shown_without_a_reason(void **state)
{
	PHX_AUTO_JSON json_t *j = json_object();
	(void)state;
	told[5] = 7;
	view_node_use(&head, world_node(w, "n5"), j);
	assert_int_equal(phx_json_int(j, "use_ppm", -1), 7);
	assert_string_equal(phx_json_str(j, "use_reason", "none"), "");
}

/* One reason for all nodes. */
static void a_role_that_has_nothing_to_measure_is_named_once(void **state)
{
	(void)state;
	told[4] = told[5] = 7;
	PHX_LIST_EACH(struct phx_service, service, &role("web")->services)
		phx_record_fini(&phx_service_record, service);
	phx_list_fini(&role("web")->services);
	assert_use("{\"ppm\":null,\"nodes\":0,\"unknown\":[{\"node\":\"\",\"role\":\"web\","
		   "\"reason\":\"it has no services: there is nothing to measure\","
		   "\"waits\":false}]}");
	assert_notes("RE shop cannot follow its load: use of role web cannot be measured: it has "
		     "no services: there is nothing to measure\n");
	struct phx_re gone = *re("shop");
	PHX_STR_SET(gone.agreement.role, "gone");
	PHX_AUTO_JSON json_t *j = view_use(&head, &w->s, &gone);
	const json_t *first = json_array_get(json_object_get(j, "unknown"), 0);
	assert_string_equal(phx_json_str(first, "reason", ""), "there is no such role");
}

/* A queue follows its jobs. */
static void an_re_without_a_use_has_no_sentence(void **state)
{
	PHX_AUTO_JSON json_t *notes = json_array();
	(void)state;
	reasons[1] = "no cgroup";
	view_use_notes(&head, &w->s, re("queue"), notes);
	assert_int_equal(json_array_size(notes), 0);
}

int main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, setup, world_teardown)
	const struct CMUnitTest tests[] = {
		T(use_is_the_mean_of_those_that_told_it),
		T(who_told_none_is_named_with_the_reason),
		T(a_silent_node_has_no_use),
		T(a_use_is_shown_without_a_reason),
		T(a_role_that_has_nothing_to_measure_is_named_once),
		T(an_re_without_a_use_has_no_sentence),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
