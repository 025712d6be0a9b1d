/* What agents tell (cmd/phxd/api_agent.c, by the tables of lib/types/told.h): told.txt has messages
 * as agents sent them before there were tables, each followed by the event that phxd made of it
 * then, and makes of it for ever. What is wrong with a message is answered with the name of the
 * member. All behind the handlers is fake. */
#include "fake/request.h"

/* parts of a program, not of the library */
#include "fake/metrics.h"
#include "fake/starts.h"
#include "phxd/api_agent.c"
#include "phxd/api_hello.c"
#include "phxd/beat.c"
#include "phxd/parse.c"

static struct phx_http_request q;
static struct phx_node node; /* that speaks */
static struct phx_state state;
static json_t *event; /* that was submitted, as the journal has it */
static struct phx_seal seal_told;

json_t *body_json(struct phx_http_request *of)
{
	json_t *j = NULL;
	assert_int_equal(phx_json_parse(of->body, strlen(of->body), &j, NULL), 0);
	return j;
}

bool person_agent(struct daemon *d, struct phx_http_request *of, char ret_node[PHX_NAME_MAX])
{
	(void)d, (void)of;
	snprintf(ret_node, PHX_NAME_MAX, "n1");
	return true;
}

void person_name(const struct phx_http_peer *p, char *ret, size_t ret_size)
{
	snprintf(ret, ret_size, "addr:%s", p->address);
}

/* ---- what is behind ---- */

const struct phx_state *engine_lock(struct engine *e)
{
	(void)e;
	return &state;
}

void engine_unlock(struct engine *e)
{
	(void)e;
}

int engine_submit(struct engine *e, struct phx_event *ev, struct phx_outcome *ret,
		  struct phx_err *err)
{
	PHX_AUTO_FREE char *text = phx_json_record_text_sparse(&phx_event_record, ev);
	(void)e, (void)err;
	assert_true(text && !event);
	event = json_loads(text, 0, NULL);
	if (ev->kind == PHX_EV_enrol) /* drawn by chance */
		assert_int_equal(json_object_del(event, "name"), 0);
	if (ret) {
		ret->enrol = PHX_ENROL_CERTIFY;
		snprintf(ret->node, sizeof(ret->node), "n1");
	}
	return 0;
}

void seal_take(struct daemon *d, const struct phx_http_request *of, const struct phx_seal *seal,
	       const struct phx_quote *quote, struct phx_event *ev)
{
	(void)d, (void)of, (void)ev;
	assert_string_equal(quote->tpm_key, "");
	seal_told = *seal;
}

bool live_heard(struct live *l, const char *name)
{
	(void)l, (void)name;
	return true;
}

bool live_may_tell(struct live *l, const char *name, size_t bytes)
{
	(void)l, (void)name, (void)bytes;
	return true;
}

void live_told_version(struct live *l, const char *name, const char *version)
{
	(void)l, (void)name, (void)version;
}

void live_untold(struct live *l, const char *name)
{
	(void)l, (void)name;
}

void live_wake(struct live *l, const char *name)
{
	(void)l, (void)name;
}

void live_back(struct live *l, const char *name)
{
	(void)l, (void)name;
}

struct live_news live_beat(struct live *l, const char *name, struct beat *b)
{
	(void)l, (void)name, (void)b;
	return (struct live_news){.report = true};
}

void live_hold(struct live *l, const char *name, struct phx_http_request *of,
	       struct phx_list *running, bool look, int64_t wait_ms)
{
	(void)l, (void)name, (void)look;
	assert_int_equal(wait_ms, 200);
	assert_int_equal(running->n, 7);
	fake_answer_with(of, 200, "");
}

void directors_sample(struct directors *b, const char *name, const struct beat *beat)
{
	(void)b, (void)name, (void)beat;
}

void directors_heard(struct directors *b, const char *name, const struct beat *beat)
{
	(void)b, (void)name, (void)beat;
}

void site_portions_heard(struct site_portions *p)
{
	(void)p;
}

void seldom_tell(struct seldom *s, const struct seldom_fact *f)
{
	(void)s, (void)f;
}

struct phx_vault *keys_vault(struct keys *k)
{
	(void)k;
	return NULL;
}

