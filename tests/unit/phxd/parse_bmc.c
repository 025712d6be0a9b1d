/* What a request says of a node's BMC (cmd/phxd/parse_bmc.c): who is not root names no file but
 * one that root has put into bmc_dir, who has no right says nothing, and a BMC that cannot work is
 * refused at once. Records and drivers are real; the request and its sender's right are fakes. */
#include "fake/request.h"
#include "phxd/parse.c" /* parts of a program, not of the library */
#include "phxd/parse_bmc.c"

#define DIR_OF_BMCS "/etc/phoenix/bmc"
#define REDFISH "\"driver\":\"redfish\",\"address\":\"bmc1\",\"user\":\"op\""

static struct daemon d;
static bool permitted;
static unsigned n_asked;
static struct phx_bmc bmc;

bool person_require(struct daemon *of, struct phx_http_request *q, enum phx_right right)
{
	assert_ptr_equal(of, &d);
	assert_int_equal(right, PHX_RIGHT_bmc);
	n_asked++;
	if (!permitted)
		phx_http_reply_error(q, -EPERM, "not permitted");
	return permitted;
}

static int setup(void **state)
{
	(void)state;
	fake_requests_begin();
	PHX_STR_SET(d.cfg.bmc_dir, DIR_OF_BMCS);
	permitted = true;
	n_asked = 0;
	bmc = (struct phx_bmc){0};
	return 0;
}

static const struct phx_http_peer root = {.via = PHX_HTTP_UNIX, .uid = 0};
static const struct phx_http_peer somebody = {.via = PHX_HTTP_UNIX, .uid = 1000};

/* Asks with this body: the code of the answer, or 0 if it is taken. */
static int parse(struct phx_http_request *q, struct phx_http_peer peer, const char *body)
{
	PHX_AUTO_JSON json_t *j = json_loads(body, 0, NULL);
	assert_non_null(j);
	fake_request_fini(q);
	q->peer = peer;
	bool taken = parse_bmc(&d, q, j, &bmc);
	assert_true(taken == !q->code);
	return q->code;
}

static void assert_says(const struct phx_http_request *q, const char *word)
{
	if (!strstr(q->text, word))
		fail_msg("\"%s\" does not hold \"%s\"", q->text, word);
}

/* ---- files ---- */

/* Asks for a BMC with that password file, or that script. */
static int parse_file(struct phx_http_peer peer, bool script, const char *path)
{
	FAKE_REQUEST q = {0};
	PHX_AUTO_FREE char *body =
		phx_path(script ? "{\"bmc\":{\"driver\":\"script\",\"script\":\"%s\"}}"
				: "{\"bmc\":{" REDFISH ",\"password_file\":\"%s\"}}",
			 path);
	int code = parse(&q, peer, body);
	if (code == -EPERM) {
		assert_says(&q, DIR_OF_BMCS);
		assert_says(&q, script ? "bmc: script /" : "bmc: password_file ");
	}
	return code;
}

/* Of a file that only root may read he would learn whether it is there, and its first line goes to
 * a BMC of his choice; a script runs with all rights of the hands. */
static void who_is_not_root_names_files_of_bmc_dir_alone(void **state)
{
	static const char *const elsewhere[] = {
		"/etc/shadow",
		DIR_OF_BMCS "/../shadow",
		DIR_OF_BMCS "/a/../../shadow",
		DIR_OF_BMCS "/sub/file",
		DIR_OF_BMCS "//etc",
		DIR_OF_BMCS "/.",
		DIR_OF_BMCS "/..",
		DIR_OF_BMCS "/.hidden",
		DIR_OF_BMCS "/",
		DIR_OF_BMCS,
		DIR_OF_BMCS "x/file",
		DIR_OF_BMCS "x",
		DIR_OF_BMCS "-of-others",
		"/etc/phoenix//bmc/file",
		"/etc/phoenix/bm",
	};
	static const char *const there[] = {DIR_OF_BMCS "/file", DIR_OF_BMCS "/n1.pw",
					    DIR_OF_BMCS "/a..b"};
	(void)state;
	for (int script = 0; script < 2; script++) {
		for (size_t i = 0; i < PHX_ARRAY_SIZE(elsewhere); i++) {
			if (parse_file(somebody, script, elsewhere[i]) != -EPERM)
				fail_msg("%s is taken", elsewhere[i]);
			assert_int_equal(parse_file(root, script, elsewhere[i]), 0);
		}
		for (size_t i = 0; i < PHX_ARRAY_SIZE(there); i++)
			assert_int_equal(parse_file(somebody, script, there[i]), 0);
	}
}

