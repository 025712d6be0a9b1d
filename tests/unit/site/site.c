/* Settings of a site: what is refused, and with which words; the bundle of a node; variables; keys;
 * what differs between two versions. */
#include "unit/site/help.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/file.h"
#include "site/diff.h"
#include "site/effective.h"
#include "types/node.h"

#define KEY "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIPTqSxsfFCUgR0C8hQb5L0iJMDbwXn8SxGz9Kj2mN7w4"
#define USER(more) "{\"name\": \"ada\", \"uid\": 5001, \"shell\": \"/bin/bash\"" more "}"
#define OTHER(more) "{\"name\": \"bob\", \"uid\": 5002, \"shell\": \"/bin/bash\"" more "}"
#define FILE_OF(path, more) \
	"{\"path\": \"" path "\", \"owner\": \"root\", \"group\": \"root\", \"mode\": \"0644\", " \
	"\"place\": \"P\"" more "}"
#define USERS(list) "{\"users\": [" list "]}"
#define HOST(name) "{\"ntp\": [{\"text\": \"" name "\"}]}"
#define LABEL "abcdefghijklmnopqrstuvwxyz-abcdefghijklmnopqrstuvwxyz-123456789" /* 63 characters */
#define FILES(list) "{\"files\": [" list "]}"

/* ---- what is wrong ---- */

