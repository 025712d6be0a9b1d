/* Attestations of erases (cmd/phxd/api_erasures.c): a service provider has those of nodes that his
 * REs had before or have next, and of others not even that they are there. The store is a real one;
 * documents are a word each. */
#include "fake/request.h"
#include "fake/submitted.h"

#include "pki/attestation.h"

/* A document is the name of its node; "damaged" is none. */
static int fake_parse(const char *text, size_t n, struct phx_attestation *ret, char *ret_signature,
		      struct phx_err *err)
{
	assert_int_equal(n, strlen(text));
	if (!strcmp(text, "damaged"))
		return phx_err_set(err, -EINVAL, "no document");
	*ret = (struct phx_attestation){.format = PHX_ATTESTATION_FORMAT};
	PHX_STR_SET(ret->node, text);
	struct phx_attested_disk *disk = phx_list_push(&ret->disks, sizeof(*disk));
	PHX_STR_SET(disk->id, "wwn-1");
	phx_str_copy(ret_signature, PHX_ANCHOR_SIGNATURE_MAX, "signed");
	return 0;
}

#define phx_attestation_parse fake_parse
#include "phxd/api_erasures.c" /* parts of a program, not of the library */
#undef phx_attestation_parse
#include "phxd/parse.c"

#define ALICE "unix:alice"
#define BOB "cert:bob"

static struct daemon head;
static bool has_all;
static const char *asker, *login;
static json_t *answer;
static char error[FAKE_TEXT];

/* ---- who asks ---- */

bool person_has_all(struct daemon *d, const struct phx_http_peer *peer, enum phx_right right)
{
	(void)d, (void)peer;
	assert_int_equal(right, PHX_RIGHT_erasures);
	return has_all;
}

void person_of(struct daemon *d, const struct phx_http_peer *peer, struct person *ret)
{
	(void)d, (void)peer;
	*ret = (struct person){0};
	PHX_STR_SET(ret->identity, asker);
	PHX_STR_SET(ret->login, login);
}

/* As in people.c: by identity, or by the user as whom he works. */
bool person_is(const struct person *p, const char *owner)
{
	return owner[0] &&
		(!strcmp(p->identity, owner) ||
		 phx_identity_is(owner, PHX_IDENTITY_UNIX, p->login));
}

json_t *body_json(struct phx_http_request *q)
{
	json_t *j = json_loads(q->body, 0, NULL);
	if (!j)
		phx_http_reply_error(q, -EINVAL, "the body is no JSON");
	return j;
}

const char *engine_attest_key(const struct engine *e)
{
	(void)e;
	return "fingerprint";
}

/* ---- the store ---- */

static uint64_t last_seq;

static void erased(uint64_t id, const char *node, const char *from, const char *to,
		   const char *text)
{
	struct phx_err err = {0};
	const struct phx_store_row row = {
		.event = {++last_seq, 1000, "step_result", node, "{}", "[]"},
		.attestation = {id, 1000, node, from, to, text},
	};
	if (phx_store_append(fake_store, &row, 1, &err) != 0)
		fail_msg("%s", err.text);
}

static int setup(void **state)
{
	(void)state;
	fake_engine_begin();
	fake_requests_begin();
	last_seq = 0;
	has_all = false;
	asker = ALICE;
	login = "alice";
	answer = NULL;
	if (phx_store_open(":memory:", &fake_store, NULL) < 0)
		return -1;
	erased(5, "n1", ALICE, BOB, "n1");
	erased(7, "n2", "unix:carol", ALICE, "n2");
	erased(8, "n3", "unix:carol", "", "n3");
	erased(9, "n1", BOB, "unix:carol", "n1");
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	json_decref(PHX_TAKE(answer));
	phx_store_close(PHX_TAKE(fake_store));
	return 0;
}

static int asks(phx_http_handler handler, struct phx_http_request *q)
{
	json_decref(PHX_TAKE(answer));
	handler(q, &head);
	answer = json_incref(q->json);
	PHX_STR_SET(error, q->text);
	int code = q->code;
	fake_request_fini(q);
	return code;
}

/* The nodes of the list, newest first; a '+' where there may be more. */
static void assert_list(const struct fake_word *query, const char *want)
{
	struct phx_http_request q = {0};
	PHX_AUTO(phx_buf_fini) struct phx_buf b = {0};
	size_t i;
	json_t *row;
	for (i = 0; query && query[i].name; i++)
		q.query[i] = query[i];
	if (asks(api_erasure_list, &q) != 200)
		fail_msg("%s", error);
	json_array_foreach(json_object_get(answer, "erasures"), i, row) {
		phx_buf_addf(&b, "%s ", phx_json_str(row, "node", "?"));
		assert_int_equal(phx_json_int(row, "n_disks", 0), 1);
		assert_string_equal(phx_json_str(row, "signature", ""), "signed");
		assert_null(json_object_get(row, "disks"));
		assert_null(json_object_get(row, "text"));
	}
	phx_buf_addf(&b, "%s", phx_json_bool(answer, "more", false) ? "+" : "");
	assert_string_equal(b.data, want);
}
#define Q(...) ((const struct fake_word[]){__VA_ARGS__, {NULL, NULL}})

/* ---- lists ---- */

static void each_has_those_of_his_nodes(void **state)
{
	(void)state;
	assert_list(NULL, "n2 n1 ");
	asker = BOB;
	login = "";
	assert_list(NULL, "n1 n1 ");
	asker = "unix:nobody";
	login = "nobody";
	assert_list(NULL, "");
	/* an erase that nobody follows is no man's without a name */
	asker = login = "";
	assert_list(NULL, "");
	has_all = true;
	assert_list(NULL, "n1 n3 n2 n1 ");
}

