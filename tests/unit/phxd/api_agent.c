/* What agents say (cmd/phxd/api_agent.c): each speaks for its own node alone; who is given a
 * certificate and a disk key, and that it is told; from where a machine asks is what the connection
 * says; what is wrong is refused before the core hears of it; a text that people read has no
 * control characters. The vault, the live nodes and the engine are fakes. */
#include <ifaddrs.h>

#include "fake/submitted.h"
#include "fake/person.h"

#include "pki/pki.h"
#include "vault/vault.h"

static int cert_result, key_result;
static uint32_t asked_days; /* of a certificate; 0: none was asked for */
static char asked_node[PHX_NAME_MAX];
static char asked_key[PHX_NAME_MAX];

static int fake_fingerprint(const char *csr, char ret_fp[PHX_FINGERPRINT_MAX], struct phx_err *err)
{
	return strcmp(csr, "CSR") ? phx_err_set(err, -EBADMSG, "it is none")
				  : phx_str_copy(ret_fp, PHX_FINGERPRINT_MAX, "the-print");
}

static int fake_key_give(struct phx_vault *v, const char *key_id, const struct phx_key_ask *ask,
			 struct phx_key_sealed *ret, struct phx_err *err)
{
	(void)v;
	assert_false(fake_engine_held); /* it waits for another process */
	assert_string_equal(ask->boot_id, "boot-1");
	PHX_STR_SET(asked_key, key_id);
	*ret = (struct phx_key_sealed){0};
	PHX_STR_SET(ret->sealed, "5ea1ed");
	return key_result < 0 ? phx_err_set(err, key_result, "the vault says no") : 0;
}

#define phx_csr_fingerprint fake_fingerprint
#define phx_vault_key_give fake_key_give
#include "fake/metrics.h"
#include "fake/starts.h"
#include "phxd/api_agent.c" /* parts of a program, not of the library */
#include "phxd/api_hello.c"
#undef phx_csr_fingerprint
#undef phx_vault_key_give
#include "phxd/beat.c"
#include "phxd/parse.c"

static struct daemon head;
static struct phx_state core;
static bool has_cert;             /* of node n1 */
static struct phx_buf told, live; /* to people; of the node that lives */
static bool may_tell;
static struct live_news news;
static int64_t held_ms;
static const char *sealed; /* of a result */
static struct phx_outcome outcome;
static struct phx_event last; /* as it was submitted, but for its lists */
static char last_text[300], last_address[64];
static json_t *answer;
static char error[FAKE_TEXT];

/* ---- what is behind ---- */

bool person_agent(struct daemon *d, struct phx_http_request *q, char ret_node[PHX_NAME_MAX])
{
	(void)d;
	if (!has_cert)
		phx_http_reply_error(q, -EACCES, "not the node's present one");
	return has_cert && phx_str_copy(ret_node, PHX_NAME_MAX, "n1") == 0;
}

int keys_certify(struct keys *k, const struct phx_cert_ask *ask, char **ret_cert, char **ret_ca,
		 struct phx_err *err)
{
	(void)k;
	assert_false(fake_engine_held);
	asked_days = ask->days;
	PHX_STR_SET(asked_node, ask->node);
	if (cert_result < 0)
		return phx_err_set(err, cert_result, "no certificate");
	*ret_cert = strdup("CERT");
	*ret_ca = strdup("CAS");
	return 0;
}

uint64_t keys_start_shown(struct keys *k, const char *node, const char *token)
{
	(void)k;
	assert_false(fake_engine_held);
	return !strcmp(node, "n1") && !strcmp(token, "start-5") ? 5 : 0;
}

struct phx_vault *keys_vault(struct keys *k)
{
	(void)k;
	return NULL;
}

void seldom_tell(struct seldom *s, const struct seldom_fact *f)
{
	(void)s;
	phx_buf_addf(&told, "%s/%s/%s;", f->who, f->kind, f->text);
}

