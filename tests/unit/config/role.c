/* Role files and rules.conf: what is read, what is looked up, what is refused and where. */
#include "unit/config/help.h"

#include "config/role.h"

/* A repository and an image store that know little. */
static int fake_image(void *arg, const char *name, const char *version,
		      char ret_version[PHX_NAME_MAX], char ret_digest[65],
		      char ret_kernel[PHX_RELEASE_MAX], struct phx_err *err)
{
	(void)arg;
	if (!strcmp(name, "broken"))
		return phx_err_set(err, -EBADMSG, "root.ext4.zst is cut short");
	if (strcmp(name, "debian-12") || (version && strcmp(version, "1") && strcmp(version, "2")))
		return phx_err_set(err, -ENOENT, "not here");
	snprintf(ret_version, PHX_NAME_MAX, "%s", version ? version : "2");
	memset(ret_digest, 'a', 64);
	ret_digest[64] = '\0';
	snprintf(ret_kernel, PHX_RELEASE_MAX, "6.1.0-%s", ret_version);
	return 0;
}

static int fake_package(void *arg, const char *name, const char *version,
			struct phx_package_ref *ret, struct phx_err *err)
{
	(void)arg;
	bool known = !strcmp(name, "web-nginx") || !strcmp(name, "tools-2");
	if (!known || (version && strcmp(version, "1.0") && strcmp(version, "1.0-3")))
		return phx_err_set(err, -ENOENT, "not here");
	PHX_STR_SET(ret->name, name);
	PHX_STR_SET(ret->version, version ? version : "9");
	memset(ret->sha256, 'b', 64);
	ret->size_bytes = 77;
	return 0;
}

static int fake_pool(void *arg, const char *name, struct phx_err *err)
{
	(void)arg;
	return strcmp(name, "web") ? phx_err_set(err, -ENOENT, "not here") : 0;
}

static int fake_kernel(void *arg, const char *image, const char *version, const char *release,
		       struct phx_err *err)
{
	(void)arg;
	if (strcmp(image, "debian-12") || strcmp(version, "2") || strcmp(release, "6.1.0-rt"))
		return phx_err_set(err, -ENOENT, "not here");
	return 0;
}

static const struct phx_role_lookup fake_lookup = {NULL, fake_image, fake_package, fake_pool,
						   fake_kernel};

#define HEAD "pool = \"web\";\nimage = \"debian-12\";\n"
#define SERVICE "services = ( { name = \"n\"; package = \"web-nginx\"; exec = [ \"bin/n\" ];"

static int load(struct place *p, const char *text, struct phx_role *role, struct phx_err *err)
{
	char path[256];
	place_write(p, "web.conf", text);
	return phx_role_load(place_path(p, "web.conf", path), &fake_lookup, role, err);
}

static void test_web(void **state)
{
	struct phx_role role;
	struct phx_err err = {0};
	assert_int_equal(load(*state,
			      HEAD "web = { address = \"10.0.0.250\"; cpu_milli = 100; };\n", &role,
			      &err),
			 0);
	assert_string_equal(role.web.address, "10.0.0.250");
	assert_int_equal(role.web.port, 80);
	assert_string_equal(role.web.scheduler, "wlc");
	assert_int_equal(role.web.cpu_milli, 100);
	phx_record_fini(&phx_role_record, &role);
	assert_int_equal(load(*state, HEAD "director = true;\n", &role, &err), 0);
	assert_true(role.director);
	assert_int_equal(role.web.port, 0);
	phx_record_fini(&phx_role_record, &role);
}