static const struct wrong settings[] = {
	{"{}", NULL},
	{USERS(USER("")), NULL},
	{USERS(USER(", \"keys\": [{\"text\": \"" KEY " ada@desk\"}]")), NULL},
	{USERS(USER("") "," USER("")), "user ada is there twice"},
	{USERS("{\"name\": \"bob\", \"uid\": 5001, \"shell\": \"/bin/sh\"}," USER("")),
	 "user ada has the uid 5001 of user bob"},
	{USERS("{\"name\": \"x\", \"uid\": 999, \"shell\": \"/bin/sh\"}"), "uid 999 is the system"},
	{USERS("{\"name\": \"x\", \"uid\": 61184, \"shell\": \"/bin/sh\"}"), "uid 61184 is"},
	{USERS("{\"name\": \"root\", \"uid\": 0, \"shell\": \"/bin/sh\"}"), "uid 0 is"},
	{USERS("{\"name\": \"ALL\", \"uid\": 5000, \"shell\": \"/bin/sh\"}"), "a small letter"},
	{USERS("{\"name\": \"a b\", \"uid\": 5000, \"shell\": \"/bin/sh\"}"), "no name of an"},
	{USERS("{\"name\": \"x\", \"uid\": 5000, \"shell\": \"sh\"}"), "shell 'sh'"},
	{USERS(USER(", \"group\": \"ops\"")), "there is no group 'ops'"},
	{USERS(USER(", \"groups\": [{\"text\": \"ops\"}]")), "there is no group 'ops'"},
	{USERS(USER(", \"sudo_rules\": [{\"text\": \"ALL=(ALL) ALL \\\\\"}]")), "the sudo rule"},
	{USERS(USER(", \"sudo_rules\": [{\"text\": \"a=b\\nbob ALL=ALL\"}]")), "the sudo rule"},
	{USERS(USER(", \"labels\": [{\"text\": \"rack\"}]")), "'rack' is no label"},
	{USERS(USER(", \"nodes\": [{\"text\": \"n[\"}]")), "nodes \"n[\""},
	{USERS(USER(", \"keys\": [{\"text\": \"no-pty " KEY "\"}]")), "key 1 begins with 'no-pty'"},
	{"{\"root_keys\": [{\"text\": \"x\"}]}", "users.conf: user root: key 1 begins"},
	{"{\"groups\": [{\"name\": \"ops\", \"gid\": 4}]}", "group ops: gid 4"},
	{"{\"groups\": [{\"name\": \"ada\", \"gid\": 5000}], \"users\": [" USER("") "]}",
	 "has a group of his own"},
	{"{\"groups\": [{\"name\": \"a\", \"gid\": 5000}, {\"name\": \"b\", \"gid\": 5000}]}",
	 "group b has the gid 5000 of group a"},
	{"{\"domain\": \"a b\"}", "domain 'a b'"},
	{"{\"ntp\": [{\"text\": \"a;b\"}]}", "ntp 'a;b'"},
	{HOST("-x"), "ntp '-x' is neither"},
	{HOST("x-"), "ntp 'x-' is neither"},
	{HOST("a.-x.org"), "ntp 'a.-x.org' is neither"},
	{HOST("a-.org"), "ntp 'a-.org' is neither"},
	{HOST("a..org"), "ntp 'a..org' is neither"},
	{HOST(".org"), "ntp '.org' is neither"},
	{HOST("."), "ntp '.' is neither"},
	{HOST(""), "ntp '' is neither"},
	{HOST("a_b.org"), "ntp 'a_b.org' is neither"},
	{HOST("x:y"), "ntp 'x:y' is neither"},
	{HOST(LABEL "x.org"), "x.org' is neither"},
	{HOST(LABEL "." LABEL "." LABEL "." LABEL), "is neither"},
	{HOST("a"), NULL},
	{HOST("3com.a--b.org"), NULL},
	{HOST("a-1.org."), NULL},
	{HOST(LABEL ".org"), NULL},
	{HOST("10.1.0.1"), NULL},
	{HOST("fd00::1"), NULL},
	{HOST("::ffff:10.1.0.1"), NULL},
	{"{\"domain\": \"-x\"}", "domain '-x' is no name of a domain"},
	{"{\"domain\": \"a.org\"}", NULL},
	{"{\"forward_dns\": true}", "forward_dns needs serve_names"},
	{"{\"forward_dns\": true, \"serve_names\": true}", NULL},
	{FILES(FILE_OF("/etc/motd", "")), NULL},
	{FILES(FILE_OF("/etc/../root/x", "")), "must be an absolute path"},
	{FILES(FILE_OF("/etc//x", "")), "must be an absolute path"},
	{FILES(FILE_OF("etc/x", "")), "must be an absolute path"},
	{FILES(FILE_OF("/etc/shadow", "")), "no file may be put to /etc/shadow"},
	{FILES(FILE_OF("/etc/ssh/phoenix/bob", "")), "keys come from users.conf"},
	{FILES(FILE_OF("/etc/phoenix/agent.conf", "")), "the agent's files"},
	{FILES(FILE_OF("/etc/sudoers.d/phoenix", "")), "made of users.conf"},
	{FILES(FILE_OF("/etc/x", ", \"text\": \"a\\n@NODE@ @NO@\"")), "P:2: @NO@ is no variable"},
	{FILES(FILE_OF("/etc/x", ", \"scope\": \"role\"")), "'' is no name of a profile, role"},
	{FILES("{\"path\": \"/x\", \"owner\": \"zoe\", \"group\": \"root\", \"mode\": \"0644\"}"),
	 "owner 'zoe'"},
	{FILES("{\"path\": \"/x\", \"owner\": \"0\", \"group\": \"root\", \"mode\": \"4755\"}"),
	 "mode '4755'"},
	{FILES("{\"path\": \"/x\", \"owner\": \"0\", \"group\": \"root\", \"mode\": \"0666\"}"),
	 "mode '0666'"},
	{FILES("{\"path\": \"/x\", \"owner\": \"0\", \"group\": \"7\", \"mode\": \"0644\", "
	       "\"secret\": true}"),
	 "is secret"},
};

static void what_is_wrong_is_said(void **state)
{
	(void)state;
	for (size_t i = 0; i < PHX_ARRAY_SIZE(settings); i++)
		check_wrong(&settings[i]);
}

/* All of it, and not the first alone. */
static void all_that_is_wrong_is_said(void **state)
{
	PHX_AUTO(phx_buf_fini) struct phx_buf said = {0};
	struct phx_site s;
	(void)state;
	parse("{\"domain\": \"a b\", \"users\": [" USER("") "," USER(
		      ", \"group\": \"no\", \"keys\": [{\"text\": \"x\"}]") "], \"files\": "
									    "[" FILE_OF("x",
											", "
											"\"text\""
											": "
											"\"@NO@"
											"\"") "]"
											      "}",
	      &s);
	assert_int_equal(phx_site_check(&s, add_line, &said), 6);
	phx_record_fini(&phx_site_record, &s);
}