#define LIVE(name) \
	void live_##name(struct live *l, const char *node) \
	{ \
		(void)l; \
		assert_false(fake_engine_held); \
		phx_buf_addf(&live, #name " %s;", node); \
	}
LIVE(untold)
LIVE(wake)
LIVE(back)

bool live_heard(struct live *l, const char *node)
{
	(void)l;
	phx_buf_addf(&live, "heard %s;", node);
	return false;
}

static char told_version[PHX_TOLD_VERSION_MAX];
void live_told_version(struct live *l, const char *node, const char *version)
{
	(void)l;
	assert_string_equal(node, "n1");
	PHX_STR_SET(told_version, version);
}

bool live_may_tell(struct live *l, const char *node, size_t bytes)
{
	(void)l, (void)node;
	assert_true(bytes > 0);
	return may_tell;
}

struct live_news live_beat(struct live *l, const char *node, struct beat *b)
{
	(void)l, (void)b;
	phx_buf_addf(&live, "beat %s;", node);
	return news;
}

void live_hold(struct live *l, const char *node, struct phx_http_request *q,
	       struct phx_list *running, bool look, int64_t wait_ms)
{
	(void)l, (void)node, (void)look;
	phx_list_fini(running);
	*running = (struct phx_list){0};
	phx_http_suspend(q);
	held_ms = wait_ms;
}

void directors_sample(struct directors *b, const char *node, const struct beat *beat)
{
	(void)b, (void)beat;
	assert_string_equal(node, "n1");
}

void directors_heard(struct directors *b, const char *node, const struct beat *beat)
{
	(void)b, (void)node, (void)beat;
}

void site_portions_heard(struct site_portions *p)
{
	(void)p;
	phx_buf_addf(&live, "site;");
}

void seal_take(struct daemon *d, const struct phx_http_request *q, const struct phx_seal *seal,
	       const struct phx_quote *quote, struct phx_event *ev)
{
	(void)d, (void)q, (void)seal, (void)quote, (void)ev;
	sealed = "taken";
}

/* ---- requests ---- */

static void looks(const struct phx_event *ev, struct phx_outcome *ret)
{
	last = *ev;
	PHX_STR_SET(last_text, ev->text);
	if (!ret)
		return;
	PHX_STR_SET(ret->node, outcome.node);
	PHX_STR_SET(ret->text, outcome.text);
	ret->enrol = outcome.enrol;
}

static int setup(void **state)
{
	(void)state;
	fake_engine_begin();
	fake_requests_begin();
	fake_submit_looks = looks;
	if (phx_state_init(&core) < 0)
		return -1;
	fake_state = &core;
	struct phx_node *n = phx_list_push(&core.nodes, sizeof(*n));
	n->number = 1;
	n->env = PHX_ENV_OS;
	n->up = true;
	n->state = PHX_NODE_ACTIVE;
	PHX_STR_SET(n->name, "n1");
	PHX_STR_SET(n->serial, "SN1");
	PHX_STR_SET(n->boot_id, "boot-1");
	PHX_STR_SET(n->disk_key_id, "key-1");
	head = (struct daemon){.cfg.heartbeat_ms = 2000};
	fake_roles = 0;
	fake_identity = "n1";
	has_cert = may_tell = true;
	told = live = (struct phx_buf){0};
	news = (struct live_news){0};
	outcome = (struct phx_outcome){.node = "n1"};
	cert_result = key_result = 0;
	asked_days = 0;
	asked_key[0] = last_text[0] = '\0';
	sealed = NULL;
	PHX_STR_SET(last_address, "10.2.0.7");
	answer = NULL;
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	fake_engine_is_free();
	json_decref(PHX_TAKE(answer));
	phx_buf_fini(&told);
	phx_buf_fini(&live);
	phx_state_fini(&core);
	phx_list_fini(&fake_events);
	fake_events = (struct phx_list){0};
	return 0;
}

static struct phx_node *node(void)
{
	return PHX_LIST_AT(&core.nodes, struct phx_node, 0);
}

static int says(phx_http_handler handler, const char *param, const char *body)
{
	FAKE_REQUEST q = {.params = {param}, .body = body};
	PHX_STR_SET(q.peer.address, last_address);
	PHX_STR_SET(q.peer.cert.ca, "ca-print");
	json_decref(PHX_TAKE(answer));
	phx_buf_fini(&told);
	phx_buf_fini(&live);
	told = live = (struct phx_buf){0};
	handler(&q, &head);
	PHX_STR_SET(error, q.text);
	answer = json_incref(q.json);
	return q.held ? -EINPROGRESS : q.code;
}

static void assert_told(const char *want)
{
	assert_string_equal(told.n ? told.data : "", want);
}

static void assert_live(const char *want)
{
	assert_string_equal(live.n ? live.data : "", want);
}

static void each_speaks_with_its_nodes_certificate(void **state)
{
	static const phx_http_handler all[] = {api_rekey,  api_hello,     api_beat,
					       api_result, api_inventory, api_disk_key};
	(void)state;
	has_cert = false;
	for (size_t i = 0; i < PHX_ARRAY_SIZE(all); i++) {
		assert_int_equal(says(all[i], "key-1", "{\"id\":1}"), -EACCES);
		assert_string_equal(error, "not the node's present one");
		assert_told("");
		assert_live("");
	}
	assert_int_equal(fake_events.n, 0);
}

/* ---- enrolment ---- */

#define ENROL \
	"{\"csr\":\"CSR\",\"serial\":\"SN1\",\"uuid\":\"u1\",\"macs\":[\"52:54:00:00:00:01\"]," \
	"\"token\":\"secret\",\"start\":\"start-5\",\"env\":\"deploy\",\"boot_id\":\"b\"}"

static void a_machine_is_certified_as_the_core_says(void **state)
{
	char digest[PHX_SHA256_HEX];
	(void)state;
	outcome.enrol = PHX_ENROL_CERTIFY;
	assert_int_equal(says(api_enrol, NULL, ENROL), 200);
	assert_string_equal(phx_json_str(answer, "cert", ""), "CERT");
	assert_string_equal(phx_json_str(answer, "ca", ""), "CAS");
	assert_string_equal(phx_json_str(answer, "node", ""), "n1");
	assert_int_equal(asked_days, PHX_NODE_CERT_DAYS);
	assert_string_equal(asked_node, "n1");
	assert_told("node:n1/certificate/n1 was given a certificate;");
	assert_string_equal(last.enrol.serial, "SN1");
	assert_string_equal(last.enrol.key_fp, "the-print");
	assert_int_equal(last.enrol.start, 5);
	assert_int_equal(phx_sha256_of("secret", 6, digest), 0);
	assert_string_equal(last.enrol.token_sha256, digest);
	assert_true(phx_str_starts(last.enrol.name, "n-") && strlen(last.enrol.name) == 10);
	outcome.enrol = PHX_ENROL_PENDING;
	assert_int_equal(says(api_enrol, NULL, ENROL), 202);
	assert_string_equal(phx_json_str(answer, "state", ""), "new");
	assert_null(json_object_get(answer, "cert"));
	assert_told("");
	outcome.enrol = PHX_ENROL_REFUSED;
	PHX_STR_SET(outcome.text, "it is another's");
	assert_int_equal(says(api_enrol, NULL, ENROL), -EACCES);
	assert_string_equal(error, "it is another's");
	outcome.enrol = PHX_ENROL_CERTIFY;
	cert_result = -EPERM;
	assert_int_equal(says(api_enrol, NULL, ENROL), -EPERM);
	assert_told("node:n1/refused/n1 is refused a certificate for another key;");
	cert_result = -EPIPE; /* the vault has ended: nobody was refused */
	assert_int_equal(says(api_enrol, NULL, ENROL), -EPIPE);
	assert_told("");
	fake_submit_result = -EROFS;
	assert_int_equal(says(api_enrol, NULL, ENROL), -EROFS);
}

static void where_it_asks_from_the_connection_says(void **state)
{
	(void)state;
	assert_int_equal(says(api_enrol, NULL, ENROL), 202);
	assert_string_equal(last.enrol.address, "10.2.0.7");
	assert_false(last.enrol.local || last.enrol.local_ok);
	static const char *const own[] = {"127.0.0.1", "127.9.9.9", "no address"};
	for (size_t i = 0; i < PHX_ARRAY_SIZE(own); i++) {
		PHX_STR_SET(last_address, own[i]);
		assert_int_equal(says(api_enrol, NULL, ENROL), 202);
		assert_true(last.enrol.local);
		assert_false(last.enrol.local_ok);
	}
	head.cfg.enrol_over_loopback = true;
	assert_int_equal(says(api_enrol, NULL, ENROL), 202);
	assert_true(last.enrol.local && last.enrol.local_ok);
	PHX_STR_SET(last_address, "10.2.0.7");
	assert_int_equal(says(api_enrol, NULL, ENROL), 202);
	assert_false(last.enrol.local_ok);
}

static void what_is_wrong_with_a_machine_is_told(void **state)
{
	static const char *const rows[][2] = {
		{"[]", "the body must be a JSON object"},
		{"{}", "csr: it is none"},
		{"{\"csr\":\"x\"}", "csr: it is none"},
		{"{\"csr\":7}", "csr"},
		{"{\"csr\":\"CSR\",\"serial\":\"a\\nb\"}", "serial: must not hold control"},
		{"{\"csr\":\"CSR\",\"macs\":[\"x\"]}", "macs: 'x' is no MAC address"},
		{"{\"csr\":\"CSR\",\"macs\":7}", "macs: must be a list"},
	};
	(void)state;
	for (size_t i = 0; i < PHX_ARRAY_SIZE(rows); i++)
		if (says(api_enrol, NULL, rows[i][0]) != -EINVAL ||
		    !phx_str_starts(error, rows[i][1]))
			fail_msg("%s: %s", rows[i][0], error);
	assert_int_equal(fake_events.n, 0);
}

static void a_start_is_shown_by_its_own_node(void **state)
{
	(void)state;
	assert_int_equal(
		says(api_enrol, NULL, "{\"csr\":\"CSR\",\"serial\":\"SN2\",\"start\":\"start-5\"}"),
		202);
	assert_int_equal(last.enrol.start, 0);
	assert_int_equal(says(api_enrol, NULL, "{\"csr\":\"CSR\",\"serial\":\"SN1\"}"), 202);
	assert_int_equal(last.enrol.start, 0);
}

static void another_key_is_journalled_before_it_is_certified(void **state)
{
	(void)state;
	assert_int_equal(
		says(api_rekey, NULL, "{\"id\":7,\"epoch\":3,\"nonce\":9,\"csr\":\"CSR\"}"), 200);
	assert_int_equal(last.kind, PHX_EV_rekey);
	assert_int_equal(last.rekey.step_id, 7);
	assert_int_equal(last.rekey.epoch, 3);
	assert_int_equal(last.rekey.nonce, 9);
	assert_string_equal(last.rekey.key_fp, "the-print");
	assert_string_equal(last.rekey.address, "10.2.0.7");
	assert_string_equal(last.by, "node:n1");
	assert_live("wake n1;"); /* polls under the former key end */
	assert_string_equal(phx_json_str(answer, "cert", ""), "CERT");
	asked_days = 0;
	fake_submit_result = -EACCES;
	assert_int_equal(says(api_rekey, NULL, "{\"id\":7,\"csr\":\"CSR\"}"), -EACCES);
	assert_int_equal(asked_days, 0);
	assert_told("node:n1/refused/n1 is refused a certificate for another key;");
	fake_submit_result = -EROFS; /* that is nobody's fault */
	assert_int_equal(says(api_rekey, NULL, "{\"id\":7,\"csr\":\"CSR\"}"), -EROFS);
	assert_told("");
	assert_live("");
	assert_int_equal(says(api_rekey, NULL, "{\"id\":7,\"csr\":\"x\"}"), -EINVAL);
}

/* ---- registration ---- */

static void who_registers_is_told_what_it_is_to_be(void **state)
{
	(void)state;
	assert_int_equal(says(api_hello, NULL,
			      "{\"env\":\"os\",\"boot_id\":\"b2\",\"rekeys\":true,\"later\":1}"),
			 200);
	assert_live("heard n1;untold n1;wake n1;");
	assert_int_equal(last.kind, PHX_EV_hello);
	assert_string_equal(last.hello.boot_id, "b2");
	assert_string_equal(last.hello.address, "10.2.0.7");
	assert_false(last.hello.rekeys); /* it does not sign for its next key */
	assert_string_equal(phx_json_str(answer, "boot", ""), "wait");
	assert_string_equal(phx_json_str(answer, "state", ""), "active");
	assert_string_equal(phx_json_str(answer, "disk_key_id", ""), "key-1");
	assert_int_equal(phx_json_int(answer, "beat_ms", 0), 2000);
	assert_true(json_is_null(json_object_get(answer, "role")));
	assert_int_equal(says(api_hello, NULL, "{\"rekeys\":true,\"proves\":true}"), 200);
	assert_true(last.hello.rekeys);
	fake_submit_result = -EROFS;
	assert_int_equal(says(api_hello, NULL, "{}"), -EROFS);
	assert_int_equal(says(api_hello, NULL, "{\"boot_id\":\"a\\u0007\"}"), -EINVAL);
	assert_live("");
}

/* One minor version apart is near enough; what the agent is told says which side is to follow. */
static void a_version_far_away_is_put_off(void **state)
{
	static const struct {
		const char *version, *says; /* NULL: it fits */
	} rows[] = {
		{"", NULL},
		{PHX_VERSION, NULL},
		{"0.2.9", NULL},
		{"0.0.1", NULL},
		{"0.3.0", "upgrade the head first"},
		{"1.0.0", "upgrade the head first"},
		{"none", "upgrade the"},
	};
	(void)state;
	for (size_t i = 0; i < PHX_ARRAY_SIZE(rows); i++) {
		char hello[80];
		snprintf(hello, sizeof(hello), "{\"version\":\"%s\"}", rows[i].version);
		assert_int_equal(says(api_hello, NULL, hello), rows[i].says ? -EAGAIN : 200);
		assert_string_equal(told_version, rows[i].version);
		assert_true(!rows[i].says || strstr(error, rows[i].says));
		assert_live(rows[i].says ? "" : "heard n1;untold n1;wake n1;");
	}
}

static void who_sends_too_much_is_put_off(void **state)
{
	(void)state;
	may_tell = false;
	assert_int_equal(says(api_hello, NULL, "{}"), -EAGAIN);
	assert_non_null(strstr(error, "send it again later"));
	assert_live("");
	assert_int_equal(says(api_inventory, NULL, "{}"), -EAGAIN);
	assert_int_equal(fake_events.n, 0);
}

static void an_inventory_is_of_facts_alone(void **state)
{
	(void)state;
	assert_int_equal(says(api_inventory, NULL, "{\"cpus\":4}"), 200);
	assert_int_equal(last.kind, PHX_EV_inventory);
	assert_int_equal(last.inventory.facts.cpus, 4);
	assert_string_equal(last.node, "n1");
	assert_int_equal(says(api_inventory, NULL, "{\"cpus\":\"many\"}"), -EINVAL);
	assert_int_equal(fake_events.n, 1);
}

/* ---- beats ---- */

#define BEAT "{\"env\":\"os\",\"boot_id\":\"boot-1\",\"wait_ms\":99999999}"

static void a_beat_is_of_the_start_that_is_known(void **state)
{
	(void)state;
	assert_int_equal(says(api_beat, NULL, "{\"env\":\"os\",\"boot_id\":\"other\"}"), -ESTALE);
	assert_string_equal(error, "say hello first");
	assert_int_equal(says(api_beat, NULL, "{\"env\":\"deploy\",\"boot_id\":\"boot-1\"}"),
			 -ESTALE);
	assert_live("");
	assert_int_equal(says(api_beat, NULL, BEAT), -EINPROGRESS);
	assert_live("beat n1;");
	assert_int_equal(held_ms, 60000);
	assert_int_equal(fake_events.n, 0); /* nothing has changed */
	node()->up = false;                 /* its BMC said that it is off */
	assert_int_equal(says(api_beat, NULL, BEAT), -EINPROGRESS);
	assert_live("beat n1;back n1;");
	assert_int_equal(says(api_beat, NULL, "7"), -EINVAL);
}

static void what_changed_is_told_to_the_core(void **state)
{
	(void)state;
	news = (struct live_news){.report = true, .site = true};
	assert_int_equal(says(api_beat, NULL,
			      "{\"env\":\"os\",\"boot_id\":\"boot-1\",\"actual_role\":\"web\","
			      "\"healthy\":true,\"health_text\":\"a\\u001bb\"}"),
			 -EINPROGRESS);
	assert_live("beat n1;site;");
	assert_int_equal(last.kind, PHX_EV_report);
	assert_string_equal(last.report.actual_role, "web");
	assert_string_equal(last.report.ca, "ca-print");
	assert_true(last.report.healthy);
	assert_string_equal(last_text, "a b");
	fake_submit_result = -EROFS; /* it is told with the next beat */
	assert_int_equal(says(api_beat, NULL, BEAT), -EINPROGRESS);
	assert_live("beat n1;untold n1;site;");
}

static void a_monitor_has_a_greatest_length(void **state)
{
	PHX_AUTO_FREE char *body = malloc(MONITOR_MAX + 200), *text = malloc(MONITOR_MAX + 1);
	(void)state;
	memset(text, 'x', MONITOR_MAX);
	text[MONITOR_MAX] = '\0';
	snprintf(body, MONITOR_MAX + 200,
		 "{\"env\":\"os\",\"boot_id\":\"boot-1\",\"monitor\":{\"a\":\"%s\"}}", text);
	assert_int_equal(says(api_beat, NULL, body), -EINVAL);
	assert_string_equal(error, "monitor: longer than 32 KiB");
	text[MONITOR_MAX - 100] = '\0';
	snprintf(body, MONITOR_MAX + 200,
		 "{\"env\":\"os\",\"boot_id\":\"boot-1\",\"monitor\":{\"a\":\"%s\"}}", text);
	assert_int_equal(says(api_beat, NULL, body), -EINPROGRESS);
}

/* ---- results ---- */

#define A64 "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"

static void a_result_of_a_step_has_what_was_erased(void **state)
{
	(void)state;
	assert_int_equal(
		says(api_result, NULL,
		     "{\"kind\":\"step\",\"id\":7,\"epoch\":3,\"nonce\":9,\"result\":-5,\"text\":"
		     "\"disk\\nfull\",\"wipe\":{\"disk_id\":\"d\\u00071\",\"verified\":true,"
		     "\"verified_bytes\":10,\"size_bytes\":20,\"read_sha256\":\"" A64 "\"}}"),
		200);
	assert_int_equal(last.kind, PHX_EV_step_result);
	assert_int_equal(last.answer.step_id, 7);
	assert_int_equal(last.answer.result, -5);
	assert_int_equal(last.answer.nonce, 9);
	assert_string_equal(last_text, "disk full");
	assert_string_equal(last.answer.erased_disk, "d 1");
	assert_int_equal(last.answer.verified_bytes, 10);
	assert_int_equal(last.answer.erased_bytes, 20);
	assert_string_equal(last.answer.read_sha256, A64);
	assert_false(last.answer.has_check);
	assert_string_equal(sealed, "taken");
	assert_string_equal(last.by, "node:n1");
	/* what is not said to be verified is not, and what is no digest is none */
	assert_int_equal(
		says(api_result, NULL,
		     "{\"kind\":\"step\",\"id\":7,\"check\":{},\"wipe\":{\"disk_id\":\"d\","
		     "\"verified_bytes\":10,\"read_sha256\":\"x\",\"detail\":\"why\"}}"),
		200);
	assert_int_equal(last.answer.verified_bytes, 0);
	assert_string_equal(last.answer.read_sha256, "");
	assert_string_equal(last_text, "why");
	assert_true(last.answer.has_check);
}

static void a_result_of_a_job_is_another(void **state)
{
	(void)state;
	assert_int_equal(
		says(api_result, NULL,
		     "{\"kind\":\"job\",\"id\":8,\"run\":2,\"result\":3,\"text\":\"a\\tb\"}"),
		200);
	assert_int_equal(last.kind, PHX_EV_job_result);
	assert_int_equal(last.job_result.job, 8);
	assert_int_equal(last.job_result.run, 2);
	assert_int_equal(last.job_result.result, 3);
	assert_string_equal(last_text, "a b");
	assert_live("heard n1;");
	static const char *const bad[] = {"{}", "{\"id\":0}", "{\"kind\":\"job\"}"};
	for (size_t i = 0; i < PHX_ARRAY_SIZE(bad); i++) {
		assert_int_equal(says(api_result, NULL, bad[i]), -EINVAL);
		assert_string_equal(error, "id: must be a positive number");
		assert_live("");
	}
	assert_int_equal(says(api_result, NULL, "{\"kind\":\"job\",\"id\":-1}"), -EINVAL);
	fake_submit_result = -ESTALE;
	assert_int_equal(says(api_result, NULL, "{\"kind\":\"job\",\"id\":8}"), -ESTALE);
}

/* ---- disk keys ---- */

#define KEY "{\"boot_id\":\"boot-1\"}"

static void a_node_has_the_key_of_its_own_disk(void **state)
{
	(void)state;
	assert_int_equal(says(api_disk_key, "key-1", KEY), 200);
	assert_string_equal(asked_key, "key-1");
	assert_string_equal(phx_json_str(answer, "sealed", ""), "5ea1ed");
	assert_told("node:n1/disk key/n1 was given the key of its disk;");
	asked_key[0] = '\0';
	static const char *const others[] = {"key-2", ""};
	for (size_t i = 0; i < PHX_ARRAY_SIZE(others); i++) {
		assert_int_equal(says(api_disk_key, others[i], KEY), -EACCES);
		assert_string_equal(error, "this node may not have this key");
		assert_told("");
	}
	node()->state = PHX_NODE_QUARANTINED;
	assert_int_equal(says(api_disk_key, "key-1", KEY), -EACCES);
	assert_string_equal(asked_key, ""); /* the vault was not asked */
}

static void what_the_vault_refuses_is_told(void **state)
{
	static const int refusals[] = {-EPERM, -EKEYREJECTED};
	(void)state;
	for (size_t i = 0; i < PHX_ARRAY_SIZE(refusals); i++) {
		key_result = refusals[i];
		assert_int_equal(says(api_disk_key, "key-1", KEY), -EACCES);
		assert_string_equal(error, "the vault says no");
		assert_told("node:n1/refused key/n1 was refused the key of its disk;");
		assert_null(answer);
	}
	key_result = -EPIPE;
	assert_int_equal(says(api_disk_key, "key-1", KEY), -EPIPE);
	assert_told("");
	key_result = 0;
	assert_int_equal(says(api_disk_key, "key-1", "{\"boot_id\":7}"), -EINVAL);
}

int main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
	const struct CMUnitTest tests[] = {
		T(each_speaks_with_its_nodes_certificate),
		T(a_machine_is_certified_as_the_core_says),
		T(where_it_asks_from_the_connection_says),
		T(what_is_wrong_with_a_machine_is_told),
		T(a_start_is_shown_by_its_own_node),
		T(another_key_is_journalled_before_it_is_certified),
		T(who_registers_is_told_what_it_is_to_be),
		T(a_version_far_away_is_put_off),
		T(who_sends_too_much_is_put_off),
		T(an_inventory_is_of_facts_alone),
		T(a_beat_is_of_the_start_that_is_known),
		T(what_changed_is_told_to_the_core),
		T(a_monitor_has_a_greatest_length),
		T(a_result_of_a_step_has_what_was_erased),
		T(a_result_of_a_job_is_another),
		T(a_node_has_the_key_of_its_own_disk),
		T(what_the_vault_refuses_is_told),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
