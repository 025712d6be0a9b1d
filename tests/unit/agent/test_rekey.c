/* The step rekey, and what is taken up of one that did not end: whatever the head answers, and
 * wherever it ends, the node has a key that the head knows, and the key is never sent. The head is
 * a fake one, with a real CA. */
#include "unit/agent/scratch.h"
#include "unit/http/world.h"

#include <signal.h>
#include <sys/resource.h>

#include "agent/rekey.h"
#include "agent/step_table.h"

enum { ASKS_MAX = 8 };

/* What the head gives. */
enum gift { OF_THE_KEY, OF_ANOTHER_KEY, OF_ANOTHER_CA, FOR_A_PERSON, NOTHING };

struct head {
	struct world *w;
	enum gift gift;
	int refuse[ASKS_MAX]; /* its first answers at /v1/agent/rekey; 0: it certifies */
	int enrol;            /* the same at /v1/agent/enrol */
	/* what it was asked */
	int n_asks, n_enrols;
	char asked[ASKS_MAX][PHX_FINGERPRINT_MAX]; /* for which key */
	char by[ASKS_MAX][PHX_FINGERPRINT_MAX];    /* by which */
	bool proven, sent_a_key;
	char *given; /* certificate */
};

struct node {
	struct scratch *s;
	struct head h;
	struct agent a;
	struct phx_order o;
	struct phx_err err;
};

/* ---- the head ---- */

static struct phx_pki *another_ca(const struct world *w)
{
	struct phx_pki *pki;
	char dir[96];
	world_path(w, "other", dir, sizeof(dir));
	assert_int_equal(phx_pki_open(dir, NULL, 0, &pki, NULL), 0);
	return pki;
}

static void certify(struct head *h, const char *csr, char **ret)
{
	char *key = NULL, *other = NULL;
	struct phx_pki *pki = h->gift == OF_ANOTHER_CA ? another_ca(h->w) : h->w->pki;
	assert_int_equal(phx_csr_make("n1", &key, &other, NULL), 0);
	assert_int_equal(phx_cert_issue(pki, h->gift == OF_ANOTHER_KEY ? other : csr,
					h->gift == FOR_A_PERSON ? PHX_CERT_USER : PHX_CERT_NODE,
					"n1", 100, ret, NULL),
			 0);
	if (h->gift == OF_ANOTHER_CA)
		phx_pki_free(pki);
	free(key);
	free(other);
}

static void answer(struct phx_http_request *q, struct head *h, int refusal, int i)
{
	size_t n = 0;
	const char *body = phx_http_body(q, &n);
	PHX_AUTO_JSON json_t *j = NULL, *given = json_object();
	assert_int_equal(phx_json_parse(body, n, &j, NULL), 0);
	const char *csr = phx_json_str(j, "csr", "");
	h->sent_a_key = h->sent_a_key || memmem(body, n, "PRIVATE", 7);
	h->proven = phx_json_str(json_object_get(j, "next"), "signature", "")[0];
	if (i < ASKS_MAX) {
		assert_int_equal(phx_csr_fingerprint(csr, h->asked[i], NULL), 0);
		PHX_STR_SET(h->by[i], phx_http_peer(q)->cert.fingerprint);
	}
	if (refusal) {
		phx_http_reply_error(q, refusal, "no");
		return;
	}
	if (h->gift != NOTHING) {
		free(h->given);
		certify(h, csr, &h->given);
		json_object_set_new(given, "cert", json_string(h->given));
	}
	phx_http_reply_json(q, 200, given);
}

static void on_rekey(struct phx_http_request *q, void *arg)
{
	struct head *h = arg;
	int i = h->n_asks++;
	answer(q, h, i < ASKS_MAX ? h->refuse[i] : 0, i);
}

static void on_enrol(struct phx_http_request *q, void *arg)
{
	struct head *h = arg;
	h->n_enrols++;
	answer(q, h, h->enrol, ASKS_MAX - 1);
}

