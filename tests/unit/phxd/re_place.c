/* The directories of REs (cmd/phxd/re_place.c), in a real file system, as root: whose they
 * become, what is opened for whom, and that nothing that an RE's owner or a user puts there
 * leads elsewhere. */
#include "phxd/re_owners.c" /* parts of a program, not of the library */
#include "phxd/re_place.c"

#include <sys/mount.h>

#include "unit/phxd/places.h"

static struct phx_err err;

static int setup(void **state)
{
	phx_err_clear(&err);
	return places_setup(state);
}

/* ---- made ---- */

static void a_directory_is_of_the_user_who_owns_the_re(void **state)
{
	struct re_marker m;
	bool marked = false;
	(void)state;
	re_made("hpc", "nobody");
	assert_int_equal(owner_of("re/hpc"), NOBODY);
	assert_int_equal(mode_of("re/hpc"), 0750);
	assert_true(re_place_look(&cfg, "hpc", &marked, &m));
	assert_true(marked);
	assert_string_equal(m.name, "hpc");
	assert_string_equal(m.site, "site-1");
	assert_int_equal(m.created_ms, 5);
	/* the owner of the RE cannot change its marker */
	assert_int_equal(owner_of("re/.hpc"), 0);
	assert_int_equal(mode_of("re/.hpc"), 0444);
	assert_int_equal(owner_of("re"), 0);
}

static void without_a_user_it_is_the_heads(void **state)
{
	static const char *const logins[] = {"", "root", "no-such-user-here"};
	(void)state;
	fake_head_uid = HEAD;
	for (size_t i = 0; i < PHX_ARRAY_SIZE(logins); i++) {
		char name[8], path[16];
		snprintf(name, sizeof(name), "re%zu", i);
		snprintf(path, sizeof(path), "re/%s", name);
		re_made(name, logins[i]);
		assert_int_equal(owner_of(path), HEAD);
	}
}

static void what_is_not_there_is_told_apart(void **state)
{
	struct re_marker m;
	bool marked = true;
	(void)state;
	assert_false(re_place_look(&cfg, "hpc", &marked, &m));
	assert_false(marked);
	make_dir_of("re/hpc", 0, 0755); /* somebody else's */
	assert_true(re_place_look(&cfg, "hpc", &marked, &m));
	assert_false(marked);
	put_text("re/.hpc", "hello");
	assert_true(re_place_look(&cfg, "hpc", &marked, &m));
	assert_false(marked);
	put_text("re/.hpc", "created 17\n"); /* of an older phxd */
	assert_true(re_place_look(&cfg, "hpc", &marked, &m));
	assert_true(marked);
	assert_int_equal(m.created_ms, 17);
	assert_string_equal(m.site, "");
	char long_site[RE_PLACE_SITE_MAX + 40];
	memset(long_site, 's', sizeof(long_site));
	memcpy(long_site, "created 1\nsite ", 15);
	long_site[sizeof(long_site) - 1] = '\0';
	put_text("re/.hpc", long_site);
	assert_true(re_place_look(&cfg, "hpc", &marked, &m));
	assert_int_equal(strlen(m.site), RE_PLACE_SITE_MAX - 1);
}

static void only_markers_are_listed(void **state)
{
	PHX_AUTO(phx_list_fini) struct phx_list all = {0};
	(void)state;
	re_made("hpc", "");
	re_made("web", "");
	put_text("re/.bad", "hello");
	put_text("re/..odd", "created 1\n");
	put_text("re/.a b", "created 1\n");
	put_text("re/plain", "created 1\n");
	make_dir_of("re/.dir", 0, 0755);
	make_dir_of("re/lost+found", 0, 0700);
	re_place_list(&cfg, &all);
	assert_int_equal(all.n, 2);
	PHX_LIST_EACH(struct re_marker, m, &all)
		assert_true(!strcmp(m->name, "hpc") || !strcmp(m->name, "web"));
}

static void what_is_removed_is_the_directory_and_no_more(void **state)
{
	(void)state;
	re_made("hpc", "nobody");
	put_text("secret", "kept");
	put_text("re/hpc/a", "data");
	assert_int_equal(symlink(in_top("secret"), in_top("re/hpc/link")), 0);
	assert_int_equal(symlink(in_top("state"), in_top("re/hpc/dir")), 0);
	put_text("state/journal", "kept");
	assert_int_equal(re_place_remove(&cfg, "hpc", &err), 0);
	assert_false(is_there("re/hpc"));
	assert_false(is_there("re/.hpc"));
	assert_string_equal(text_of("secret"), "kept");
	assert_string_equal(text_of("state/journal"), "kept");
	assert_int_equal(re_place_remove(&cfg, "hpc", &err), 0);
}

