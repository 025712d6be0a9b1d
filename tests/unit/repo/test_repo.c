/* The repository on the head, and the versions on a node: listing, finding, switching, going back,
 * removing. */
#include "hostile.h"

/* NAME-VERSION built into p->out and signed; malloc'd path. */
static char *package(const struct place *p, const char *name, const char *version,
		     const char *content)
{
	PHX_AUTO_FREE char *conf =
		phx_path("name = \"%s\";\nversion = \"%s\";\narch = \"all\";\nsummary = \"s\";\n",
			 name, version);
	write_text(p->src, "package.conf", conf, 0644);
	write_text(p->src, "files/content", content, 0644);
	char *path = NULL;
	assert_int_equal(phx_package_build(p->src, p->out, &path, NULL), 0);
	assert_int_equal(phx_package_sign(path, p->key, NULL), 0);
	return path;
}

static void add(const struct place *p, const char *name, const char *version, const char *content)
{
	PHX_AUTO_FREE char *path = package(p, name, version, content);
	struct phx_err err = {0};
	if (phx_repo_add(p->repo, p->pub, path, NULL, &err) < 0)
		fail_msg("%s", err.text);
}

/* "NAME VERSION, ..." of what is listed, and the number of bad files. */
static char *listed(const struct place *p, uint32_t *ret_n_bad)
{
	struct phx_list packages = {0}, bad = {0};
	PHX_AUTO(phx_buf_fini) struct phx_buf b = {0};
	assert_int_equal(phx_repo_list(p->repo, p->pub, &packages, &bad, NULL), 0);
	PHX_LIST_EACH(struct phx_package, pkg, &packages)
		phx_buf_addf(&b, "%s %s, ", pkg->name, pkg->version);
	*ret_n_bad = bad.n;
	phx_list_fini(&packages);
	phx_list_fini(&bad);
	return phx_buf_take(&b);
}

static void assert_found(const struct place *p, const char *name, const char *version,
			 const char *right)
{
	PHX_AUTO_FREE char *path = NULL;
	PHX_AUTO_FREE char *expected = phx_path("%s/%s-%s.tar.zst", p->repo, name, right);
	struct phx_package found;
	assert_int_equal(phx_repo_find(p->repo, p->pub, name, version, &path, &found, NULL), 0);
	assert_string_equal(path, expected);
	assert_string_equal(found.version, right);
}

static void list_and_find(void **state)
{
	struct place *p = *state;
	uint32_t n_bad;
	PHX_AUTO_FREE char *none = listed(p, &n_bad);
	assert_string_equal(none, "");
	add(p, "web", "1.10", "b");
	add(p, "web", "1.9", "a");
	add(p, "web-more", "3", "c");
	add(p, "batch", "2.0", "d");
	PHX_AUTO_FREE char *all = listed(p, &n_bad);
	assert_string_equal(all, "batch 2.0, web 1.9, web 1.10, web-more 3, ");
	assert_int_equal(n_bad, 0);
	assert_found(p, "web", NULL, "1.10");
	assert_found(p, "web", "1.9", "1.9");
	assert_found(p, "web-more", NULL, "3");
	struct phx_err err = {0};
	assert_int_equal(phx_repo_find(p->repo, p->pub, "web", "2", NULL, NULL, &err), -ENOENT);
	assert_non_null(strstr(err.text, "web of version 2"));
	assert_int_equal(phx_repo_find(p->repo, p->pub, "we", NULL, NULL, NULL, NULL), -ENOENT);
	assert_int_equal(phx_repo_find(p->repo, p->pub, "../repo/web", NULL, NULL, NULL, NULL),
			 -ENOENT);
}

