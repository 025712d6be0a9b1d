/* What agents get with an order, and what is shown of the whole (cmd/phxd/view.c): beside each step
 * what it needs and no more, for older agents nothing that they do not know; of pools in metrics
 * only those of REs that the reader sees; the status counts. Images and keys are what the test
 * says. */
#include "unit/core/pair.h"

#include "fake/submitted.h"
#include "phxd/hosts.c" /* parts of a program, not of the library */
#include "phxd/view.c"

static struct world *w;
static struct daemon head;
static bool deploy_there, readonly;

/* ---- what is behind ---- */

static int make_image(const char *name, const char *version, struct phx_image *ret)
{
	*ret = (struct phx_image){.kind = PHX_IMAGE_ROOTFS};
	PHX_STR_SET(ret->name, name);
	PHX_STR_SET(ret->version, version);
	snprintf(ret->digest, sizeof(ret->digest), "digest-of-%s", name);
	PHX_STR_SET(ret->kernel_release, "6.1.0-9");
	struct phx_image_own *own =
		!strcmp(name, "own") ? phx_list_push(&ret->kernels, sizeof(*own)) : NULL;
	if (own)
		PHX_STR_SET(own->release, "5.14");
	return 0;
}

int catalog_image(const struct daemon *d, const char *name, const char *version,
		  struct phx_image *ret, char ret_signature[PHX_SIG_HEX], struct phx_err *err)
{
	assert_ptr_equal(d, &head);
	assert_false(fake_engine_held); /* it reads files */
	if (!strcmp(name, "gone"))
		return phx_err_set(err, -ENOENT, "there is no image '%s'", name);
	phx_str_copy(ret_signature, PHX_SIG_HEX, strcmp(name, "own") ? "" : "abcd");
	return make_image(name, version, ret);
}

int catalog_deploy(const struct daemon *d, struct phx_image *ret, struct phx_err *err)
{
	assert_ptr_equal(d, &head);
	assert_false(fake_engine_held);
	return deploy_there ? make_image("deploy", "3", ret)
			    : phx_err_set(err, -ENOENT, "there is no deploy image");
}

char *site_kernel_args(struct site *s, const char *node)
{
	(void)s;
	assert_string_equal(node, "n1");
	return strdup("site.arg=1");
}

void keys_start_token(struct keys *k, const char *node, uint64_t start,
		      char ret[PHX_START_TOKEN_MAX])
{
	(void)k;
	assert_string_equal(node, "n1");
	snprintf(ret, PHX_START_TOKEN_MAX, "token-of-%u", (unsigned)start);
}

bool engine_readonly(struct engine *e, struct phx_err *ret)
{
	(void)e;
	assert_false(fake_engine_held);
	if (readonly)
		phx_err_set(ret, -EROFS, "the disk is full");
	return readonly;
}

void identity_add_name(json_t *j, const char *owner)
{
	assert_false(fake_engine_held); /* it asks the user database */
	json_object_set_new(j, "owner_name", json_sprintf("name of %s", owner));
}

int launch_children(struct launch *l, struct phx_list *ret)
{
	struct phx_child_status *c = phx_list_push(ret, sizeof(*c));
	(void)l;
	assert_false(fake_engine_held);
	PHX_STR_SET(c->name, "dnsmasq");
	return 0;
}

json_t *refused_view(struct refused *f, bool whole)
{
	(void)f;
	return json_string(whole ? "whole" : "in short");
}

void view_re_metrics(struct phx_buf *b, const struct phx_state *s, const struct view_reader *reader)
{
	assert_ptr_equal(s, &w->s);
	assert_non_null(reader);
	assert_true(fake_engine_held);
	phx_buf_addf(b, "METRICS OF RES\n");
}

static int setup(void **state)
{
	fake_engine_begin();
	world_setup(state);
	w = *state;
	fake_state = &w->s;
	head = (struct daemon){0};
	PHX_STR_SET(head.cfg.deploy_image, "deploy");
	PHX_STR_SET(head.cfg.kernel_args, "quiet");
	deploy_there = true;
	readonly = false;
	return phx_store_open(":memory:", &fake_store, NULL);
}

static int teardown(void **state)
{
	fake_engine_is_free();
	hosts_fini(&head.hosts);
	phx_store_close(PHX_TAKE(fake_store));
	return world_teardown(state);
}

/* ---- orders ---- */

/* All that an agent of today may be told. */
static struct order_beside everything(void)
{
	struct order_beside b = {.re = "hpc", .protects = true, .layouts = true, .kernels = true};
	PHX_STR_SET(b.head, "10.2.0.2");
	PHX_STR_SET(b.protect.selectors, "model=X*");
	PHX_STR_SET(b.kernel.image, "own");
	PHX_STR_SET(b.kernel.version, "1");
	PHX_STR_SET(b.kernel.release, "5.14");
	PHX_STR_SET(b.kernel.args, "hugepages=4");
	return b;
}