/* The directory may be a file system of its own: what is in it goes, and it stays. */
static void what_is_mounted_there_is_emptied(void **state)
{
	(void)state;
	re_made("hpc", "nobody");
	if (mount("none", in_top("re/hpc"), "tmpfs", 0, NULL) < 0)
		skip();
	put_text("re/hpc/a", "data");
	int r = re_place_remove(&cfg, "hpc", &err);
	bool emptied = !is_there("re/hpc/a"), marked = is_there("re/.hpc");
	assert_int_equal(umount(in_top("re/hpc")), 0);
	assert_int_equal(r, 0);
	assert_true(emptied);
	assert_false(marked);
}

/* ---- set aside ---- */

static void what_is_set_aside_is_kept_under_a_name_of_its_own(void **state)
{
	const struct re_marker m = {.name = "hpc", .created_ms = 5};
	(void)state;
	for (int i = 0; i < 3; i++) {
		PHX_AUTO_FREE char *to = NULL;
		char name[32], want[128];
		snprintf(name, sizeof(name), i ? "hpc-5.%d" : "hpc-5", i);
		snprintf(want, sizeof(want), "state/lost+found/%s", name);
		re_made("hpc", "nobody");
		put_text("re/hpc/a", name);
		assert_int_equal(re_place_set_aside(&cfg, &m, &to, &err), 0);
		assert_string_equal(to, in_top(want));
		assert_false(is_there("re/hpc"));
		assert_false(is_there("re/.hpc"));
	}
	assert_string_equal(text_of("state/lost+found/hpc-5/a"), "hpc-5");
	assert_string_equal(text_of("state/lost+found/hpc-5.1/a"), "hpc-5.1");
	/* its owner has no more access to it */
	assert_int_equal(mode_of("state/lost+found"), 0700);
}

static void where_there_is_no_data_only_the_marker_goes(void **state)
{
	const struct re_marker m = {.name = "hpc", .created_ms = 5};
	PHX_AUTO_FREE char *to = NULL;
	(void)state;
	re_made("hpc", "nobody");
	assert_int_equal(rmdir(in_top("re/hpc")), 0);
	assert_int_equal(re_place_set_aside(&cfg, &m, &to, &err), 0);
	assert_null(to);
	assert_false(is_there("re/.hpc"));
}

static void what_cannot_be_set_aside_keeps_its_marker(void **state)
{
	const struct re_marker m = {.name = "hpc", .created_ms = 5};
	PHX_AUTO_FREE char *to = NULL;
	(void)state;
	re_made("hpc", "nobody");
	put_text("state/lost+found", "in the way");
	assert_true(re_place_set_aside(&cfg, &m, &to, &err) < 0);
	assert_null(to);
	assert_true(is_there("re/hpc"));
	assert_true(is_there("re/.hpc"));
}

/* ---- given ---- */

static void what_root_made_is_given_to_the_heads_user(void **state)
{
	(void)state;
	re_made("hpc", "");
	re_made("his", "nobody");
	make_dir_of("re/hpc/sub", 0, 0755);
	put_text("re/hpc/sub/a", "data");
	put_text("re/hpc/sub/his", "data");
	assert_int_equal(chown(in_top("re/hpc/sub/his"), NOBODY, NOBODY), 0);
	make_dir_of("re/hpc/" RE_USERS, 0, 0711);
	make_dir_of("re/hpc/" RE_USERS "/nobody", NOBODY, 0700);
	put_text("re/hpc/" RE_USERS "/nobody/a", "data");
	put_text("secret", "root's");
	assert_int_equal(symlink(in_top("secret"), in_top("re/hpc/link")), 0);
	put_text("re/his/a", "root put it there");
	make_dir_of("re/unknown", 0, 0755); /* without a marker */
	fake_head_uid = HEAD;
	assert_int_equal(re_place_give(&cfg, &err), 0);
	assert_int_equal(owner_of("re/hpc"), HEAD);
	assert_int_equal(owner_of("re/hpc/sub"), HEAD);
	assert_int_equal(owner_of("re/hpc/sub/a"), HEAD);
	assert_int_equal(owner_of("re/hpc/sub/his"), NOBODY);
	/* only root may write among the directories of users */
	assert_int_equal(owner_of("re/hpc/" RE_USERS), 0);
	assert_int_equal(owner_of("re/hpc/" RE_USERS "/nobody/a"), 0);
	assert_int_equal(owner_of("secret"), 0);
	assert_int_equal(owner_of("re/his/a"), 0);
	assert_int_equal(owner_of("re/unknown"), 0);
}

