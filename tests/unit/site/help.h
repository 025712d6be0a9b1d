/* What the tests of settings of the site share. */
#ifndef TEST_SITE_HELP_H
#define TEST_SITE_HELP_H

/* cmocka wants these before it */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "base/json.h"
#include "site/site.h"

static inline void parse(const char *json, struct phx_site *ret)
{
	struct phx_err err = {0};
	if (phx_json_text_to_record(&phx_site_record, json, ret, &err) < 0)
		fail_msg("%s: %s", json, err.text);
}

static inline void add_line(void *arg, const char *text)
{
	phx_buf_addf(arg, "%s\n", text);
}

/** Settings, and part of the one thing that is wrong with them. */
struct wrong {
	const char *json, *says; /* NULL: nothing is wrong */
};

static inline void check_wrong(const struct wrong *w)
{
	PHX_AUTO(phx_buf_fini) struct phx_buf said = {0};
	struct phx_site s;
	parse(w->json, &s);
	int n = phx_site_check(&s, add_line, &said);
	if (w->says ? n != 1 || !strstr(said.data, w->says) : n != 0)
		fail_msg("%s: %d: %s", w->json, n, said.n ? said.data : "");
	phx_record_fini(&phx_site_record, &s);
}

#endif