static struct phx_order order_of(int kind)
{
	struct phx_order o = {.kind = PHX_ORDER_step, .id = 7};
	o.step.kind = kind;
	o.step.id = 7;
	o.step.nonce = 77;
	PHX_STR_SET(o.role.name, "compute");
	PHX_STR_SET(o.role.image, "own");
	PHX_STR_SET(o.role.image_version, "1");
	return o;
}

static json_t *told(const struct phx_order *o, const struct order_beside *beside)
{
	struct phx_buf b = {0};
	view_order_put(&head, "n1", o, beside, &b);
	PHX_AUTO_FREE char *text = phx_buf_take(&b);
	json_t *j = json_loads(text, 0, NULL);
	if (!j)
		fail_msg("no JSON: %s", text);
	return j;
}

/* The members that are in no order itself, in the order in which they are told. */
static void names_beside(const json_t *j, char *ret, size_t size)
{
	const char *key;
	json_t *value;
	size_t n = 0;
	ret[0] = '\0';
	json_object_foreach((json_t *)j, key, value) {
		bool own = false;
		for (size_t i = 0; i < phx_order_record.n_fields; i++)
			own = own || !strcmp(phx_order_record.fields[i].name, key);
		if (!own)
			n += (size_t)snprintf(ret + n, size - n, "%s%s", n ? " " : "", key);
	}
}

static const struct needs {
	int kind;
	const char *names;
} needs[] = {
	{PHX_STEP_prefetch, "re"},
	{PHX_STEP_divert, "re"},
	{PHX_STEP_drain, "re"},
	{PHX_STEP_settle, "re"},
	{PHX_STEP_stop, "re"},
	{PHX_STEP_leave, "re"},
	{PHX_STEP_kexec, "deploy kernel kernel_release re"},
	{PHX_STEP_boot, "re"},
	{PHX_STEP_destroy_key, "re"},
	{PHX_STEP_wipe, "protect re"}, /* what is written to a disk spares the protected ones */
	{PHX_STEP_make_key, "re"},
	{PHX_STEP_image, "image protect re"},
	{PHX_STEP_ram, "image re"},
	{PHX_STEP_enter, "kernel_release re"},
	{PHX_STEP_activate, "re"},
	{PHX_STEP_start, "re"},
	{PHX_STEP_health, "re"},
	{PHX_STEP_join, "re"},
	{PHX_STEP_rekey, "re"},
	{PHX_STEP_scratch, "re"},
	{PHX_STEP_kernel, "deploy kernel kernel_release re"},
	{PHX_STEP_layout, "layout keeps_layout layout_erased protect re"},
	{PHX_STEP_check_cpu, "image re"},
	{PHX_STEP_check_memory, "image re"},
	{PHX_STEP_check_disk, "image protect re"},
};

static void each_step_has_beside_it_what_it_needs(void **state)
{
	const struct order_beside all = everything();
	char names[200];
	(void)state;
	assert_int_equal(PHX_ARRAY_SIZE(needs), phx_step_kind_names.n_names);
	for (size_t i = 0; i < PHX_ARRAY_SIZE(needs); i++) {
		const struct phx_order o = order_of(needs[i].kind);
		PHX_AUTO_JSON json_t *j = told(&o, &all);
		names_beside(j, names, sizeof(names));
		if (strcmp(names, needs[i].names) != 0)
			fail_msg("%s: %s", phx_enum_name(&phx_step_kind_names, needs[i].kind),
				 names);
		assert_string_equal(phx_json_str(j, "re", ""), "hpc");
	}
}

/* Agents of before refuse members that they do not know. */
static void an_older_agent_is_told_nothing_new(void **state)
{
	const struct order_beside none = {.head = "10.2.0.2"};
	static const struct needs older[] = {
		{PHX_STEP_wipe, ""},        {PHX_STEP_image, "image"}, {PHX_STEP_layout, ""},
		{PHX_STEP_kexec, "deploy"}, {PHX_STEP_enter, ""},
	};
	char names[200];
	(void)state;
	for (size_t i = 0; i < PHX_ARRAY_SIZE(older); i++) {
		struct phx_order o = order_of(older[i].kind);
		PHX_AUTO_JSON json_t *j = told(&o, &none);
		names_beside(j, names, sizeof(names));
		assert_string_equal(names, older[i].names);
		/* of the order itself it is told what there is */
		assert_null(json_object_get(j, "job"));
		assert_int_equal(phx_json_int(json_object_get(j, "step"), "nonce", 0), 77);
	}
	struct phx_order o = order_of(PHX_STEP_ram);
	PHX_STR_SET(o.role.image, "plain");
	PHX_AUTO_JSON json_t *j = told(&o, &none);
	const json_t *image = json_object_get(j, "image");
	assert_string_equal(phx_json_str(image, "digest", ""), "digest-of-plain");
	assert_null(json_object_get(image, "kernels"));
	assert_null(json_object_get(image, "signature"));
}