static void while_the_head_is_root_nothing_is_given(void **state)
{
	(void)state;
	re_made("hpc", "");
	assert_int_equal(re_place_give(&cfg, &err), 0);
	assert_int_equal(owner_of("re/hpc"), 0);
}

/* ---- whose they were ---- */

/* As an older phxd.service left it: all is root's, and then the head's what re_place_give() took.
 */
static void taken(void)
{
	re_made("hpc", "nobody");
	make_dir_of("re/hpc/sub", 0, 0755);
	put_text("re/hpc/sub/a", "data");
	make_dir_of("re/hpc/" RE_USERS, 0, 0711);
	make_dir_of("re/hpc/" RE_USERS "/bob", 0, 0700);
	put_text("re/hpc/" RE_USERS "/bob/a", "data");
	assert_int_equal(chown(in_top("re/hpc"), HEAD, HEAD), 0);
	assert_int_equal(chown(in_top("re/hpc/sub/a"), HEAD, HEAD), 0);
}

static void what_was_the_re_s_is_its_owner_s_again(void **state)
{
	(void)state;
	fake_head_uid = HEAD;
	taken();
	put_text("re/hpc/other", "put there");
	assert_int_equal(chown(in_top("re/hpc/other"), OTHER, OTHER), 0);
	put_text("secret", "root's");
	assert_int_equal(link(in_top("secret"), in_top("re/hpc/name")), 0);
	assert_int_equal(symlink(in_top("state"), in_top("re/hpc/link")), 0);
	re_made("hpc", "nobody");
	assert_int_equal(owner_of("re/hpc"), NOBODY);
	assert_int_equal(owner_of("re/hpc/sub"), NOBODY);
	assert_int_equal(owner_of("re/hpc/sub/a"), NOBODY);
	/* whose these were nobody knows */
	assert_int_equal(owner_of("re/hpc/" RE_USERS), 0);
	assert_int_equal(owner_of("re/hpc/" RE_USERS "/bob"), 0);
	assert_int_equal(owner_of("re/hpc/" RE_USERS "/bob/a"), 0);
	assert_int_equal(owner_of("re/hpc/other"), OTHER);
	/* a file that has another name is of elsewhere, and so is what a link names */
	assert_int_equal(owner_of("secret"), 0);
	assert_int_equal(owner_of("re/hpc/link"), 0);
	assert_int_equal(owner_of("state"), 0);
}

static void what_is_mounted_in_it_stays_whose_it_is(void **state)
{
	(void)state;
	taken();
	if (mount("none", in_top("re/hpc/sub"), "tmpfs", 0, NULL) < 0)
		skip();
	put_text("re/hpc/sub/b", "elsewhere");
	re_made("hpc", "nobody");
	assert_int_equal(owner_of("re/hpc"), NOBODY);
	assert_int_equal(owner_of("re/hpc/sub/b"), 0);
	assert_int_equal(umount(in_top("re/hpc/sub")), 0);
}

static void one_that_is_too_deep_is_told_and_left(void **state)
{
	char path[PATH_MAX] = "re/hpc";
	(void)state;
	taken();
	for (int i = 0; i < LEVELS_MAX + 2; i++) {
		strcat(path, "/d");
		assert_int_equal(mkdir(in_top(path), 0755), 0);
	}
	assert_int_equal(re_owners_mend(&cfg, in_top("re/hpc"), NOBODY, NOBODY, &err), -ELOOP);
	assert_non_null(strstr(err.text, "cannot be given to the user with uid 65534"));
	assert_int_equal(owner_of("re/hpc"), HEAD);
}

