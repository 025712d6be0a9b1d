/* What tests of workloads share: cmocka, the archives' traces, small texts. */
#ifndef TESTS_UNIT_TRACE_TRACES_H
#define TESTS_UNIT_TRACE_TRACES_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "trace/input.h"
#include "trace/swf.h"

/** The error's text holds `part`. */
#define assert_says(err, part) \
	do { \
		if (!strstr((err)->text, (part))) \
			fail_msg("'%s' does not say '%s'", (err)->text, part); \
	} while (0)

/** The trace `name` from PHX_TRACES; without it the test is skipped. */
static inline void read_trace(const char *name, struct phx_trace_input *ret)
{
	struct phx_err err = {0};
	const char *traces = getenv("PHX_TRACES");
	if (!traces || !*traces)
		skip();
	if (phx_trace_input_find(name, traces, ret, &err) < 0)
		fail_msg("%s", err.text);
}

/** The jobs of that trace. */
static inline void read_jobs(const char *name, const struct phx_swf_options *options,
			     struct phx_trace_jobs *ret)
{
	PHX_AUTO_TRACE_INPUT struct phx_trace_input in = {0};
	struct phx_err err = {0};
	read_trace(name, &in);
	if (phx_swf_read(name, in.data, in.n, options, ret, &err) < 0)
		fail_msg("%s", err.text);
}

#endif