static void test_a_whole_role(void **state)
{
	struct place *p = *state;
	struct phx_role role;
	struct phx_err err = {0};
	int r = load(
		p,
		HEAD
		"summary = \"pages\";\nboot = \"ram\";\nruns_jobs = true;\ndrain_grace = \"2m\";\n"
		"packages = [ \"web-nginx-1.0\", \"tools-2\" ];\n"
		"services = (\n { name = \"db\"; package = \"tools-2\"; exec = [ \"bin/db\", "
		"\"-x\" ]; user = \"www\"; "
		"restart = false; "
		"stop_grace = 7; env = [ \"A=1\" ]; },\n"
		" { name = \"nginx\"; package = \"web-nginx\"; exec = ( \"bin/nginx\" ); after = [ "
		"\"db\" ]; } );\n"
		"health = { kind = \"http\"; target = \"http://127.0.0.1/\"; interval = \"9s\"; "
		"failures = 4; };\n"
		"ports = [ 80, 443 ];\nleave = { remove = [ \"/var/lib/web\" ]; };\n",
		&role, &err);
	assert_string_equal(err.text, "");
	assert_int_equal(r, 0);
	assert_string_equal(role.name, "web");
	assert_int_equal(role.boot, PHX_ROLE_BOOT_RAM);
	assert_true(role.runs_jobs);
	assert_int_equal(role.drain_grace_s, 120);
	assert_string_equal(role.image_version, "2");
	assert_int_equal(role.image_digest[63], 'a');
	const struct phx_package_ref *refs = role.packages.items;
	assert_int_equal(role.packages.n, 2);
	assert_string_equal(refs[0].name, "web-nginx");
	assert_string_equal(refs[0].version, "1.0");
	assert_string_equal(refs[1].name, "tools-2");
	assert_string_equal(refs[1].version, "9");
	assert_int_equal(refs[1].size_bytes, 77);
	const struct phx_service *s = role.services.items;
	assert_int_equal(role.services.n, 2);
	assert_false(s[0].restart);
	assert_int_equal(s[0].stop_grace_s, 7);
	assert_int_equal(s[0].argv.n, 2);
	assert_string_equal(s[0].user, "www");
	assert_true(s[1].restart);
	assert_int_equal(s[1].stop_grace_s, 10);
	assert_string_equal(PHX_LIST_AT(&s[1].after, struct phx_word, 0)->text, "db");
	assert_int_equal(role.health.kind, PHX_HEALTH_HTTP);
	assert_int_equal(role.health.interval_s, 9);
	assert_int_equal(role.health.timeout_s, 2);
	assert_int_equal(role.health.failures, 4);
	assert_string_equal(PHX_LIST_AT(&role.ports, struct phx_word, 1)->text, "443");
	assert_string_equal(PHX_LIST_AT(&role.leave_remove, struct phx_word, 0)->text,
			    "/var/lib/web");
	phx_record_fini(&phx_role_record, &role);
}

/* Where nothing asks whether it works, a service must go on running for a second. */
static void test_settle(void **state)
{
	static const struct {
		const char *service, *rest;
		uint32_t settle_s;
	} cases[] = {
		{"", "", 1},
		{"", "health = { kind = \"none\"; };\n", 1},
		{"", "health = { kind = \"tcp\"; target = \"127.0.0.1:80\"; };\n", 0},
		{"settle = \"5s\"; ", "health = { kind = \"tcp\"; target = \"127.0.0.1:80\"; };\n",
		 5},
		{"settle = 0; ", "", 0},
		{"settle = \"1m\"; ", "", 60},
	};
	for (size_t i = 0; i < PHX_ARRAY_SIZE(cases); i++) {
		struct phx_role role;
		char text[400];
		snprintf(text, sizeof(text),
			 HEAD "services = ( { name = \"a\"; exec = [ \"/a\" ]; %s} );\n%s",
			 cases[i].service, cases[i].rest);
		assert_int_equal(load(*state, text, &role, NULL), 0);
		assert_int_equal(PHX_LIST_AT(&role.services, struct phx_service, 0)->settle_s,
				 cases[i].settle_s);
		phx_record_fini(&phx_role_record, &role);
	}
}

static void test_package_names_with_dashes(void **state)
{
	struct place *p = *state;
	struct phx_role role;
	struct phx_err err = {0};
	assert_int_equal(load(p, HEAD "packages = [ \"web-nginx-1.0-3\" ];\n", &role, &err), 0);
	assert_string_equal(PHX_LIST_AT(&role.packages, struct phx_package_ref, 0)->name,
			    "web-nginx");
	assert_string_equal(PHX_LIST_AT(&role.packages, struct phx_package_ref, 0)->version,
			    "1.0-3");
	phx_record_fini(&phx_role_record, &role);
}

static void test_an_image_version_of_its_own(void **state)
{
	struct place *p = *state;
	struct phx_role role;
	struct phx_err err = {0};
	assert_int_equal(load(p, HEAD "image_version = \"1\";\n", &role, &err), 0);
	assert_string_equal(role.image_version, "1");
	phx_record_fini(&phx_role_record, &role);
	assert_int_equal(load(p, HEAD "image_version = \"3\";\n", &role, &err), -ENOENT);
	assert_contains(err.text, "web.conf:3: image 'debian-12 3' does not exist");
}