static void an_image_is_told_with_its_kernels_and_signature(void **state)
{
	const struct order_beside all = everything();
	const struct phx_order o = order_of(PHX_STEP_image);
	(void)state;
	PHX_AUTO_JSON json_t *j = told(&o, &all);
	const json_t *image = json_object_get(j, "image");
	assert_string_equal(phx_json_str(image, "signature", ""), "abcd");
	assert_int_equal(json_array_size(json_object_get(image, "kernels")), 1);
}

/* The agent then fails the step with that reason, and nothing is erased for it. */
static void an_image_that_is_not_there_is_said_to_be_so(void **state)
{
	const struct order_beside all = everything();
	struct phx_order o = order_of(PHX_STEP_image);
	(void)state;
	PHX_STR_SET(o.role.image, "gone");
	PHX_AUTO_JSON json_t *j = told(&o, &all);
	assert_true(json_is_null(json_object_get(j, "image")));
	assert_string_equal(phx_json_str(j, "image_error", ""), "there is no image 'gone'");
	deploy_there = false;
	o = order_of(PHX_STEP_kexec);
	PHX_AUTO_JSON json_t *start = told(&o, &all);
	assert_true(json_is_null(json_object_get(start, "deploy")));
	assert_string_equal(phx_json_str(start, "image_error", ""), "there is no deploy image");
	/* a check takes the programs of the node then */
	o = order_of(PHX_STEP_check_cpu);
	PHX_AUTO_JSON json_t *check = told(&o, &all);
	assert_null(json_object_get(check, "image"));
	assert_null(json_object_get(check, "image_error"));
}

/* Head, image and token come last: of two words of one name the last counts. */
static void a_start_has_its_command_line(void **state)
{
	const struct order_beside all = everything();
	const struct phx_order o = order_of(PHX_STEP_kexec);
	char word[PHX_KERNEL_WORD_MAX];
	(void)state;
	PHX_AUTO_JSON json_t *j = told(&o, &all);
	const char *line = phx_json_str(json_object_get(j, "deploy"), "cmdline", "");
	assert_true(phx_str_starts(line, "quiet hugepages=4 site.arg=1 "));
	phx_kernel_word("5.14", "hugepages=4", word);
	assert_non_null(strstr(line, "10.2.0.2"));
	assert_non_null(strstr(line, "token-of-7"));
	assert_non_null(strstr(line, word));
	assert_non_null(strstr(line, "digest-of-deploy"));
	assert_string_equal(phx_json_str(json_object_get(j, "deploy"), "name", ""), "deploy");
	assert_string_equal(phx_json_str(json_object_get(j, "kernel"), "name", ""), "own");
	assert_string_equal(phx_json_str(j, "kernel_release", ""), "5.14");
}

/* A job is not a step, whatever its number. */
static void other_orders_have_nothing_beside_them(void **state)
{
	const struct order_beside all = everything();
	char names[200];
	(void)state;
	for (int kind = PHX_ORDER_job; kind <= PHX_ORDER_ahead; kind++) {
		struct phx_order o = order_of(PHX_STEP_wipe);
		o.kind = kind;
		PHX_AUTO_JSON json_t *j = told(&o, &all);
		names_beside(j, names, sizeof(names));
		assert_string_equal(names, "");
	}
}

static void orders_make_a_list(void **state)
{
	const struct order_beside all = everything();
	const struct phx_order first = order_of(PHX_STEP_wipe), second = order_of(PHX_STEP_image);
	struct phx_buf b = {0};
	(void)state;
	phx_buf_addf(&b, "[");
	view_order_put(&head, "n1", &first, &all, &b);
	view_order_put(&head, "n1", &second, &all, &b);
	phx_buf_addf(&b, "]");
	PHX_AUTO_FREE char *text = phx_buf_take(&b);
	PHX_AUTO_JSON json_t *j = json_loads(text, 0, NULL);
	assert_int_equal(json_array_size(j), 2);
}

/* ---- plans ---- */

static void a_plan_is_shown_in_words(void **state)
{
	struct phx_plan plan = {0};
	(void)state;
	((struct phx_step *)phx_list_push(&plan.steps, sizeof(struct phx_step)))->kind =
		PHX_STEP_wipe;
	((struct phx_step *)phx_list_push(&plan.steps, sizeof(struct phx_step)))->kind =
		PHX_STEP_join;
	PHX_AUTO_JSON json_t *j = view_plan(&plan);
	const json_t *steps = json_object_get(j, "steps");
	assert_int_equal(json_array_size(steps), 2);
	assert_string_equal(phx_json_str(json_array_get(steps, 0), "kind", ""), "wipe");
	assert_string_equal(phx_json_str(json_array_get(steps, 0), "phase", ""), "cleaning");
	assert_string_equal(phx_json_str(json_array_get(steps, 0), "text", ""),
			    "erase the disk and read it back");
	assert_string_equal(phx_json_str(json_array_get(steps, 1), "phase", ""), "deploying");
	phx_record_fini(&phx_plan_record, &plan);
}