uint64_t keys_start_shown(struct keys *k, const char *name, const char *token)
{
	(void)k, (void)name;
	return phx_str_eq(token, "the token of a start") ? 7 : 0;
}

/* With what it is asked for, in place of a certificate. */
int keys_certify(struct keys *k, const struct phx_cert_ask *ask, char **ret_cert, char **ret_ca,
		 struct phx_err *err)
{
	(void)k, (void)err;
	assert_true(asprintf(ret_cert, "%.20s|%s|%s|%s", ask->csr, ask->node, ask->token,
			     ask->next->signature) > 0);
	*ret_ca = strdup("the CA");
	return 0;
}

/* ---- messages ---- */

static void forget(void)
{
	json_decref(PHX_TAKE(event));
	fake_request_fini(&q);
}

static void tell(const char *path, const char *text)
{
	static const struct {
		const char *path;
		phx_http_handler handler;
	} paths[] = {{"enrol", api_enrol}, {"rekey", api_rekey},   {"hello", api_hello},
		     {"beat", api_beat},   {"result", api_result}, {"inventory", api_inventory}};
	static struct daemon head = {.cfg.heartbeat_ms = 2000};
	node = (struct phx_node){
		.name = "n1", .boot_id = "boot-1", .env = PHX_ENV_OS, .state = PHX_NODE_READY};
	state.nodes = (struct phx_list){.items = &node, .n = 1};
	forget();
	q.body = text;
	PHX_STR_SET(q.peer.address, "10.77.0.9");
	for (size_t i = 0; i < PHX_ARRAY_SIZE(paths); i++)
		if (phx_str_eq(path, paths[i].path)) {
			paths[i].handler(&q, &head);
			assert_int_not_equal(q.code, 0);
			return;
		}
	fail_msg("%s", path);
}

/* Those of before, and no others. */
static void check_event(const char *line, const char *expected)
{
	PHX_AUTO_JSON json_t *wanted = json_loads(expected, 0, NULL);
	PHX_AUTO_FREE char *is = phx_json_text(event);
	if (q.code < 0)
		fail_msg("%s: %s", line, q.text);
	if (!wanted || !json_equal(event, wanted))
		fail_msg("%s:\nis %s\nwas %s", line, is, expected);
}

/* Where a certificate is asked for: what speaks for the request goes along. */
static void check_certified(const char *path, bool next)
{
	bool enrols = phx_str_eq(path, "enrol");
	if (!enrols && !phx_str_eq(path, "rekey"))
		return;
	const char *cert = phx_json_str(q.json, "cert", "");
	const char *rest = strchr(cert, '|');
	assert_memory_equal(cert, "-----BEGIN", 10);
	assert_string_equal(rest ? rest : "",
			    !next            ? "|n1||"
				    : enrols ? "|n1|the token of a start|3045"
					     : "|n1||3045");
	assert_string_equal(phx_json_str(q.json, "node", ""), "n1");
	assert_string_equal(phx_json_str(q.json, "ca", ""), "the CA");
}

static void messages_of_before_mean_what_they_did(void **unused)
{
	PHX_AUTO_FREE char *text = NULL;
	char *save = NULL;
	unsigned n = 0;
	(void)unused;
	assert_int_equal(phx_file_read(TEST_DIR "/unit/phxd/told.txt", 1 << 20, &text, NULL, NULL),
			 0);
	for (char *l = strtok_r(text, "\n", &save); l; l = strtok_r(NULL, "\n", &save), n++) {
		char *blank = strchr(l, ' '), *expected = strtok_r(NULL, "\n", &save);
		assert_non_null(blank);
		assert_non_null(expected);
		*blank = '\0';
		tell(l, blank + 1);
		check_event(l, expected);
		check_certified(l, strstr(blank + 1, "\"next\""));
	}
	assert_true(n >= 16);
	forget();
}

/* What an agent writes by its table, heads of before read: the same members as before, with the
 * same values. Those that no table has are written by hand; "epoch" of a job was 0. */
