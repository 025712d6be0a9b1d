/* Files of REs (cmd/phxd/re_data.c): which file a node may fetch or send for its job, and a person
 * for himself; how large one may be. Directories and helpers are real, people and nodes fakes. */
#include "fake/request.h"
#include "fake/engine.h"

#include "phxd/re_data.c" /* a part of a program, not of the library */

#include "unit/phxd/areas.h"

#define MIB (1 << 20)
#define CARLS "re/hpc/" RE_USERS "/carl"

static struct daemon d;
static struct phx_state s;

/* ---- what of the daemon it calls ---- */

static const char *fake_node; /* that asks; NULL: none that is known */
static bool fake_all, fake_put;
static struct person_login fake_who;
static char told[256];

bool person_agent(struct daemon *of, struct phx_http_request *q, char ret_node[PHX_NAME_MAX])
{
	(void)of;
	if (!fake_node)
		phx_http_reply_error(q, -EACCES, "not the node's present one");
	return fake_node && phx_str_copy(ret_node, PHX_NAME_MAX, fake_node) == 0;
}
bool re_of_user(struct daemon *of, struct phx_http_request *q, bool take, char ret[PHX_NAME_MAX],
		bool *ret_all)
{
	(void)of;
	fake_put = take;
	*ret_all = fake_all;
	if (strcmp(phx_http_param(q, 0), "hpc") != 0)
		phx_http_reply_error(q, -ENOENT, "there is no such RE");
	return phx_str_copy(ret, PHX_NAME_MAX, phx_http_param(q, 0)) == 0 && !q->code;
}
bool person_works_as(struct daemon *of, struct phx_http_request *q, const char *name,
		     struct person_login *ret)
{
	(void)of;
	assert_null(name);
	if (!fake_who.name[0])
		phx_http_reply_error(q, -EINVAL, "user: not known on the head");
	*ret = fake_who;
	return fake_who.name[0];
}
void person_name(const struct phx_http_peer *peer, char *ret, size_t ret_size)
{
	(void)peer;
	snprintf(ret, ret_size, "uid:%d", OTHER);
}
void seldom_tell(struct seldom *to, const struct seldom_fact *f)
{
	(void)to;
	fake_engine_is_free();
	snprintf(told, sizeof(told), "%s|%s|%s|%s", f->who, f->kind, f->re, f->text);
}

/* How much there is: what is told, and what is answered. */
static bool fake_full, fake_no_room;
static char counted[256];
int data_use_room(const struct data_use *u, uint64_t n_bytes, struct phx_err *err)
{
	(void)u, (void)n_bytes;
	return fake_no_room ? phx_err_set(err, -EDQUOT, "the disk is full") : 0;
}
int data_use_take(struct data_use *u, const struct data_use_file *f, struct phx_err *err)
{
	(void)u;
	snprintf(counted, sizeof(counted), "%s %s in place of %s", f->re,
		 f->n_bytes > 1000 ? "much" : "little", f->n_had ? "something" : "nothing");
	return fake_full ? phx_err_set(err, -EDQUOT, "the RE is full") : 0;
}
void data_use_settle(struct data_use *u, const struct data_use_file *f, bool is_there)
{
	(void)u, (void)f;
	strcat(counted, is_there ? ": came" : ": failed");
}
void data_use_gone(struct data_use *u, const char *re, uint64_t n_bytes)
{
	(void)u;
	snprintf(counted, sizeof(counted), "%s: %s went", re, n_bytes ? "something" : "nothing");
}
bool data_use_bounds(const struct data_use *u, const char *re)
{
	(void)u, (void)re;
	return true;
}

/* ---- an RE of nobody's, and a job of carl's in it ---- */

