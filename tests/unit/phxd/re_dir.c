/* What becomes of the data of REs (cmd/phxd/re_dir.c): only what the journal says was destroyed is
 * removed, and everything else that is not known is kept elsewhere. Directories and the journal are
 * real ones; the launcher does what it is asked at once. */
#include "fake/append_one.h"
#include "fake/engine.h"

#include "phxd/re_dir.c" /* parts of a program, not of the library */
#include "phxd/re_owners.c"
#include "phxd/re_place.c"

#include <sys/mount.h>

#include "unit/phxd/places.h"

static struct daemon d;
static struct phx_state s;
static struct phx_store *store;
static uint64_t seq;
static unsigned n_notices;
static char notice[512];

/* ---- what of the daemon it calls ---- */

struct phx_store *engine_store(struct engine *e)
{
	(void)e;
	return store;
}
void engine_notice(struct engine *e, const char *re, const char *text)
{
	(void)e;
	fake_engine_is_free();
	assert_non_null(strstr(text, re));
	n_notices++;
	snprintf(notice, sizeof(notice), "%s", text);
}
int launch_re_look(struct launch *l, const char *re, struct launch_re *ret, struct phx_err *err)
{
	(void)l;
	(void)err;
	fake_engine_is_free();
	*ret = (struct launch_re){0};
	ret->there = re_place_look(&cfg, re, &ret->marked, &ret->marker);
	re_owners_look(&cfg, re, &ret->owners);
	return 0;
}
int launch_re_list(struct launch *l, struct phx_list *ret)
{
	(void)l;
	re_place_list(&cfg, ret);
	return 0;
}
int launch_re_make(struct launch *l, const struct re_marker *m, const char *login,
		   struct phx_err *err)
{
	(void)l;
	return re_place_make(&cfg, m, login, err);
}
int launch_re_remove(struct launch *l, const char *re, struct phx_err *err)
{
	(void)l;
	return re_place_remove(&cfg, re, err);
}
int launch_re_set_aside(struct launch *l, const struct re_marker *m, char **ret_to,
			struct phx_err *err)
{
	(void)l;
	return re_place_set_aside(&cfg, m, ret_to, err);
}

static int setup(void **state)
{
	if (places_setup(state) < 0 || phx_state_init(&s) < 0)
		return -1;
	fake_state = &s;
	d = (struct daemon){.cfg = cfg};
	seq = n_notices = 0;
	notice[0] = '\0';
	PHX_AUTO_FREE char *path = phx_path("%s/journal.db", top);
	return phx_store_open(path, &store, NULL);
}

static int teardown(void **state)
{
	phx_store_close(store);
	phx_state_fini(&s);
	return places_teardown(state);
}

/* ---- what the journal says ---- */

static void re_is(const char *name, const char *owner, int64_t created_ms)
{
	struct phx_re *re = phx_list_push(&s.res, sizeof(*re));
	PHX_STR_SET(re->name, name);
	PHX_STR_SET(re->agreement.owner, owner);
	re->created_ms = created_ms;
	re->state = PHX_RE_STATE_INITIAL;
}

static void re_is_not(const char *name)
{
	for (uint32_t i = 0; i < s.res.n; i++)
		if (!strcmp(PHX_LIST_AT(&s.res, struct phx_re, i)->name, name))
			phx_list_remove(&s.res, sizeof(struct phx_re), i--);
}

static void destroyed(const char *name, int64_t at_ms)
{
	char text[128];
	struct phx_err err = {0};
	snprintf(text, sizeof(text), "{\"kind\":\"re_destroy\",\"re\":\"%s\"}", name);
	if (append_one(store, ++seq, at_ms, "re_destroy", "", text, "[]", NULL, &err) < 0)
		fail_msg("%s", err.text);
}

/* A directory with a file, of that creation; site NULL: of this journal. */
static void data_of(const char *name, int64_t created_ms, const char *site)
{
	struct re_marker m = {.created_ms = created_ms};
	char path[64];
	PHX_STR_SET(m.name, name);
	PHX_STR_SET(m.site, site ? site : phx_store_id(store));
	assert_int_equal(re_place_make(&cfg, &m, "nobody", NULL), 0);
	snprintf(path, sizeof(path), "re/%s/a", name);
	put_text(path, "data");
}