static void a_key_is_whole_and_of_its_type(void **state)
{
	static const char *const wrong[] = {
		"",
		"ssh-ed25519",
		"ssh-ed25519 ",
		"ssh-ed25519 AAAA",
		"ssh-rsa AAAAC3NzaC1lZDI1NTE5AAAAIPTqSxsfFCUgR0C8hQb5L0iJMDbwXn8SxGz9Kj2mN7w4",
		"ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIPTqSxsfFCUgR0C8hQb5L0iJMDbwXn8SxGz9Kj2mN7w",
		"ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAA*PTqSxsfFCUgR0C8hQb5L0iJMDbwXn8SxGz9Kj2mN7w4",
		"ssh-dss AAAAB3NzaC1kc3M=",
		"cert-authority " KEY,
		KEY "\nssh-rsa AAAA",
	};
	(void)state;
	assert_int_equal(phx_site_key_check(KEY, NULL), 0);
	assert_int_equal(phx_site_key_check(KEY " ada at her desk", NULL), 0);
	for (size_t i = 0; i < PHX_ARRAY_SIZE(wrong); i++)
		if (phx_site_key_check(wrong[i], NULL) != -EINVAL)
			fail_msg("'%s' is taken for a key", wrong[i]);
}

/* ---- bundles ---- */

/* The settings of a file beside this one, with one text in place of another; NULL: as they are. */
static void load(const char *name, const char *from, const char *put, struct phx_site *ret)
{
	PHX_AUTO(phx_buf_fini) struct phx_buf made = {0};
	PHX_AUTO_FREE char *path = phx_path(TEST_DIR "/unit/site/%s.json", name);
	PHX_AUTO_FREE char *text = NULL;
	assert_int_equal(phx_file_read(path, 1 << 16, &text, NULL, NULL), 0);
	const char *at = from ? strstr(text, from) : text + strlen(text);
	assert_non_null(at);
	phx_buf_addf(&made, "%.*s%s%s", (int)(at - text), text, from ? put : "",
		     from ? at + strlen(from) : "");
	parse(made.data, ret);
}

static void render(const struct phx_site *s, const char *name, const char *role, const char *label,
		   struct phx_site_bundle *ret)
{
	struct phx_list labels = {0};
	struct phx_label *l = phx_list_push(&labels, sizeof(*l));
	PHX_STR_SET(l->key, "rack");
	PHX_STR_SET(l->value, label);
	const struct phx_site_node n = {name, "10.0.0.9", role, "pool", NULL, &labels};
	struct phx_site_index *ix;
	assert_int_equal(phx_site_index_new(s, &ix), 0);
	assert_int_equal(phx_site_render(ix, &n, ret, NULL), 0);
	phx_site_index_free(ix);
	assert_int_not_equal(ret->id, 0);
	phx_list_fini(&labels);
}

/* "" when the node has no such file. */
static const char *text_of(const struct phx_site_bundle *b, const char *path)
{
	PHX_LIST_EACH(struct phx_site_out, f, &b->files)
		if (!strcmp(f->path, path))
			return phx_text(f->text);
	return "";
}

static bool has_user(const struct phx_site_bundle *b, const char *name)
{
	PHX_LIST_EACH(struct phx_account, a, &b->accounts.list)
		if (!strcmp(a->name, name))
			return true;
	return false;
}

