/* What the agent has at hand: lists that are told, written down and taken up again; what goes and
 * what stays; pauses for steps. Packages that come from a head are the business of
 * tests/system/agent_prefetch.sh. */
#include "unit/agent/scratch.h"

#include <stdatomic.h>

#include "base/json.h"
#include "agent/package.h"
#include "agent/state.h"
#include "agent/prefetch.h"

#define DIGEST "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

struct world {
	struct scratch *scratch;
	struct agent_config cfg;
	struct loop *loop;
	struct prefetch *prefetch;
	atomic_uint asked; /* the head, for something */
};

static int fake_client(void *arg, struct phx_http_client **ret, struct phx_err *err)
{
	struct world *w = arg;
	(void)ret;
	atomic_fetch_add(&w->asked, 1);
	return phx_err_set(err, -ECONNREFUSED, "the head is away");
}

static void start(struct world *w)
{
	struct phx_err err = {0};
	assert_int_equal(prefetch_new(w->loop, &w->cfg, NULL, fake_client, w, &w->prefetch, &err),
			 0);
}

static int setup(void **state)
{
	struct world *w = calloc(1, sizeof(*w));
	scratch_setup((void **)&w->scratch);
	PHX_STR_SET(w->cfg.state_dir, scratch_path(w->scratch, "state"));
	PHX_STR_SET(w->cfg.cache_dir, scratch_path(w->scratch, "cache"));
	PHX_STR_SET(w->cfg.pkg_root, scratch_path(w->scratch, "pkg"));
	phx_dir_make(w->cfg.state_dir, 0700, NULL);
	phx_dir_make(w->cfg.cache_dir, 0700, NULL);
	w->loop = loop_started();
	start(w);
	*state = w;
	return 0;
}

static int teardown(void **state)
{
	struct world *w = *state;
	prefetch_free(w->prefetch);
	loop_free(w->loop);
	scratch_teardown((void **)&w->scratch);
	free(w);
	return 0;
}

static struct phx_package_ref ref(const char *name, const char *version)
{
	struct phx_package_ref p = {.sha256 = DIGEST};
	PHX_STR_SET(p.name, name);
	PHX_STR_SET(p.version, version);
	return p;
}

static void want(struct world *w, uint64_t id, uint32_t n, const char *const names[])
{
	struct phx_list packages = {0};
	struct phx_err err = {0};
	for (uint32_t i = 0; i < n; i++)
		*(struct phx_package_ref *)phx_list_push(
			&packages, sizeof(struct phx_package_ref)) = ref(names[i], "1.0");
	assert_int_equal(prefetch_want(w->prefetch, id, &packages, &err), 0);
	phx_list_fini(&packages);
}

/* As it is after it was unpacked. */
static void put_unpacked(struct world *w, const char *name)
{
	char path[300];
	snprintf(path, sizeof(path), "%s/%s/1.0/PHX", w->cfg.pkg_root, name);
	assert_int_equal(phx_dir_make(path, 0755, NULL), 0);
	strcat(path, "/sha256");
	write_text(path, DIGEST, 0644);
}

static bool is_unpacked(struct world *w, const char *name)
{
	struct phx_package_ref p = ref(name, "1.0");
	return package_unpacked(&w->cfg, &p);
}

static int64_t told(struct world *w, const char *what)
{
	PHX_AUTO_JSON json_t *j = json_object();
	prefetch_monitor(w->prefetch, j);
	return phx_json_int(j, what, -1);
}

static void role_has(struct world *w, const char *package)
{
	struct role_state s = {.run = true};
	PHX_STR_SET(s.role.name, "web");
	*(struct phx_package_ref *)phx_list_push(&s.role.packages, sizeof(struct phx_package_ref)) =
		ref(package, "1.0");
	assert_int_equal(role_state_write(w->cfg.state_dir, &s, NULL), 0);
	phx_record_fini(&role_state_record, &s);
}

static void nothing_was_told_yet(void **state)
{
	struct world *w = *state;
	struct phx_package_ref p = ref("web", "1.0");
	assert_true(prefetch_id(w->prefetch) == 0);
	assert_false(prefetch_keeps(w->prefetch, &p));
	assert_int_equal(told(w, "prefetch_wanted"), -1);
	/* in the deploy environment there is none */
	assert_true(prefetch_id(NULL) == 0);
	assert_false(prefetch_keeps(NULL, &p));
	prefetch_pause(NULL, NULL);
	prefetch_resume(NULL);
	assert_int_equal(prefetch_want(NULL, 7, &(struct phx_list){0}, NULL), -EOPNOTSUPP);
}

