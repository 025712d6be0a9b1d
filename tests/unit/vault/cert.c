/* For whom the vault certifies a key: a head that was taken over gets none of a node that has one,
 * and the node gets its next one by what it can show. */
#include <errno.h>
#include <fcntl.h>

#include "pki/next_key.h"
#include "pki/token.h"
#include "unit/vault/world.h"

static struct vault v;
static struct phx_err err;

/* A key, its request, and its certificate once there is one. */
struct key {
	char *pem, *csr, *cert;
};

static struct key make_key(void)
{
	struct key k = {0};
	assert_int_equal(phx_csr_make("node", &k.pem, &k.csr, &err), 0);
	return k;
}

static void key_fini(struct key *k)
{
	free(k->pem);
	free(k->csr);
	free(k->cert);
	*k = (struct key){0};
}
#define AUTO_KEY PHX_AUTO(key_fini)

static int question(enum vault_op op, const char *node, uint64_t number, const struct phx_buf *body,
		    char **ret)
{
	struct phx_apart_question q = {.op = op, .number = number, .body = body ? body->data : ""};
	PHX_AUTO_REPLY struct phx_apart_reply reply = {0};
	q.n = body ? (uint32_t)body->n : 0;
	PHX_STR_SET(q.name, node);
	phx_err_clear(&err);
	int r = vault_answer(&v, &q, &reply, &err);
	if (r == 0 && ret) {
		free(*ret);
		*ret = PHX_TAKE(reply.body.data);
	}
	return r;
}

static int ask(struct key *k, const char *node, const char *token, const struct phx_next_key *next)
{
	PHX_AUTO(phx_buf_fini) struct phx_buf texts = {0};
	vault_add_text(&texts, k->csr);
	vault_add_text(&texts, token);
	vault_add_text(&texts, next ? next->signature : "");
	vault_add_text(&texts, next ? next->cert : "");
	return question(VAULT_cert, node, PHX_NODE_CERT_DAYS, &texts, &k->cert);
}

static char *token_of(const char *node, uint64_t start)
{
	char *token = NULL;
	assert_int_equal(question(VAULT_start, node, start, NULL, &token), 0);
	return token;
}

static int shown(const char *node, const char *token)
{
	PHX_AUTO(phx_buf_fini) struct phx_buf text = {0};
	phx_buf_add(&text, token, strlen(token));
	return question(VAULT_shown, node, 0, &text, NULL);
}

static struct phx_next_key signed_by(const struct key *k, const struct key *next)
{
	PHX_AUTO_FREE char *key = phx_path("%s/its.key", dir), *cert = phx_path("%s/its.pem", dir);
	struct phx_next_key ret;
	assert_int_equal(phx_file_write(key, k->pem, strlen(k->pem), 0600, &err), 0);
	assert_int_equal(phx_file_write(cert, k->cert, strlen(k->cert), 0600, &err), 0);
	assert_int_equal(phx_next_key_prove(next->csr, key, cert, &ret, &err), 0);
	return ret;
}

static void open_site(void)
{
	v = (struct vault){.config = &config};
	assert_int_equal(question(VAULT_site, "", 0, NULL, NULL), 0);
}

static void again(void)
{
	vault_fini(&v);
	open_site();
}

static int setup(void **state)
{
	if (world_make(state) < 0)
		return -1;
	open_site();
	return 0;
}

static int teardown(void **state)
{
	vault_fini(&v);
	return world_end(state);
}

static void assert_logged(const char *what, bool is)
{
	PHX_AUTO_FREE char *path = phx_path("%s/vault.log", pki_dir), *log = NULL;
	assert_int_equal(phx_file_read(path, 1 << 20, &log, NULL, NULL), 0);
	if (!strstr(log, what) == is)
		fail_msg("'%s' is%s in the log: %s", what, is ? " not" : "", log);
}

static void the_key_that_it_has_is_certified_again(void **state)
{
	AUTO_KEY struct key k = make_key();
	(void)state;
	assert_int_equal(ask(&k, "n1", "", NULL), 0);
	assert_logged(" why first\n", true);
	assert_int_equal(ask(&k, "n1", "", NULL), 0);
	again();
	assert_int_equal(ask(&k, "n1", "", NULL), 0);
	assert_logged(" why again\n", true);
}

