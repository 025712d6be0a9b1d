/* Directories of REs below a temporary one, as the launcher makes them (re_place.c, which the test
 * has included before): for the tests of what is in them. The head's user is a fake. */
#ifndef TESTS_PHXD_PLACES_H
#define TESTS_PHXD_PLACES_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/tree.h"
#include "config/config.h"
#include "phxd/head_user.h"
#include "phxd/re_place.h"

enum { NOBODY = 65534, OTHER = 4711, HEAD = 4712 };

static char top[64]; /* the directory: re/ and state/ are in it */
static struct phx_config cfg;
static uid_t fake_head_uid;

void head_user_find(const struct phx_config *config, uid_t *ret_uid, gid_t *ret_gid)
{
	(void)config;
	*ret_uid = *ret_gid = fake_head_uid;
}

static inline const char *in_top(const char *path)
{
	static char all[4][256];
	static int i;
	i = (i + 1) % 4;
	snprintf(all[i], sizeof(all[i]), "%s/%s", top, path);
	return all[i];
}

static inline int places_setup(void **state)
{
	(void)state;
	strcpy(top, "/tmp/phx-places.XXXXXX");
	if (!mkdtemp(top) || chmod(top, 0755) < 0)
		return -1;
	cfg = (struct phx_config){0};
	PHX_STR_SET(cfg.re_dir, in_top("re"));
	PHX_STR_SET(cfg.state_dir, in_top("state"));
	fake_head_uid = 0;
	return mkdir(cfg.re_dir, 0755) < 0 || mkdir(cfg.state_dir, 0755) < 0;
}

static inline int places_teardown(void **state)
{
	(void)state;
	return phx_dir_remove(top, NULL);
}

static inline void put_text(const char *path, const char *text)
{
	int fd = open(in_top(path), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
	if (fd < 0 || phx_write_all(fd, text, strlen(text)) < 0)
		fail_msg("%s cannot be written", path);
	close(fd);
}

/* What a file holds; "-": there is none. */
static inline const char *text_of(const char *path)
{
	static char text[256];
	PHX_AUTO_FREE char *data = NULL;
	int r = phx_file_read(in_top(path), sizeof(text) - 1, &data, NULL, NULL);
	snprintf(text, sizeof(text), "%s", r < 0 ? "-" : data);
	return text;
}

static inline void make_dir_of(const char *path, uid_t uid, mode_t mode)
{
	assert_int_equal(mkdir(in_top(path), mode), 0);
	assert_int_equal(chmod(in_top(path), mode), 0);
	assert_int_equal(lchown(in_top(path), uid, uid), 0);
}

static inline bool is_there(const char *path)
{
	struct stat st;
	return lstat(in_top(path), &st) == 0;
}

static inline uid_t owner_of(const char *path)
{
	struct stat st;
	assert_int_equal(lstat(in_top(path), &st), 0);
	return st.st_uid;
}

static inline mode_t mode_of(const char *path)
{
	struct stat st;
	assert_int_equal(lstat(in_top(path), &st), 0);
	return st.st_mode & 07777;
}

static inline void re_made(const char *name, const char *login)
{
	struct re_marker m = {.created_ms = 5, .site = "site-1"};
	PHX_STR_SET(m.name, name);
	assert_int_equal(re_place_make(&cfg, &m, login, NULL), 0);
}

#endif
