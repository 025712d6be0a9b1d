/* Webhooks of phoenix.conf: what is read, shown, and refused with file and line. */
#include "unit/config/help.h"

#include "config/config.h"

#define GOOD "interface = \"eth1\";\naddress = \"10.1.0.1\";\n"

static int load(struct place *p, struct phx_config *cfg, struct phx_err *err)
{
	char path[256];
	return phx_config_load(place_path(p, "phoenix.conf", path), cfg, err);
}

static void webhooks_of_all_files_are_read(void **state)
{
	struct place *p = *state;
	struct phx_config cfg;
	struct phx_err err = {0};
	struct phx_list lines = {0};
	bool shown = false;
	place_write(p, "phoenix.conf",
		    GOOD
		    "webhooks = ( { name = \"pager\"; url = \"https://p.example.org:8/x?y=1\"; "
		    "kinds = [ \"missing\", \"quarantine\" ]; secret_file = \"/etc/s\"; "
		    "ca_file = \"/etc/ca\"; timeout_s = 5; link_local = true; } );\n");
	place_write(p, "conf.d/a.conf",
		    "webhooks = ( { name = \"chat\"; url = \"http://[::1]:80\"; } );\n");
	assert_int_equal(load(p, &cfg, &err), 0);
	assert_int_equal(cfg.webhooks.n, 2);
	const struct phx_webhook *w = cfg.webhooks.items;
	assert_string_equal(w[0].name, "pager");
	assert_string_equal(w[0].url, "https://p.example.org:8/x?y=1");
	assert_int_equal(w[0].kinds.n, 2);
	assert_string_equal(w[0].secret_file, "/etc/s");
	assert_string_equal(w[0].ca_file, "/etc/ca");
	assert_int_equal(w[0].timeout_s, 5);
	assert_true(w[0].link_local);
	assert_int_equal(w[1].timeout_s, 30);
	assert_false(w[1].link_local);
	assert_int_equal(w[1].kinds.n, 0);
	assert_non_null(strstr(cfg.file, "/phoenix.conf"));
	assert_int_equal(phx_config_show(&cfg, &lines), 0);
	PHX_LIST_EACH(struct phx_config_line, l, &lines)
		if (!strcmp(l->key, "webhooks.pager")) {
			shown = true;
			assert_string_equal(l->value,
					    "url=https://p.example.org:8/x?y=1 "
					    "timeout_s=5 kinds=missing,quarantine");
			assert_non_null(strstr(l->origin, "phoenix.conf:3"));
		}
	assert_true(shown);
	phx_list_fini(&lines);
	phx_config_fini(&cfg);
}

static void what_is_wrong_has_its_line(void **state)
{
	static const struct {
		const char *text, *says;
	} rows[] = {
		{"{ url = \"https://x\"; }", "name"},
		{"{ name = \"a\"; }", "url"},
		{"{ name = \"a b\"; url = \"https://x\"; }", "name"},
		{"{ name = \"a\"; url = \"ftp://host/x\"; }", "must begin with https://HOST"},
		{"{ name = \"a\"; url = \"file:///etc/passwd\"; }", "must begin with https://HOST"},
		{"{ name = \"a\"; url = \"https:///x\"; }", "must begin with https://HOST"},
		{"{ name = \"a\"; url = \"https://me:word@host/\"; }", "must name no user"},
		{"{ name = \"a\"; url = \"https://host/a b\"; }", "no blank"},
		{"{ name = \"a\"; url = \"https://x\"; kinds = [ \"vanished\" ]; }",
		 "'vanished' is no kind of event"},
		{"{ name = \"a\"; url = \"https://x\"; secret_file = \"s\"; }",
		 "secret_file must be a whole path"},
		{"{ name = \"a\"; url = \"https://x\"; ca_file = \"s\"; }",
		 "ca_file must be a whole path"},
		{"{ name = \"a\"; url = \"https://x\"; timeout_s = 0; }", "timeout_s"},
		{"{ name = \"a\"; url = \"https://x\"; secret = \"word\"; }", "secret"},
		{"{ name = \"a\"; url = \"https://x\"; }, { name = \"a\"; url = \"https://y\"; }",
		 "webhook 'a' is already at"},
	};
	struct place *p = *state;
	(void)state;
	for (size_t i = 0; i < PHX_ARRAY_SIZE(rows); i++) {
		char text[600];
		struct phx_config cfg;
		struct phx_err err = {0};
		snprintf(text, sizeof(text), GOOD "webhooks = ( %s );\n", rows[i].text);
		place_write(p, "phoenix.conf", text);
		assert_int_equal(load(p, &cfg, &err), -EINVAL);
		if (!strstr(err.text, rows[i].says) || !strstr(err.text, "phoenix.conf:3"))
			fail_msg("%s: %s", rows[i].text, err.text);
	}
}

static void there_are_not_too_many(void **state)
{
	struct place *p = *state;
	struct phx_config cfg;
	struct phx_err err = {0};
	PHX_AUTO(phx_buf_fini) struct phx_buf b = {0};
	phx_buf_addf(&b, GOOD "webhooks = (\n");
	for (int i = 0; i <= PHX_WEBHOOKS_MAX; i++)
		phx_buf_addf(&b, "%s{ name = \"w%d\"; url = \"https://x\"; }\n", i ? "," : "", i);
	phx_buf_addf(&b, ");\n");
	place_write(p, "phoenix.conf", b.data);
	assert_int_equal(load(p, &cfg, &err), -EINVAL);
	assert_non_null(strstr(err.text, "16 webhooks at most"));
}

static void programs_are_never_root(void **state)
{
	struct place *p = *state;
	struct phx_config cfg;
	struct phx_err err = {0};
	place_write(p, "phoenix.conf", GOOD "event_user = \"root\";\n");
	assert_int_equal(load(p, &cfg, &err), -EINVAL);
	assert_non_null(strstr(err.text, "phoenix.conf:3: event_user must not be root"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(webhooks_of_all_files_are_read, place_make,
						place_remove),
		cmocka_unit_test_setup_teardown(what_is_wrong_has_its_line, place_make,
						place_remove),
		cmocka_unit_test_setup_teardown(there_are_not_too_many, place_make, place_remove),
		cmocka_unit_test_setup_teardown(programs_are_never_root, place_make, place_remove),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