static void whose_they_are_is_looked_at(void **state)
{
	struct re_owners o = {.n_lost = 7};
	(void)state;
	re_owners_look(&cfg, "hpc", &o);
	assert_false(o.head_s || o.n_lost || o.lost[0]);
	re_made("hpc", "nobody");
	re_owners_look(&cfg, "hpc", &o);
	assert_false(o.head_s || o.n_lost);
	fake_head_uid = HEAD;
	re_made("free", "");
	re_owners_look(&cfg, "free", &o);
	assert_true(o.head_s);
	taken();
	make_dir_of("re/hpc/" RE_USERS "/nobody", NOBODY, 0700);
	re_owners_look(&cfg, "hpc", &o);
	assert_true(o.head_s);
	assert_int_equal(o.n_lost, 1);
	assert_string_equal(o.lost, "bob");
}

/* ---- opened ---- */

static struct re_place_whose whose(const char *re, const char *user, uid_t uid)
{
	struct re_place_whose w = {.uid = uid, .gid = uid};
	PHX_STR_SET(w.re, re);
	PHX_STR_SET(w.user, user);
	return w;
}

/* Opens it, and closes it again. */
static int opens(struct re_place_whose w, struct stat *ret)
{
	struct stat st;
	phx_err_clear(&err);
	int fd = re_place_open(&cfg, &w, &st, &err);
	if (fd < 0) {
		assert_true(err.text[0] != '\0');
		return fd;
	}
	close(fd);
	if (ret)
		*ret = st;
	return 0;
}

static int opens_made(struct re_place_whose w)
{
	w.make = true;
	return opens(w, NULL);
}

static void the_directory_of_an_re_is_opened(void **state)
{
	struct stat st;
	(void)state;
	re_made("hpc", "nobody");
	assert_int_equal(opens(whose("hpc", "", (uid_t)-1), &st), 0);
	assert_int_equal(st.st_uid, NOBODY);
	assert_int_equal(opens(whose("none", "", (uid_t)-1), NULL), -ENOENT);
}

/* Somebody's directory that is called as an RE, and one that is left of a former RE, are not the
 * RE's, whose owner would be that somebody in it. */
static void one_that_is_not_of_this_re_is_refused(void **state)
{
	struct re_place_whose w = whose("hpc", "", (uid_t)-1), own = whose("hpc", "carl", OTHER);
	const struct re_marker m = {.created_ms = 7, .name = "hpc", .site = "here"};
	(void)state;
	make_dir_of("re/hpc", NOBODY, 0750);
	assert_int_equal(opens(w, NULL), -EPERM);
	assert_non_null(strstr(err.text, "was not made by phxd"));
	assert_int_equal(opens_made(own), -EPERM);
	assert_false(is_there("re/hpc/" RE_USERS));
	assert_int_equal(re_place_make(&cfg, &m, "nobody", &err), 0);
	w.created_ms = own.created_ms = 7;
	PHX_STR_SET(w.site, "here");
	PHX_STR_SET(own.site, "here");
	assert_int_equal(opens(w, NULL), 0);
	assert_int_equal(opens_made(own), 0);
	w.created_ms = own.created_ms = 8;
	assert_int_equal(opens(w, NULL), -EPERM);
	assert_non_null(strstr(err.text, "is that of a former RE"));
	assert_int_equal(opens_made(own), -EPERM);
	w.created_ms = 7;
	PHX_STR_SET(w.site, "elsewhere");
	assert_int_equal(opens(w, NULL), -EPERM);
	put_text("re/.hpc", "created 7\n"); /* of before: it does not say whose */
	assert_int_equal(opens(w, NULL), 0);
}

static void a_name_that_leads_out_is_refused(void **state)
{
	static const char *const names[] = {"..", ".", "../state", "hpc/../..", "/etc", "", ".hpc"};
	static const char *const users[] = {"..", ".", "../..", "a/b", "/etc", "a\nb"};
	(void)state;
	re_made("hpc", "nobody");
	for (size_t i = 0; i < PHX_ARRAY_SIZE(names); i++)
		assert_int_equal(opens(whose(names[i], "", (uid_t)-1), NULL), -EINVAL);
	for (size_t i = 0; i < PHX_ARRAY_SIZE(users); i++) {
		assert_int_equal(opens(whose("hpc", users[i], (uid_t)-1), NULL), -EPERM);
		assert_int_equal(opens_made(whose("hpc", users[i], NOBODY)), -EPERM);
	}
	assert_false(is_there("re/hpc/" RE_USERS));
}