/* A path that is not a whole one is nobody's. */
static void a_file_has_a_whole_path(void **state)
{
	FAKE_REQUEST q = {0};
	(void)state;
	assert_int_equal(parse(&q, root, "{\"bmc\":{\"driver\":\"script\",\"script\":\"file\"}}"),
			 -EINVAL);
	assert_int_equal(parse_file(somebody, false, "file"), -EPERM);
	assert_int_equal(parse_file(somebody, false, "etc/phoenix/bmc/file"), -EPERM);
}

/* Over the network nobody is root, whatever his number. */
static void root_is_whom_the_socket_says_to_be_root(void **state)
{
	static const struct phx_http_peer others[] = {
		{.via = PHX_HTTP_TLS, .uid = 0, .has_session = true},
		{.via = PHX_HTTP_TLS, .uid = (uid_t)-1, .has_cert = true},
		{.via = PHX_HTTP_PLAIN, .uid = 0},
	};
	(void)state;
	for (size_t i = 0; i < PHX_ARRAY_SIZE(others); i++) {
		assert_int_equal(parse_file(others[i], false, "/root/password"), -EPERM);
		assert_int_equal(parse_file(others[i], true, "/root/script"), -EPERM);
	}
}

/* ---- rights ---- */

static void without_the_right_no_bmc_is_said(void **state)
{
	FAKE_REQUEST q = {0};
	(void)state;
	permitted = false;
	assert_int_equal(parse(&q, root, "{\"bmc\":{\"driver\":\"none\"}}"), -EPERM);
	assert_int_equal(parse(&q, root, "{\"bmc\":{\"user\":\"op\"}}"), -EPERM);
	assert_int_equal(n_asked, 2);
	/* a node without one needs no right for it */
	assert_int_equal(parse(&q, somebody, "{}"), 0);
	assert_int_equal(parse(&q, somebody, "{\"bmc\":{}}"), 0);
	assert_int_equal(parse(&q, somebody, "{\"bmc\":null}"), 0);
	assert_int_equal(n_asked, 2);
	assert_string_equal(bmc.driver, "");
}

/* ---- what cannot work ---- */

static void a_bmc_that_cannot_work_is_refused_at_once(void **state)
{
	static const struct {
		const char *body, *says;
	} bad[] = {
		{"{\"user\":\"op\"}", "bmc: driver: is missing"},
		{"{\"driver\":\"telepathy\"}", "telepathy"},
		{"{\"driver\":\"redfish\",\"address\":\"b\"}", "bmc: user, password_file:"},
		{"{\"driver\":\"wol\",\"mac\":\"x\"}", "bmc: mac:"},
		{"{\"driver\":\"ipmi\",\"address\":\"-x\",\"user\":\"u\",\"password_file\":\"/p\"}",
		 "bmc: "},
		{"{\"drvier\":\"ipmi\"}", "bmc: drvier"},
		{"{\"driver\":7}", "bmc: driver"},
		{"\"ipmi\"", "bmc"},
		{"[]", "bmc"},
	};
	(void)state;
	for (size_t i = 0; i < PHX_ARRAY_SIZE(bad); i++) {
		FAKE_REQUEST q = {0};
		PHX_AUTO_FREE char *body = phx_path("{\"bmc\":%s}", bad[i].body);
		if (parse(&q, root, body) != -EINVAL)
			fail_msg("%s: %d %s", bad[i].body, q.code, q.text);
		assert_says(&q, bad[i].says);
	}
}

/* It would go to terminals, and to programs that talk to BMCs. */
static void no_text_of_a_bmc_holds_control_characters(void **state)
{
	static const char *const keys[] = {"user", "address", "system", "password_file"};
	(void)state;
	for (size_t i = 0; i < PHX_ARRAY_SIZE(keys); i++) {
		FAKE_REQUEST q = {0};
		PHX_AUTO_JSON json_t *j =
			json_loads("{\"bmc\":{" REDFISH ",\"password_file\":\"/p\"}}", 0, NULL);
		json_object_set_new(json_object_get(j, "bmc"), keys[i], json_string("/a\x1b[2Jb"));
		PHX_AUTO_FREE char *body = json_dumps(j, 0);
		assert_int_equal(parse(&q, root, body), -EINVAL);
		assert_says(&q, keys[i]);
		assert_says(&q, "control characters");
	}
}

