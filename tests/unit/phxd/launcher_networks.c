/* Networks of the site at the launcher (cmd/phxd/launcher_networks.c): when dnsmasq is started
 * anew, reads its hosts again, or is left alone, and that what is refused, or cannot be written,
 * changes nothing of what is in force. (That no text of them is a line of dnsmasq.conf:
 * launcher_answer.c.) dnsmasq.conf is real; dnsmasq and whoever keeps it running are fakes. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/tree.h"
#include "deploy/child.h"

static struct phx_buf done;

static int fake_restart(struct phx_children *c, const char *name, struct phx_err *err)
{
	(void)err;
	assert_ptr_equal(c, &done);
	phx_buf_addf(&done, "restart %s;", name);
	return 0;
}

static int fake_signal(struct phx_children *c, const char *name, int sig, struct phx_err *err)
{
	(void)err;
	assert_ptr_equal(c, &done);
	phx_buf_addf(&done, "%d %s;", sig, name);
	return -ESRCH; /* it may be about to start again, and reads all then */
}

#define phx_children_restart fake_restart
#define phx_children_signal fake_signal
#include "phxd/launcher_networks.c" /* a part of a program, not of the library */

static struct phx_config cfg;
static struct launcher l;
static struct phx_err err;
static char dir[64];

static const char *path_of(const char *name)
{
	static char path[200];
	snprintf(path, sizeof(path), "%s/%s", dir, name);
	return path;
}

static int setup(void **state)
{
	(void)state;
	strcpy(dir, "/tmp/phx-networks.XXXXXX");
	if (!mkdtemp(dir))
		return -1;
	cfg = (struct phx_config){.dhcp_mode = PHX_DHCP_SERVE, .prefix = 24};
	PHX_STR_SET(cfg.run_dir, dir);
	PHX_STR_SET(cfg.state_dir, dir);
	PHX_STR_SET(cfg.address, "10.9.0.1");
	PHX_STR_SET(cfg.interface, "v0");
	PHX_STR_SET(cfg.dnsmasq, "/bin/true");
	l = (struct launcher){.cfg = &cfg, .children = (struct phx_children *)&done};
	done = (struct phx_buf){0};
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	free_networks(&l.networks);
	phx_buf_fini(&done);
	return phx_dir_remove(dir, NULL);
}

static void assert_done(const char *want)
{
	assert_string_equal(done.n ? done.data : "", want);
	phx_buf_fini(&done);
	done = (struct phx_buf){0};
}

#define ANEW "restart dnsmasq;"
#define AGAIN "1 dnsmasq;"

static char *conf(void)
{
	char *text = NULL;
	return phx_file_read(path_of("dnsmasq/dnsmasq.conf"), 1 << 16, &text, NULL, NULL) < 0
		? NULL
		: text;
}

static void assert_conf_has(const char *word, bool has)
{
	PHX_AUTO_FREE char *text = conf();
	assert_non_null(text);
	if ((strstr(text, word) != NULL) != has)
		fail_msg("%s is %s", word, has ? "not there" : "there");
}

struct sent {
	struct launch_names names;
	struct launch_network networks[2];
};

static const struct sent both = {
	.names = {.domain = "example.org"},
	.networks = {{.name = "far", .subnet = "10.2.0.0/16", .boot = 1, .relay = 1},
		     {.name = "farther", .subnet = "10.3.0.0/16", .boot = 1, .relay = 1}}};

/* The first n of these networks. */
static int ask(enum launch_op op, const struct sent *of, unsigned n, uint64_t number)
{
	struct phx_apart_reply reply = {0};
	const struct phx_apart_question q = {
		.op = op,
		.number = number,
		.body = (const char *)of,
		.n = (uint32_t)(sizeof(of->names) + n * sizeof(of->networks[0]))};
	phx_err_clear(&err);
	return op_networks(&l, &q, &reply, &err);
}

/* ---- what dnsmasq knows of the site ---- */

static void a_site_that_says_nothing_is_none(void **state)
{
	struct phx_dhcp_site site;
	(void)state;
	assert_null(launcher_site(&l, &site));
	l.names.forward_dns = 1; /* of names that nobody serves */
	assert_null(launcher_site(&l, &site));
	l.names.serve_names = 1;
	assert_ptr_equal(launcher_site(&l, &site), &site);
	assert_true(site.serve_names && site.forward_dns);
	l.names = (struct launch_names){0};
	assert_int_equal(ask(LAUNCH_networks, &both, 1, 1), 0);
	assert_ptr_equal(launcher_site(&l, &site), &site);
	assert_ptr_equal(site.networks, &l.networks);
	assert_string_equal(site.domain, "example.org");
}

/* ---- when dnsmasq starts anew ---- */

/* While it does, no machine gets an address. */
static void dnsmasq_starts_anew_only_where_its_text_changes(void **state)
{
	(void)state;
	assert_int_equal(launcher_refresh(&l, 10, false, &err), 0);
	assert_done(ANEW);
	assert_int_equal(launcher_refresh(&l, 10, false, &err), 0);
	assert_done("");
	assert_int_equal(launcher_refresh(&l, 10, true, &err), 0);
	assert_done(AGAIN);
	/* its limits are too low; then it has read its hosts, too */
	assert_int_equal(launcher_refresh(&l, 100000, true, &err), 0);
	assert_done(ANEW);
	assert_int_equal(launcher_refresh(&l, 100000, true, &err), 0);
	assert_done(AGAIN);
}