static const struct phx_http_route routes[] = {
	{"POST", "/v1/agent/rekey", 1u << PHX_HTTP_TLS, on_rekey, 1 << 16, false, NULL},
	{"POST", "/v1/agent/enrol", 1u << PHX_HTTP_TLS, on_enrol, 1 << 16, false, NULL},
};

/* ---- the node ---- */

/* As in an agent, they last until the program ends. */
static struct loop *loop;
static struct outbox *outbox;

static void begin_agent(struct node *n)
{
	struct agent *a = &n->a;
	char cert[96], key[96];
	if (!loop) {
		assert_int_equal(loop_new(&loop, NULL), 0);
		assert_int_equal(outbox_new(loop, agent_client, a, &outbox, NULL), 0);
	}
	a->loop = loop;
	a->outbox = outbox;
	a->env = PHX_ENV_OS;
	snprintf(a->cfg.server, sizeof(a->cfg.server), "127.0.0.1:%u",
		 phx_http_server_port(n->h.w->server, PHX_HTTP_TLS));
	PHX_STR_SET(a->cfg.ca, n->h.w->ca);
	PHX_STR_SET(a->cfg.state_dir, n->s->dir);
	PHX_STR_SET(a->cfg.root, scratch_path(n->s, "root"));
	world_certify(n->h.w->pki, n->s->dir, PHX_CERT_NODE, "agent", cert, key);
}

static int setup(void **state)
{
	struct node *n = calloc(1, sizeof(*n));
	scratch_setup((void **)&n->s);
	n->h.w = world_new(routes, PHX_ARRAY_SIZE(routes),
			   &(struct phx_http_server_config){.arg = &n->h});
	begin_agent(n);
	n->o = (struct phx_order){.id = 7, .epoch = 3, .step = {.id = 7, .nonce = 99}};
	n->o.step.kind = PHX_STEP_rekey;
	*state = n;
	return 0;
}

static int teardown(void **state)
{
	struct node *n = *state;
	world_free(n->h.w);
	free(n->h.given);
	scratch_teardown((void **)&n->s);
	free(n);
	return 0;
}

static int step_within(struct node *n, int64_t ms)
{
	struct step_run run = {.agent = &n->a, .order = &n->o, .deadline_ms = phx_clock_ms() + ms};
	phx_err_clear(&n->err);
	int r = step_run(&run, &n->err);
	assert_null(run.http); /* it was under the former key */
	return r;
}

static int step(struct node *n)
{
	return step_within(n, 60000);
}

/* The fingerprint of the key in the file; "" there is none. */
static void key_of(struct node *n, const char *name, char ret[PHX_FINGERPRINT_MAX])
{
	PHX_AUTO_FREE char *key = read_text(scratch_path(n->s, name)), *csr = NULL;
	ret[0] = '\0';
	if (key[0] && phx_csr_from_key(key, "node", &csr, NULL) == 0)
		assert_int_equal(phx_csr_fingerprint(csr, ret, NULL), 0);
}

/* The node's key is this one, and it has a certificate for it. */
static void assert_key(struct node *n, const char *fingerprint)
{
	char has[PHX_FINGERPRINT_MAX];
	PHX_AUTO_FREE char *key = read_text(scratch_path(n->s, "agent.key"));
	PHX_AUTO_FREE char *cert = read_text(scratch_path(n->s, "agent.pem"));
	PHX_AUTO_FREE char *ca = read_text(n->a.cfg.ca);
	key_of(n, "agent.key", has);
	assert_string_equal(has, fingerprint);
	assert_int_equal(phx_cert_check(cert, PHX_CERT_NODE, key, ca, &n->err), 0);
}

static bool has_next(const struct node *n)
{
	return exists(scratch_path(n->s, REKEY_FILE));
}

/* ---- the step ---- */