static void agents_write_what_they_did(void **unused)
{
	static const struct {
		const char *path;
		const struct phx_record *record;
		const char *by_hand[2];
	} tables[] = {{"enrol", &phx_told_enrol_record, {"macs"}},
		      {"rekey", &phx_told_rekey_record, {NULL}},
		      {"hello", &phx_told_hello_record, {"facts"}},
		      {"beat", &phx_told_beat_record, {"running", "monitor"}},
		      {"result", &phx_told_step_record, {NULL}},
		      {"job", &phx_told_job_record, {"epoch"}}};
	PHX_AUTO_FREE char *text = NULL;
	char *save = NULL;
	unsigned n = 0;
	(void)unused;
	assert_int_equal(phx_file_read(TEST_DIR "/unit/phxd/told.txt", 1 << 20, &text, NULL, NULL),
			 0);
	for (char *l = strtok_r(text, "\n", &save); l; l = strtok_r(NULL, "\n", &save)) {
		char *blank = strchr(l, ' ');
		size_t i = 0;
		strtok_r(NULL, "\n", &save); /* the event */
		assert_non_null(blank);
		PHX_AUTO_JSON json_t *was = json_loads(blank, 0, NULL);
		*blank = '\0';
		const char *path = phx_str_eq(phx_json_str(was, "kind", ""), "job") ? "job" : l;
		while (i < PHX_ARRAY_SIZE(tables) && !phx_str_eq(path, tables[i].path))
			i++;
		if (i == PHX_ARRAY_SIZE(tables))
			continue;
		PHX_AUTO_FREE void *obj = calloc(1, tables[i].record->size);
		assert_int_equal(phx_json_to_message(tables[i].record, was, obj, NULL), 0);
		PHX_AUTO_JSON json_t *is = phx_json_from_record(tables[i].record, obj);
		phx_record_fini(tables[i].record, obj);
		for (size_t k = 0; k < 2 && tables[i].by_hand[k]; k++)
			json_object_del(was, tables[i].by_hand[k]);
		PHX_AUTO_JSON json_t *both = json_deep_copy(is);
		assert_int_equal(json_object_update_recursive(both, was), 0);
		PHX_AUTO_FREE char *now = phx_json_text(is);
		if (!json_equal(both, is))
			fail_msg("%s: is %s", path, now);
		n++;
	}
	assert_true(n >= 15);
}

static void what_is_wrong_is_named(void **unused)
{
	static const struct {
		const char *path, *text, *error;
	} rows[] = {
		{"hello", "{\"boot_id\":5}", "boot_id: must be a string"},
		{"hello", "{\"boot_id\":\"a\\u001b[2J\"}", "boot_id: must not hold control"},
		{"hello", "{\"env\":\"moon\"}", "env: "},
		{"hello", "{\"echoes\":\"yes\"}", "echoes: must be true or false"},
		{"hello", "{\"facts\":{\"disks\":[{},{\"size_bytes\":-1}]}}",
		 "facts.disks[1].size_bytes: must not be negative"},
		{"hello", "{\"boot_id\":\"1234567890123456789012345678901234567890\"}",
		 "boot_id: is too long"},
		{"enrol", "{\"csr\":7}", "csr: must be a string"},
		{"enrol", "{\"csr\":\"x\"}", "csr: "},
		{"enrol", "{\"start\":true}", "start: must be a string"},
		{"rekey", "{\"nonce\":-1}", "nonce: must not be negative"},
		{"rekey", "{\"next\":{\"cert\":1}}", "next.cert: must be a string"},
		{"result", "{\"kind\":\"step\"}", "id: must be a positive number"},
		{"result", "{\"id\":0}", "id: must be a positive number"},
		{"result", "{\"id\":-1}", "id: must not be negative"},
		{"result", "{\"id\":1,\"attempt\":4294967297}", "attempt: is too large"},
		{"result", "{\"id\":1,\"epoch\":\"1\"}", "epoch: must be a whole number"},
		{"result", "{\"id\":1,\"wipe\":{\"method\":\"x\"}}", "wipe.method: "},
		{"result", "{\"id\":1,\"seal\":\"x\"}", "seal: must be an object"},
		{"result", "{\"id\":1,\"quote\":[]}", "quote: must be an object"},
		{"result", "{\"id\":1,\"kind\":\"party\"}", "kind: "},
		{"result", "{\"id\":1,\"kind\":\"job\",\"run\":4294967296}", "run: is too large"},
		{"result", "{\"id\":1,\"kind\":\"job\",\"ended_by\":\"?\"}", "ended_by: "},
		{"inventory", "{\"cpus\":-1}", "cpus: must not be negative"},
	};
	(void)unused;
	for (size_t i = 0; i < PHX_ARRAY_SIZE(rows); i++) {
		tell(rows[i].path, rows[i].text);
		if (event || q.code != -EINVAL ||
		    strncmp(q.text, rows[i].error, strlen(rows[i].error)) != 0)
			fail_msg("%s: \"%s\"", rows[i].text, q.text);
	}
	forget();
}

