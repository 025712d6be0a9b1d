/* Machines announced (cmd/phxd/api_node_add.c): of a list all is read before the first is
 * announced, and what the core refuses then is told of each; a name's former keys are forgotten
 * with a new machine, and with no other. The engine is a fake. */
#include "fake/submitted.h"
#include "fake/person.h"

#include "phxd/api_node_add.c" /* parts of a program, not of the library */
#include "phxd/parse.c"
#include "phxd/parse_bmc.c"

static struct daemon head;
static struct phx_buf added; /* "NAME SERIAL MAC;" each, and "|" behind a portion */
static const char *refused;  /* the node that the core refuses */
static const char *same;     /* the node that was announced like this before */
static char forgotten[200];
static json_t *answer;
static char error[FAKE_TEXT];

/* ---- what is behind ---- */

static void add(const struct phx_event *ev)
{
	const struct phx_list *macs = &ev->node_add.macs;
	assert_int_equal(ev->kind, PHX_EV_node_add);
	assert_string_equal(ev->by, "by unix:root");
	phx_buf_addf(&added, "%s %s %s;", ev->node, ev->node_add.serial,
		     macs->n ? PHX_LIST_AT(macs, struct phx_mac, 0)->mac : "-");
}

static void looks(const struct phx_event *ev, struct phx_outcome *ret)
{
	add(ev);
	ret->changed = !same || strcmp(ev->node, same) != 0;
}

void engine_submit_each(struct engine *e, struct phx_event *ev, struct phx_each *each, uint32_t n)
{
	(void)e;
	assert_null(ev); /* each has its own */
	for (uint32_t i = 0; i < n; i++) {
		if (refused && !strcmp(each[i].node, refused))
			each[i].result = phx_err_set(&each[i].err, -EEXIST, "another has that MAC");
		else
			looks(each[i].ev, &each[i].out);
	}
	phx_buf_addf(&added, "|");
}

static uint32_t told_at; /* how much was added when the consoles were told last */

void consoles_changed(struct consoles *c)
{
	(void)c;
	told_at = (uint32_t)added.n;
}

void keys_forget(struct keys *k, const char *node)
{
	(void)k;
	snprintf(forgotten + strlen(forgotten), sizeof(forgotten) - strlen(forgotten), "%s ", node);
}

int site_check_ip(struct daemon *d, const char *ip, struct phx_err *err)
{
	(void)d;
	return strcmp(ip, "10.9.0.1") ? 0
				      : phx_err_set(err, -EINVAL, "ip: %s is in no network", ip);
}

/* ---- requests ---- */

static int setup(void **state)
{
	(void)state;
	fake_engine_begin();
	fake_requests_begin();
	fake_submit_looks = looks;
	fake_roles = FAKE_ADMIN;
	fake_identity = "unix:root";
	added = (struct phx_buf){0};
	refused = same = NULL;
	forgotten[0] = '\0';
	answer = NULL;
	return phx_store_open(":memory:", &fake_store, NULL);
}

static int teardown(void **state)
{
	(void)state;
	json_decref(PHX_TAKE(answer));
	phx_buf_fini(&added);
	phx_store_close(PHX_TAKE(fake_store));
	phx_list_fini(&fake_events);
	fake_events = (struct phx_list){0};
	return 0;
}

static int announces(const char *body)
{
	FAKE_REQUEST q = {.body = body};
	json_decref(PHX_TAKE(answer));
	phx_buf_fini(&added);
	added = (struct phx_buf){0};
	forgotten[0] = '\0';
	told_at = 0;
	api_node_add(&q, &head);
	PHX_STR_SET(error, q.text);
	answer = json_incref(q.json);
	return q.code;
}

static void assert_added(const char *want)
{
	assert_string_equal(added.n ? added.data : "", want);
	assert_int_equal(told_at, added.n);
}

#define MAC "\"macs\":[\"52-54-00-00-00-0A\"]"

static void one_is_announced(void **state)
{
	char digest[PHX_SHA256_HEX];
	(void)state;
	assert_int_equal(announces("{\"name\":\"n1\",\"serial\":\"s1\"," MAC ",\"uuid\":\"u\","
				   "\"token\":\"secret\",\"ip\":\"10.1.0.1\",\"hold\":true}"),
			 200);
	assert_added("n1 s1 52:54:00:00:00:0a;");
	assert_string_equal(phx_json_str(answer, "node", ""), "n1");
	assert_string_equal(forgotten, "n1 ");
	const struct phx_event *ev = fake_event(0);
	assert_int_equal(phx_sha256_of("secret", 6, digest), 0);
	assert_string_equal(ev->node_add.token_sha256, digest); /* it itself is not kept */
	assert_string_equal(ev->node_add.ip, "10.1.0.1");
	assert_true(ev->node_add.hold);
	same = "n1"; /* it keeps its key */
	assert_int_equal(announces("{\"name\":\"n1\"}"), 200);
	assert_string_equal(forgotten, "");
	fake_submit_result = -EEXIST;
	assert_int_equal(announces("{\"name\":\"n2\"}"), -EEXIST);
	assert_string_equal(error, "the journal refuses it");
	assert_string_equal(forgotten, "");
}

