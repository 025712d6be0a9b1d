/* Triggers as they are made (cmd/phxd/api_triggers.c): what of a text is refused, above all where
 * the name of a file, which others may choose, would become a program; and that texts of what is
 * refused are not kept. The texts are read as they are, the engine is a fake. */
#include "fake/request.h"
#include "fake/submitted.h"

#include "base/tree.h"
#include "phxd/api_triggers.c" /* a part of a program, not of the library */

static struct daemon head;
static char top[64], body[96], error[FAKE_TEXT];
static json_t *answer;
static unsigned n_kept;
static int settled; /* with what, last; 1: nothing was */
static bool has_user;
static const char *wrong; /* with the workflow, whatever it is */

/* ---- what is behind ---- */

int flows_read_text(const char *text, size_t n, char ret_digest[PHX_SHA256_HEX],
		    struct phx_flow *ret, struct phx_err *err)
{
	int r = phx_sha256_of(text, n, ret_digest);
	return r ? r : phx_wfformat_read("workflow", text, n, ret, err);
}

int flow_check_first(const struct phx_flow *f, struct phx_err *err)
{
	(void)f;
	return wrong ? phx_err_set(err, -EINVAL, "%s", wrong) : 0;
}

int flows_keep_text(struct flows *f, const char *text, size_t n, const char *digest,
		    struct phx_err *err)
{
	(void)f, (void)err;
	assert_int_equal(strlen(digest), 64);
	assert_int_equal(strlen(text), n);
	n_kept++;
	return 0;
}

void flows_settle(struct flows *f, const char *digest, int r)
{
	(void)f;
	assert_int_equal(strlen(digest), 64);
	n_kept--;
	settled = r;
}

bool flow_user_find(struct daemon *d, struct phx_http_request *q, const char *re,
		    struct flow_user *ret)
{
	(void)d;
	assert_string_equal(re, "hpc");
	*ret = (struct flow_user){.login = {.name = "alice", .uid = 1000, .gid = 1000},
				  .must_be_member = true,
				  .identity = "unix:alice"};
	if (!has_user)
		phx_http_reply_error(q, -EPERM, "nobody of that name");
	return has_user;
}

void person_name(const struct phx_http_peer *peer, char *ret, size_t ret_size)
{
	snprintf(ret, ret_size, "uid:%u", (unsigned)peer->uid);
}

int hooks_token(char ret_token[HOOK_TOKEN_MAX], char ret_sha256[65])
{
	phx_str_copy(ret_token, HOOK_TOKEN_MAX, "the-token");
	return phx_sha256_of("the-token", 9, ret_sha256);
}

/* ---- made ---- */

static int setup(void **state)
{
	(void)state;
	fake_engine_begin();
	fake_requests_begin();
	strcpy(top, "/tmp/phx-triggers.XXXXXX");
	if (!mkdtemp(top))
		return -1;
	snprintf(body, sizeof(body), "%s/upload", top);
	n_kept = 0;
	settled = 1;
	has_user = true;
	wrong = NULL;
	answer = NULL;
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	fake_engine_is_free();
	json_decref(PHX_TAKE(answer));
	assert_int_equal(n_kept, 0); /* each text that was kept is settled */
	phx_list_fini(&fake_events);
	fake_events = (struct phx_list){0};
	return phx_dir_remove(top, NULL);
}

/* A workflow of one task: its program and arguments, divided by '|'. */
static char *flow_of(const char *words)
{
	char copy[400], *save = NULL;
	json_t *arguments = json_array();
	PHX_STR_SET(copy, words);
	const char *program = strtok_r(copy, "|", &save);
	for (const char *w; (w = strtok_r(NULL, "|", &save));)
		json_array_append_new(arguments, json_string(w));
	PHX_AUTO_JSON json_t *j =
		json_pack("{s:s,s:s,s:{s:{s:[{s:s,s:s,s:[],s:[]}]},s:{s:[{s:s,s:{s:s,s:o}}]}}}",
			  "name", "w", "schemaVersion", "1.5", "workflow", "specification", "tasks",
			  "name", "t", "id", "t", "parents", "children", "execution", "tasks", "id",
			  "t", "command", "program", program, "arguments", arguments);
	return json_dumps(j, JSON_COMPACT);
}

static int posts(const char *text)
{
	FAKE_REQUEST q = {.body_path = text ? body : NULL, .query = {{"re", "hpc"}}};
	if (text)
		assert_int_equal(phx_file_write(body, text, strlen(text), 0600, NULL), 0);
	json_decref(PHX_TAKE(answer));
	api_trigger_create(&q, &head);
	PHX_STR_SET(error, q.text);
	answer = json_incref(q.json);
	return q.code;
}

#define FILES "{\"name\":\"t1\",\"when\":{\"file\":\"in/*.dat\"}}"
#define CALLS "{\"name\":\"t1\",\"when\":{\"http\":\"/hook/t1\"}}"

static int makes(const char *trigger, const char *words)
{
	PHX_AUTO_FREE char *flow = flow_of(words);
	PHX_AUTO_FREE char *text = phx_path("%s\n%s", trigger, flow);
	return posts(text);
}