static struct re_marker marker_of(const char *name)
{
	struct re_marker m = {0};
	bool marked;
	re_place_look(&cfg, name, &marked, &m);
	assert_true(marked);
	return m;
}

/* ---- made ---- */

static void an_re_gets_a_directory_of_its_owners(void **state)
{
	(void)state;
	re_is("hpc", "unix:nobody", 5);
	re_is("web", "cert:campus", 6);
	re_is("own", "cert:dora", 7);
	struct phx_grant *g = phx_list_push(&s.grants, sizeof(*g));
	PHX_STR_SET(g->identity, "cert:dora");
	PHX_STR_SET(g->login, "nobody");
	re_dirs_sync(&d);
	assert_int_equal(owner_of("re/hpc"), NOBODY);
	assert_int_equal(owner_of("re/web"), 0);
	assert_int_equal(owner_of("re/own"), NOBODY);
	assert_int_equal(marker_of("hpc").created_ms, 5);
	assert_string_equal(marker_of("hpc").site, phx_store_id(store));
	assert_int_equal(n_notices, 0);
}

/* A certificate of that name is another one than the user. */
static void a_certificate_gets_no_users_directory(void **state)
{
	(void)state;
	re_is("web", "cert:nobody", 6);
	re_dirs_sync(&d);
	assert_int_equal(owner_of("re/web"), 0);
}

static void one_that_is_only_asked_for_gets_none(void **state)
{
	(void)state;
	re_is("hpc", "unix:nobody", 5);
	PHX_LIST_AT(&s.res, struct phx_re, 0)->state = PHX_RE_STATE_NONE;
	re_dirs_sync(&d);
	assert_false(is_there("re/hpc"));
	assert_false(is_there("re/.hpc"));
}

static void what_is_there_is_kept(void **state)
{
	(void)state;
	re_is("hpc", "unix:nobody", 5);
	data_of("hpc", 5, NULL);
	assert_int_equal(chown(in_top("re/hpc"), OTHER, OTHER), 0); /* as somebody has set it up */
	re_dirs_begin(&d);
	re_dirs_sync(&d);
	assert_string_equal(text_of("re/hpc/a"), "data");
	assert_int_equal(owner_of("re/hpc"), OTHER);
	assert_int_equal(n_notices, 0);
}

static void a_marker_of_an_older_phxd_is_completed(void **state)
{
	(void)state;
	re_is("hpc", "unix:nobody", 5);
	data_of("hpc", 5, NULL);
	assert_int_equal(unlink(in_top("re/.hpc")), 0);
	put_text("re/.hpc", "created 5\n");
	re_dirs_begin(&d);
	assert_string_equal(text_of("re/hpc/a"), "data");
	assert_string_equal(marker_of("hpc").site, phx_store_id(store));
}

/* Its disk is not mounted: nobody is to find out by what is not there. */
static void data_that_is_missing_at_the_start_is_told(void **state)
{
	(void)state;
	re_is("hpc", "unix:nobody", 5);
	re_dirs_begin(&d);
	assert_int_equal(n_notices, 1);
	assert_non_null(strstr(notice, "was made anew, empty (is it mounted?)"));
	assert_int_equal(owner_of("re/hpc"), NOBODY);
	re_dirs_begin(&d);
	assert_int_equal(n_notices, 1);
}

static void what_phxd_did_not_make_is_left_alone(void **state)
{
	(void)state;
	re_is("hpc", "unix:nobody", 5);
	make_dir_of("re/hpc", OTHER, 0755);
	put_text("re/hpc/a", "data");
	re_dirs_begin(&d);
	assert_string_equal(text_of("re/hpc/a"), "data");
	assert_int_equal(owner_of("re/hpc"), OTHER);
	assert_false(is_there("re/.hpc"));
	assert_int_equal(n_notices, 0);
	/* who follows the advice gets one */
	assert_int_equal(rename(in_top("re/hpc"), in_top("away")), 0);
	re_dirs_sync(&d);
	assert_int_equal(owner_of("re/hpc"), NOBODY);
}

