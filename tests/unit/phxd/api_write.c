/* Orders on nodes (cmd/phxd/api_write.c): each action is its event, by who asks; what is wrong with
 * the whole request is told before any node is touched, what is wrong with one node with that node;
 * a dry run touches none; long lists are committed in portions. The engine, dry runs and the
 * catalogue are fakes. */
#include "fake/submitted.h"
#include "fake/person.h"

#include "phxd/api_write.c" /* parts of a program, not of the library */
#include "phxd/parse.c"
#include "phxd/parse_bmc.c"

static struct daemon head;
static struct phx_state core;
static struct phx_buf done;   /* "NODE ..." of each portion that was submitted, then "|" */
static struct phx_event last; /* the event of the last portion */
static char labels[400];      /* of it */
static const char *refused;   /* the node that the core refuses, with refusal */
static int refusal;
static const char *cannot_begin; /* the node on which the order cannot even begin */
static char forgotten[200];      /* whose keys */
static int tried_code;
static unsigned n_tried, n_planned, n_looked, n_refused, n_outlets_looked;
static int load_result, check_ip;
static json_t *answer;
static char error[FAKE_TEXT];

/* ---- what is behind ---- */

void engine_submit_each(struct engine *e, struct phx_event *ev, struct phx_each *each, uint32_t n)
{
	(void)e;
	assert_false(fake_engine_held);
	last = *ev;
	labels[0] = '\0';
	if (ev->kind == PHX_EV_node_label) {
		PHX_LIST_EACH(struct phx_label, l, &ev->node_label.labels)
			snprintf(labels + strlen(labels), sizeof(labels) - strlen(labels), "%s=%s ",
				 l->key, l->value);
		PHX_LIST_EACH(struct phx_word, w, &ev->node_label.unlabel)
			snprintf(labels + strlen(labels), sizeof(labels) - strlen(labels), "-%s ",
				 w->text);
	}
	for (uint32_t i = 0; i < n; i++) {
		if (each[i].result < 0)
			continue;
		phx_buf_addf(&done, "%s ", each[i].node);
		if (refused && !strcmp(each[i].node, refused))
			each[i].result = phx_err_set(&each[i].err, refusal, "the core says no");
		else
			each[i].out.changed = true;
	}
	phx_buf_addf(&done, "|");
}

int names_parse(struct daemon *d, const struct phx_http_peer *peer, const char *text,
		struct phx_nodeset *ret, struct phx_err *err)
{
	(void)d, (void)peer;
	assert_false(fake_engine_held);
	return phx_nodeset_parse(text, NULL, NULL, ret, err);
}

int catalog_no_role(struct daemon *d, const char *name, struct phx_err *err)
{
	(void)d;
	assert_false(fake_engine_held);
	return phx_err_set(err, -ENOENT, "there is no role '%s'", name);
}

int catalog_load(struct daemon *d, const char *by, json_t *errors, json_t *warnings,
		 struct phx_err *err)
{
	(void)d;
	assert_int_equal(fake_events.n, 1); /* it is told before */
	assert_string_equal(by, "by unix:root");
	json_array_append_new(errors, json_string("roles/x.conf:1: wrong"));
	json_array_append_new(warnings, json_string("old"));
	return load_result < 0 ? phx_err_set(err, load_result, "no directory") : 0;
}

json_t *catalog_images(struct daemon *d)
{
	(void)d;
	return json_pack("{s:[i,i]}", "images", 1, 2);
}

json_t *catalog_packages(struct daemon *d)
{
	(void)d;
	return json_pack("{s:[i]}", "packages", 1);
}

void accounts_look(struct accounts *a)
{
	(void)a;
	n_looked++;
}

void outlets_reload(struct outlets *o)
{
	(void)o;
	n_outlets_looked++;
}

int site_check_ip(struct daemon *d, const char *ip, struct phx_err *err)
{
	(void)d;
	return check_ip < 0 ? phx_err_set(err, check_ip, "ip: %s is in no network", ip) : 0;
}