/* Several keys at once: what the former one signed is believed until that is taken away. */
static void keys_are_changed(void **state)
{
	struct place *p = *state;
	PHX_AUTO_FREE char *ring = in_place(p, "ring"), *old = in_place(p, "ring/old.pub"),
			   *new = in_place(p, "ring/new.pub"),
			   *stranger = in_place(p, "stranger/site.pub"), *pem = NULL, *other = NULL;
	PHX_AUTO_FREE char *path = package(p, "web", "1.0", "a");
	struct phx_package found;
	size_t n, n_other;
	assert_int_equal(phx_file_read(p->pub, 4096, &pem, &n, NULL), 0);
	assert_int_equal(phx_file_read(stranger, 4096, &other, &n_other, NULL), 0);
	assert_int_equal(phx_dir_make(ring, 0755, NULL), 0);
	assert_int_equal(phx_repo_add(p->repo, ring, path, NULL, NULL), -EKEYREJECTED);
	assert_int_equal(phx_file_write(old, pem, n, 0644, NULL), 0);
	assert_int_equal(phx_file_write(new, other, n_other, 0644, NULL), 0);
	assert_int_equal(phx_repo_add(p->repo, ring, path, NULL, NULL), 0);
	PHX_AUTO_FREE char *next = package(p, "web", "1.1", "b");
	assert_int_equal(phx_package_sign(next, p->stranger_key, NULL), 0);
	assert_int_equal(phx_repo_add(p->repo, ring, next, NULL, NULL), 0);
	assert_int_equal(phx_repo_find(p->repo, ring, "web", "1.0", NULL, &found, NULL), 0);
	assert_string_equal(found.signed_by, "old");
	assert_int_equal(phx_repo_find(p->repo, ring, "web", NULL, NULL, &found, NULL), 0);
	assert_string_equal(found.signed_by, "new");
	assert_int_equal(unlink(old), 0);
	assert_int_equal(phx_repo_find(p->repo, ring, "web", "1.0", NULL, &found, NULL),
			 -EKEYREJECTED);
}

/* A site from before there were package keys has its own; one that has the directory, even an empty
 * one, does not believe that. */
static void the_key_of_a_site_counts_where_there_is_no_directory(void **state)
{
	struct place *p = *state;
	PHX_AUTO_FREE char *keys = in_place(p, "keys"), *site = in_place(p, "site");
	PHX_AUTO_FREE char *before = phx_repo_ring(keys, site);
	assert_string_equal(before, p->pub);
	assert_int_equal(phx_dir_make(keys, 0755, NULL), 0);
	PHX_AUTO_FREE char *after = phx_repo_ring(keys, site);
	assert_string_equal(after, keys);
	PHX_AUTO_FREE char *path = package(p, "web", "1.0", "a");
	assert_int_equal(phx_repo_add(p->repo, after, path, NULL, NULL), -EKEYREJECTED);
}

static void bad_files_are_named(void **state)
{
	struct place *p = *state;
	add(p, "web", "1.0", "a");
	write_text(p->repo, "junk-1.0.tar.zst", "junk", 0644);
	write_text(p->repo, "README", "no package", 0644);
	write_text(p->repo, ".hidden.tar.zst", "no package", 0644);
	PHX_AUTO_FREE char *other = package(p, "other", "1.0", "x");
	PHX_AUTO_FREE char *renamed = phx_path("%s/web-2.0.tar.zst", p->repo);
	PHX_AUTO_FREE char *other_sig = phx_path("%s.sig", other),
			   *renamed_sig = phx_path("%s.sig", renamed);
	assert_int_equal(rename(other, renamed), 0);
	assert_int_equal(rename(other_sig, renamed_sig), 0);
	struct phx_list packages = {0}, bad = {0};
	assert_int_equal(phx_repo_list(p->repo, p->pub, &packages, &bad, NULL), 0);
	assert_int_equal(packages.n, 1);
	assert_int_equal(bad.n, 2);
	assert_string_equal(PHX_LIST_AT(&bad, struct phx_package_bad, 0)->file, "junk-1.0.tar.zst");
	assert_non_null(
		strstr(PHX_LIST_AT(&bad, struct phx_package_bad, 0)->reason, "no signature"));
	assert_string_equal(PHX_LIST_AT(&bad, struct phx_package_bad, 1)->file, "web-2.0.tar.zst");
	assert_non_null(
		strstr(PHX_LIST_AT(&bad, struct phx_package_bad, 1)->reason, "holds other 1.0"));
	phx_list_fini(&packages);
	phx_list_fini(&bad);
	/* the newest is bad: said, not passed over */
	assert_int_equal(phx_repo_find(p->repo, p->pub, "web", NULL, NULL, NULL, NULL), -EBADMSG);
	assert_found(p, "web", "1.0", "1.0");
	assert_int_equal(phx_repo_list(p->repo, p->pub, &packages, NULL, NULL), 0);
	assert_int_equal(packages.n, 1);
	phx_list_fini(&packages);
}

/* What killed pushes left goes with the next one; what others are at, and what is nobody's
 * temporary file, stays. */