static void a_trigger_is_its_users(void **state)
{
	(void)state;
	if (makes(FILES, "/bin/cat|{trigger.file}") != 200)
		fail_msg("%s", error);
	const struct phx_event *ev = fake_event(0);
	assert_int_equal(ev->kind, PHX_EV_trigger_create);
	assert_string_equal(ev->re, "hpc");
	assert_string_equal(ev->trigger_create.user, "alice");
	assert_string_equal(ev->trigger_create.owner, "unix:alice");
	assert_true(ev->trigger_create.must_be_member);
	assert_int_equal(ev->trigger_create.queue_max, QUEUE_USUAL);
	assert_int_equal(ev->trigger_create.at_once, 1);
	assert_string_equal(phx_json_str(answer, "kind", ""), "file");
	assert_null(json_object_get(answer, "token"));
	assert_int_equal(settled, 0);
}

/* Only this answer has it; the journal has its digest. */
static void the_token_of_calls_is_told_once(void **state)
{
	char digest[65];
	(void)state;
	if (makes(CALLS, "/bin/true") != 200)
		fail_msg("%s", error);
	assert_string_equal(phx_json_str(answer, "token", ""), "the-token");
	assert_string_equal(phx_json_str(answer, "path", ""), "/hook/t1");
	assert_int_equal(phx_sha256_of("the-token", 9, digest), 0);
	assert_string_equal(fake_event(0)->trigger_create.token_sha256, digest);
	fake_submit_result = -EEXIST;
	assert_int_equal(makes(CALLS, "/bin/true"), -EEXIST);
	assert_null(answer);
	assert_int_equal(settled, -EEXIST);
}

/* ---- a file's name is no program ---- */

#define SHELL \
	"'{trigger.file}': a shell would take the name of a file for a part of the program: use " \
	"\"$PHX_TRIGGER_FILE\" there"

static void a_shell_gets_no_name_of_a_file_as_its_program(void **state)
{
	static const char *const bad[] = {
		"/bin/sh|-c|{trigger.file}",
		"sh|-ec|{trigger.file}",
		"/bin/bash|-lc|{trigger.file}",
		"bash|-e|-xc|{trigger.file}",
		"bash|-c|-e|{trigger.file}",
		"timeout|9|/usr/bin/zsh|-ic|{trigger.file}",
		"env|A=1|dash|-c|{trigger.file}",
		"su|alice|-c|{trigger.file}",
		"sh|-c|exec \"$@\"|sh|bash|-c|{trigger.file}",
	};
	(void)state;
	for (size_t i = 0; i < PHX_ARRAY_SIZE(bad); i++) {
		if (makes(FILES, bad[i]) != -EINVAL)
			fail_msg("%s is taken", bad[i]);
		assert_non_null(strstr(error, "task \"t\": " SHELL));
	}
	assert_int_equal(fake_events.n, 0);
}

static void nor_does_another_interpreter(void **state)
{
	static const char *const bad[] = {
		"perl|-e|{trigger.file}",
		"perl|-ne|print|-e|{trigger.file}",
		"/usr/bin/perl|-lane{trigger.stem}",
		"python3.11|-c|{trigger.file}",
		"python3|-uc|x = '{trigger.name}'",
		"ruby|-e|{trigger.file}",
		"node|-pe|{trigger.file}",
		"node|--eval={trigger.file}",
		"awk|-F:|{trigger.file}",
		"sed|-n|s/x/{trigger.stem}/",
		"env|-S|{trigger.file}",
	};
	(void)state;
	for (size_t i = 0; i < PHX_ARRAY_SIZE(bad); i++) {
		if (makes(FILES, bad[i]) != -EINVAL)
			fail_msg("%s is taken", bad[i]);
		assert_non_null(strstr(error,
				       " would take the name of a file for a part of the "
				       "program: use PHX_TRIGGER_FILE of its environment "
				       "there"));
	}
	assert_non_null(strstr(error, ": env would"));
	assert_int_equal(fake_events.n, 0);
}

/* Arguments behind the program are arguments. */
static void what_is_no_program_is_taken(void **state)
{
	static const char *const good[] = {
		"/bin/cat|{trigger.file}",
		"/bin/sh|-c|cat \"$1\"|sh|{trigger.file}",
		"bash|-lc|cat \"$1\"|bash|{trigger.name}",
		"bash|-lc|cat \"$2\"|x|-c|{trigger.file}",
		"bash|script|--check|{trigger.file}",
		"bash|script|-c|{trigger.file}",
		"bash|script|-v|{trigger.file}",
		"perl|-ne|print|{trigger.file}",
		"perl|script|-e|{trigger.file}",
		"python3|-c|print(1)|-c|{trigger.name}",
		"python3|{trigger.file}",
		"ruby|-e|puts 1|{trigger.file}",
		"node|-e|1|{trigger.file}",
		"awk|{ print }|{trigger.file}",
		"sed|-e|s/a/b/|{trigger.file}",
		"gzip|-dc|{trigger.file}",
		"gzip|-c|{trigger.name}",
		"tar|-xzcf|{trigger.file}",
		"grep|-e|{trigger.stem}|list",
	};
	(void)state;
	for (size_t i = 0; i < PHX_ARRAY_SIZE(good); i++)
		if (makes(FILES, good[i]) != 200)
			fail_msg("%s: %s", good[i], error);
}