static void test_a_kernel_of_its_own(void **state)
{
	struct place *p = *state;
	struct phx_role role;
	struct phx_err err = {0};
	assert_int_equal(load(p, HEAD, &role, &err), 0);
	assert_string_equal(role.image_kernel, "6.1.0-2");
	phx_record_fini(&phx_role_record, &role);
	assert_int_equal(load(p, HEAD "kernel = \"6.1.0-rt\";\n", &role, &err), 0);
	assert_string_equal(role.image_kernel, "6.1.0-rt");
	phx_record_fini(&phx_role_record, &role);
}

static const struct bad {
	const char *text;
	int code;
	const char *place, *says;
} bads[] = {
	{"pool = \"web\";\nimage = \"debian-13\";\n", -ENOENT, "web.conf:2",
	 "image 'debian-13' does not exist"},
	{"pool = \"web\";\nimage = \"broken\";\n", -EBADMSG, "web.conf:2",
	 "root.ext4.zst is cut short"},
	{"pool = \"wab\";\nimage = \"debian-12\";\n", -ENOENT, "web.conf:1",
	 "pool 'wab' does not exist"},
	{HEAD "packages = [ \"web-nginx\",\n\"web-apache\" ];\n", -ENOENT, "web.conf:4",
	 "package 'web-apache' does not exist"},
	{HEAD "image_version = \"1\";\nkernel = \"6.1.0-rt\";\n", -ENOENT, "web.conf:4",
	 "kernel '6.1.0-rt of image debian-12 1' does not exist"},
	{HEAD "kernel = \"../6\";\n", -EINVAL, "web.conf:3", "release '../6'"},
	{HEAD "packages = [ \"web-nginx-7.0\" ];\n", -ENOENT, "web.conf:3",
	 "package 'web-nginx-7.0' does not exist"},
	{HEAD "packages = \"web-nginx\";\n", -EINVAL, "web.conf:3", "must be a list of names"},
	{HEAD "packages = [ \"../x\" ];\n", -EINVAL, "web.conf:3", "is no name"},
	{"pool = \"web\";\n", -EINVAL, "web.conf", "image is missing"},
	{"image = \"debian-12\";\n", -EINVAL, "web.conf", "pool is missing"},
	{HEAD "imgae = \"x\";\n", -EINVAL, "web.conf:3",
	 "unknown key 'imgae'; known here: summary, pool, boot, image"},
	{HEAD "boot = \"floppy\";\n", -EINVAL, "web.conf:3", "disk, ram"},
	{HEAD "runs_jobs = \"yes\";\n", -EINVAL, "web.conf:3", "it must be true or false"},
	{HEAD "drain_grace = \"soon\";\n", -EINVAL, "web.conf:3", "must be a time from"},
	{HEAD "packages = [ \"web-nginx\" ];\n" SERVICE
	      " } , { name = \"n\"; package = \"web-nginx\"; exec = [ \"x\" ]; } );\n",
	 -EINVAL, "web.conf", "service 'n' is there twice"},
	{HEAD SERVICE " } );\n", -ENOENT, "web.conf:3",
	 "'web-nginx' is not among the role's packages"},
	{HEAD "packages = [ \"web-nginx\" ];\n" SERVICE " \nafter = [ \"m\" ]; } );\n", -ENOENT,
	 "web.conf:5", "service 'm' is not in this role"},
	{HEAD "packages = [ \"web-nginx\" ];\n" SERVICE " after = [ \"n\" ]; } );\n", -ELOOP,
	 "web.conf:4", "after: service 'n' waits for itself"},
	{HEAD "services = ( { name = \"n\"; exec = [ \"bin/x\" ]; } );\n", -EINVAL, "web.conf",
	 "must be an absolute path"},
	{HEAD "services = ( { name = \"n\"; exec = [ ]; } );\n", -EINVAL, "web.conf",
	 "has no command"},
	{HEAD "services = ( { name = \"n\"; exec = \"bin/n\"; } );\n", -EINVAL, "web.conf:3",
	 "it must be a list of texts"},
	{HEAD "services = ( { exec = [ \"/n\" ]; } );\n", -EINVAL, "web.conf:3", "name is missing"},
	{HEAD "services = ( { name = \"n\";\n exce = [ \"/n\" ]; } );\n", -EINVAL, "web.conf:4",
	 "unknown key 'exce'"},
	{HEAD "director = true; web = { cpu_milli = 100; };\n", -EINVAL, "web.conf",
	 "cannot be an instance"},
	{HEAD "web = { address = \"10.0.0.1\"; port = 0; };\n", -EINVAL, "web.conf:3", "port is 0"},
	{HEAD "web = { address = \"10.0.0.1\"; cpu_milli = 9; };\n", -EINVAL, "web.conf:3",
	 "cpu_milli is 9"},
	{HEAD "web = { address = \"example\"; };\n", -EINVAL, "web.conf",
	 "must be an IPv4 address"},
	{HEAD "web = { address = \"10.0.0.1\"; scheduler = \"best\"; };\n", -EINVAL, "web.conf",
	 "wlc"},
	{HEAD "fence = \"power\";\n", -EINVAL, "web.conf:3: fence", "only a director"},
	{HEAD "services = (\n { name = \"a\"; exec = [ \"/a\" ]; },\n { name = \"b\"; exec = [ "
	      "\"b\" ]; } );\n",
	 -EINVAL, "web.conf:5: service 'b'", "must be an absolute path"},
	{HEAD "health = { kind = \"http\"; };\n", -EINVAL, "web.conf:3: health.target",
	 "must begin with http://"},
	{HEAD "health = { kind = \"exec\"; };\n", -EINVAL, "web.conf:3: health.exec",
	 "needs a command"},
	{HEAD "web = { address = \"10.0.0.1\"; scheduler = \"x\"; };\n", -EINVAL, "web.conf:3: web",
	 "must be one of rr"},
	{HEAD "director = true;\nweb = { address = \"10.0.0.1\"; };\n", -EINVAL,
	 "web.conf:3: director", "cannot be an instance"},
	{HEAD "director = true; fence = \"sword\";\n", -EINVAL, "web.conf:3", "no fence"},
	{HEAD "director = true; web = { address = \"10.0.0.1\"; };\n", -EINVAL, "web.conf",
	 "cannot be an instance"},
	{HEAD "health = { kind = \"ping\"; };\n", -EINVAL, "web.conf:3", "none, http, tcp, exec"},
	{HEAD "health = { kind = \"http\"; target = \"ftp://x\"; };\n", -EINVAL, "web.conf",
	 "must begin with http://"},
	{HEAD "health = { kind = \"http\"; failures = 0; };\n", -EINVAL, "web.conf:3",
	 "failures is 0"},
	{HEAD "health = { kind = \"tcp\"; target = \"127.0.0.1:99999\"; };\n", -EINVAL,
	 "web.conf:3: ", "port '99999' must be a number"},
	{HEAD "health = { kind = \"tcp\"; target = \"[::1]\"; };\n", -EINVAL,
	 "web.conf:3: ", "'[::1]' must be ADDRESS:PORT"},
	{HEAD "health = { kind = \"http\";\ntarget = \"http://a:0/x\"; };\n", -EINVAL,
	 "web.conf:4: ", "port '0' must be a number"},
	{HEAD "ports = [ 99999 ];\n", -EINVAL, "web.conf:3: ports is 99999", "from 1 to 65535"},
	{HEAD "ports = [ 0 ];\n", -EINVAL, "web.conf:3", "from 1 to 65535"},
	{HEAD "ports = [ \"80\" ];\n", -EINVAL, "web.conf:3", "ports"},
	{HEAD "ports = 80;\n", -EINVAL, "web.conf:3", "must be an array of numbers"},
	{HEAD "leave = { remove = [ \"/var/lib/web\",\n\"/etc\" ]; };\n", -EINVAL, "web.conf:4",
	 "leave.remove: '/etc' must be a plain path below"},
	{HEAD "leave = { remove = [ \"/var/lib/../../etc\" ]; };\n", -EINVAL, "web.conf",
	 "must be a plain path below"},
	{HEAD "leave = { delete = [ \"/var/lib/x\" ]; };\n", -EINVAL, "web.conf:3",
	 "unknown key 'delete'; known here: remove"},
	{HEAD
	 "layout = ( { name = \"a\"; type = \"swap\"; },\n{ name = \"b\"; type = \"ext4\"; } );\n",
	 -EINVAL, "web.conf:4: layout: volume 'b'", "mount is missing"},
	{HEAD "layout = ( { name = \"a\"; type = \"zfs\"; } );\n", -EINVAL, "web.conf:3: type",
	 "ext4, xfs, swap"},
	{HEAD "layout = ( { name = \"a\"; type = \"swap\"; disks = [ \"sda\" ]; } );\n", -EINVAL,
	 "web.conf:3: layout: volume 'a'", "disks: \"sda\" must be KEY=VALUE"},
	{HEAD "boot = \"ram\";\nlayout = ( { name = \"a\"; type = \"swap\"; } );\n", -EINVAL,
	 "web.conf:4: layout", "needs boot = \"disk\""},
	{HEAD "this is no configuration\n", -EINVAL, "web.conf:3", "syntax error"},
};