/* A certificate that works as alice has hers, too. */
static void a_certificate_has_those_of_its_user(void **state)
{
	(void)state;
	asker = BOB;
	login = "alice";
	assert_list(NULL, "n1 n2 n1 ");
	asker = "cert:dave";
	assert_list(NULL, "n2 n1 ");
}

static void to_name_a_node_shows_no_more_of_it(void **state)
{
	(void)state;
	assert_list(Q({"node", "n1"}), "n1 ");
	assert_int_equal(phx_json_int(answer, "last", 0), 5);
	assert_list(Q({"node", "n3"}), "");
	assert_list(Q({"node", "nosuch"}), "");
	has_all = true;
	assert_list(Q({"node", "n1"}), "n1 n1 ");
}

/* Also who sees none of a page is told where the next begins. */
static void a_long_list_comes_in_pages(void **state)
{
	(void)state;
	has_all = true;
	assert_list(Q({"limit", "3"}), "n1 n3 n2 +");
	assert_int_equal(phx_json_int(answer, "last", 0), 7);
	assert_list(Q({"limit", "3"}, {"before", "7"}), "n1 ");
	has_all = false;
	asker = "cert:dave";
	assert_list(Q({"limit", "2"}), "+");
	assert_int_equal(phx_json_int(answer, "last", 0), 8);
	assert_list(Q({"limit", "2"}, {"before", "8"}), "n2 n1 +");
	assert_list(Q({"limit", "2"}, {"before", "5"}), "");
	assert_list(Q({"limit", "0"}), "n2 n1 ");
}

static void what_is_no_number_is_refused(void **state)
{
	static const struct fake_word words[] = {{"limit", "x"},
						 {"limit", "1001"},
						 {"limit", "-1"},
						 {"before", "9223372036854775808"}};
	(void)state;
	for (size_t i = 0; i < PHX_ARRAY_SIZE(words); i++) {
		struct phx_http_request q = {.query = {words[i]}};
		assert_int_equal(asks(api_erasure_list, &q), -EINVAL);
		assert_true(phx_str_starts(error, words[i].name));
	}
}

/* Nobody is shown a part of what was signed. */
static void a_damaged_document_is_an_error(void **state)
{
	struct phx_http_request q = {0};
	(void)state;
	erased(11, "n2", "unix:carol", "", "damaged");
	assert_list(NULL, "n2 n1 "); /* it is not hers */
	has_all = true;
	assert_int_equal(asks(api_erasure_list, &q), -EBADMSG);
}

/* ---- one ---- */

static int one(const char *what)
{
	struct phx_http_request q = {.params = {what}};
	return asks(api_erasure, &q);
}

static void assert_one(const char *what, const char *node)
{
	if (one(what) != 200)
		fail_msg("%s", error);
	assert_string_equal(phx_json_str(answer, "node", ""), node);
	assert_string_equal(phx_json_str(answer, "text", ""), node);
	assert_int_equal(json_array_size(json_object_get(answer, "disks")), 1);
}

static void assert_none(const char *what, const char *whose)
{
	char want[300];
	snprintf(want, sizeof(want),
		 "there is no attestation of '%s'%s; records of single erases: phx node erasures",
		 what, whose);
	assert_int_equal(one(what), -ENOENT);
	assert_string_equal(error, want);
}

static void one_is_found_by_number_or_node(void **state)
{
	(void)state;
	has_all = true;
	assert_one("5", "n1");
	assert_one("8", "n3");
	assert_one("n1", "n1");
	assert_none("6", "");
	assert_none("nosuch", "");
	assert_none("0", "");
	assert_none("5x", "");
	assert_none("-5", "");
	assert_none("99999999999999999999", "");
	assert_none("9223372036854775807", "");
}

/* Others have had the node since. */
static void the_last_of_a_node_is_the_last_that_is_his(void **state)
{
	(void)state;
	assert_one("n1", "n1");
	assert_one("n2", "n2");
	assert_one("5", "n1");
}

/* The answer is the same whether there is one or not. */
static void one_of_others_is_not_there(void **state)
{
	(void)state;
	assert_none("n3", " that is yours");
	assert_none("8", " that is yours");
	assert_none("9", " that is yours");
	assert_none("6", " that is yours");
	assert_none("nosuch", " that is yours");
}

/* ---- checks ---- */

static void a_check_takes_a_document_alone(void **state)
{
	struct phx_http_request more = {.body = "{\"text\":\"x\",\"key\":\"mine\"}"},
				bad = {.body = "{\"text\":\"no document\"}"}, none = {.body = "{}"};
	(void)state;
	PHX_STR_SET(head.cfg.run_dir, "/nonexistent");
	assert_int_equal(asks(api_erasure_check, &more), -EINVAL);
	assert_non_null(strstr(error, "key"));
	assert_int_equal(asks(api_erasure_check, &bad), 200);
	assert_false(phx_json_bool(answer, "ok", true));
	assert_string_not_equal(phx_json_str(answer, "text", ""), "");
	assert_int_equal(asks(api_erasure_check, &none), 200);
	assert_false(phx_json_bool(answer, "ok", true));
}

int main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
	const struct CMUnitTest tests[] = {
		T(each_has_those_of_his_nodes),
		T(a_certificate_has_those_of_its_user),
		T(to_name_a_node_shows_no_more_of_it),
		T(a_long_list_comes_in_pages),
		T(what_is_no_number_is_refused),
		T(a_damaged_document_is_an_error),
		T(one_is_found_by_number_or_node),
		T(the_last_of_a_node_is_the_last_that_is_his),
		T(one_of_others_is_not_there),
		T(a_check_takes_a_document_alone),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