/* ---- destroyed ---- */

static void the_data_of_a_destroyed_re_goes(void **state)
{
	(void)state;
	data_of("hpc", 5, NULL);
	data_of("web", 5, NULL);
	re_is("web", "unix:nobody", 5);
	destroyed("hpc", 9);
	re_dirs_sync(&d);
	assert_false(is_there("re/hpc"));
	assert_false(is_there("re/.hpc"));
	assert_false(is_there("state/lost+found"));
	assert_string_equal(text_of("re/web/a"), "data");
	assert_int_equal(n_notices, 0);
}

static void what_the_journal_does_not_know_is_set_aside(void **state)
{
	(void)state;
	data_of("hpc", 5, NULL);
	destroyed("hpc", 4);  /* an earlier one of the name */
	destroyed("hpcc", 9); /* another one */
	re_dirs_begin(&d);
	assert_false(is_there("re/hpc"));
	assert_string_equal(text_of("state/lost+found/hpc-5/a"), "data");
	assert_int_equal(n_notices, 1);
	assert_non_null(strstr(notice, "which the journal does not know, was moved to"));
	assert_non_null(strstr(notice, "/lost+found/hpc-5"));
}

/* A journal that was restored, or another head's disk: its destructions are not of this data. */
static void the_data_of_another_journal_is_never_removed(void **state)
{
	(void)state;
	data_of("hpc", 5, "another");
	destroyed("hpc", 9);
	re_dirs_begin(&d);
	assert_string_equal(text_of("state/lost+found/hpc-5/a"), "data");
	/* and no RE of the same name and time gets it */
	data_of("web", 6, "another");
	re_is("web", "unix:nobody", 6);
	re_dirs_begin(&d);
	assert_string_equal(text_of("state/lost+found/web-6/a"), "data");
	assert_string_equal(text_of("re/web/a"), "-");
	assert_string_equal(marker_of("web").site, phx_store_id(store));
}

static void a_name_that_is_used_again_begins_empty(void **state)
{
	(void)state;
	data_of("hpc", 5, NULL);
	destroyed("hpc", 9);
	re_is("hpc", "unix:nobody", 12);
	re_dirs_sync(&d);
	assert_string_equal(text_of("re/hpc/a"), "-");
	assert_int_equal(marker_of("hpc").created_ms, 12);
	assert_false(is_there("state/lost+found"));
	/* of one that was not destroyed nothing is lost */
	put_text("re/hpc/b", "data");
	re_is_not("hpc");
	re_is("hpc", "unix:nobody", 20);
	re_dirs_sync(&d);
	assert_string_equal(text_of("re/hpc/b"), "-");
	assert_string_equal(text_of("state/lost+found/hpc-12/b"), "data");
	assert_int_equal(marker_of("hpc").created_ms, 20);
}

/* Of destroyed data something cannot be removed: it waits for the next try, and when an RE of that
 * name wants the place it is moved away. */
static void what_cannot_be_removed_reaches_nobody(void **state)
{
	(void)state;
	data_of("hpc", 5, NULL);
	destroyed("hpc", 9);
	assert_int_equal(mkdir(in_top("re/hpc/m"), 0700), 0);
	if (mount("none", in_top("re/hpc/m"), "tmpfs", 0, NULL) < 0)
		skip();
	re_dirs_sync(&d);
	bool stays = is_there("re/hpc/m") && is_there("re/.hpc") && !n_notices;
	re_is("hpc", "unix:nobody", 12);
	re_dirs_sync(&d);
	bool moved = umount(in_top("state/lost+found/hpc-5/m")) == 0;
	if (!moved)
		umount(in_top("re/hpc/m"));
	assert_true(stays && moved);
	assert_false(is_there("re/hpc/m"));
	assert_int_equal(marker_of("hpc").created_ms, 12);
	assert_int_equal(n_notices, 1);
	assert_non_null(strstr(notice, "which could not be removed whole, was moved to"));
}