static void another_key_is_refused(void **state)
{
	AUTO_KEY struct key k = make_key(), own = make_key(), other = make_key();
	(void)state;
	assert_int_equal(ask(&k, "n1", "", NULL), 0);
	assert_int_equal(ask(&own, "n1", "", NULL), -EPERM);
	assert_int_equal(ask(&own, "n1", "4711.0000", NULL), -EPERM);
	assert_logged(" cert refuse n1: neither a token ", true);
	again();
	assert_int_equal(ask(&own, "n1", "", NULL), -EPERM);
	/* the keys of two nodes are no concern of each other */
	assert_int_equal(ask(&other, "n2", "", NULL), 0);
	const struct phx_next_key by_other = signed_by(&other, &own);
	assert_int_equal(ask(&own, "n1", "", &by_other), -EPERM);
	assert_null(own.cert);
	assert_int_equal(ask(&k, "n1", "", NULL), 0);
}

static void a_token_is_good_for_one_key_of_its_node(void **state)
{
	AUTO_KEY struct key k = make_key(), next = make_key(), third = make_key(),
			    other = make_key();
	(void)state;
	assert_int_equal(ask(&k, "n1", "", NULL), 0);
	assert_int_equal(ask(&other, "n2", "", NULL), 0);
	PHX_AUTO_FREE char *token = token_of("n1", 7), *same = token_of("n1", 7);
	assert_string_equal(token, same);
	assert_int_equal(shown("n1", token), 0);
	assert_int_equal(shown("n2", token), -EACCES);
	assert_int_equal(ask(&third, "n2", token, NULL), -EPERM);
	assert_int_equal(ask(&next, "n1", token, NULL), 0);
	assert_logged(" why start 7\n", true);
	/* its answer was lost */
	assert_int_equal(ask(&next, "n1", token, NULL), 0);
	assert_int_equal(shown("n1", token), -EACCES);
	assert_int_equal(ask(&third, "n1", token, NULL), -EPERM);
	assert_int_equal(ask(&k, "n1", token, NULL), -EPERM);
	/* the same start, of which a step is tried again */
	PHX_AUTO_FREE char *later = token_of("n1", 7);
	assert_string_not_equal(later, token);
	again();
	assert_int_equal(ask(&third, "n1", later, NULL), 0);
}

/* The disk is full: what is not logged is not in the table either, so that the line of the next try
 * says what it was given for. */
static void what_is_not_logged_is_not_certified(void **state)
{
	AUTO_KEY struct key k = make_key(), next = make_key();
	(void)state;
	assert_int_equal(ask(&k, "n1", "", NULL), 0);
	PHX_AUTO_FREE char *token = token_of("n1", 7);
	int fd = v.log.fd;
	v.log.fd = open("/dev/full", O_WRONLY | O_CLOEXEC);
	assert_true(ask(&next, "n1", token, NULL) < 0);
	assert_null(next.cert);
	close(v.log.fd);
	v.log.fd = fd;
	assert_int_equal(ask(&k, "n1", "", NULL), 0); /* the node has the key that it had */
	assert_logged(" why start 7\n", false);
	assert_int_equal(ask(&next, "n1", token, NULL), 0);
	assert_logged(" why start 7\n", true);
}

static void tokens_are_logged_once(void **state)
{
	AUTO_KEY struct key k = make_key();
	(void)state;
	assert_int_equal(ask(&k, "n1", "", NULL), 0);
	PHX_AUTO_FREE char *token = token_of("n1", 7);
	uint64_t n = v.log.n_bytes;
	assert_logged(" start grant n1 start 7 after sha256:", true);
	for (int i = 0; i < 5; i++)
		free(token_of("n1", 7));
	assert_int_equal(v.log.n_bytes, n);
	free(token_of("n1", 8));
	assert_logged(" start grant n1 start 8 after ", true);
}

static void the_key_that_it_has_signs_for_the_next(void **state)
{
	AUTO_KEY struct key k = make_key(), next = make_key(), third = make_key();
	(void)state;
	assert_int_equal(ask(&k, "n1", "", NULL), 0);
	const struct phx_next_key by_k = signed_by(&k, &next);
	assert_int_equal(ask(&third, "n1", "", &by_k), -EPERM);
	struct phx_next_key altered = by_k;
	altered.signature[9] = altered.signature[9] == '0' ? '1' : '0';
	assert_int_equal(ask(&next, "n1", "", &altered), -EPERM);
	assert_int_equal(ask(&next, "n1", "", &by_k), 0);
	assert_logged(" why rekey\n", true);
	/* who has the key of before makes none of it any more */
	const struct phx_next_key late = signed_by(&k, &third);
	assert_int_equal(ask(&third, "n1", "", &late), -EPERM);
}

