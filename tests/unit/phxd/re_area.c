/* The directories within the data of an RE (cmd/phxd/re_area.c): which one a path means, and
 * that it is its owner who opens what is in it. Real directories and real helpers. */
#include "unit/phxd/areas.h"

static struct daemon d;
static struct phx_err err;

static int setup(void **state)
{
	phx_err_clear(&err);
	n_helpers = 0;
	return places_setup(state);
}

static int teardown(void **state)
{
	helpers_have_ended();
	return places_teardown(state);
}

/* An RE of nobody's, in which carl (OTHER) has a directory with a file. */
static void re_with_a_user(void)
{
	re_made("hpc", "nobody");
	put_text("re/hpc/a", "of the RE");
	assert_int_equal(chown(in_top("re/hpc/a"), NOBODY, NOBODY), 0);
	make_dir_of("re/hpc/" RE_USERS, 0, 0711);
	make_dir_of("re/hpc/" RE_USERS "/carl", OTHER, 0700);
	put_text("re/hpc/" RE_USERS "/carl/a", "carl's");
	assert_int_equal(chown(in_top("re/hpc/" RE_USERS "/carl/a"), OTHER, OTHER), 0);
	assert_int_equal(chmod(in_top("re/hpc/" RE_USERS "/carl/a"), 0600), 0);
}

/* What is read by that path of the RE; the code of an error otherwise. */
static int reads(const char *path, char text[64])
{
	struct re_area area;
	const char *rest;
	phx_err_clear(&err);
	int r = re_area_find(&d, "hpc", path, &area, &rest, &err);
	if (r < 0)
		return r;
	PHX_AUTO_CLOSE int fd = re_area_open_file(&area, rest, 1000, &err);
	re_area_fini(&area);
	if (fd < 0)
		return fd;
	ssize_t n = read(fd, text, 63);
	text[n < 0 ? 0 : n] = '\0';
	return 0;
}

static void a_path_is_read_in_the_area_that_it_names(void **state)
{
	char text[64];
	(void)state;
	re_with_a_user();
	assert_int_equal(reads("a", text), 0);
	assert_string_equal(text, "of the RE");
	assert_int_equal(reads(RE_USERS "/carl/a", text), 0);
	assert_string_equal(text, "carl's");
	assert_int_equal(n_helpers, 2);
	assert_int_equal(reads(RE_USERS "/dora/a", text), -ENOENT);
	assert_int_equal(reads("none", text), -ENOENT);
}

static void paths_that_lead_out_are_refused(void **state)
{
	static const char *const paths[] = {
		"../a",   "/etc/passwd",       "b/../../a",
		"",       RE_USERS "/../../a", RE_USERS "/carl/../../../a",
		RE_USERS, RE_USERS "/carl",    RE_USERS "/./a",
		"a/",     RE_USERS "/carl//a", "a\nb"};
	char text[64];
	(void)state;
	re_with_a_user();
	for (size_t i = 0; i < PHX_ARRAY_SIZE(paths); i++) {
		assert_int_equal(reads(paths[i], text), -EINVAL);
		assert_true(err.text[0]);
	}
	assert_int_equal(n_helpers, 0); /* nobody was even asked */
}

static void a_user_with_too_long_a_name_is_nobody(void **state)
{
	char path[PHX_NAME_MAX + 32], text[64];
	(void)state;
	re_with_a_user();
	int n = snprintf(path, sizeof(path), RE_USERS "/");
	memset(path + n, 'c', PHX_NAME_MAX);
	strcpy(path + n + PHX_NAME_MAX, "/a");
	assert_int_equal(reads(path, text), -ENOENT);
	assert_non_null(strstr(err.text, "there is no such user"));
	assert_int_equal(n_helpers, 0);
}

static void only_whole_names_are_those_of_users(void **state)
{
	(void)state;
	assert_true(re_area_is_users(RE_USERS));
	assert_true(re_area_is_users(RE_USERS "/carl/a"));
	assert_false(re_area_is_users(RE_USERS "2/a"));
	assert_false(re_area_is_users("a/" RE_USERS));
	assert_false(re_area_is_users("user"));
}

/* What a link leads to is looked at by who made it: with his rights, if at all. */
static void links_and_others_that_are_no_files_are_refused(void **state)
{
	char text[64];
	(void)state;
	re_with_a_user();
	put_text("secret", "root's");
	assert_int_equal(chmod(in_top("secret"), 0600), 0);
	assert_int_equal(symlink(in_top("secret"), in_top("re/hpc/link")), 0);
	assert_int_equal(symlink("/etc", in_top("re/hpc/dir")), 0);
	assert_int_equal(mkfifo(in_top("re/hpc/fifo"), 0666), 0);
	assert_int_equal(mkdir(in_top("re/hpc/sub"), 0777), 0);
	assert_int_equal(reads("link", text), -ELOOP);
	assert_int_equal(reads("dir/passwd", text), -ELOOP);
	assert_int_equal(reads("fifo", text), -EINVAL); /* and nobody waits for a writer */
	assert_int_equal(reads("sub", text), -EINVAL);
	/* one of root's that was linked there: the owner cannot read it, so the head does not */
	assert_int_equal(link(in_top("secret"), in_top("re/hpc/hard")), 0);
	assert_int_equal(reads("hard", text), -EACCES);
}