static void leftovers_are_swept(void **state)
{
	struct place *p = *state;
	char mine[64];
	static const char *const gone[] = {"web-1.0.tar.zst.99999999.tmp",
					   "web-1.0.tar.zst.sig.99999999.tmp"};
	static const char *const kept[] = {"notes.99999999.tmp", "web-1.0.tar.zst.x.tmp",
					   "web-1.0.tar.zst.tmp", "tar.zst.old"};
	snprintf(mine, sizeof(mine), "web-1.0.tar.zst.%d.tmp", (int)getpid());
	assert_int_equal(phx_dir_make(p->repo, 0755, NULL), 0);
	write_text(p->repo, mine, "x", 0644);
	for (size_t i = 0; i < PHX_ARRAY_SIZE(gone); i++)
		write_text(p->repo, gone[i], "x", 0644);
	for (size_t i = 0; i < PHX_ARRAY_SIZE(kept); i++)
		write_text(p->repo, kept[i], "x", 0644);
	add(p, "web", "2.0", "a");
	for (size_t i = 0; i < PHX_ARRAY_SIZE(gone); i++) {
		PHX_AUTO_FREE char *path = phx_path("%s/%s", p->repo, gone[i]);
		assert_int_equal(access(path, F_OK), -1);
	}
	for (size_t i = 0; i < PHX_ARRAY_SIZE(kept); i++) {
		PHX_AUTO_FREE char *path = phx_path("%s/%s", p->repo, kept[i]);
		assert_int_equal(access(path, F_OK), 0);
	}
	PHX_AUTO_FREE char *of_mine = phx_path("%s/%s", p->repo, mine);
	assert_int_equal(access(of_mine, F_OK), 0);
}

static void adding(void **state)
{
	struct place *p = *state;
	struct phx_package added = {0};
	struct phx_err err = {0};
	PHX_AUTO_FREE char *path = package(p, "web", "1.0", "a");
	assert_int_equal(phx_repo_add(p->repo, p->pub, path, &added, NULL), 0);
	assert_string_equal(added.name, "web");
	assert_int_equal(strlen(added.sha256), 64);
	assert_int_equal(phx_repo_add(p->repo, p->pub, path, NULL, NULL), 0);
	PHX_AUTO_FREE char *other = package(p, "web", "1.0", "b");
	assert_int_equal(phx_repo_add(p->repo, p->pub, other, NULL, &err), -EEXIST);
	assert_non_null(strstr(err.text, "raise the version"));
	struct phx_package still = {0};
	assert_int_equal(phx_repo_find(p->repo, p->pub, "web", NULL, NULL, &still, NULL), 0);
	assert_string_equal(still.sha256, added.sha256);
	PHX_AUTO_FREE char *tree = list_tree(p->repo);
	assert_string_equal(tree, "f 644 web-1.0.tar.zst\nf 644 web-1.0.tar.zst.sig\n");
}

static void adding_bad(void **state)
{
	struct place *p = *state;
	PHX_AUTO_FREE char *path = package(p, "web", "1.0", "a");
	assert_int_equal(phx_package_sign(path, p->stranger_key, NULL), 0);
	assert_int_equal(phx_repo_add(p->repo, p->pub, path, NULL, NULL), -EKEYREJECTED);
	/* rightly signed, and yet not what a node would take */
	MAKE(p, NULL, {.path = "evil", .mode = S_IFLNK | 0777, .target = "/etc"});
	struct phx_err err = {0};
	assert_int_equal(phx_repo_add(p->repo, p->pub, p->archive, NULL, &err), -EPERM);
	assert_non_null(strstr(err.text, "evil"));
	PHX_AUTO_FREE char *tree = list_tree(p->repo);
	assert_string_equal(tree, "");
}

/* What a damaged disk left is replaced by the right bytes. */
static void adding_over_damage(void **state)
{
	struct place *p = *state;
	PHX_AUTO_FREE char *path = package(p, "web", "1.0", "a");
	assert_int_equal(phx_repo_add(p->repo, p->pub, path, NULL, NULL), 0);
	write_text(p->repo, "web-1.0.tar.zst", "damaged", 0644);
	assert_int_equal(phx_repo_find(p->repo, p->pub, "web", NULL, NULL, NULL, NULL),
			 -EKEYREJECTED);
	assert_int_equal(phx_repo_add(p->repo, p->pub, path, NULL, NULL), 0);
	assert_found(p, "web", NULL, "1.0");
}

/* ---- on the node ---- */

static void unpack_version(const struct place *p, const char *version)
{
	PHX_AUTO_FREE char *path = package(p, "web", version, version);
	assert_int_equal(phx_package_unpack(path, p->pub, p->root, NULL, NULL, NULL), 0);
}

