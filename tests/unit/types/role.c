/* Roles: what is refused and with which words, the order of services, identity. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "types/role.h"

static struct phx_role role;
static struct phx_err err;

static int setup(void **state)
{
	(void)state;
	memset(&role, 0, sizeof(role));
	phx_err_clear(&err);
	PHX_STR_SET(role.name, "web");
	PHX_STR_SET(role.image, "debian-12");
	PHX_STR_SET(role.pool, "web");
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	phx_record_fini(&phx_role_record, &role);
	return 0;
}

static void add_word(struct phx_list *l, const char *text)
{
	struct phx_word *w = phx_list_push(l, sizeof(*w));
	PHX_STR_SET(w->text, text);
}

/* A service that comes after those named in `after`, a list with blanks. */
static struct phx_service *add_service(const char *name, const char *after)
{
	struct phx_service *s = phx_list_push(&role.services, sizeof(*s));
	char words[256], *next = words;
	PHX_STR_SET(s->name, name);
	add_word(&s->argv, "/usr/bin/true");
	snprintf(words, sizeof(words), "%s", after);
	for (char *word; (word = strsep(&next, " "));)
		if (*word)
			add_word(&s->after, word);
	return s;
}

static void add_package(const char *name)
{
	struct phx_package_ref *p = phx_list_push(&role.packages, sizeof(*p));
	PHX_STR_SET(p->name, name);
	PHX_STR_SET(p->version, "1.0");
}

static void refused(const char *text)
{
	phx_err_clear(&err);
	assert_int_equal(phx_role_check(&role, &err), -EINVAL);
	if (!strstr(err.text, text))
		fail_msg("'%s' does not say '%s'", err.text, text);
}

static void order_is(const char *want)
{
	uint32_t order[16];
	char got[128] = "";
	assert_int_equal(phx_role_order(&role, order, &err), 0);
	for (uint32_t i = 0; i < role.services.n; i++)
		strcat(strcat(got, i ? " " : ""),
		       PHX_LIST_AT(&role.services, struct phx_service, order[i])->name);
	assert_string_equal(got, want);
}

/* ---- order ---- */

static void as_written(void **state)
{
	(void)state;
	assert_int_equal(phx_role_order(&role, NULL, &err), 0); /* none */
	add_service("b", "");
	add_service("a", "");
	add_service("c", "");
	order_is("b a c");
}

static void dependencies_first(void **state)
{
	(void)state;
	add_service("front", "app cache");
	add_service("app", "db");
	add_service("cache", "");
	add_service("db", "disk");
	add_service("disk", "");
	order_is("disk db app cache front");
}

static void a_diamond_is_started_once(void **state)
{
	(void)state;
	add_service("top", "left right");
	add_service("left", "base");
	add_service("right", "base");
	add_service("base", "");
	order_is("base left right top");
}

static void cycles(void **state)
{
	static const char *const after[][3] = {{"a", "", ""}, {"b", "a", ""}, {"b", "c", "a"}};
	(void)state;
	for (size_t i = 0; i < PHX_ARRAY_SIZE(after); i++) {
		uint32_t order[3] = {7, 7, 7};
		setup(NULL);
		add_service("a", after[i][0]);
		add_service("b", after[i][1]);
		add_service("c", after[i][2]);
		assert_int_equal(phx_role_order(&role, order, &err), -ELOOP);
		assert_non_null(strstr(err.text, "waits for itself"));
		assert_int_equal(order[0], 7); /* untouched */
		assert_int_equal(phx_role_check(&role, &err), -ELOOP);
		teardown(NULL);
	}
	setup(NULL);
}

static void unknown_dependency(void **state)
{
	uint32_t order[2] = {7, 7};
	(void)state;
	add_service("a", "");
	add_service("b", "nosuch");
	assert_int_equal(phx_role_order(&role, order, &err), -ENOENT);
	assert_string_equal(err.text, "service 'b' comes after 'nosuch', which is not in the role");
	assert_int_equal(order[0], 7);
	assert_int_equal(phx_role_check(&role, &err), -ENOENT);
}

/* ---- check ---- */

static void a_good_role(void **state)
{
	(void)state;
	assert_int_equal(phx_role_check(&role, &err), 0);
	add_package("nginx");
	struct phx_service *s = add_service("web", "");
	PHX_STR_SET(s->package, "nginx");
	PHX_STR_SET(PHX_LIST_AT(&s->argv, struct phx_word, 0)->text, "bin/nginx");
	add_word(&role.leave_remove, "/var/lib/web");
	add_word(&role.ports, "80");
	add_word(&role.ports, "65535");
	assert_int_equal(phx_role_check(&role, &err), 0);
}

static void names(void **state)
{
	static const char *const bad[] = {"", "a/b", "..", "a b", "-x", "a..b"};
	(void)state;
	for (size_t i = 0; i < PHX_ARRAY_SIZE(bad); i++) {
		PHX_STR_SET(role.name, bad[i]);
		refused("name: '");
		PHX_STR_SET(role.name, "web");
		PHX_STR_SET(role.image, bad[i]);
		refused("image: '");
		PHX_STR_SET(role.image, "i");
		PHX_STR_SET(role.pool, bad[i]);
		refused("pool: '");
		PHX_STR_SET(role.pool, "p");
	}
}