/* The driver script is called with the name of the node, which the core knows. */
static void the_node_is_not_the_senders_to_say(void **state)
{
	FAKE_REQUEST q = {0};
	(void)state;
	assert_int_equal(parse(&q, root, "{\"bmc\":{\"driver\":\"script\",\"script\":\"/s\"}}"), 0);
	assert_string_equal(bmc.node, "");
	assert_string_equal(bmc.script, "/s");
}

/* ---- a change ---- */

static struct phx_event_node_bmc change;

static int parse_change(struct phx_http_request *q, struct phx_http_peer peer, const char *body)
{
	PHX_AUTO_JSON json_t *j = json_loads(body, 0, NULL);
	assert_non_null(j);
	fake_request_fini(q);
	phx_list_fini(&change.only);
	change = (struct phx_event_node_bmc){0};
	q->peer = peer;
	bool taken = parse_bmc_change(&d, q, j, &change);
	assert_true(taken == !q->code);
	return q->code;
}

static void a_change_of_some_members_names_them(void **state)
{
	FAKE_REQUEST q = {0};
	(void)state;
	assert_int_equal(parse_change(&q, somebody,
				      "{\"keep\":true,\"bmc\":{\"user\":\"op\",\"tool\":\"\"}}"),
			 0);
	assert_int_equal(change.only.n, 2);
	assert_string_equal(PHX_LIST_AT(&change.only, struct phx_word, 0)->text, "user");
	assert_string_equal(PHX_LIST_AT(&change.only, struct phx_word, 1)->text, "tool");
	assert_string_equal(change.bmc.user, "op");
	/* what is not named is looked at with each node: there is no driver here */
	assert_string_equal(change.bmc.driver, "");
}

static void a_change_of_all_members_is_a_whole_bmc(void **state)
{
	static const char *const bodies[] = {"{\"bmc\":{\"user\":\"op\"}}",
					     "{\"keep\":false,\"bmc\":{\"user\":\"op\"}}"};
	FAKE_REQUEST q = {0};
	(void)state;
	for (size_t i = 0; i < PHX_ARRAY_SIZE(bodies); i++) {
		assert_int_equal(parse_change(&q, root, bodies[i]), -EINVAL);
		assert_says(&q, "driver: is missing");
	}
	assert_int_equal(parse_change(&q, root, "{\"bmc\":{\"driver\":\"none\"}}"), 0);
	assert_int_equal(change.only.n, 0);
	/* without any member it is taken away, whatever was to be kept */
	assert_int_equal(parse_change(&q, root, "{\"keep\":true,\"bmc\":{}}"), 0);
	assert_int_equal(change.only.n, 0);
	assert_int_equal(parse_change(&q, root, "{}"), 0);
}

static void a_change_is_bound_as_a_whole_bmc_is(void **state)
{
	FAKE_REQUEST q = {0};
	(void)state;
	assert_int_equal(
		parse_change(&q, somebody, "{\"keep\":true,\"bmc\":{\"script\":\"/bin/sh\"}}"),
		-EPERM);
	assert_says(&q, DIR_OF_BMCS);
	assert_int_equal(
		parse_change(&q, somebody,
			     "{\"keep\":true,\"bmc\":{\"password_file\":\"/etc/shadow\"}}"),
		-EPERM);
	assert_int_equal(parse_change(&q, root, "{\"keep\":true,\"bmc\":{\"script\":\"/bin/sh\"}}"),
			 0);
	assert_int_equal(parse_change(&q, root, "{\"keep\":1,\"bmc\":{\"user\":\"op\"}}"), -EINVAL);
	assert_int_equal(parse_change(&q, root, "{\"keep\":true,\"bmc\":{\"usr\":\"op\"}}"),
			 -EINVAL);
	assert_says(&q, "usr");
	permitted = false;
	assert_int_equal(parse_change(&q, root, "{\"bmc\":{}}"), -EPERM);
	assert_int_equal(parse_change(&q, root, "{\"keep\":true,\"bmc\":{\"user\":\"op\"}}"),
			 -EPERM);
	phx_list_fini(&change.only);
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup(f, setup)
	const struct CMUnitTest tests[] = {
		TEST(who_is_not_root_names_files_of_bmc_dir_alone),
		TEST(a_file_has_a_whole_path),
		TEST(root_is_whom_the_socket_says_to_be_root),
		TEST(without_the_right_no_bmc_is_said),
		TEST(a_bmc_that_cannot_work_is_refused_at_once),
		TEST(no_text_of_a_bmc_holds_control_characters),
		TEST(the_node_is_not_the_senders_to_say),
		TEST(a_change_of_some_members_names_them),
		TEST(a_change_of_all_members_is_a_whole_bmc),
		TEST(a_change_is_bound_as_a_whole_bmc_is),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