/* Where it cannot be kept it is not touched, and nothing is made beside it. */
static void what_cannot_be_set_aside_stays(void **state)
{
	(void)state;
	data_of("hpc", 5, NULL);
	put_text("state/lost+found", "in the way");
	re_is("hpc", "unix:nobody", 12);
	re_dirs_sync(&d);
	assert_string_equal(text_of("re/hpc/a"), "data");
	assert_int_equal(marker_of("hpc").created_ms, 5);
	assert_int_equal(n_notices, 0);
}

/* ---- whose they are ---- */

static void at_the_start_data_is_its_owners_again(void **state)
{
	(void)state;
	fake_head_uid = HEAD;
	re_is("hpc", "unix:nobody", 5);
	data_of("hpc", 5, NULL);
	assert_int_equal(chown(in_top("re/hpc"), HEAD, HEAD), 0);
	re_dirs_sync(&d); /* not at each change of an RE */
	assert_int_equal(owner_of("re/hpc"), HEAD);
	re_dirs_begin(&d);
	assert_int_equal(owner_of("re/hpc"), NOBODY);
	assert_int_equal(owner_of("re/hpc/a"), NOBODY);
	assert_int_equal(n_notices, 1);
	assert_string_equal(
		notice,
		"data of RE hpc was root's or the head's, and is nobody's again, its owner's");
	re_dirs_begin(&d);
	assert_int_equal(n_notices, 1);
}

/* Of an RE without a user the head has the data itself; that of another user stays. */
static void what_is_nobody_elses_stays(void **state)
{
	(void)state;
	fake_head_uid = HEAD;
	re_is("web", "cert:campus", 6);
	re_is("hpc", "unix:nobody", 5);
	data_of("hpc", 5, NULL);
	re_dirs_sync(&d);
	assert_int_equal(chown(in_top("re/hpc"), OTHER, OTHER), 0);
	re_dirs_begin(&d);
	assert_int_equal(owner_of("re/web"), HEAD);
	assert_int_equal(owner_of("re/hpc"), OTHER);
	assert_int_equal(n_notices, 0);
}

static void directories_of_users_that_are_roots_are_told(void **state)
{
	char want[256];
	(void)state;
	re_is("hpc", "unix:nobody", 5);
	data_of("hpc", 5, NULL);
	make_dir_of("re/hpc/" RE_USERS, 0, 0711);
	make_dir_of("re/hpc/" RE_USERS "/bob", 0, 0700);
	make_dir_of("re/hpc/" RE_USERS "/alice", NOBODY, 0700);
	re_dirs_begin(&d);
	assert_int_equal(n_notices, 1);
	snprintf(want, sizeof(want), "(phoenix-upgrade(7)): chown -hR bob: %s",
		 in_top("re/hpc/" RE_USERS "/bob"));
	assert_non_null(strstr(notice, want));
	assert_non_null(strstr(notice, "hpc: 1 of the directories of users are root's"));
	assert_int_equal(owner_of("re/hpc/" RE_USERS "/bob"), 0);
	re_dirs_sync(&d);
	assert_int_equal(n_notices, 1);
}

#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(an_re_gets_a_directory_of_its_owners),
		T(a_certificate_gets_no_users_directory),
		T(one_that_is_only_asked_for_gets_none),
		T(what_is_there_is_kept),
		T(a_marker_of_an_older_phxd_is_completed),
		T(data_that_is_missing_at_the_start_is_told),
		T(what_phxd_did_not_make_is_left_alone),
		T(the_data_of_a_destroyed_re_goes),
		T(what_the_journal_does_not_know_is_set_aside),
		T(the_data_of_another_journal_is_never_removed),
		T(a_name_that_is_used_again_begins_empty),
		T(what_cannot_be_removed_reaches_nobody),
		T(what_cannot_be_set_aside_stays),
		T(at_the_start_data_is_its_owners_again),
		T(what_is_nobody_elses_stays),
		T(directories_of_users_that_are_roots_are_told),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