static void the_heads_own_directories_need_no_helper(void **state)
{
	char text[64];
	(void)state;
	re_made("hpc", "");
	put_text("re/hpc/a", "the head's");
	assert_int_equal(symlink("a", in_top("re/hpc/link")), 0);
	assert_int_equal(reads("a", text), 0);
	assert_string_equal(text, "the head's");
	assert_int_equal(reads("link", text), -ELOOP);
	assert_int_equal(n_helpers, 0);
}

static void nobody_who_is_root_has_a_directory(void **state)
{
	static const struct person_login logins[] = {
		{"root", 0, 0}, {"", OTHER, OTHER}, {"carl", UINT32_MAX, OTHER}};
	struct re_area area;
	(void)state;
	re_with_a_user();
	for (size_t i = 0; i < PHX_ARRAY_SIZE(logins); i++) {
		phx_err_clear(&err);
		assert_int_equal(re_area_open_user(&d, "hpc", &logins[i], true, &area, &err),
				 -EPERM);
		assert_non_null(strstr(err.text, "can have no directory"));
	}
}

/* ---- published, removed, listed ---- */

static int publishes(const char *path, const char *text)
{
	const struct person_login carl = {"carl", OTHER, OTHER};
	struct re_area area;
	PHX_AUTO_CLOSE int from = open(in_top("from"), O_RDWR | O_CREAT | O_TRUNC, 0644);
	assert_int_equal(phx_write_all(from, text, strlen(text)), 0);
	lseek(from, 0, SEEK_SET);
	phx_err_clear(&err);
	int r = re_area_open_user(&d, "hpc", &carl, true, &area, &err);
	if (r < 0)
		return r;
	r = re_area_publish(&area, path, from, 10, 0, &err);
	re_area_fini(&area);
	return r;
}

static void a_file_is_published_by_its_owner_or_not_at_all(void **state)
{
	(void)state;
	re_with_a_user();
	assert_int_equal(publishes("b/c", "new"), 0);
	assert_string_equal(text_of("re/hpc/" RE_USERS "/carl/b/c"), "new");
	assert_int_equal(owner_of("re/hpc/" RE_USERS "/carl/b/c"), OTHER);
	assert_int_equal(owner_of("re/hpc/" RE_USERS "/carl/b"), OTHER);
	assert_int_equal(publishes("d", "more than ten"), -EFBIG);
	assert_false(is_there("re/hpc/" RE_USERS "/carl/d"));
	assert_int_equal(publishes("../d", "new"), -EINVAL);
	/* a link in the way is none any more, and what it led to is as it was */
	put_text("secret", "root's");
	assert_int_equal(symlink(in_top("secret"), in_top("re/hpc/" RE_USERS "/carl/e")), 0);
	assert_int_equal(publishes("e", "new"), 0);
	assert_string_equal(text_of("secret"), "root's");
	assert_string_equal(text_of("re/hpc/" RE_USERS "/carl/e"), "new");
	assert_int_equal(symlink("/tmp", in_top("re/hpc/" RE_USERS "/carl/f")), 0);
	assert_int_equal(publishes("f/g", "new"), -ELOOP);
}

static void what_is_listed_is_what_the_owner_sees(void **state)
{
	PHX_AUTO_JSON json_t *list = json_array(), *users = json_array(), *none = json_array();
	struct re_area area;
	(void)state;
	re_with_a_user();
	make_dir_of("re/hpc/closed", 0, 0700);
	put_text("re/hpc/closed/b", "root's");
	put_text("re/hpc/.hidden", "hidden");
	assert_int_equal(symlink("a", in_top("re/hpc/link")), 0);
	assert_int_equal(re_area_open(&d, "hpc", &area, &err), 0);
	re_area_list(&area, "", false, list);
	re_area_fini(&area);
	assert_int_equal(json_array_size(list), 1);
	const json_t *one = json_array_get(list, 0);
	assert_string_equal(phx_json_str(one, "path", ""), "a");
	assert_int_equal(phx_json_int(one, "size_bytes", 0), 9);
	re_area_list_users(&d, "hpc", false, users);
	assert_int_equal(json_array_size(users), 1);
	assert_string_equal(phx_json_str(json_array_get(users, 0), "path", ""), RE_USERS "/carl/a");
	re_area_list_users(&d, "none", false, none);
	assert_int_equal(json_array_size(none), 0);
}

#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(a_path_is_read_in_the_area_that_it_names),
		T(paths_that_lead_out_are_refused),
		T(a_user_with_too_long_a_name_is_nobody),
		T(only_whole_names_are_those_of_users),
		T(links_and_others_that_are_no_files_are_refused),
		T(the_heads_own_directories_need_no_helper),
		T(nobody_who_is_root_has_a_directory),
		T(a_file_is_published_by_its_owner_or_not_at_all),
		T(what_is_listed_is_what_the_owner_sees),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