static void test_the_node_gets_another_key(void **state)
{
	struct node *n = *state;
	char before[PHX_FINGERPRINT_MAX];
	key_of(n, "agent.key", before);
	assert_int_equal(step(n), 0);
	assert_int_equal(n->h.n_asks, 1);
	assert_string_equal(n->h.by[0], before);
	assert_string_not_equal(n->h.asked[0], before);
	assert_true(n->h.proven); /* the former key has signed for it */
	assert_key(n, n->h.asked[0]);
	assert_text(scratch_path(n->s, "agent.pem"), n->h.given);
	assert_false(has_next(n));
	assert_int_equal(atomic_load(&n->a.keys), 1);
	assert_false(n->h.sent_a_key);
}

/* The head was asked, and nobody knows whether it has certified the key: the same one is asked
 * for. */
static void test_an_attempt_that_goes_on_has_the_same_key(void **state)
{
	struct node *n = *state;
	char before[PHX_FINGERPRINT_MAX];
	struct stat st;
	key_of(n, "agent.key", before);
	n->h.refuse[0] = -EBUSY;
	assert_int_equal(step(n), -EBUSY);
	assert_key(n, before);
	assert_int_equal(stat(scratch_path(n->s, REKEY_FILE), &st), 0);
	assert_int_equal(st.st_mode & 0777, 0600);
	assert_int_equal(step(n), 0);
	assert_string_equal(n->h.asked[1], n->h.asked[0]);
	assert_key(n, n->h.asked[0]);
}

/* Whoever had the node before may have left a key that he knows. */
static void test_a_key_of_another_attempt_is_not_used(void **state)
{
	struct node *n = *state;
	n->h.refuse[0] = n->h.refuse[1] = -EBUSY;
	assert_int_equal(step(n), -EBUSY);
	n->o.step.nonce = 100;
	assert_int_equal(step(n), -EBUSY);
	assert_string_not_equal(n->h.asked[1], n->h.asked[0]);
	n->o.id = n->o.step.id = 8;
	assert_int_equal(step(n), 0);
	assert_string_not_equal(n->h.asked[2], n->h.asked[1]);
	assert_key(n, n->h.asked[2]);
}

static void test_a_damaged_record_is_no_key(void **state)
{
	static const char *const damaged[] = {"", "{", "{\"id\":7,\"nonce\":99}",
					      "{\"id\":7,\"nonce\":99,\"key\":\"x\"}"};
	struct node *n = *state;
	for (size_t i = 0; i < PHX_ARRAY_SIZE(damaged); i++) {
		write_text(scratch_path(n->s, REKEY_FILE), damaged[i], 0600);
		assert_false(rekey_take_up(&n->a));
	}
	assert_int_equal(n->h.n_enrols, 0);
	write_text(scratch_path(n->s, REKEY_FILE), damaged[2], 0600);
	assert_int_equal(step(n), 0);
	assert_key(n, n->h.asked[0]);
}

/* ---- what the head gives ---- */

static void test_a_certificate_that_is_not_the_keys_is_refused(void **state)
{
	static const enum gift gifts[] = {OF_ANOTHER_KEY, OF_ANOTHER_CA, FOR_A_PERSON};
	struct node *n = *state;
	char before[PHX_FINGERPRINT_MAX];
	key_of(n, "agent.key", before);
	for (size_t i = 0; i < PHX_ARRAY_SIZE(gifts); i++) {
		n->h.gift = gifts[i];
		assert_int_equal(step(n), -EBADMSG);
		assert_contains(n->err.text, "the certificate of the new key");
		assert_key(n, before);
	}
	assert_int_equal(atomic_load(&n->a.keys), 0);
	n->h.gift = OF_THE_KEY; /* the key was recorded, and is good */
	assert_int_equal(step(n), 0);
	assert_string_equal(n->h.asked[3], n->h.asked[0]);
}

static void test_a_head_that_is_away_is_asked_again(void **state)
{
	struct node *n = *state;
	n->h.refuse[0] = n->h.refuse[1] = -EIO;
	assert_int_equal(step(n), 0);
	assert_int_equal(n->h.n_asks, 3);
	assert_string_equal(n->h.asked[2], n->h.asked[0]);
}