static void a_node_that_is_gone_begins_anew(void **state)
{
	AUTO_KEY struct key k = make_key(), other = make_key();
	(void)state;
	assert_int_equal(question(VAULT_forget, "n1", 0, NULL, NULL), 0);
	assert_logged("forget", false);
	assert_int_equal(ask(&k, "n1", "", NULL), 0);
	assert_int_equal(question(VAULT_forget, "n1", 0, NULL, NULL), 0);
	assert_logged(" node forget n1 key sha256:", true);
	again();
	assert_int_equal(ask(&other, "n1", "", NULL), 0);
	assert_int_equal(ask(&k, "n1", "", NULL), -EPERM);
}

/* Only a log: the vault of before kept no table. */
static void forget_the_table(void)
{
	PHX_AUTO_FREE char *path = phx_path("%s/certified", pki_dir);
	vault_fini(&v);
	assert_int_equal(unlink(path), 0);
	open_site();
}

static void nodes_of_before_are_known(void **state)
{
	AUTO_KEY struct key k = make_key(), next = make_key(), third = make_key();
	(void)state;
	assert_int_equal(ask(&k, "n1", "", NULL), 0);
	forget_the_table();
	const struct phx_next_key bad = signed_by(&k, &third);
	assert_int_equal(ask(&next, "n1", "", &bad), -EPERM);
	assert_int_equal(ask(&next, "n1", "7.00", NULL), -EPERM);
	/* an agent of before makes another key in place, and does not sign for it */
	assert_int_equal(ask(&next, "n1", "", NULL), 0);
	assert_logged(" why unproven\n", true);
	assert_int_equal(ask(&third, "n1", "", NULL), -EPERM);
	/* and one that was renewed in between needs none of that */
	forget_the_table();
	assert_int_equal(ask(&next, "n1", "", NULL), 0);
	assert_int_equal(ask(&third, "n1", "", NULL), -EPERM);
}

static void half_a_line_is_dropped(void **state)
{
	PHX_AUTO_FREE char *path = phx_path("%s/certified", pki_dir), *text = NULL;
	AUTO_KEY struct key k = make_key(), other = make_key();
	size_t n;
	(void)state;
	assert_int_equal(ask(&k, "n1", "", NULL), 0);
	assert_int_equal(ask(&other, "n2", "", NULL), 0);
	assert_int_equal(phx_file_read(path, 1 << 20, &text, &n, &err), 0);
	assert_int_equal(phx_file_write(path, text, n - 7, 0600, &err), 0);
	again();
	assert_int_equal(ask(&other, "n1", "", NULL), -EPERM);
	assert_int_equal(ask(&k, "n2", "", NULL), 0);
	again();
	assert_int_equal(ask(&other, "n2", "", NULL), -EPERM);
	/* what is no line of ours is no reason to begin anew */
	assert_int_equal(phx_file_write(path, "n1 none\n", 8, 0600, &err), 0);
	again();
	assert_int_equal(ask(&k, "n1", "", NULL), -EBADMSG);
}

static void lines_of_before_go(void **state)
{
	struct vault_certified c;
	struct vault_node n = {.name = "n1", .key = "sha256:00", .why = "again"};
	(void)state;
	assert_int_equal(vault_certified_open(&c, pki_dir, &err), 0);
	for (int i = 0; i < 1100; i++)
		assert_int_equal(vault_certified_put(&c, &n, &err), 0);
	assert_int_equal(c.n_lines, 1100);
	vault_certified_fini(&c);
	assert_int_equal(vault_certified_open(&c, pki_dir, &err), 0);
	assert_int_equal(c.n_lines, 1);
	assert_string_equal(vault_certified_find(&c, "n1")->key, "sha256:00");
	vault_certified_fini(&c);
}

int main(void)
{
#define TEST(function) cmocka_unit_test_setup_teardown(function, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(the_key_that_it_has_is_certified_again),
		TEST(another_key_is_refused),
		TEST(a_token_is_good_for_one_key_of_its_node),
		TEST(what_is_not_logged_is_not_certified),
		TEST(tokens_are_logged_once),
		TEST(the_key_that_it_has_signs_for_the_next),
		TEST(a_node_that_is_gone_begins_anew),
		TEST(nodes_of_before_are_known),
		TEST(half_a_line_is_dropped),
		TEST(lines_of_before_go),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