static void a_link_in_place_of_a_directory_is_refused(void **state)
{
	(void)state;
	re_made("hpc", "nobody");
	assert_int_equal(opens_made(whose("hpc", "nobody", NOBODY)), 0);
	/* of the user's directory */
	make_dir_of("elsewhere", NOBODY, 0755);
	assert_int_equal(symlink(in_top("elsewhere"), in_top("re/hpc/" RE_USERS "/carl")), 0);
	assert_int_equal(opens(whose("hpc", "carl", NOBODY), NULL), -ENOTDIR);
	assert_int_equal(opens_made(whose("hpc", "carl", NOBODY)), -ENOTDIR);
	/* of that of all users: the RE's owner may rename it, and put another one there */
	assert_int_equal(rename(in_top("re/hpc/" RE_USERS), in_top("moved")), 0);
	assert_int_equal(symlink(in_top("moved"), in_top("re/hpc/" RE_USERS)), 0);
	assert_int_equal(opens(whose("hpc", "nobody", NOBODY), NULL), -ENOTDIR);
	assert_int_equal(opens_made(whose("hpc", "nobody", NOBODY)), -ENOTDIR);
	/* of the RE */
	assert_int_equal(rename(in_top("re/hpc"), in_top("re/away")), 0);
	assert_int_equal(symlink("away", in_top("re/hpc")), 0);
	assert_int_equal(opens(whose("hpc", "", (uid_t)-1), NULL), -ENOTDIR);
}

static void a_user_gets_a_directory_that_others_cannot_enter(void **state)
{
	(void)state;
	re_made("hpc", "nobody");
	assert_int_equal(opens(whose("hpc", "carl", OTHER), NULL), -ENOENT);
	assert_false(is_there("re/hpc/" RE_USERS));
	assert_int_equal(opens_made(whose("hpc", "carl", OTHER)), 0);
	assert_int_equal(owner_of("re/hpc/" RE_USERS "/carl"), OTHER);
	assert_int_equal(mode_of("re/hpc/" RE_USERS "/carl"), 0700);
	/* the RE's owner may not make, remove or rename one in there */
	assert_int_equal(owner_of("re/hpc/" RE_USERS), 0);
	assert_int_equal(mode_of("re/hpc/" RE_USERS), 0711);
	assert_int_equal(opens(whose("hpc", "carl", OTHER), NULL), 0);
	assert_int_equal(opens_made(whose("hpc", "carl", OTHER)), 0);
	assert_int_equal(opens(whose("hpc", "carl", (uid_t)-1), NULL), 0);
}

/* The umask of who started phxd says nothing. */
static void an_umask_closes_nothing(void **state)
{
	(void)state;
	re_made("hpc", "nobody");
	mode_t before = umask(0077);
	int r = opens_made(whose("hpc", "carl", OTHER));
	umask(before);
	assert_int_equal(r, 0);
	assert_int_equal(mode_of("re/hpc/" RE_USERS), 0711);
}

/* A name that is another one's now, or a uid that was given anew. */
static void a_directory_of_somebody_else_is_refused(void **state)
{
	(void)state;
	re_made("hpc", "nobody");
	assert_int_equal(opens_made(whose("hpc", "carl", OTHER)), 0);
	assert_int_equal(opens(whose("hpc", "carl", NOBODY), NULL), -EPERM);
	assert_int_equal(opens_made(whose("hpc", "carl", NOBODY)), -EPERM);
	assert_non_null(strstr(err.text, "is not this user's, who has uid 65534"));
	assert_int_equal(owner_of("re/hpc/" RE_USERS "/carl"), OTHER);
}

static void who_can_have_none_gets_none(void **state)
{
	(void)state;
	re_made("hpc", "nobody");
	assert_int_equal(opens_made(whose("hpc", "root", 0)), -EPERM);
	assert_int_equal(opens(whose("hpc", "root", 0), NULL), -EPERM);
	struct re_place_whose w = whose("hpc", "carl", OTHER);
	w.gid = (gid_t)-1; /* chown() would leave it root's */
	assert_int_equal(opens_made(w), -EPERM);
	/* for whom is it to be made? */
	assert_int_equal(opens_made(whose("hpc", "carl", (uid_t)-1)), -EPERM);
	assert_false(is_there("re/hpc/" RE_USERS));
}