bool site_goes_by_label(struct site *s, const char *key)
{
	(void)s;
	return !strcmp(key, "login");
}

void person_refused(struct daemon *d, const struct phx_http_peer *peer, enum phx_right right)
{
	(void)d, (void)peer;
	assert_int_equal(right, PHX_RIGHT_site);
	n_refused++;
}

void consoles_changed(struct consoles *c)
{
	(void)c;
	assert_false(fake_engine_held);
}

void keys_forget(struct keys *k, const char *node)
{
	(void)k;
	assert_false(fake_engine_held);
	snprintf(forgotten + strlen(forgotten), sizeof(forgotten) - strlen(forgotten), "%s ", node);
}

json_t *view_ends(const struct phx_state *s, const struct phx_event *ev)
{
	assert_ptr_equal(s, &core);
	assert_true(fake_engine_held);
	return json_pack("[s]", ev->node);
}

int tried_begins(struct tried *rq, struct phx_err *err)
{
	return cannot_begin && !strcmp(rq->ev->node, cannot_begin)
		? phx_err_set(err, -EOPNOTSUPP, "it has no BMC")
		: 0;
}

int tried_plan_all(struct tried *rq, const struct phx_nodeset *names, json_t *results)
{
	(void)rq;
	n_planned++;
	json_array_append_new(results, json_integer(names->n));
	return 0;
}

int tried_all(struct tried *rq, const struct phx_nodeset *names, json_t *results)
{
	n_tried++;
	json_array_append_new(
		results, json_pack("{s:i,s:b}", "n", (int)names->n, "ends_only", rq->ends_only));
	return tried_code;
}

void tried_fini(struct tried *rq)
{
	(void)rq;
}

/* ---- requests ---- */

static int setup(void **state)
{
	(void)state;
	fake_engine_begin();
	fake_requests_begin();
	core = (struct phx_state){0};
	fake_state = &core;
	if (phx_state_init(&core) < 0 || phx_store_open(":memory:", &fake_store, NULL) < 0)
		return -1;
	struct phx_role *role = phx_list_push(&core.roles, sizeof(*role));
	PHX_STR_SET(role->name, "web");
	fake_roles = FAKE_ADMIN;
	fake_identity = "unix:root";
	done = (struct phx_buf){0};
	refused = cannot_begin = NULL;
	forgotten[0] = '\0';
	tried_code = load_result = check_ip = 0;
	n_tried = n_planned = n_looked = n_refused = n_outlets_looked = 0;
	answer = NULL;
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	fake_engine_is_free();
	json_decref(PHX_TAKE(answer));
	phx_buf_fini(&done);
	phx_store_close(PHX_TAKE(fake_store));
	phx_state_fini(&core);
	phx_list_fini(&fake_events);
	fake_events = (struct phx_list){0};
	return 0;
}

static int orders(const char *action, const char *body)
{
	FAKE_REQUEST q = {.params = {action}, .body = body};
	json_decref(PHX_TAKE(answer));
	phx_buf_fini(&done);
	done = (struct phx_buf){0};
	api_action(&q, &head);
	PHX_STR_SET(error, q.text);
	answer = json_incref(q.json);
	return q.code;
}

static void assert_done(const char *want)
{
	assert_string_equal(done.n ? done.data : "", want);
}

static const json_t *result(size_t i)
{
	return json_array_get(json_object_get(answer, "results"), i);
}

static void assert_refused(const char *action, const char *body, int code, const char *says)
{
	if (orders(action, body) != code || !phx_str_starts(error, says))
		fail_msg("%s %s: %s", action, body, error);
	assert_done("");
}

/* ---- each action ---- */