static void test_bad_roles_are_refused(void **state)
{
	struct place *p = *state;
	for (size_t i = 0; i < PHX_ARRAY_SIZE(bads); i++) {
		struct phx_role role;
		struct phx_err err = {0};
		memset(&role, 0x5a, sizeof(role));
		int r = load(p, bads[i].text, &role, &err);
		if (r != bads[i].code)
			fail_msg("row %zu: %d \"%s\"", i, r, err.text);
		assert_contains(err.text, bads[i].place);
		assert_contains(err.text, bads[i].says);
		assert_int_equal(role.name[0], 0x5a);
	}
}

static void test_names_of_files(void **state)
{
	struct place *p = *state;
	struct phx_role role;
	struct phx_err err = {0};
	char path[256];
	place_write(p, "a b.conf", HEAD);
	assert_int_equal(phx_role_load(place_path(p, "a b.conf", path), NULL, &role, &err),
			 -EINVAL);
	assert_contains(err.text, "'a b' is no name for a role");
	phx_err_clear(&err);
	place_write(p, "web", HEAD);
	assert_int_equal(phx_role_load(place_path(p, "web", path), NULL, &role, &err), -EINVAL);
	assert_contains(err.text, "NAME.conf");
	phx_err_clear(&err);
	assert_int_equal(phx_role_load(place_path(p, "no.conf", path), NULL, &role, &err), -ENOENT);
	assert_contains(err.text, "no.conf: No such file");
}