/* The RE's owner has made "users" himself, to read what others put there. */
static void users_that_root_did_not_make_are_refused(void **state)
{
	PHX_AUTO(phx_list_fini) struct phx_list names = {0};
	(void)state;
	re_made("hpc", "nobody");
	make_dir_of("re/hpc/" RE_USERS, NOBODY, 0711);
	make_dir_of("re/hpc/" RE_USERS "/carl", OTHER, 0700);
	assert_int_equal(opens(whose("hpc", "carl", OTHER), NULL), -EPERM);
	assert_int_equal(opens_made(whose("hpc", "carl", OTHER)), -EPERM);
	assert_non_null(strstr(err.text, "its owner must move it away"));
	re_place_users(&cfg, "hpc", &names);
	assert_int_equal(names.n, 0);
	/* root's, but open to others */
	for (mode_t mode = 0020; mode; mode = mode == 0020 ? 0002 : 0) {
		assert_int_equal(chown(in_top("re/hpc/" RE_USERS), 0, 0), 0);
		assert_int_equal(chmod(in_top("re/hpc/" RE_USERS), 0711 | mode), 0);
		assert_int_equal(opens_made(whose("hpc", "carl", OTHER)), -EPERM);
	}
	assert_int_equal(chmod(in_top("re/hpc/" RE_USERS), 0711), 0);
	assert_int_equal(opens_made(whose("hpc", "carl", OTHER)), 0);
}

static void what_a_crash_left_is_given_to_its_user(void **state)
{
	(void)state;
	re_made("hpc", "nobody");
	make_dir_of("re/hpc/" RE_USERS, 0, 0711);
	make_dir_of("re/hpc/" RE_USERS "/carl", 0, 0700);
	assert_int_equal(opens(whose("hpc", "carl", OTHER), NULL), -EPERM);
	assert_int_equal(opens_made(whose("hpc", "carl", OTHER)), 0);
	assert_int_equal(owner_of("re/hpc/" RE_USERS "/carl"), OTHER);
}

static void users_are_listed_by_name(void **state)
{
	PHX_AUTO(phx_list_fini) struct phx_list names = {0};
	(void)state;
	re_made("hpc", "nobody");
	re_place_users(&cfg, "hpc", &names);
	assert_int_equal(names.n, 0);
	assert_int_equal(opens_made(whose("hpc", "carl", OTHER)), 0);
	assert_int_equal(opens_made(whose("hpc", "nobody", NOBODY)), 0);
	re_place_users(&cfg, "hpc", &names);
	assert_int_equal(names.n, 2);
	re_place_users(&cfg, "../re/hpc", &names);
	re_place_users(&cfg, "none", &names);
	assert_int_equal(names.n, 2);
}

#define T(f) cmocka_unit_test_setup_teardown(f, setup, places_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(a_directory_is_of_the_user_who_owns_the_re),
		T(without_a_user_it_is_the_heads),
		T(what_is_not_there_is_told_apart),
		T(only_markers_are_listed),
		T(what_is_removed_is_the_directory_and_no_more),
		T(what_is_mounted_there_is_emptied),
		T(what_is_set_aside_is_kept_under_a_name_of_its_own),
		T(where_there_is_no_data_only_the_marker_goes),
		T(what_cannot_be_set_aside_keeps_its_marker),
		T(what_root_made_is_given_to_the_heads_user),
		T(while_the_head_is_root_nothing_is_given),
		T(what_was_the_re_s_is_its_owner_s_again),
		T(what_is_mounted_in_it_stays_whose_it_is),
		T(one_that_is_too_deep_is_told_and_left),
		T(whose_they_are_is_looked_at),
		T(the_directory_of_an_re_is_opened),
		T(one_that_is_not_of_this_re_is_refused),
		T(a_name_that_leads_out_is_refused),
		T(a_link_in_place_of_a_directory_is_refused),
		T(a_user_gets_a_directory_that_others_cannot_enter),
		T(an_umask_closes_nothing),
		T(a_directory_of_somebody_else_is_refused),
		T(who_can_have_none_gets_none),
		T(users_that_root_did_not_make_are_refused),
		T(what_a_crash_left_is_given_to_its_user),
		T(users_are_listed_by_name),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