static void each_action_is_its_event(void **state)
{
	static const struct {
		const char *action, *body;
		int kind;
	} rows[] = {
		{"accept", "{\"nodes\":\"n1\"}", PHX_EV_node_accept},
		{"assign", "{\"nodes\":\"n1\",\"role\":\"web\"}", PHX_EV_assign},
		{"release", "{\"nodes\":\"n1\"}", PHX_EV_release},
		{"rebuild", "{\"nodes\":\"n1\"}", PHX_EV_rebuild},
		{"wipe", "{\"nodes\":\"n1\",\"method\":\"discard\"}", PHX_EV_wipe},
		{"drain", "{\"nodes\":\"n1\"}", PHX_EV_drain},
		{"reboot", "{\"nodes\":\"n1\"}", PHX_EV_reboot},
		{"check", "{\"nodes\":\"n1\",\"with\":\"cpu\"}", PHX_EV_check},
		{"resume", "{\"nodes\":\"n1\"}", PHX_EV_resume},
		{"quarantine", "{\"nodes\":\"n1\",\"text\":\"smoke\"}", PHX_EV_quarantine},
		{"power", "{\"nodes\":\"n1\",\"op\":\"off\"}", PHX_EV_power},
		{"rm", "{\"nodes\":\"n1\"}", PHX_EV_node_remove},
		{"edit", "{\"nodes\":\"n1\",\"serial\":\"s1\"}", PHX_EV_node_edit},
		{"inspect", "{\"nodes\":\"n1\"}", PHX_EV_inspect},
		{"label", "{\"nodes\":\"n1\",\"labels\":{\"a\":\"1\"}}", PHX_EV_node_label},
		{"note", "{\"nodes\":\"n1\",\"text\":\"x\"}", PHX_EV_node_note},
		{"cancel", "{\"nodes\":\"n1\"}", PHX_EV_cancel},
		{"forget-disk", "{\"nodes\":\"n1\",\"text\":\"d\"}", PHX_EV_disk_forget},
		{"forget-tpm", "{\"nodes\":\"n1\"}", PHX_EV_tpm_forget},
	};
	(void)state;
	for (size_t i = 0; i < PHX_ARRAY_SIZE(rows); i++) {
		if (orders(rows[i].action, rows[i].body) != 200)
			fail_msg("%s: %s", rows[i].action, error);
		assert_done("n1 |");
		assert_int_equal(last.kind, rows[i].kind);
		assert_string_equal(last.by, "by unix:root");
	}
	assert_refused("explode", "{\"nodes\":\"n1\"}", -ENOENT, "there is no such action");
	assert_refused("", "{\"nodes\":\"n1\"}", -ENOENT, "there is no such action");
}

static void an_order_goes_as_it_was_given(void **state)
{
	(void)state;
	assert_int_equal(orders("wipe",
				"{\"nodes\":\"n1\",\"method\":\"overwrite\",\"verify\":\"full\","
				"\"grace_s\":7,\"force\":true,\"kill_jobs\":true,"
				"\"until_ms\":99}"),
			 200);
	assert_int_equal(last.order.setup.method, PHX_WIPE_OVERWRITE);
	assert_int_equal(last.order.setup.verify, PHX_VERIFY_FULL);
	assert_true(last.order.has_grace && last.order.force);
	assert_int_equal(last.order.grace_ms, 7000);
	assert_int_equal(last.order.jobs, PHX_JOBS_ANY);
	assert_int_equal(last.order.until_ms, 99);
	assert_int_equal(orders("wipe", "{\"nodes\":\"n1\"}"), 200);
	assert_false(last.order.has_grace || last.order.force || last.order.has_setup);
	assert_int_equal(last.order.jobs, PHX_JOBS_SPARE);
	assert_int_equal(orders("power", "{\"nodes\":\"n1\",\"op\":\"soft\"}"), 200);
	assert_int_equal(last.order.op, PHX_POWER_SOFT);
	assert_string_equal(last.text, "");
	/* what is none is refused by the core, which is given the word */
	assert_int_equal(orders("power", "{\"nodes\":\"n1\",\"op\":\"explode\"}"), 200);
	assert_string_equal(last.text, "explode");
}