/* ---- metrics and status ---- */

static bool sees(const void *arg, const struct phx_re *re)
{
	return !strcmp(re->name, arg);
}

static void metrics_name_no_pool_of_an_re_that_is_not_seen(void **state)
{
	(void)state;
	pair_running(w, 3, 1);
	const struct view_reader reader = {sees, "shop"};
	PHX_AUTO_FREE char *text = view_metrics(&head, &reader);
	assert_non_null(strstr(text, "phx_pool_nodes{pool=\"shop\",owner=\"shop\"} 1\n"));
	assert_null(strstr(text, "queue"));
	assert_non_null(strstr(text, "phx_pool_nodes{pool=\"free\","));
	assert_non_null(strstr(text, "METRICS OF RES\n"));
	assert_non_null(strstr(text, "phx_nodes{state=\"active\"} 4\n"));
	assert_non_null(strstr(text, "phx_nodes{state=\"quarantined\"} 0\n"));
	assert_non_null(strstr(text, "phx_nodes_up 5\n"));
	assert_non_null(strstr(text, "phx_readonly 0\n"));
	readonly = true;
	PHX_AUTO_FREE char *full = view_metrics(&head, &reader);
	assert_non_null(strstr(full, "phx_readonly 1\n"));
}

static const json_t *pool(const json_t *status, const char *name)
{
	size_t i;
	json_t *p;
	json_array_foreach(json_object_get(status, "pools"), i, p)
		if (!strcmp(phx_json_str(p, "name", ""), name))
			return p;
	fail_msg("there is no pool %s", name);
	return NULL;
}

static void the_status_counts(void **state)
{
	(void)state;
	pair_running(w, 3, 1);
	head.started_ms = fake_now_ms - 61999;
	PHX_AUTO_JSON json_t *j = view_status(&head, false);
	assert_int_equal(phx_json_int(j, "uptime_s", 0), 61);
	assert_int_equal(phx_json_int(j, "nodes", 0), 5);
	assert_int_equal(phx_json_int(j, "up", 0), 5);
	const json_t *states = json_object_get(j, "states");
	assert_int_equal(json_object_size(states), phx_node_state_names.n_names);
	assert_int_equal(phx_json_int(states, "active", 0), 4);
	assert_int_equal(phx_json_int(states, "ready", 0), 1);
	const json_t *queue = pool(j, "queue");
	assert_int_equal(phx_json_int(queue, "nodes", 0), 3);
	assert_string_equal(phx_json_str(queue, "hosts", ""), "n[1-3]");
	assert_string_equal(phx_json_str(queue, "owner_name", ""), "name of hpc");
	assert_int_equal(phx_json_int(pool(j, "guest"), "nodes", -1), 0);
	assert_string_equal(phx_json_str(j, "readonly", "none"), "");
	assert_string_equal(phx_json_str(j, "refused", ""), "in short");
	const json_t *deploy = json_object_get(j, "deploy");
	assert_string_equal(phx_json_str(deploy, "kernel", ""), "6.1.0-9");
	assert_string_equal(phx_json_str(deploy, "error", "none"), "");
}

static void the_status_says_what_is_wrong(void **state)
{
	(void)state;
	readonly = true;
	deploy_there = false;
	PHX_AUTO_JSON json_t *j = view_status(&head, true);
	const json_t *deploy = json_object_get(j, "deploy");
	assert_string_equal(phx_json_str(j, "readonly", ""), "the disk is full");
	assert_string_equal(phx_json_str(j, "refused", ""), "whole");
	assert_string_equal(phx_json_str(deploy, "image", ""), "deploy");
	assert_string_equal(phx_json_str(deploy, "version", "none"), "");
	assert_string_equal(phx_json_str(deploy, "error", ""), "there is no deploy image");
}

int main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
	const struct CMUnitTest tests[] = {
		T(each_step_has_beside_it_what_it_needs),
		T(an_older_agent_is_told_nothing_new),
		T(an_image_is_told_with_its_kernels_and_signature),
		T(an_image_that_is_not_there_is_said_to_be_so),
		T(a_start_has_its_command_line),
		T(other_orders_have_nothing_beside_them),
		T(orders_make_a_list),
		T(a_plan_is_shown_in_words),
		T(metrics_name_no_pool_of_an_re_that_is_not_seen),
		T(the_status_counts),
		T(the_status_says_what_is_wrong),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