static void it_outlives_the_agent(void **state)
{
	struct world *w = *state;
	struct phx_package_ref p = ref("web", "1.0");
	want(w, 7, 2, (const char *const[]){"engine", "web"});
	prefetch_free(w->prefetch);
	start(w);
	assert_true(prefetch_id(w->prefetch) == 7);
	assert_true(prefetch_keeps(w->prefetch, &p));
	assert_int_equal(told(w, "prefetch_wanted"), 2);
}

static void what_is_missing_is_asked_for_when_no_step_is_under_way(void **state)
{
	struct world *w = *state;
	struct phx_role role = {.name = "web"};
	prefetch_pause(w->prefetch, &role);
	put_unpacked(w, "engine");
	want(w, 7, 2, (const char *const[]){"engine", "web"});
	assert_int_equal(atomic_load(&w->asked), 0);
	prefetch_resume(w->prefetch);
	WAIT_FOR(atomic_load(&w->asked) > 0);
	assert_int_equal(told(w, "prefetch_there"), 1);
	assert_false(is_unpacked(w, "web"));
}

static void other_bytes_are_not_what_is_wanted(void **state)
{
	struct world *w = *state;
	struct phx_package_ref p = ref("web", "1.0");
	put_unpacked(w, "web");
	assert_true(package_unpacked(&w->cfg, &p));
	p.sha256[0] = 'f';
	assert_false(package_unpacked(&w->cfg, &p));
	p.sha256[0] = '\0';
	assert_false(package_unpacked(&w->cfg, &p));
	assert_false(is_unpacked(w, "../web"));
}

static void what_is_wanted_no_more_goes(void **state)
{
	struct world *w = *state;
	put_unpacked(w, "engine");
	put_unpacked(w, "web");
	put_unpacked(w, "other"); /* never wanted: not its business */
	role_has(w, "web");
	want(w, 7, 2, (const char *const[]){"engine", "web"});
	want(w, 8, 0, NULL);
	WAIT_FOR(!is_unpacked(w, "engine"));
	assert_true(is_unpacked(w, "web"));
	assert_true(is_unpacked(w, "other"));
	/* the role that runs it leaves */
	prefetch_pause(w->prefetch, NULL);
	assert_int_equal(role_state_remove(w->cfg.state_dir, NULL), 0);
	prefetch_resume(w->prefetch);
	WAIT_FOR(!is_unpacked(w, "web"));
	assert_true(is_unpacked(w, "other"));
}

static void wanted_again_it_stays(void **state)
{
	struct world *w = *state;
	put_unpacked(w, "web");
	put_unpacked(w, "engine");
	prefetch_pause(w->prefetch, NULL);
	want(w, 7, 2, (const char *const[]){"engine", "web"});
	want(w, 8, 0, NULL);
	want(w, 9, 1, (const char *const[]){"web"});
	prefetch_resume(w->prefetch);
	WAIT_FOR(!is_unpacked(w, "engine"));
	assert_true(is_unpacked(w, "web"));
}

static void full_disks_are_not_filled(void **state)
{
	struct world *w = *state;
	struct phx_err err = {0};
	assert_int_equal(package_room(w->cfg.cache_dir, UINT64_MAX / 2, &err), -ENOSPC);
	assert_non_null(strstr(err.text, "less than a tenth"));
	assert_int_equal(package_room(scratch_path(w->scratch, "nosuch"), 0, &err), -ENOENT);
}

static void a_view_of_the_role_follows_its_file(void **state)
{
	struct world *w = *state;
	struct role_view v = {0};
	assert_false(role_view_look(&v, w->cfg.state_dir)->run);
	role_has(w, "web");
	assert_true(role_view_look(&v, w->cfg.state_dir)->run);
	assert_string_equal(role_view_look(&v, w->cfg.state_dir)->role.name, "web");
	assert_int_equal(role_state_set_run(w->cfg.state_dir, false, NULL), 0);
	assert_false(role_view_look(&v, w->cfg.state_dir)->run);
	assert_int_equal(role_view_look(&v, w->cfg.state_dir)->role.packages.n, 1);
	assert_int_equal(role_state_remove(w->cfg.state_dir, NULL), 0);
	assert_string_equal(role_view_look(&v, w->cfg.state_dir)->role.name, "");
	role_view_fini(&v);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(nothing_was_told_yet),
		TEST(it_outlives_the_agent),
		TEST(what_is_missing_is_asked_for_when_no_step_is_under_way),
		TEST(other_bytes_are_not_what_is_wanted),
		TEST(what_is_wanted_no_more_goes),
		TEST(wanted_again_it_stays),
		TEST(full_disks_are_not_filled),
		TEST(a_view_of_the_role_follows_its_file),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