static void labels_are_put_on_and_taken_off(void **state)
{
	static const char *const bad[] = {"7", "[]", "{\"a\":7}", "{\"a\":[]}"};
	PHX_AUTO(phx_buf_fini) struct phx_buf many = {0};
	char body[200];
	(void)state;
	assert_int_equal(orders("label", "{\"nodes\":\"n1\",\"labels\":{\"a\":\"1\",\"b\":null}}"),
			 200);
	assert_string_equal(labels, "a=1 -b ");
	for (size_t i = 0; i < PHX_ARRAY_SIZE(bad); i++) {
		snprintf(body, sizeof(body), "{\"nodes\":\"n1\",\"labels\":%s}", bad[i]);
		assert_refused("label", body, -EINVAL,
			       "labels: expected an object of at most 32 short texts");
	}
	for (int i = 0; i <= PHX_LABELS_MAX; i++)
		phx_buf_addf(&many, "%s\"k%d\":\"v\"", i ? "," : "", i);
	PHX_AUTO_FREE char *text = phx_path("{\"nodes\":\"n1\",\"labels\":{%s}}", many.data);
	assert_refused("label", text, -EINVAL, "labels: expected");
}

/* By it somebody may log in as root: an operator may not let himself in. */
static void what_settings_go_by_is_an_administrators_to_label(void **state)
{
	(void)state;
	fake_roles = FAKE_OPERATOR;
	assert_refused("label", "{\"nodes\":\"n1\",\"labels\":{\"a\":\"1\",\"login\":\"all\"}}",
		       -EPERM, "label login: settings of the site go by it");
	assert_refused("label", "{\"nodes\":\"n1\",\"labels\":{\"login\":null}}", -EPERM,
		       "label login: ");
	assert_int_equal(n_refused, 2);
	assert_int_equal(orders("label", "{\"nodes\":\"n1\",\"labels\":{\"a\":\"1\"}}"), 200);
	fake_roles = FAKE_ADMIN;
	assert_int_equal(orders("label", "{\"nodes\":\"n1\",\"labels\":{\"login\":\"all\"}}"), 200);
	assert_string_equal(labels, "login=all ");
	assert_int_equal(n_refused, 2);
}

/* ---- before any node is touched ---- */

static void what_is_wrong_with_all_touches_none(void **state)
{
	static const struct {
		const char *action, *body;
		int code;
		const char *says;
	} rows[] = {
		{"rm", "[]", -EINVAL, "the body must be a JSON object"},
		{"rm", "{}", -EINVAL, "nodes: must be a list of nodes, such as \"n[1-4]\""},
		{"rm", "{\"nodes\":7}", -EINVAL, "nodes: must be a list"},
		{"rm", "{\"nodes\":\"n[1-\"}", -EINVAL, ""},
		{"rm", "{\"nodes\":\"n1!n1\"}", -EINVAL, "nodes: no node is in this list"},
		{"wipe", "{\"nodes\":\"n1\",\"dry_rum\":true}", -EINVAL,
		 "dry_rum: is not known here"},
		{"wipe", "{\"nodes\":\"n1\",\"dry_run\":\"yes\"}", -EINVAL,
		 "dry_run: must be true or false"},
		{"wipe", "{\"nodes\":\"n1\",\"method\":\"burn\"}", -EINVAL, "method: "},
		{"wipe", "{\"nodes\":\"n1\",\"grace_s\":-1}", -EINVAL, "grace_s: must be"},
		{"wipe", "{\"nodes\":\"n1\",\"grace_s\":2592001}", -EINVAL, "grace_s: must be"},
		{"wipe", "{\"nodes\":\"n1\",\"kill_jobs\":\"all\"}", -EINVAL, "kill_jobs: must"},
		{"wipe", "{\"nodes\":\"n1\",\"pool\":\"gone\"}", -ENOENT,
		 "there is no pool 'gone'"},
		{"assign", "{\"nodes\":\"n1\",\"role\":\"gone\"}", -ENOENT,
		 "there is no role 'gone'"},
		{"assign", "{\"nodes\":\"n1\"}", -ENOENT, "there is no role ''"},
		{"check", "{\"nodes\":\"n1\",\"with\":\"fire\"}", -EINVAL, ""},
		{"check", "{\"nodes\":\"n1\",\"for_s\":0}", -EINVAL, "for_s: must be"},
		{"note", "{\"nodes\":\"n1\",\"text\":\"a\\u001b[2J\"}", -EINVAL,
		 "text: must not hold control characters"},
		{"accept", "{\"nodes\":\"n[1-2]\",\"name\":\"x\"}", -EINVAL,
		 "name: only one node can be given a new name"},
		{"edit", "{\"nodes\":\"n[1-2]\",\"serial\":\"x\"}", -EINVAL,
		 "nodes: only one node can have this identity"},
		{"edit", "{\"nodes\":\"n1\",\"macs\":[\"x\"]}", -EINVAL,
		 "macs: 'x' is no MAC address"},
		{"wipe", "{\"nodes\":\"n1\",\"rolling\":\"2\"}", -EINVAL, "rolling: for a reboot"},
		{"reboot", "{\"nodes\":\"n[1-4]\",\"rolling\":\"5\"}", -EINVAL,
		 "rolling: for a reboot, a text such as \"2\" (of 4 nodes), or \"5%\""},
		{"reboot", "{\"nodes\":\"n[1-4]\",\"rolling\":2}", -EINVAL, "rolling: "},
	};
	(void)state;
	for (size_t i = 0; i < PHX_ARRAY_SIZE(rows); i++)
		assert_refused(rows[i].action, rows[i].body, rows[i].code, rows[i].says);
	check_ip = -EINVAL;
	assert_refused("edit", "{\"nodes\":\"n1\",\"ip\":\"10.0.0.1\"}", -EINVAL,
		       "ip: 10.0.0.1 is in no network");
	assert_int_equal(orders("edit", "{\"nodes\":\"n1\",\"ip\":\"\"}"), 200); /* it goes */
	assert_true(last.node_edit.has_ip && !last.node_edit.has_serial);
}