static struct phx_job *job_is(uint64_t id, const char *user, uid_t uid)
{
	struct phx_job *j = phx_list_push(&s.jobs, sizeof(*j));
	static const char *const nodes[] = {"n1", "n2"};
	j->id = id;
	j->state = PHX_JOB_RUNNING;
	j->uid = j->gid = uid;
	j->kills = 2;
	PHX_STR_SET(j->user, user);
	PHX_STR_SET(j->re, "hpc");
	for (int i = 0; i < 2; i++) {
		struct phx_job_part *p = phx_list_push(&j->parts, sizeof(*p));
		PHX_STR_SET(p->node, nodes[i]);
	}
	return j;
}

static void stages(struct phx_list *list, const char *path)
{
	PHX_STR_SET(((struct phx_word *)phx_list_push(list, sizeof(struct phx_word)))->text, path);
}

static void put_of(const char *path, const char *text, uid_t uid)
{
	put_text(path, text);
	assert_int_equal(chown(in_top(path), uid, uid), 0);
	assert_int_equal(chmod(in_top(path), 0600), 0);
}

static void carl_has_a_directory(void)
{
	make_dir_of("re/hpc/" RE_USERS, 0, 0711);
	make_dir_of(CARLS, OTHER, 0700);
}

static int setup(void **state)
{
	if (places_setup(state) < 0 || phx_state_init(&s) < 0)
		return -1;
	fake_state = &s;
	fake_node = "n1";
	fake_all = fake_full = fake_no_room = false;
	counted[0] = '\0';
	fake_who = (struct person_login){"carl", OTHER, OTHER};
	n_helpers = 0;
	told[0] = '\0';
	d = (struct daemon){.cfg = cfg};
	d.cfg.stage_max_mb = 1;
	struct phx_re *re = phx_list_push(&s.res, sizeof(*re));
	PHX_STR_SET(re->name, "hpc");
	PHX_STR_SET(re->agreement.owner, "unix:nobody");
	re->state = PHX_RE_STATE_RUNNING;
	re_made("hpc", "nobody");
	put_of("re/hpc/in.dat", "of the RE", NOBODY);
	job_is(7, "carl", OTHER);
	return 0;
}

static int teardown(void **state)
{
	helpers_have_ended();
	fake_engine_is_free();
	phx_state_fini(&s);
	return places_teardown(state);
}

static struct phx_job *job(void)
{
	return PHX_LIST_AT(&s.jobs, struct phx_job, s.jobs.n - 1);
}

/* ---- jobs ---- */

/* The node asks for file 0 of job 7's run; what it gets. */
static int gets(char text[64])
{
	FAKE_REQUEST q = {.params = {"7", "0"}, .query = {{"run", "2"}}};
	api_stage_in(&q, &d);
	snprintf(text, 64, "%.60s", q.text);
	return q.code;
}

static int sends(const char *text)
{
	FAKE_REQUEST q = {
		.params = {"7", "0"}, .query = {{"run", "2"}}, .body_path = in_top("upload")};
	put_text("upload", text);
	api_stage_out(&q, &d);
	return q.code;
}

static void a_job_gets_its_users_file_before_the_res(void **state)
{
	char text[64];
	(void)state;
	stages(&job()->stage_in, "in.dat");
	assert_int_equal(gets(text), 200);
	assert_string_equal(text, "of the RE");
	assert_string_equal(told, "node:n1|reads hpc|hpc|node:n1 reads files of hpc");
	carl_has_a_directory();
	put_of(CARLS "/in.dat", "carl's", OTHER);
	assert_int_equal(gets(text), 200);
	assert_string_equal(text, "carl's");
}

/* Nor is anything else of it, where the user's own cannot be opened. */
static void a_file_of_the_users_that_is_none_is_not_replaced(void **state)
{
	char text[64];
	(void)state;
	stages(&job()->stage_in, "in.dat");
	carl_has_a_directory();
	assert_int_equal(symlink("/etc/passwd", in_top(CARLS "/in.dat")), 0);
	assert_int_equal(gets(text), -EINVAL);
}