static void assert_current(const struct place *p, const char *right)
{
	char version[PHX_NAME_MAX] = "";
	int r = phx_package_current(p->root, "web", version, NULL);
	assert_int_equal(r, right ? 0 : -ENOENT);
	if (!right)
		return;
	assert_string_equal(version, right);
	PHX_AUTO_FREE char *text = read_text(p->root, "web/current/content");
	assert_string_equal(text, right);
}

static void switches(void **state)
{
	struct place *p = *state;
	assert_current(p, NULL);
	unpack_version(p, "1.0");
	assert_current(p, NULL);
	assert_int_equal(phx_package_activate(p->root, "web", "1.0", NULL), 0);
	assert_current(p, "1.0");
	unpack_version(p, "2.0");
	assert_int_equal(phx_package_activate(p->root, "web", "2.0", NULL), 0);
	assert_int_equal(phx_package_activate(p->root, "web", "2.0", NULL), 0);
	assert_current(p, "2.0");
}

static void switch_to_what_is_not_there(void **state)
{
	struct place *p = *state;
	struct phx_err err = {0};
	assert_int_equal(phx_package_activate(p->root, "web", "1.0", &err), -ENOENT);
	assert_non_null(strstr(err.text, "not unpacked"));
	unpack_version(p, "1.0");
	assert_int_equal(phx_package_activate(p->root, "web", "1.0", NULL), 0);
	assert_int_equal(phx_package_activate(p->root, "web", "3.0", NULL), -ENOENT);
	assert_int_equal(phx_package_activate(p->root, "web", "previous", NULL), -EINVAL);
	assert_int_equal(phx_package_activate(p->root, "web", "../web/1.0", NULL), -EINVAL);
	assert_int_equal(phx_package_activate(p->root, "../web", "1.0", NULL), -EINVAL);
	assert_int_equal(phx_package_remove(p->root, "", NULL, NULL), -EINVAL);
	assert_current(p, "1.0");
}

/* A link somebody bent is not followed, and put right by the next switch. */
static void bent_link(void **state)
{
	struct place *p = *state;
	char version[PHX_NAME_MAX];
	unpack_version(p, "1.0");
	PHX_AUTO_FREE char *current = phx_path("%s/web/current", p->root);
	assert_int_equal(symlink("/etc", current), 0);
	assert_int_equal(phx_package_current(p->root, "web", version, NULL), -EBADMSG);
	assert_int_equal(phx_package_activate(p->root, "web", "1.0", NULL), 0);
	assert_current(p, "1.0");
}

static void removing(void **state)
{
	struct place *p = *state;
	assert_int_equal(phx_package_remove(p->root, "web", "1.0", NULL), 0);
	assert_int_equal(phx_package_remove(p->root, "web", NULL, NULL), 0);
	unpack_version(p, "1.0");
	unpack_version(p, "2.0");
	assert_int_equal(phx_package_activate(p->root, "web", "1.0", NULL), 0);
	assert_int_equal(phx_package_activate(p->root, "web", "2.0", NULL), 0);
	struct phx_err err = {0};
	assert_int_equal(phx_package_remove(p->root, "web", "2.0", &err), -EBUSY);
	assert_non_null(strstr(err.text, "current"));
	assert_int_equal(phx_package_remove(p->root, "web", "1.0", NULL), 0);
	assert_int_equal(phx_package_remove(p->root, "web", "1.0", NULL), 0);
	assert_current(p, "2.0");
	assert_int_equal(phx_package_remove(p->root, "web", NULL, NULL), 0);
	PHX_AUTO_FREE char *tree = list_tree(p->root);
	assert_string_equal(tree, "");
}

/* Cut off in the middle, the rest goes with the next removal. */
static void interrupted_removal(void **state)
{
	struct place *p = *state;
	write_text(p->root, ".web.tmp/1.0/content", "half", 0644);
	unpack_version(p, "1.0");
	assert_int_equal(phx_package_remove(p->root, "web", NULL, NULL), 0);
	PHX_AUTO_FREE char *tree = list_tree(p->root);
	assert_string_equal(tree, "");
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, place_setup, place_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(list_and_find),
		TEST(keys_are_changed),
		TEST(the_key_of_a_site_counts_where_there_is_no_directory),
		TEST(bad_files_are_named),
		TEST(leftovers_are_swept),
		TEST(adding),
		TEST(adding_bad),
		TEST(adding_over_damage),
		TEST(switches),
		TEST(switch_to_what_is_not_there),
		TEST(bent_link),
		TEST(removing),
		TEST(interrupted_removal),
	};
	return cmocka_run_group_tests_name("repo", tests, NULL, NULL);
}
