/* Threads that a part of phxd would start, and does not: include it, then the part, then undefine
 * both names. What the thread would do the test does; where the part waits for its end it does the
 * last of it. */
#ifndef TESTS_FAKE_THREAD_H
#define TESTS_FAKE_THREAD_H

#include <errno.h>
#include <pthread.h>
#include <stdbool.h>

static void *(*fake_thread)(void *arg);
static void *fake_thread_arg;
static bool fake_no_thread; /* none can be started */

static int fake_create(pthread_t *thread, const pthread_attr_t *attr, void *(*fn)(void *arg),
		       void *arg)
{
	(void)attr;
	if (fake_no_thread)
		return EAGAIN;
	*thread = pthread_self();
	fake_thread = fn;
	fake_thread_arg = arg;
	return 0;
}

static int fake_join(pthread_t thread, void **ret)
{
	(void)thread, (void)ret;
	fake_thread(fake_thread_arg);
	return 0;
}

#define pthread_create fake_create
#define pthread_join fake_join

#endif