static void what_is_wrong_is_told(void **state)
{
	static const char *const rows[][2] = {
		{"[]", "the body must be a JSON object"},
		{"{\"nam\":\"n1\"}", "nam: is not known here"},
		{"{\"name\":7}", "name: must be a text"},
		{"{\"name\":\"n1\",\"hold\":1}", "hold: must be true or false"},
		{"{\"name\":\"n1\",\"macs\":\"x\"}", "macs: must be a list"},
		{"{\"name\":\"n1\",\"macs\":[\"x\"]}", "macs: 'x' is no MAC address"},
		{"{\"name\":\"n1\",\"serial\":\"a\\nb\"}", "serial: must not hold control"},
		{"{\"name\":\"n1\",\"ip\":\"10.9.0.1\"}", "ip: 10.9.0.1 is in no network"},
		{"{\"name\":\"n1\",\"bmc\":{\"driver\":\"magic\"}}", "bmc: "},
		{"{\"nodes\":[]}", "nodes: must be a list of 1 to 1000 nodes"},
		{"{\"nodes\":{\"name\":\"n1\"}}", "nodes: must be a list of 1 to 1000 nodes"},
		{"{\"nodes\":[{\"name\":\"n1\"}],\"name\":\"n2\"}", "name: is not known here"},
		{"{\"nodes\":[{\"name\":\"n1\"},{\"nam\":\"n2\"}]}", "nam: is not known here"},
		{"{\"nodes\":[{\"name\":\"n1\"},{\"name\":\"n2\",\"ip\":\"10.9.0.1\"}]}",
		 "ip: 10.9.0.1 is in no network"},
		{"{\"nodes\":[{\"name\":\"n1\"},7]}", "nodes: each must be an object"},
		{"{\"nodes\":[{\"name\":\"n1\"},null]}", "nodes: each must be an object"},
	};
	(void)state;
	for (size_t i = 0; i < PHX_ARRAY_SIZE(rows); i++) {
		if (announces(rows[i][0]) != -EINVAL || !phx_str_starts(error, rows[i][1]))
			fail_msg("%s: %s", rows[i][0], error);
		assert_added(""); /* also those that were right */
	}
}

static void of_a_list_each_has_its_answer(void **state)
{
	static const int codes[] = {0, -EEXIST, 0};
	static const bool changed[] = {true, false, false};
	(void)state;
	refused = "n2";
	same = "n3";
	assert_int_equal(announces("{\"nodes\":[{\"name\":\"n1\",\"serial\":\"a\"},"
				   "{\"name\":\"n2\"},{\"name\":\"n3\"," MAC "}]}"),
			 200);
	assert_added("n1 a -;n3  52:54:00:00:00:0a;|");
	assert_string_equal(forgotten, "n1 ");
	for (size_t i = 0; i < 3; i++) {
		const json_t *r = json_array_get(json_object_get(answer, "results"), i);
		assert_int_equal(phx_json_int(r, "code", 1), codes[i]);
		assert_int_equal(phx_json_bool(r, "changed", !changed[i]), changed[i]);
		assert_string_equal(phx_json_str(r, "error", ""),
				    codes[i] ? "another has that MAC" : "");
	}
}

static int announces_many(int n)
{
	PHX_AUTO(phx_buf_fini) struct phx_buf b = {0};
	for (int i = 1; i <= n; i++)
		phx_buf_addf(&b, "%s{\"name\":\"n%d\"}", i > 1 ? "," : "{\"nodes\":[", i);
	phx_buf_addf(&b, "]}");
	return announces(b.data);
}

static void a_long_list_is_committed_in_portions(void **state)
{
	unsigned n = 0;
	(void)state;
	assert_int_equal(announces_many(NODES_AT_ONCE), 200);
	for (const char *at = added.data; (at = strchr(at, '|')); at++)
		n++;
	assert_int_equal(n, 4);
	assert_int_equal(json_array_size(json_object_get(answer, "results")), NODES_AT_ONCE);
	assert_int_equal(announces_many(NODES_AT_ONCE + 1), -EINVAL);
	assert_added("");
}

int main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
	const struct CMUnitTest tests[] = {
		T(one_is_announced),
		T(what_is_wrong_is_told),
		T(of_a_list_each_has_its_answer),
		T(a_long_list_is_committed_in_portions),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
