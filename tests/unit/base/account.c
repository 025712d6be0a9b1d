/* Users and groups whose entries are larger than a first guess. The system's calls are replaced:
 * this machine's own accounts are small. */
#include "base/account.h"

#include <errno.h>
#include <grp.h>
#include <string.h>

#include "unit/base/test_base.h"

enum { LARGE = 1000000, FEW = 3, MANY = 3000, BROKEN_UID = 7 };

static size_t needs = LARGE; /* bytes of an entry */
static int n_groups = MANY;

int getpwuid_r(uid_t uid, struct passwd *pw, char *buf, size_t size, struct passwd **ret)
{
	*ret = NULL;
	if (uid == BROKEN_UID)
		return EIO;
	if (uid != 1000)
		return 0;
	if (size < needs)
		return ERANGE;
	*pw = (struct passwd){.pw_name = strcpy(buf, "ann"), .pw_uid = uid, .pw_gid = 100};
	*ret = pw;
	return 0;
}

int getpwnam_r(const char *name, struct passwd *pw, char *buf, size_t size, struct passwd **ret)
{
	return getpwuid_r(!strcmp(name, "ann") ? 1000 : 1, pw, buf, size, ret);
}

int getgrnam_r(const char *name, struct group *gr, char *buf, size_t size, struct group **ret)
{
	*ret = NULL;
	if (strcmp(name, "all") != 0)
		return strcmp(name, "endless") != 0 ? 0 : ERANGE;
	if (size < needs)
		return ERANGE;
	*gr = (struct group){.gr_name = strcpy(buf, name), .gr_gid = 5000};
	*ret = gr;
	return 0;
}

/* The user's own group, then 101, 102 and so on. */
int getgrouplist(const char *user, gid_t group, gid_t *groups, int *n)
{
	int room = *n;
	assert_string_equal(user, "ann");
	for (int i = 0; i < n_groups && i < room; i++)
		groups[i] = group + (gid_t)i;
	*n = n_groups;
	return n_groups <= room ? n_groups : -1;
}

static void entries_of_any_size_are_found(void **state)
{
	static const size_t sizes[] = {100, 4096, 4097, LARGE};
	(void)state;
	for (size_t i = 0; i < PHX_ARRAY_SIZE(sizes); i++) {
		PHX_AUTO_FREE char *one = NULL, *other = NULL;
		struct passwd pw;
		gid_t gid = 0;
		needs = sizes[i];
		assert_int_equal(phx_user_named("ann", &pw, &one), 0);
		assert_int_equal(pw.pw_uid, 1000);
		assert_string_equal(pw.pw_name, "ann");
		assert_int_equal(phx_user_numbered(1000, &pw, &other), 0);
		assert_string_equal(pw.pw_name, "ann");
		assert_int_equal(phx_group_named("all", &gid), 0);
		assert_int_equal(gid, 5000);
	}
}

static void who_is_not_there_is_not_found(void **state)
{
	char *texts = NULL;
	struct passwd pw;
	gid_t gid = 17;
	(void)state;
	assert_int_equal(phx_user_named("bob", &pw, &texts), -ENOENT);
	assert_int_equal(phx_user_numbered(1001, &pw, &texts), -ENOENT);
	assert_int_equal(phx_user_numbered(BROKEN_UID, &pw, &texts), -EIO);
	assert_int_equal(phx_group_named("none", &gid), -ENOENT);
	assert_int_equal(phx_group_named("endless", &gid), -ERANGE);
	assert_null(texts);
	assert_int_equal(gid, 17);
}

static void members_of_many_groups_are_members(void **state)
{
	static const int counts[] = {FEW, 64, 65, MANY};
	(void)state;
	for (size_t i = 0; i < PHX_ARRAY_SIZE(counts); i++) {
		n_groups = counts[i];
		assert_true(phx_user_is_member(1000, 100));
		assert_true(phx_user_is_member(1000, (gid_t)(100 + n_groups - 1)));
		assert_false(phx_user_is_member(1000, (gid_t)(100 + n_groups)));
	}
	assert_false(phx_user_is_member(1001, 100));
	assert_false(phx_user_is_member(BROKEN_UID, 100));
	n_groups = 1 << 20; /* more than a user can have */
	assert_false(phx_user_is_member(1000, 100));
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(entries_of_any_size_are_found),
		cmocka_unit_test(who_is_not_there_is_not_found),
		cmocka_unit_test(members_of_many_groups_are_members),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