static void services(void **state)
{
	(void)state;
	struct phx_service *s = add_service("a/b", "");
	refused("services[0].name: 'a/b' is no name");
	PHX_STR_SET(s->name, "a");
	PHX_STR_SET(PHX_LIST_AT(&s->argv, struct phx_word, 0)->text, "bin/x");
	refused("'bin/x' must be an absolute path");
	PHX_STR_SET(s->package, "nosuch");
	refused("from package 'nosuch', which the role does not list");
	PHX_STR_SET(PHX_LIST_AT(&s->argv, struct phx_word, 0)->text, "");
	refused("'a' has no command");
	phx_list_fini(&s->argv);
	refused("'a' has no command");
	add_word(&s->argv, "/bin/x");
	s->package[0] = '\0';
	add_service("a", "");
	refused("'a' is there twice");
}

static void paths_to_remove(void **state)
{
	static const char *const good[] = {"/var/lib/web", "/var/cache/x/y",
					   "/srv/www",     "/var/log/a",
					   "/etc/opt/x",   "/var/lib/phoenix-batch"};
	static const char *const bad[] = {"/",
					  "",
					  "/etc/passwd",
					  "/var/lib",
					  "/var/lib/",
					  "/var/lib/../..",
					  "/var/lib/a/../../etc",
					  "var/lib/a",
					  "/var/lib//a",
					  "/var/lib/./a",
					  "/var/lib/phoenix",
					  "/var/lib/phoenix/x",
					  "/var/lib/a/..",
					  "/srv/..",
					  "/usr/bin",
					  "/srv/.",
					  "/var/libx/a",
					  "/var/lib/a/.",
					  "/etc/opt",
					  "/var/lib/dpkg/info",
					  "/var/lib/x/",
					  "/var/log/journal"};
	(void)state;
	add_word(&role.leave_remove, "");
	struct phx_word *w = PHX_LIST_AT(&role.leave_remove, struct phx_word, 0);
	for (size_t i = 0; i < PHX_ARRAY_SIZE(good); i++) {
		PHX_STR_SET(w->text, good[i]);
		assert_int_equal(phx_role_check(&role, &err), 0);
	}
	for (size_t i = 0; i < PHX_ARRAY_SIZE(bad); i++) {
		PHX_STR_SET(w->text, bad[i]);
		phx_err_clear(&err);
		if (phx_role_check(&role, &err) != -EINVAL)
			fail_msg("'%s' may be removed", bad[i]);
		assert_non_null(strstr(err.text, "leave_remove: '"));
	}
}

static void ports(void **state)
{
	static const char *const bad[] = {"0", "65536", "-1", "http", "80 ", ""};
	(void)state;
	for (size_t i = 0; i < PHX_ARRAY_SIZE(bad); i++) {
		add_word(&role.ports, bad[i]);
		refused("ports: '");
		role.ports.n = 0;
	}
}

static void health(void **state)
{
	(void)state;
	role.health.kind = PHX_HEALTH_HTTP;
	refused("must begin with http://");
	PHX_STR_SET(role.health.target, "http://127.0.0.1/");
	assert_int_equal(phx_role_check(&role, &err), 0);
	role.health.kind = PHX_HEALTH_TCP;
	PHX_STR_SET(role.health.target, "127.0.0.1");
	refused("must be ADDRESS:PORT");
	PHX_STR_SET(role.health.target, "127.0.0.1:80");
	assert_int_equal(phx_role_check(&role, &err), 0);
	role.health.kind = PHX_HEALTH_EXEC;
	refused("needs a command");
	add_word(&role.health.argv, "/bin/true");
	assert_int_equal(phx_role_check(&role, &err), 0);
	role.health.kind = 9;
	refused("no health check");
}

/* ---- identity ---- */

static void identity_is_image_and_packages(void **state)
{
	char text[200], small[8];
	(void)state;
	PHX_STR_SET(role.image_version, "3");
	phx_role_identity(&role, text, sizeof(text));
	assert_string_equal(text, "debian-12@3");
	add_package("nginx");
	add_package("tools");
	phx_role_identity(&role, text, sizeof(text));
	assert_string_equal(text, "debian-12@3 nginx-1.0 tools-1.0");
	phx_role_identity(&role, small, sizeof(small));
	assert_string_equal(small, "debian-");
}

#define ROLE_TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		ROLE_TEST(as_written),
		ROLE_TEST(dependencies_first),
		ROLE_TEST(a_diamond_is_started_once),
		ROLE_TEST(cycles),
		ROLE_TEST(unknown_dependency),
		ROLE_TEST(a_good_role),
		ROLE_TEST(names),
		ROLE_TEST(services),
		ROLE_TEST(paths_to_remove),
		ROLE_TEST(ports),
		ROLE_TEST(health),
		ROLE_TEST(identity_is_image_and_packages),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