static void test_a_bad_role_does_not_hide_the_others(void **state)
{
	struct place *p = *state;
	struct phx_list roles, bad;
	struct phx_err err = {0};
	place_write(p, "c.conf", HEAD);
	place_write(p, "a.conf", HEAD);
	place_write(p, "b.conf", HEAD "x = 1;\n");
	place_write(p, "rules.conf", "rules = ();\n");
	place_write(p, "README", "text\n");
	assert_int_equal(phx_roles_load(p->dir, &fake_lookup, &roles, &bad, &err), 0);
	assert_int_equal(roles.n, 2);
	assert_string_equal(PHX_LIST_AT(&roles, struct phx_role, 0)->name, "a");
	assert_string_equal(PHX_LIST_AT(&roles, struct phx_role, 1)->name, "c");
	assert_int_equal(bad.n, 1);
	assert_contains(PHX_LIST_AT(&bad, struct phx_role_bad, 0)->file, "b.conf");
	assert_contains(PHX_LIST_AT(&bad, struct phx_role_bad, 0)->reason,
			"b.conf:3: unknown key 'x'");
	phx_roles_fini(&roles);
	phx_list_fini(&bad);
	assert_int_equal(phx_roles_load(p->dir, &fake_lookup, &roles, NULL, &err), -EINVAL);
	phx_err_clear(&err);
	assert_int_equal(phx_roles_load("/nonexistent/roles", &fake_lookup, &roles, &bad, &err),
			 -ENOENT);
}

/* ---- rules ---- */

static int load_rules(struct place *p, const char *text, const struct phx_list *roles,
		      struct phx_list *rules, struct phx_err *err)
{
	char path[256];
	place_write(p, "rules.conf", text);
	return phx_rules_load(place_path(p, "rules.conf", path), roles, rules, err);
}

static void test_rules_are_read_and_match(void **state)
{
	struct place *p = *state;
	struct phx_list rules;
	struct phx_err err = {0};
	char reason[400];
	int r = load_rules(
		p,
		"rules = (\n"
		" { role = \"web\"; when = [ \"memory_bytes >= 4 GiB\", \"name  ~  web*\" ]; },\n"
		" { role = \"batch\"; }\n);\n",
		NULL, &rules, &err);
	assert_string_equal(err.text, "");
	assert_int_equal(r, 0);
	assert_int_equal(rules.n, 2);
	const struct phx_rule *rule = rules.items;
	assert_int_equal(rule[0].line, 2);
	assert_int_equal(rule[1].line, 3);
	assert_int_equal(rule[0].terms.n, 2);
	assert_string_equal(PHX_LIST_AT(&rule[0].terms, struct phx_rule_term, 0)->value, "4 GiB");
	assert_int_equal(PHX_LIST_AT(&rule[0].terms, struct phx_rule_term, 1)->op, PHX_RULE_MATCH);
	struct phx_facts facts = {.memory_bytes = 8ULL << 30};
	assert_int_equal(phx_rules_match(&rules, "web7", &facts, reason, sizeof(reason)), 0);
	assert_contains(reason, "2");
	assert_int_equal(phx_rules_match(&rules, "n7", &facts, reason, sizeof(reason)), 1);
	phx_rules_fini(&rules);
}

