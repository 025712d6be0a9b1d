/* A directory of its own for a test, files in it, and texts of errors. */
#ifndef TESTS_CONFIG_HELP_H
#define TESTS_CONFIG_HELP_H

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cmocka.h>

#include "base/file.h"
#include "base/tree.h"

struct place {
	char dir[64];
};

static inline int place_make(void **state)
{
	struct place *p = calloc(1, sizeof(*p));
	strcpy(p->dir, "/tmp/phx-test-XXXXXX");
	if (!p || !mkdtemp(p->dir))
		return -1;
	*state = p;
	return 0;
}

static inline int place_remove(void **state)
{
	struct place *p = *state;
	phx_dir_remove(p->dir, NULL);
	free(p);
	return 0;
}

static inline const char *place_path(const struct place *p, const char *name, char buf[256])
{
	snprintf(buf, 256, "%s/%s", p->dir, name);
	return buf;
}

static inline void place_write_n(const struct place *p, const char *name, const void *text,
				 size_t n)
{
	char path[256];
	char *slash;
	place_path(p, name, path);
	slash = strrchr(path, '/');
	*slash = '\0';
	assert_int_equal(phx_dir_make(path, 0755, NULL), 0);
	*slash = '/';
	assert_int_equal(phx_file_write(path, text, n, 0644, NULL), 0);
}

static inline void place_write(const struct place *p, const char *name, const char *text)
{
	place_write_n(p, name, text, strlen(text));
}

/* Shows both texts when it is not so. */
static __attribute__((noinline, unused)) void assert_contains(const char *text, const char *part)
{
	if (!strstr(text, part))
		fail_msg("\"%s\" does not hold \"%s\"", text, part);
}

#define RUN(test) cmocka_unit_test_setup_teardown(test, place_make, place_remove)

#endif