/* An agent of tomorrow, and one of another taste. */
static void other_members_and_null_mean_nothing(void **unused)
{
	(void)unused;
	tell("hello",
	     "{\"boot_id\":\"b\",\"env\":\"os\",\"moons\":[{\"x\":1}],\"echoes\":null,"
	     "\"system_image\":null,\"facts\":null,\"rekeys\":true}");
	check_event("hello",
		    "{\"kind\":\"hello\",\"by\":\"node:n1\",\"node\":\"n1\",\"address\":"
		    "\"10.77.0.9\",\"boot_id\":\"b\",\"env\":\"os\"}");
	tell("result", "{\"id\":3,\"wipe\":null,\"seal\":null,\"stars\":\"many\"}");
	check_event("result",
		    "{\"kind\":\"step_result\",\"by\":\"node:n1\",\"node\":\"n1\","
		    "\"step_id\":3}");
	forget();
}

/* Only one that signs for its next key is asked for it in place. */
static void a_step_rekey_wants_both(void **unused)
{
	(void)unused;
	tell("hello", "{\"rekeys\":true,\"proves\":true}");
	assert_true(phx_json_bool(event, "rekeys", false));
	tell("hello", "{\"rekeys\":true}");
	assert_false(phx_json_bool(event, "rekeys", false));
	tell("hello", "{\"proves\":true}");
	assert_false(phx_json_bool(event, "rekeys", false));
	forget();
}

static void words_of_a_result_are_cut_and_cleaned(void **unused)
{
	PHX_AUTO_FREE char *text = NULL;
	(void)unused;
	assert_true(asprintf(&text,
			     "{\"id\":1,\"text\":\"a\\u001bb%0300d\",\"check\":{\"tool\":\"t\\n"
			     "\"},\"wipe\":{\"tried\":\"x\\ty\"}}",
			     0) > 0);
	tell("result", text);
	const char *words = phx_json_str(event, "text", "");
	assert_memory_equal(words, "a b00", 5);
	assert_int_equal(strlen(words), 255);
	assert_string_equal(phx_json_str(event, "tried", ""), "x y");
	assert_true(phx_json_bool(event, "has_check", false));
	assert_string_equal(phx_json_str(json_object_get(event, "check"), "tool", ""), "t ");
	tell("result", "{\"id\":1,\"wipe\":{\"detail\":\"d\"},\"seal\":{\"boot_id\":\"b\"}}");
	assert_false(phx_json_bool(event, "has_check", false));
	assert_string_equal(phx_json_str(event, "text", ""), "d");
	assert_string_equal(seal_told.boot_id, "b");
	forget();
}

/* As agents of before look for them. */
static void answers_have_the_members_of_before(void **unused)
{
	(void)unused;
	tell("hello", "{\"boot_id\":\"boot-1\",\"env\":\"os\"}");
	assert_string_equal(phx_json_str(q.json, "node", ""), "n1");
	assert_string_equal(phx_json_str(q.json, "boot", ""), "wait");
	assert_string_equal(phx_json_str(q.json, "state", ""), "ready");
	assert_int_equal(phx_json_int(q.json, "beat_ms", 0), 2000);
	assert_true(json_is_null(json_object_get(q.json, "role")));
	forget();
}

int main(void)
{
	fake_requests_begin();
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(messages_of_before_mean_what_they_did),
		cmocka_unit_test(agents_write_what_they_did),
		cmocka_unit_test(what_is_wrong_is_named),
		cmocka_unit_test(other_members_and_null_mean_nothing),
		cmocka_unit_test(a_step_rekey_wants_both),
		cmocka_unit_test(words_of_a_result_are_cut_and_cleaned),
		cmocka_unit_test(answers_have_the_members_of_before),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