static void networks_that_are_in_force_already_change_nothing(void **state)
{
	(void)state;
	assert_int_equal(ask(LAUNCH_networks, &both, 1, 5), 0);
	assert_done(ANEW);
	assert_conf_has("10.2.0.", true);
	assert_conf_has("10.3.0.", false);
	assert_int_equal(ask(LAUNCH_networks, &both, 1, 5), 0);
	assert_done("");
	assert_int_equal(ask(LAUNCH_networks, &both, 2, 5), 0);
	assert_done(ANEW);
	assert_int_equal(l.networks.n, 2);
	assert_conf_has("10.3.0.", true);
	assert_int_equal(ask(LAUNCH_networks, &both, 0, 5), 0);
	assert_done(ANEW);
	assert_conf_has("10.2.0.", false);
}

static void where_there_is_no_dnsmasq_nothing_is_written(void **state)
{
	(void)state;
	l.children = NULL; /* not started yet: it will read what is in force */
	assert_int_equal(ask(LAUNCH_networks, &both, 1, 5), 0);
	assert_int_equal(l.networks.n, 1);
	assert_int_equal(access(path_of("dnsmasq/dnsmasq.conf"), F_OK), -1);
	l.children = (struct phx_children *)&done;
	cfg.dhcp_mode = PHX_DHCP_NONE;
	assert_int_equal(launcher_refresh(&l, 10, true, &err), 0);
	assert_int_equal(access(path_of("dnsmasq/dnsmasq.conf"), F_OK), -1);
	/* nor is it asked what it thinks of them */
	PHX_STR_SET(cfg.dnsmasq, "/bin/false");
	assert_int_equal(ask(LAUNCH_networks, &both, 0, 5), 0);
	assert_done("");
}

/* ---- what changes nothing ---- */

static void what_is_tried_is_not_in_force(void **state)
{
	(void)state;
	assert_int_equal(ask(LAUNCH_networks, &both, 1, 5), 0);
	assert_done(ANEW);
	assert_int_equal(ask(LAUNCH_networks_try, &both, 2, 5), 0);
	assert_done("");
	assert_int_equal(l.networks.n, 1);
	assert_conf_has("10.3.0.", false);
	assert_int_equal(access(path_of("dnsmasq/dnsmasq.conf.tried"), F_OK), -1);
}

static void what_is_refused_leaves_what_was_in_force(void **state)
{
	struct sent bad = both;
	(void)state;
	assert_int_equal(ask(LAUNCH_networks, &both, 1, 5), 0);
	assert_done(ANEW);
	PHX_STR_SET(bad.names.domain, "a_domain");
	assert_int_equal(ask(LAUNCH_networks, &bad, 2, 5), -EINVAL);
	assert_non_null(strstr(err.text, "domain"));
	bad = both;
	PHX_STR_SET(bad.networks[1].subnet, "10.2.3.0/24"); /* within the other */
	assert_int_equal(ask(LAUNCH_networks, &bad, 2, 5), -EINVAL);
	assert_non_null(strstr(err.text, "networks.conf"));
	bad = both;
	PHX_STR_SET(bad.networks[1].name, "far"); /* two of one name */
	assert_int_equal(ask(LAUNCH_networks, &bad, 2, 5), -EINVAL);
	bad = both;
	memset(bad.networks[1].head, 'x', sizeof(bad.networks[1].head)); /* without an end */
	assert_int_equal(ask(LAUNCH_networks, &bad, 2, 5), -EPROTO);
	PHX_STR_SET(cfg.dnsmasq, "/bin/false");
	assert_int_equal(ask(LAUNCH_networks, &both, 2, 5), -EINVAL);
	assert_non_null(strstr(err.text, "dnsmasq refuses"));
	assert_done("");
	assert_int_equal(l.networks.n, 1);
	assert_string_equal(l.names.domain, "example.org");
	assert_conf_has("10.3.0.", false);
}

/* A disk is full: the settings are in force, and dnsmasq gets them with the next change of a
 * node. */
static void what_cannot_be_written_now_is_written_later(void **state)
{
	(void)state;
	assert_int_equal(launcher_refresh(&l, 5, false, &err), 0);
	assert_done(ANEW);
	assert_int_equal(unlink(path_of("dnsmasq/dnsmasq.conf")), 0);
	assert_int_equal(mkdir(path_of("dnsmasq/dnsmasq.conf"), 0755), 0);
	assert_true(ask(LAUNCH_networks, &both, 1, 5) < 0);
	assert_non_null(strstr(err.text, "dnsmasq.conf"));
	assert_done("");
	assert_int_equal(rmdir(path_of("dnsmasq/dnsmasq.conf")), 0);
	phx_err_clear(&err);
	assert_int_equal(launcher_refresh(&l, 5, true, &err), 0);
	assert_done(ANEW);
	assert_conf_has("10.2.0.", true);
}

/* Half of such a number would be a small one. */
static void more_nodes_than_there_can_be_are_refused(void **state)
{
	static const uint64_t numbers[] = {UINT32_MAX, (1ull << 32) + 5, UINT64_MAX};
	(void)state;
	for (size_t i = 0; i < PHX_ARRAY_SIZE(numbers); i++) {
		assert_int_equal(ask(LAUNCH_networks, &both, 1, numbers[i]), -EINVAL);
		assert_non_null(strstr(err.text, "nodes"));
	}
	assert_done("");
	assert_int_equal(l.networks.n, 0);
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(a_site_that_says_nothing_is_none),
		TEST(dnsmasq_starts_anew_only_where_its_text_changes),
		TEST(networks_that_are_in_force_already_change_nothing),
		TEST(where_there_is_no_dnsmasq_nothing_is_written),
		TEST(what_is_tried_is_not_in_force),
		TEST(what_is_refused_leaves_what_was_in_force),
		TEST(what_cannot_be_written_now_is_written_later),
		TEST(more_nodes_than_there_can_be_are_refused),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