static void a_node_has_what_is_for_it(void **state)
{
	static const struct {
		const char *name, *role, *label;
		bool bob;
		const char *motd, *key;
	} nodes[] = {
		{"n1", "", "1", false, "mine", ""},
		{"n1", "web", "1", true, "mine", ""},
		{"n2", "", "1", false, "n2 10.0.0.9  pool example.org a@b x@y", "secret"},
		{"n3", "web", "1", true, "web", ""},
		{"n3", "batch", "3", true, "n3 10.0.0.9 batch pool example.org a@b x@y", ""},
		{"n7", "batch", "1", true, "n7 10.0.0.9 batch pool example.org a@b x@y", ""},
		{"n9", "webs", "33", false, "n9 10.0.0.9 webs pool example.org a@b x@y", ""},
	};
	struct phx_site s;
	(void)state;
	load("whole", NULL, NULL, &s);
	assert_int_equal(phx_site_check(&s, add_line, &(struct phx_buf){0}), 0);
	for (size_t i = 0; i < PHX_ARRAY_SIZE(nodes); i++) {
		struct phx_site_bundle b;
		struct phx_err err = {0};
		render(&s, nodes[i].name, nodes[i].role, nodes[i].label, &b);
		assert_int_equal(phx_accounts_check(&b.accounts, &err), 0);
		assert_true(has_user(&b, "ada"));
		assert_int_equal(has_user(&b, "bob"), nodes[i].bob);
		assert_string_equal(text_of(&b, "/etc/motd"), nodes[i].motd);
		assert_string_equal(text_of(&b, "/etc/key"), nodes[i].key);
		assert_string_equal(text_of(&b, "/etc/ssh/phoenix/ada"), KEY "\n");
		assert_string_equal(text_of(&b, "/etc/ssh/phoenix/root"), KEY " root\n");
		assert_string_equal(text_of(&b, "/etc/chrony/sources.d/phoenix.sources"),
				    "server t1 iburst\n");
		assert_string_equal(text_of(&b, "/etc/sudoers.d/phoenix"),
				    nodes[i].bob ? "ada ALL=(ALL:ALL) NOPASSWD: ALL\n"
						   "bob ALL=(root) NOPASSWD: /bin/id\n"
						 : "ada ALL=(ALL:ALL) NOPASSWD: ALL\n");
		phx_record_fini(&phx_site_bundle_record, &b);
	}
	phx_record_fini(&phx_site_record, &s);
}

/* What people who have keys may do; and sshd lets in nobody else. */
static void who_has_a_key_logs_in(void **state)
{
	struct phx_site s;
	struct phx_site_bundle b;
	static const char sshd[] = "/etc/ssh/sshd_config.d/00-phoenix.conf";
	(void)state;
	load("whole", NULL, NULL, &s);
	render(&s, "n1", "web", "1", &b);
	assert_non_null(strstr(text_of(&b, sshd), "AllowUsers root\nAllowUsers ada\n"));
	assert_null(strstr(text_of(&b, sshd), "bob")); /* he has no key */
	phx_record_fini(&phx_site_bundle_record, &b);
	phx_record_fini(&phx_site_record, &s);
	parse(USERS(USER(", \"locked\": true, \"sudo\": true, \"keys\": [{\"text\": \"" KEY
			 "\"}]")),
	      &s);
	render(&s, "n1", "web", "1", &b);
	assert_non_null(strstr(text_of(&b, sshd), "DenyUsers *\n"));
	assert_string_equal(text_of(&b, "/etc/ssh/phoenix/ada"), "");
	assert_string_equal(text_of(&b, "/etc/sudoers.d/phoenix"), "");
	assert_string_equal(PHX_LIST_AT(&b.accounts.list, struct phx_account, 0)->shell,
			    PHX_SITE_NOLOGIN);
	phx_record_fini(&phx_site_bundle_record, &b);
	phx_record_fini(&phx_site_record, &s);
}

static void owners_are_numbers(void **state)
{
	struct phx_site s;
	struct phx_site_bundle b;
	(void)state;
	load("whole", NULL, NULL, &s);
	render(&s, "n2", "", "1", &b);
	const struct phx_site_out *f = NULL;
	PHX_LIST_EACH(struct phx_site_out, o, &b.files)
		f = !strcmp(o->path, "/etc/key") ? o : f;
	assert_non_null(f);
	assert_int_equal(f->uid, 5002);
	assert_int_equal(f->gid, 5000);
	assert_int_equal(f->mode, 0440);
	phx_record_fini(&phx_site_bundle_record, &b);
	phx_record_fini(&phx_site_record, &s);
}