static void a_job_never_gets_another_users_file(void **state)
{
	char text[64];
	(void)state;
	carl_has_a_directory();
	make_dir_of("re/hpc/" RE_USERS "/dora", NOBODY, 0755);
	put_of("re/hpc/" RE_USERS "/dora/a", "dora's", NOBODY);
	stages(&job()->stage_in, RE_USERS "/dora/a");
	assert_int_equal(gets(text), -ENOENT);
	/* the RE's owner sees what is in it */
	PHX_STR_SET(job()->user, "nobody");
	job()->uid = job()->gid = NOBODY;
	assert_int_equal(gets(text), 200);
	assert_string_equal(text, "dora's");
}

static void a_file_that_leads_out_is_refused(void **state)
{
	static const char *const paths[] = {"link", "dir/passwd", "fifo", "sub", "../../secret"};
	char text[64];
	(void)state;
	put_text("secret", "root's");
	assert_int_equal(symlink(in_top("secret"), in_top("re/hpc/link")), 0);
	assert_int_equal(symlink("/etc", in_top("re/hpc/dir")), 0);
	assert_int_equal(mkfifo(in_top("re/hpc/fifo"), 0666), 0);
	assert_int_equal(mkdir(in_top("re/hpc/sub"), 0777), 0);
	stages(&job()->stage_in, "");
	for (size_t i = 0; i < PHX_ARRAY_SIZE(paths); i++) {
		phx_str_copy(((struct phx_word *)job()->stage_in.items)->text, PHX_NAME_MAX,
			     paths[i]);
		assert_int_equal(gets(text), -EINVAL);
	}
}

static void only_the_first_node_sends_and_as_the_user(void **state)
{
	(void)state;
	stages(&job()->stage_out, "out/a");
	fake_node = "n2";
	assert_int_equal(sends("result"), -ESTALE);
	fake_node = "n1";
	assert_int_equal(sends("result"), 200);
	assert_string_equal(text_of(CARLS "/out/a"), "result");
	assert_int_equal(owner_of(CARLS "/out/a"), OTHER);
	assert_int_equal(owner_of(CARLS), OTHER);
	assert_false(is_there("re/hpc/out"));
	assert_string_equal(told, "node:n1|writes hpc|hpc|node:n1 writes files of hpc");
	/* what it gets each of its nodes gets */
	stages(&job()->stage_in, "in.dat");
	char text[64];
	fake_node = "n2";
	assert_int_equal(gets(text), 200);
}

static void the_owners_job_writes_into_the_res_directory(void **state)
{
	(void)state;
	PHX_STR_SET(job()->user, "nobody");
	job()->uid = job()->gid = NOBODY;
	stages(&job()->stage_out, "out");
	assert_int_equal(sends("result"), 200);
	assert_string_equal(text_of("re/hpc/out"), "result");
	assert_int_equal(owner_of("re/hpc/out"), NOBODY);
	carl_has_a_directory();
	PHX_STR_SET(((struct phx_word *)job()->stage_out.items)->text, RE_USERS "/carl/out");
	assert_int_equal(sends("result"), -EPERM);
	assert_false(is_there(CARLS "/out"));
}

static int asks_for(const char *node, const char *id, const char *i, const char *run)
{
	FAKE_REQUEST q = {.params = {id, i}, .query = {{run ? "run" : NULL, run}}};
	fake_node = node;
	api_stage_in(&q, &d);
	return q.code;
}

static void a_node_gets_only_what_its_present_run_names(void **state)
{
	static const char *const odd[] = {"", "x", "-1", "1e0", "99999999999999999999"};
	(void)state;
	stages(&job()->stage_in, "in.dat");
	stages(&job()->stage_out, "in.dat");
	assert_int_equal(asks_for("n1", "7", "0", "2"), 200);
	assert_int_equal(asks_for("n3", "7", "0", "2"), -ESTALE);
	assert_int_equal(asks_for("n1", "8", "0", "2"), -ESTALE);
	assert_int_equal(asks_for("n1", "7", "1", "2"), -ESTALE);
	assert_int_equal(asks_for("n1", "7", "0", "1"), -ESTALE); /* a former run */
	assert_int_equal(asks_for("n1", "7", "0", NULL), -ESTALE);
	assert_int_equal(asks_for(NULL, "7", "0", "2"), -EACCES);
	for (size_t i = 0; i < PHX_ARRAY_SIZE(odd); i++) {
		assert_int_equal(asks_for("n1", odd[i], "0", "2"), -ESTALE);
		assert_int_equal(asks_for("n1", "7", odd[i], "2"), -ESTALE);
		assert_int_equal(asks_for("n1", "7", "0", odd[i]), -ESTALE);
	}
	PHX_LIST_AT(&job()->parts, struct phx_job_part, 0)->ended = true;
	assert_int_equal(asks_for("n1", "7", "0", "2"), -ESTALE);
	assert_int_equal(asks_for("n2", "7", "0", "2"), 200);
	job()->state = PHX_JOB_QUEUED;
	assert_int_equal(asks_for("n2", "7", "0", "2"), -ESTALE);
}

