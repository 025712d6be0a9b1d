/* A configuration whose directories lie in a test's own place. */
#ifndef TESTS_DEPLOY_HELP_H
#define TESTS_DEPLOY_HELP_H

#include "base/tree.h"
#include "unit/config/help.h"

#include "deploy/deploy.h"

struct head {
	struct place place;
	struct phx_config cfg;
};

/* `more` is put behind interface, address and the directories. */
static inline void head_configure(struct head *h, const char *more)
{
	char text[4096], path[256];
	struct phx_err err = {0};
	phx_config_fini(&h->cfg);
	snprintf(text, sizeof(text),
		 "interface = \"v0\";\naddress = \"10.9.0.1\";\nstate_dir = \"%s/state\";\nrun_dir "
		 "= \"%s/run\";\n"
		 "pxe_dir = \"%s/../pxe\";\n%s",
		 h->place.dir, h->place.dir, TEST_DIR, more);
	place_write(&h->place, "phoenix.conf", text);
	int r = phx_config_load(place_path(&h->place, "phoenix.conf", path), &h->cfg, &err);
	assert_string_equal(err.text, "");
	assert_int_equal(r, 0);
}

static inline int head_make(void **state)
{
	struct head *h = calloc(1, sizeof(*h));
	strcpy(h->place.dir, "/tmp/phx-test-XXXXXX");
	if (!mkdtemp(h->place.dir))
		return -1;
	chmod(h->place.dir, 0755);
	head_configure(h, "");
	*state = h;
	return 0;
}

static inline int head_remove(void **state)
{
	struct head *h = *state;
	phx_config_fini(&h->cfg);
	phx_dir_remove(h->place.dir, NULL);
	free(h);
	return 0;
}

#define RUN_HEAD(test) cmocka_unit_test_setup_teardown(test, head_make, head_remove)

#endif
