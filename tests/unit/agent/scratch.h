/* A directory of its own for each test of the agent, and what several of them need. */
#ifndef TEST_AGENT_SCRATCH_H
#define TEST_AGENT_SCRATCH_H

/* cmocka wants these before it */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/tree.h"
#include "types/role.h"
#include "agent/log.h"
#include "agent/loop.h"

struct scratch {
	char dir[64];
};

static inline int scratch_setup(void **state)
{
	struct scratch *s = calloc(1, sizeof(*s));
	strcpy(s->dir, "/tmp/phx-agent-test-XXXXXX");
	assert_non_null(mkdtemp(s->dir));
	assert_int_equal(chmod(s->dir, 0755), 0);
	*state = s;
	return 0;
}

static inline int scratch_teardown(void **state)
{
	struct scratch *s = *state;
	assert_int_equal(phx_dir_remove(s->dir, NULL), 0);
	free(s);
	return 0;
}

static inline char *scratch_path(const struct scratch *s, const char *name)
{
	static char path[8][256];
	static int i;
	char *p = path[i++ % 8];
	snprintf(p, 256, "%s/%s", s->dir, name);
	return p;
}

static inline void write_text(const char *path, const char *text, mode_t mode)
{
	assert_int_equal(phx_file_write(path, text, strlen(text), mode, NULL), 0);
}

/* The whole file, "" when there is none; freed by the caller. */
static inline char *read_text(const char *path)
{
	char *text = NULL;
	return phx_file_read(path, 1 << 20, &text, NULL, NULL) == 0 ? text : strdup("");
}

static inline void assert_text(const char *path, const char *want)
{
	PHX_AUTO_FREE char *text = read_text(path);
	assert_string_equal(text, want);
}

static inline bool exists(const char *path)
{
	struct stat st;
	return lstat(path, &st) == 0;
}

/* Waits until `cond` holds, at most 10 s. */
#define WAIT_FOR(cond) \
	do { \
		int64_t end_ = phx_clock_ms() + 10000; \
		while (!(cond) && phx_clock_ms() < end_) \
			phx_sleep_ms(10); \
		assert_true(cond); \
	} while (0)

static inline void turn_loop(void *loop)
{
	assert_int_equal(loop_run(loop), 0);
}

/* A loop that turns, in a worker of its own. loop_free() ends it. */
static inline struct loop *loop_started(void)
{
	struct loop *loop;
	assert_int_equal(loop_new(&loop, NULL), 0);
	assert_int_equal(loop_work(loop, turn_loop, loop), 0);
	return loop;
}

static inline void add_word(struct phx_list *l, const char *text)
{
	struct phx_word *w = phx_list_push(l, sizeof(*w));
	assert_non_null(w);
	assert_int_equal(PHX_STR_SET(w->text, text), 0);
}

/* A service that runs `script` (a line of sh) in the role. */
static inline struct phx_service *add_service(struct phx_role *role, const char *name,
					      const char *script, const char *after)
{
	struct phx_service *s = phx_list_push(&role->services, sizeof(*s));
	assert_non_null(s);
	PHX_STR_SET(s->name, name);
	s->restart = true;
	s->stop_grace_s = 2;
	add_word(&s->argv, "/bin/sh");
	add_word(&s->argv, "-c");
	add_word(&s->argv, script);
	if (after)
		add_word(&s->after, after);
	return s;
}

#endif