/* ---- how large ---- */

static void size_is(const char *path, off_t n)
{
	assert_int_equal(truncate(in_top(path), n), 0);
}

static void a_file_that_is_too_large_is_not_carried(void **state)
{
	char text[64];
	(void)state;
	stages(&job()->stage_in, "in.dat");
	size_is("re/hpc/in.dat", MIB);
	assert_int_equal(gets(text), 200);
	size_is("re/hpc/in.dat", MIB + 1);
	assert_int_equal(gets(text), -EFBIG);
	stages(&job()->stage_out, "out");
	FAKE_REQUEST q = {
		.params = {"7", "0"}, .query = {{"run", "2"}}, .body_path = in_top("upload")};
	put_text("upload", "");
	size_is("upload", MIB + 1);
	api_stage_out(&q, &d);
	assert_int_equal(q.code, -EFBIG);
	assert_false(is_there(CARLS "/out"));
}

static void what_is_announced_as_too_large_is_refused_before_it_comes(void **state)
{
	static const struct {
		uint64_t n;
		int code;
	} rows[] = {{MIB, 0}, {MIB + 1, -EFBIG}, {UINT64_MAX, 0 /* no length: elsewhere */}};
	(void)state;
	stages(&job()->stage_out, "out");
	for (size_t i = 0; i < PHX_ARRAY_SIZE(rows); i++) {
		FAKE_REQUEST of_job = {
			.params = {"7", "0"}, .query = {{"run", "2"}}, .announced = rows[i].n};
		FAKE_REQUEST of_person = {.params = {"hpc", "a"}, .announced = rows[i].n};
		assert_int_equal(stage_out_may_put(&of_job, &d), !rows[i].code);
		assert_int_equal(of_job.code, rows[i].code);
		assert_int_equal(re_data_may_put(&of_person, &d), !rows[i].code);
		assert_int_equal(of_person.code, rows[i].code);
	}
	/* nor is anything taken of who may not */
	FAKE_REQUEST other = {.params = {"7", "1"}, .query = {{"run", "2"}}, .announced = 1};
	assert_false(stage_out_may_put(&other, &d));
	assert_int_equal(other.code, -ESTALE);
}

/* ---- people ---- */

static int puts_file(const char *path, const char *text)
{
	FAKE_REQUEST q = {.params = {"hpc", path}, .body_path = in_top("upload")};
	put_text("upload", text);
	api_re_data_put(&q, &d);
	assert_true(fake_put);
	return q.code;
}

static int fetches(const char *path, char text[64])
{
	FAKE_REQUEST q = {.params = {"hpc", path}};
	api_re_data_get(&q, &d);
	assert_false(fake_put);
	snprintf(text, 64, "%.60s", q.text);
	return q.code;
}

static int removes(const char *path)
{
	FAKE_REQUEST q = {.params = {"hpc", path}};
	api_re_data_delete(&q, &d);
	assert_false(fake_put); /* also where no more jobs are taken */
	return q.code;
}