static const struct bad bad_rules[] = {
	{"rules = ( { role = \"nosuch\"; } );\n", -ENOENT, "rules.conf:1",
	 "role 'nosuch' does not exist"},
	{"rules = ( {\n when = [ ]; } );\n", -EINVAL, "rules.conf:", "role is missing"},
	{"rules = ( { role = \"web\";\n when = [ \"ram >= 4\" ]; } );\n", -EINVAL, "rules.conf:2",
	 "'ram' is no fact"},
	{"rules = ( { role = \"web\";\n when = [ \"cpus > 4\" ]; } );\n", -EINVAL, "rules.conf:2",
	 ">="},
	{"rules = ( { role = \"web\";\n when = [ \"cpus>=4\" ]; } );\n", -EINVAL, "rules.conf:2",
	 "FACT OPERATOR VALUE"},
	{"rules = ( { role = \"web\";\n when = [ \"cpus >=\" ]; } );\n", -EINVAL, "rules.conf:2",
	 "FACT OPERATOR VALUE"},
	{"rules = ( { role = \"web\";\n when = [ \"cpus >= many\" ]; } );\n", -EINVAL,
	 "rules.conf:2", "'cpus' is a number"},
	{"rules = ( { role = \"web\";\n when = \"cpus >= 1\"; } );\n", -EINVAL, "rules.conf:2",
	 "must be a list of texts"},
	{"rules = ( { role = \"web\"; if = [ ]; } );\n", -EINVAL, "rules.conf:1",
	 "unknown key 'if'; known here: role, when"},
	{"rule = ( );\n", -EINVAL, "rules.conf:1", "unknown key 'rule'; known here: rules"},
	{"rules = { };\n", -EINVAL, "rules.conf:1", "it must be a list"},
	{"", -EINVAL, "rules.conf", "rules is missing"},
};

static void test_bad_rules_are_refused(void **state)
{
	struct place *p = *state;
	struct phx_role web = {.name = "web"};
	struct phx_list roles = {&web, 1, 1};
	for (size_t i = 0; i < PHX_ARRAY_SIZE(bad_rules); i++) {
		struct phx_list rules = {NULL, 7, 7};
		struct phx_err err = {0};
		int r = load_rules(p, bad_rules[i].text, &roles, &rules, &err);
		if (r != bad_rules[i].code)
			fail_msg("row %zu: %d \"%s\"", i, r, err.text);
		assert_contains(err.text, bad_rules[i].place);
		assert_contains(err.text, bad_rules[i].says);
		assert_int_equal(rules.n, 7);
	}
}

static void test_no_rules_file_is_no_rules(void **state)
{
	struct place *p = *state;
	struct phx_list rules = {NULL, 7, 7};
	char path[256];
	assert_int_equal(phx_rules_load(place_path(p, "rules.conf", path), NULL, &rules, NULL), 0);
	assert_int_equal(rules.n, 0);
}

static void test_shipped_roles_and_rules(void **state)
{
	(void)state;
	struct phx_list roles, rules;
	struct phx_err err = {0};
	int r = phx_roles_load(TEST_DIR "/../roles", NULL, &roles, NULL, &err);
	assert_string_equal(err.text, "");
	assert_int_equal(r, 0);
	r = phx_rules_load(TEST_DIR "/../roles/rules.conf", &roles, &rules, &err);
	assert_string_equal(err.text, "");
	assert_int_equal(r, 0);
	assert_true(roles.n >= 2 && rules.n >= 2);
	phx_roles_fini(&roles);
	phx_rules_fini(&rules);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		RUN(test_a_whole_role),
		RUN(test_settle),
		RUN(test_web),
		RUN(test_package_names_with_dashes),
		RUN(test_an_image_version_of_its_own),
		RUN(test_a_kernel_of_its_own),
		RUN(test_bad_roles_are_refused),
		RUN(test_names_of_files),
		RUN(test_a_bad_role_does_not_hide_the_others),
		RUN(test_rules_are_read_and_match),
		RUN(test_bad_rules_are_refused),
		RUN(test_no_rules_file_is_no_rules),
		cmocka_unit_test(test_shipped_roles_and_rules),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
