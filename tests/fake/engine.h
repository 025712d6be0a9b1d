/* A fake engine, for the unit tests of phxd's parts: it lends the state that the test has made, and
 * fails the test where its lock is taken twice, or given back by somebody else. What is submitted
 * goes to the test's own engine_submit(). */
#ifndef TESTS_FAKE_ENGINE_H
#define TESTS_FAKE_ENGINE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <pthread.h>

#include "phxd/engine.h"

static const struct phx_state *fake_state;
static int64_t fake_now_ms;
static pthread_mutex_t fake_engine_lock = PTHREAD_ERRORCHECK_MUTEX_INITIALIZER_NP;
static _Thread_local bool fake_engine_held; /* by this thread */

const struct phx_state *engine_lock(struct engine *e)
{
	(void)e;
	if (pthread_mutex_lock(&fake_engine_lock) != 0)
		fail_msg("the engine is locked by this thread already");
	fake_engine_held = true;
	return fake_state;
}

void engine_unlock(struct engine *e)
{
	(void)e;
	fake_engine_held = false;
	if (pthread_mutex_unlock(&fake_engine_lock) != 0)
		fail_msg("the engine was not locked by this thread");
}

bool engine_is_locked(const struct engine *e)
{
	(void)e;
	return fake_engine_held;
}

int64_t engine_now(struct engine *e)
{
	(void)e;
	return fake_now_ms;
}

/* Nobody has kept the lock. */
static inline void fake_engine_is_free(void)
{
	assert_int_equal(pthread_mutex_trylock(&fake_engine_lock), 0);
	assert_int_equal(pthread_mutex_unlock(&fake_engine_lock), 0);
}

#endif