/* Who puts it may make room; a job that waited for that would hold up its node. */
static void what_does_not_fit_is_not_there(void **state)
{
	(void)state;
	stages(&job()->stage_out, "out");
	assert_int_equal(sends("result"), 200);
	assert_string_equal(counted, "hpc little in place of nothing: came");
	assert_int_equal(puts_file("out", "x"), 200);
	assert_string_equal(counted, "hpc little in place of something: came");
	assert_int_equal(puts_file("out/below", "x"), -EINVAL);
	assert_string_equal(counted, "hpc little in place of nothing: failed");
	fake_full = true;
	assert_int_equal(sends("other"), -EFBIG);
	assert_int_equal(puts_file("b", "x"), -ENOSPC);
	assert_string_equal(text_of(CARLS "/out"), "x");
	assert_false(is_there(CARLS "/b"));
	assert_int_equal(removes("out"), 200);
	assert_string_equal(counted, "hpc: something went");
	counted[0] = '\0';
	assert_int_equal(removes("out"), -ENOENT);
	assert_string_equal(counted, "");
}

static void what_has_no_room_does_not_come(void **state)
{
	FAKE_REQUEST of_job = {.params = {"7", "0"}, .query = {{"run", "2"}}, .announced = 1};
	FAKE_REQUEST of_person = {.params = {"hpc", "a"}, .announced = 1};
	(void)state;
	stages(&job()->stage_out, "out");
	fake_no_room = true;
	assert_false(stage_out_may_put(&of_job, &d));
	assert_int_equal(of_job.code, -EFBIG);
	assert_false(re_data_may_put(&of_person, &d));
	assert_int_equal(of_person.code, -ENOSPC);
}

static void a_user_has_his_own_files_alone(void **state)
{
	char text[64];
	(void)state;
	assert_int_equal(puts_file("a", "carl's"), 200);
	assert_int_equal(owner_of(CARLS "/a"), OTHER);
	assert_string_equal(told, "uid:4711|writes hpc|hpc|uid:4711 writes files of hpc");
	assert_int_equal(fetches("a", text), 200);
	assert_string_equal(text, "carl's");
	/* of the RE's he sees none, by no path */
	assert_int_equal(fetches("in.dat", text), -ENOENT);
	assert_int_equal(fetches("../../in.dat", text), -EINVAL);
	assert_int_equal(removes("../../in.dat"), -EINVAL);
	assert_int_equal(removes("in.dat"), -ENOENT);
	assert_true(is_there("re/hpc/in.dat"));
	assert_int_equal(removes("a"), 200);
	assert_false(is_there(CARLS "/a"));
	/* who is root on the head is no user of an RE */
	fake_who = (struct person_login){"root", 0, 0};
	assert_int_equal(puts_file("a", "root's"), -EPERM);
	fake_who = (struct person_login){0};
	assert_int_equal(puts_file("a", "nobody's"), -EINVAL);
}

static void the_owner_has_all_and_leaves_users_theirs(void **state)
{
	char text[64];
	(void)state;
	fake_all = true;
	carl_has_a_directory();
	put_of(CARLS "/a", "carl's", OTHER);
	assert_int_equal(fetches(RE_USERS "/carl/a", text), 200);
	assert_string_equal(text, "carl's");
	assert_int_equal(puts_file(RE_USERS "/carl/b", "x"), -EPERM);
	assert_int_equal(puts_file(RE_USERS, "x"), -EPERM);
	assert_int_equal(removes(RE_USERS "/carl/a"), -EPERM);
	assert_true(is_there(CARLS "/a"));
	assert_int_equal(puts_file(RE_USERS "2", "x"), 200);
	assert_int_equal(owner_of("re/hpc/" RE_USERS "2"), NOBODY);
	assert_int_equal(removes(RE_USERS "2"), 200);
	assert_int_equal(removes("none"), -ENOENT);
}