static void test_its_time_is_up(void **state)
{
	struct node *n = *state;
	char before[PHX_FINGERPRINT_MAX];
	key_of(n, "agent.key", before);
	n->h.gift = NOTHING;
	assert_true(step_within(n, 400) < 0);
	assert_contains(n->err.text, "the answer holds no certificate");
	assert_key(n, before);
	assert_true(has_next(n));
}

/* The answer was lost: the head has certified the new key, and the old one is dead. */
static void test_a_dead_key_enrols_with_the_new_one(void **state)
{
	struct node *n = *state;
	n->h.refuse[0] = -EACCES;
	assert_int_equal(step(n), 0);
	assert_int_equal(n->h.n_enrols, 1);
	assert_string_equal(n->h.asked[ASKS_MAX - 1], n->h.asked[0]);
	assert_string_equal(n->h.by[ASKS_MAX - 1], ""); /* without the old one */
	assert_key(n, n->h.asked[0]);
	assert_false(n->h.sent_a_key);
}

/* No file can be as large as a certificate, as on a full disk; keys can be written. */
static int step_on_a_full_disk(struct node *n)
{
	PHX_AUTO_FREE char *cert = read_text(scratch_path(n->s, "agent.pem"));
	struct rlimit had, small;
	assert_int_equal(getrlimit(RLIMIT_FSIZE, &had), 0);
	small = (struct rlimit){.rlim_cur = strlen(cert) - 50, .rlim_max = had.rlim_max};
	signal(SIGXFSZ, SIG_IGN);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
	int r = step(n);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &had), 0);
	return r;
}

/* A key without its certificate could speak to nobody. */
static void test_a_full_disk_parts_no_key_from_its_certificate(void **state)
{
	struct node *n = *state;
	char before[PHX_FINGERPRINT_MAX];
	key_of(n, "agent.key", before);
	assert_int_equal(step_on_a_full_disk(n), -EFBIG);
	assert_int_equal(n->h.n_asks, 1);
	assert_key(n, before);
	assert_true(rekey_take_up(&n->a)); /* once there is room; the head refuses the former one */
	assert_key(n, n->h.asked[0]);
}

/* ---- after a start ---- */

static void test_an_interrupted_step_is_taken_up(void **state)
{
	struct node *n = *state;
	assert_false(rekey_take_up(&n->a)); /* there was none */
	assert_int_equal(n->h.n_enrols, 0);
	n->h.refuse[0] = -EBUSY;
	step(n);
	assert_true(rekey_take_up(&n->a));
	assert_int_equal(n->h.n_enrols, 1);
	assert_key(n, n->h.asked[0]);
	assert_false(has_next(n));
	assert_false(n->h.sent_a_key);
}

static void test_a_refused_key_is_not_taken_up(void **state)
{
	struct node *n = *state;
	char before[PHX_FINGERPRINT_MAX];
	key_of(n, "agent.key", before);
	n->h.refuse[0] = -EBUSY;
	step(n);
	n->h.enrol = -EPERM;
	assert_false(rekey_take_up(&n->a));
	assert_key(n, before);
	assert_true(has_next(n)); /* the head may be asked once more */
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(test_the_node_gets_another_key),
		TEST(test_an_attempt_that_goes_on_has_the_same_key),
		TEST(test_a_key_of_another_attempt_is_not_used),
		TEST(test_a_damaged_record_is_no_key),
		TEST(test_a_certificate_that_is_not_the_keys_is_refused),
		TEST(test_a_head_that_is_away_is_asked_again),
		TEST(test_its_time_is_up),
		TEST(test_a_dead_key_enrols_with_the_new_one),
		TEST(test_a_full_disk_parts_no_key_from_its_certificate),
		TEST(test_an_interrupted_step_is_taken_up),
		TEST(test_a_refused_key_is_not_taken_up),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
