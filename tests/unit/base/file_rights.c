/* Files touched with the rights of somebody else: his, and no others. */
#include "unit/base/test_base.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/file_rights.h"

enum { HIS_UID = 65534, HIS_GID = 65533 };

struct place {
	char root[64], of_root[80], of_group[80], his[80];
};

static int make(void **state)
{
	struct place *p = calloc(1, sizeof(*p));
	snprintf(p->root, sizeof(p->root), "/tmp/phx-rights.XXXXXX");
	if (!mkdtemp(p->root))
		return -1;
	chmod(p->root, 0777);
	snprintf(p->of_root, sizeof(p->of_root), "%s/root", p->root);
	snprintf(p->of_group, sizeof(p->of_group), "%s/group", p->root);
	snprintf(p->his, sizeof(p->his), "%s/his", p->root);
	phx_file_write(p->of_root, "x", 1, 0600, NULL);
	/* of group 0, in which root often is once more */
	phx_file_write(p->of_group, "x", 1, 0640, NULL);
	*state = p;
	return 0;
}

static int unmake(void **state)
{
	struct place *p = *state;
	phx_dir_remove(p->root, NULL);
	free(p);
	return 0;
}

static bool is_open_to_us(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd >= 0)
		close(fd);
	return fd >= 0;
}

static void *look_from_another_thread(void *path)
{
	return is_open_to_us(path) ? path : NULL;
}

static void only_what_is_his(void **state)
{
	struct place *p = *state;
	struct phx_rights was;
	struct stat st;
	pthread_t other;
	void *seen = NULL;
	gid_t groups[2] = {0, 7}, now[3];
	if (getuid() != 0)
		skip();
	assert_int_equal(setgroups(2, groups), 0);
	assert_int_equal(phx_rights_take(HIS_UID, HIS_GID, &was, NULL), 0);
	bool root_s = is_open_to_us(p->of_root), group_s = is_open_to_us(p->of_group);
	int fd = open(p->his, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	assert_int_equal(pthread_create(&other, NULL, look_from_another_thread, p->of_root), 0);
	pthread_join(other, &seen);
	phx_rights_give_back(&was);
	phx_rights_give_back(&was);
	assert_false(root_s);
	assert_false(group_s);
	assert_true(fd >= 0);
	assert_int_equal(fstat(fd, &st), 0);
	close(fd);
	assert_int_equal(st.st_uid, HIS_UID);
	assert_int_equal(st.st_gid, HIS_GID);
	/* a thread that he begins is his too; who was there before is not, and we are who we
	 * were */
	assert_null(seen);
	assert_true(is_open_to_us(p->of_root));
	assert_int_equal(getgroups(3, now), 2);
}

struct other_thread {
	pthread_barrier_t before, after;
	const char *path;
	bool seen;
};

static void *look_meanwhile(void *arg)
{
	struct other_thread *o = arg;
	pthread_barrier_wait(&o->before);
	o->seen = is_open_to_us(o->path);
	pthread_barrier_wait(&o->after);
	return NULL;
}

static void of_this_thread_alone(void **state)
{
	struct place *p = *state;
	struct other_thread o = {.path = p->of_root};
	struct phx_rights was;
	pthread_t thread;
	if (getuid() != 0)
		skip();
	pthread_barrier_init(&o.before, NULL, 2);
	pthread_barrier_init(&o.after, NULL, 2);
	assert_int_equal(pthread_create(&thread, NULL, look_meanwhile, &o), 0);
	assert_int_equal(phx_rights_take(HIS_UID, HIS_GID, &was, NULL), 0);
	pthread_barrier_wait(&o.before);
	pthread_barrier_wait(&o.after);
	phx_rights_give_back(&was);
	pthread_join(thread, NULL);
	assert_true(o.seen);
	pthread_barrier_destroy(&o.before);
	pthread_barrier_destroy(&o.after);
}

static void who_we_are_and_who_nobody_is(void **state)
{
	struct phx_rights was;
	struct phx_err err = {0};
	(void)state;
	assert_int_equal(phx_rights_take(geteuid(), getegid(), &was, &err), 0);
	assert_false(was.taken);
	phx_rights_give_back(&was);
	assert_int_equal(phx_rights_take((uid_t)-1, HIS_GID, &was, &err), -EPERM);
	assert_int_equal(phx_rights_take(HIS_UID, (gid_t)-1, &was, &err), -EPERM);
	assert_non_null(strstr(err.text, "cannot be touched"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(only_what_is_his, make, unmake),
		cmocka_unit_test_setup_teardown(of_this_thread_alone, make, unmake),
		cmocka_unit_test(who_we_are_and_who_nobody_is),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