/* What a path has for good is no fault of the head. */
static void what_cannot_be_is_a_bad_request(void **state)
{
	char text[64], deep[300];
	(void)state;
	fake_all = true;
	memset(deep, 'd', sizeof(deep) - 1);
	deep[sizeof(deep) - 1] = '\0';
	assert_int_equal(mkdir(in_top("re/hpc/sub"), 0755), 0);
	assert_int_equal(chown(in_top("re/hpc/sub"), NOBODY, NOBODY), 0);
	put_of("re/hpc/sub/a", "x", NOBODY);
	assert_int_equal(puts_file("sub", "x"), -EINVAL);
	assert_int_equal(puts_file("in.dat/a", "x"), -EINVAL);
	assert_int_equal(fetches("in.dat/a", text), -EINVAL);
	assert_int_equal(fetches(deep, text), -EINVAL);
	assert_int_equal(removes("sub"), -EINVAL);
	/* a link goes, and what it leads to stays */
	put_text("secret", "root's");
	assert_int_equal(symlink(in_top("secret"), in_top("re/hpc/link")), 0);
	assert_int_equal(removes("link"), 200);
	assert_string_equal(text_of("secret"), "root's");
}

static void an_upload_that_is_not_there_is_an_error(void **state)
{
	FAKE_REQUEST q = {.params = {"hpc", "a"}}, gone = {.params = {"hpc", "a"}};
	(void)state;
	api_re_data_put(&q, &d);
	assert_int_equal(q.code, -EIO);
	gone.body_path = in_top("none");
	api_re_data_put(&gone, &d);
	assert_int_equal(gone.code, -EIO);
	assert_false(is_there(CARLS "/a"));
}

/* ---- lists ---- */

static int n_listed(json_t **ret)
{
	FAKE_REQUEST q = {.params = {"hpc", ""}};
	api_re_data_list(&q, &d);
	*ret = json_incref(json_object_get(q.json, "files"));
	return q.code == 200 ? (int)json_array_size(*ret) : q.code;
}

static void each_lists_what_he_may_fetch(void **state)
{
	PHX_AUTO_JSON json_t *none = NULL, *own = NULL, *all = NULL, *gone = NULL;
	(void)state;
	assert_int_equal(n_listed(&none), 0); /* he has no directory yet, and gets none */
	assert_false(is_there("re/hpc/" RE_USERS));
	carl_has_a_directory();
	put_of(CARLS "/a", "carl's", OTHER);
	assert_int_equal(n_listed(&own), 1);
	assert_string_equal(phx_json_str(json_array_get(own, 0), "path", ""), "a");
	fake_all = true;
	assert_int_equal(n_listed(&all), 2);
	assert_string_equal(phx_json_str(json_array_get(all, 0), "path", ""), "in.dat");
	assert_string_equal(phx_json_str(json_array_get(all, 1), "path", ""), RE_USERS "/carl/a");
	assert_int_equal(rename(in_top("re/hpc"), in_top("away")), 0);
	assert_int_equal(n_listed(&gone), -ENOENT);
}

static void another_re_has_nothing_for_him(void **state)
{
	FAKE_REQUEST q = {.params = {"other", "a"}}, list = {.params = {"other", ""}};
	(void)state;
	api_re_data_get(&q, &d);
	assert_int_equal(q.code, -ENOENT);
	api_re_data_list(&list, &d);
	assert_int_equal(list.code, -ENOENT);
	assert_string_equal(told, "");
}

#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(a_job_gets_its_users_file_before_the_res),
		T(a_file_of_the_users_that_is_none_is_not_replaced),
		T(a_job_never_gets_another_users_file),
		T(a_file_that_leads_out_is_refused),
		T(only_the_first_node_sends_and_as_the_user),
		T(the_owners_job_writes_into_the_res_directory),
		T(a_node_gets_only_what_its_present_run_names),
		T(a_file_that_is_too_large_is_not_carried),
		T(what_is_announced_as_too_large_is_refused_before_it_comes),
		T(what_does_not_fit_is_not_there),
		T(what_has_no_room_does_not_come),
		T(a_user_has_his_own_files_alone),
		T(the_owner_has_all_and_leaves_users_theirs),
		T(what_cannot_be_is_a_bad_request),
		T(an_upload_that_is_not_there_is_an_error),
		T(each_lists_what_he_may_fetch),
		T(another_re_has_nothing_for_him),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