/* With each thing that a node gets, and with nothing else; and nobody can tell from it what a
 * secret is. */
static void an_id_is_that_of_its_bundle(void **state)
{
	static const struct {
		const char *from, *to;
		bool same; /* for n1 */
	} changes[] = {
		{"\"secret\"}", "\"other\"}", true},
		{"mine", "thine", false},
		{"\"s\"", "\"t\"", false},
		{"/bin/id", "/bin/ls", true},
		{"t1", "t2", false},
		{"0440", "0400", true},
	};
	struct phx_site s;
	struct phx_site_bundle b, again;
	(void)state;
	load("whole", NULL, NULL, &s);
	render(&s, "n1", "", "1", &b);
	for (size_t i = 0; i < PHX_ARRAY_SIZE(changes); i++) {
		struct phx_site other;
		load("whole", changes[i].from, changes[i].to, &other);
		render(&other, "n1", "", "1", &again);
		if ((again.id == b.id) != changes[i].same)
			fail_msg("%s: its id is %s", changes[i].to,
				 changes[i].same ? "another" : "the same");
		phx_record_fini(&phx_site_bundle_record, &again);
		phx_record_fini(&phx_site_record, &other);
	}
	phx_record_fini(&phx_site_bundle_record, &b);
	phx_record_fini(&phx_site_record, &s);
}

/* ---- what changes ---- */

static void changes_are_told_without_content(void **state)
{
	PHX_AUTO(phx_buf_fini) struct phx_buf said = {0};
	struct phx_site from, to;
	(void)state;
	load("from", NULL, NULL, &from);
	load("to", NULL, NULL, &to);
	assert_int_equal(phx_site_diff(&from, &to, add_line, &said), 7);
	assert_string_equal(said.data,
			    "setting domain: changed\n"
			    "group ops: removed\n"
			    "user bob: removed\n"
			    "user ada: changed: sudo\n"
			    "user eve: added\n"
			    "file /etc/a (all): changed: text\n"
			    "file /etc/a (role web): added\n");
	assert_int_equal(phx_site_diff(&to, &to, add_line, &said), 0);
	phx_record_fini(&phx_site_record, &from);
	phx_record_fini(&phx_site_record, &to);
}

#define CLASSES USER(", \"labels\": [{\"text\": \"a=1\"}, {\"text\": \"class=x\"}]")
#define VAULT FILE_OF("/etc/a", ", \"scope\": \"label\", \"of\": \"vault=yes\"")
#define WEB FILE_OF("/etc/b", ", \"scope\": \"role\", \"of\": \"web\"")

/* Of a user's labels and of those of files, by whole keys. */
static void labels_that_count_are_known(void **state)
{
	struct phx_site s;
	(void)state;
	parse("{\"users\": [" CLASSES "], \"files\": [" VAULT "," WEB "]}", &s);
	static const char *const count[] = {"a", "class", "vault"};
	static const char *const others[] = {"", "clas", "classx", "vaul", "x", "web"};
	for (size_t i = 0; i < PHX_ARRAY_SIZE(count); i++)
		assert_true(phx_site_goes_by_label(&s, count[i]));
	for (size_t i = 0; i < PHX_ARRAY_SIZE(others); i++)
		assert_false(phx_site_goes_by_label(&s, others[i]));
	phx_record_fini(&phx_site_record, &s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_wrong_is_said),
		cmocka_unit_test(all_that_is_wrong_is_said),
		cmocka_unit_test(a_key_is_whole_and_of_its_type),
		cmocka_unit_test(a_node_has_what_is_for_it),
		cmocka_unit_test(who_has_a_key_logs_in),
		cmocka_unit_test(owners_are_numbers),
		cmocka_unit_test(an_id_is_that_of_its_bundle),
		cmocka_unit_test(changes_are_told_without_content),
		cmocka_unit_test(labels_that_count_are_known),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