/* A file may be called "-esystem(...)". */
static void the_name_of_a_file_is_no_option_of_an_interpreter(void **state)
{
	static const char bare[] = "{\"name\":\"t1\",\"when\":{\"file\":\"*.pl\"}}";
	(void)state;
	assert_int_equal(makes(FILES, "perl|{trigger.name}"), -EINVAL);
	assert_non_null(strstr(error,
			       "'{trigger.name}': perl would take the name of a file that "
			       "begins with - for an option: write ./{trigger.name}"));
	assert_int_equal(makes(FILES, "sed|s/a/b/|{trigger.stem}.txt"), -EINVAL);
	assert_int_equal(makes(bare, "perl|-w|{trigger.file}"), -EINVAL);
	assert_int_equal(fake_events.n, 0);
	assert_int_equal(makes(bare, "perl|-w|./{trigger.file}"), 200);
	assert_int_equal(makes(bare, "perl|-w|--|{trigger.file}"), 200);
	assert_int_equal(makes(bare, "perl|-w|a.pl|{trigger.name}"), 200);
	assert_int_equal(makes(FILES, "perl|-w|{trigger.file}"), 200); /* in/... */
	assert_int_equal(makes(bare, "cat|{trigger.file}"), 200);
}

static void without_a_file_there_is_no_name_of_one(void **state)
{
	(void)state;
	assert_int_equal(makes(CALLS, "/bin/cat|{trigger.file}"), -EINVAL);
	assert_non_null(strstr(error, "only a trigger that waits for files has a file"));
}

/* ---- refused ---- */

static void a_body_is_a_line_and_a_workflow(void **state)
{
	static const struct {
		const char *text, *says;
	} rows[] = {
		{NULL, "the body must be a trigger and its workflow"},
		{"",
		 "the body must be a line, the trigger as JSON, and behind it the workflow as "
		 "WfFormat"},
		{FILES,
		 "the body must be a line, the trigger as JSON, and behind it the workflow "
		 "as WfFormat"},
		{"{}\n{}", NULL},
		{"7\n{}", "trigger: "},
		{"{\"name\":\"t1\",\"colour\":1}\n{}", "trigger: colour"},
		{FILES "\n{}", "workflow"},
		{FILES "\n", "workflow"},
	};
	(void)state;
	for (size_t i = 0; i < PHX_ARRAY_SIZE(rows); i++) {
		assert_int_equal(posts(rows[i].text), -EINVAL);
		if (rows[i].says && !strstr(error, rows[i].says))
			fail_msg("%zu: %s", i, error);
		assert_string_not_equal(error, "");
	}
	assert_int_equal(fake_events.n, 0);
}

/* As long as it may be, and one more. */
static void the_line_has_a_greatest_length(void **state)
{
	PHX_AUTO_FREE char *text = malloc(LINE_MAX_BYTES + 200);
	(void)state;
	memset(text, ' ', LINE_MAX_BYTES + 1);
	memcpy(text, FILES, strlen(FILES));
	strcpy(text + LINE_MAX_BYTES - 1, "\n{}");
	assert_int_equal(posts(text), -EINVAL);
	assert_non_null(strstr(error, "workflow:")); /* it came as far as that */
	strcpy(text + LINE_MAX_BYTES, "\n{}");
	text[LINE_MAX_BYTES - 1] = ' ';
	assert_int_equal(posts(text), -EINVAL);
	assert_non_null(strstr(error, "the body must be a line"));
}

static void what_is_refused_is_not_kept(void **state)
{
	(void)state;
	has_user = false;
	assert_int_equal(makes(FILES, "/bin/true"), -EPERM);
	assert_int_equal(settled, 1); /* nothing was kept for him */
	has_user = true;
	wrong = "workflow:1: task t wants more than there is";
	assert_int_equal(makes(FILES, "/bin/true"), -EINVAL);
	assert_string_equal(error, wrong);
	assert_int_equal(settled, 1);
	wrong = NULL;
	fake_submit_result = -EROFS;
	assert_int_equal(makes(FILES, "/bin/true"), -EROFS);
	assert_int_equal(settled, -EROFS);
}

int main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
	const struct CMUnitTest tests[] = {
		T(a_trigger_is_its_users),
		T(the_token_of_calls_is_told_once),
		T(a_shell_gets_no_name_of_a_file_as_its_program),
		T(nor_does_another_interpreter),
		T(what_is_no_program_is_taken),
		T(the_name_of_a_file_is_no_option_of_an_interpreter),
		T(without_a_file_there_is_no_name_of_one),
		T(a_body_is_a_line_and_a_workflow),
		T(the_line_has_a_greatest_length),
		T(what_is_refused_is_not_kept),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
