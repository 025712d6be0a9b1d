/* What the tests of lib/base share. */
#ifndef TESTS_UNIT_BASE_TEST_BASE_H
#define TESTS_UNIT_BASE_TEST_BASE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/util.h"

/** The error's text holds `part`. */
#define assert_says(err, part) \
	do { \
		if (!strstr((err)->text, (part))) \
			fail_msg("'%s' does not say '%s'", (err)->text, part); \
	} while (0)

#endif