static void turns_are_one_line(void **state)
{
	(void)state;
	assert_int_equal(orders("reboot", "{\"nodes\":\"n[1-4]\",\"rolling\":\"50%\"}"), 200);
	assert_int_equal(last.order.line_most, 2);
	uint64_t line = last.order.line;
	assert_true(line && line >> 52 == 0); /* JSON keeps it */
	assert_int_equal(orders("reboot", "{\"nodes\":\"n[1-4]\",\"rolling\":\"1%\"}"), 200);
	assert_int_equal(last.order.line_most, 1);
	assert_true(last.order.line && last.order.line != line);
	assert_int_equal(orders("reboot", "{\"nodes\":\"n[1-4]\"}"), 200);
	assert_int_equal(last.order.line, 0);
}

/* ---- what comes of it ---- */

static void what_is_wrong_with_one_node_is_told_of_it(void **state)
{
	(void)state;
	refused = "n2";
	refusal = -EBUSY;
	cannot_begin = "n3";
	assert_int_equal(orders("wipe", "{\"nodes\":\"n[1-4]\"}"), 200);
	assert_done("n1 n2 n4 |");
	static const int codes[] = {0, -EBUSY, -EOPNOTSUPP, 0};
	static const char *const texts[] = {"", "the core says no", "it has no BMC", ""};
	for (size_t i = 0; i < 4; i++) {
		assert_int_equal(phx_json_int(result(i), "code", 1), codes[i]);
		assert_string_equal(phx_json_str(result(i), "error", "?"), texts[i]);
		assert_int_equal(phx_json_bool(result(i), "changed", false), codes[i] == 0);
		assert_int_equal(json_array_size(json_object_get(result(i), "jobs")),
				 codes[i] == -EBUSY);
	}
	assert_string_equal(phx_json_str(result(1), "node", ""), "n2");
}

static void a_long_list_is_committed_in_portions(void **state)
{
	unsigned n = 0;
	(void)state;
	assert_int_equal(orders("inspect", "{\"nodes\":\"n[1-600]\"}"), 200);
	assert_int_equal(json_array_size(json_object_get(answer, "results")), 600);
	for (const char *at = done.data; (at = strchr(at, '|')); at++)
		n++;
	assert_int_equal(n, 3);
	for (size_t i = 0; i < 600; i++) {
		char name[16];
		snprintf(name, sizeof(name), "n%zu", i + 1);
		assert_string_equal(phx_json_str(result(i), "node", ""), name);
	}
}

/* Of a node that is gone, and of a name that another may have had. */
static void keys_are_forgotten_with_their_node(void **state)
{
	(void)state;
	refused = "n2";
	refusal = -EBUSY;
	assert_int_equal(orders("rm", "{\"nodes\":\"n[1-3]\"}"), 200);
	assert_string_equal(forgotten, "n1 n3 ");
	forgotten[0] = '\0';
	assert_int_equal(orders("accept", "{\"nodes\":\"n1\",\"name\":\"web1\"}"), 200);
	assert_string_equal(forgotten, "web1 ");
	forgotten[0] = '\0';
	assert_int_equal(orders("accept", "{\"nodes\":\"n1\"}"), 200);
	assert_int_equal(orders("wipe", "{\"nodes\":\"n1\"}"), 200);
	assert_string_equal(forgotten, "");
}

static void a_dry_run_touches_none(void **state)
{
	(void)state;
	assert_int_equal(orders("wipe", "{\"nodes\":\"n[1-2]\",\"dry_run\":true}"), 200);
	assert_int_equal(n_planned, 1);
	assert_int_equal(orders("rm", "{\"nodes\":\"n[1-2]\",\"dry_run\":true,\"ends_only\":true}"),
			 200);
	assert_int_equal(n_tried, 1);
	assert_true(phx_json_bool(result(0), "ends_only", false));
	assert_done("");
	assert_string_equal(forgotten, "");
	tried_code = -ENOMEM;
	assert_refused("rm", "{\"nodes\":\"n[1-2]\",\"dry_run\":true}", -ENOMEM,
		       "there is not enough memory to try it");
	/* what is wrong with the request is told as without */
	assert_refused("assign", "{\"nodes\":\"n1\",\"role\":\"gone\",\"dry_run\":true}", -ENOENT,
		       "there is no role 'gone'");
}

/* ---- the catalogue ---- */

static int reloads(void)
{
	FAKE_REQUEST q = {0};
	json_decref(PHX_TAKE(answer));
	phx_list_fini(&fake_events);
	fake_events = (struct phx_list){0};
	api_reload(&q, &head);
	PHX_STR_SET(error, q.text);
	answer = json_incref(q.json);
	return q.code;
}

static void what_is_read_again_is_counted(void **state)
{
	(void)state;
	assert_int_equal(reloads(), 200);
	assert_int_equal(fake_event(0)->kind, PHX_EV_notice);
	assert_int_equal(phx_json_int(answer, "roles", 0), 1);
	assert_int_equal(phx_json_int(answer, "images", 0), 2);
	assert_int_equal(phx_json_int(answer, "packages", 0), 1);
	assert_int_equal(json_array_size(json_object_get(answer, "errors")), 1);
	assert_int_equal(json_array_size(json_object_get(answer, "warnings")), 1);
	assert_int_equal(n_looked, 1);
	assert_int_equal(n_outlets_looked, 1);
	load_result = -ENOENT;
	assert_int_equal(reloads(), -ENOENT);
	assert_string_equal(error, "no directory");
	assert_int_equal(n_looked, 1);
	/* what cannot be told is not done */
	fake_submit_result = -EROFS;
	assert_int_equal(reloads(), -EROFS);
	assert_string_equal(error, "the journal refuses it");
}

int main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
	const struct CMUnitTest tests[] = {
		T(each_action_is_its_event),
		T(an_order_goes_as_it_was_given),
		T(labels_are_put_on_and_taken_off),
		T(what_settings_go_by_is_an_administrators_to_label),
		T(what_is_wrong_with_all_touches_none),
		T(turns_are_one_line),
		T(what_is_wrong_with_one_node_is_told_of_it),
		T(a_long_list_is_committed_in_portions),
		T(keys_are_forgotten_with_their_node),
		T(a_dry_run_touches_none),
		T(what_is_read_again_is_counted),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
