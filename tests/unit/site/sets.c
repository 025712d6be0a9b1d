/* Profiles and groups of nodes: what is refused, with which words and place; what counts for a
 * node, and where it is written; files of the kernel, mounts, names and logs; variables that a
 * node lacks. */
#include "unit/site/help.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/file.h"
#include "site/diff.h"
#include "site/effective.h"
#include "types/node.h"

#define WORD(text, line) "{\"name\": \"" text "\", \"text\": \"" text "\", \"line\": " #line "}"
#define PAIR(name, text, line) \
	"{\"name\": \"" name "\", \"text\": \"" text "\", \"line\": " #line "}"
#define PROFILE(name, more) "{\"name\": \"" name "\", \"place\": \"d/p.conf:1\"" more "}"
#define GROUP(nodes, more) "{\"nodes\": \"" nodes "\", \"place\": \"d/n.conf:1\"" more "}"
#define NODES(list) "{\"nodes\": [" list "]}"
#define MOUNT(what, where, options, line) \
	"{\"what\": \"" what "\", \"where\": \"" where "\", \"type\": \"nfs\", \"options\": " \
	"\"" options "\", \"line\": " #line "}"

#define SYSLOG(text) NODES(GROUP("n1", ", \"syslog\": [" WORD(text, 4) "]"))

static const struct wrong settings[] = {
	{NODES(GROUP("n[1-3]", "")), NULL},
	{NODES(GROUP("n[1-", "")), "d/n.conf:1: nodes \"n[1-\""},
	{NODES(GROUP("", "")), "d/n.conf:1: nodes is missing"},
	{NODES(GROUP("n1", ", \"name\": \"x\"")), "has no name"},
	{NODES(GROUP("n1", ", \"profiles\": [" WORD("a", 7) "]")),
	 "d/n.conf:7: profile 'a' is not"},
	{"{\"profiles\": [" PROFILE("a", "") "," PROFILE("a", "") "]}", "profile a is there twice"},
	{"{\"profiles\": [" PROFILE("a b", "") "]}", "'a b' is no name of a profile"},
	{"{\"profiles\": [" PROFILE("a", ", \"nodes\": \"n1\"") "]}", "belong to groups"},
	{"{\"profiles\": [" PROFILE("a", "") "], \"nodes\": [" GROUP(
		 "n1", ", \"profiles\": [" WORD("a", 2) "," WORD("a", 3) "]") "]}",
	 "d/n.conf:3: profile 'a' is there twice"},
	{NODES(GROUP("n1", ", \"variables\": [" PAIR("NODE", "x", 4) "]")),
	 "d/n.conf:4: variables 'NODE'"},
	{NODES(GROUP("n1", ", \"variables\": [" PAIR("a", "x", 4) "]")), "of capitals"},
	{NODES(GROUP("n1", ", \"variables\": [" PAIR("A", "x", 4) "," PAIR("A", "y", 5) "]")),
	 "d/n.conf:5: variables 'A' is there twice"},
	{NODES(GROUP("n1", ", \"sysctl\": [" PAIR("vm.swappiness", "10", 4) "]")), NULL},
	{NODES(GROUP("n1", ", \"sysctl\": [" PAIR("vm.x", "1\\nvm.y = 2", 4) "]")),
	 "d/n.conf:4: sysctl 'vm.x' has a control character"},
	{NODES(GROUP("n1", ", \"sysctl\": [" PAIR("swappiness", "10", 4) "]")),
	 "sysctl 'swappiness'"},
	{NODES(GROUP("n1", ", \"sysctl\": [" PAIR("../x", "10", 4) "]")), "sysctl '../x'"},
	{NODES(GROUP("n1", ", \"sysctl\": [" PAIR("vm.x", "", 4) "]")), "has no value"},
	{NODES(GROUP("n1", ", \"kernel_args\": [" PAIR("root", "root=/dev/x", 4) "]")),
	 "by the head"},
	{NODES(GROUP("n1", ", \"kernel_args\": [" PAIR("phx.server", "phx.server=x", 4) "]")),
	 "by the head"},
	{NODES(GROUP("n1", ", \"kernel_args\": [" PAIR("a", "a=${x}", 4) "]")), "must be one word"},
	{NODES(GROUP("n1", ", \"modules\": [" WORD("a b", 4) "]")), "no name of a module"},
	{NODES(GROUP(
		 "n1",
		 ", \"modules\": [" WORD("ib", 4) "], \"modules_blocked\": [" WORD("ib", 5) "]")),
	 "d/n.conf:5: modules_blocked 'ib' is one of modules"},
	{NODES(GROUP("n1", ", \"dns\": [" WORD("ns1", 4) "]")), "is no address"},
	{NODES(GROUP("n1",
		     ", \"dns\": [" WORD("1.1.1.1", 4) "," WORD("1.1.1.2", 4) "," WORD(
			     "1.1.1.3", 4) "," WORD("1.1.1.4", 9) "]")),
	 "d/n.conf:9: dns '1.1.1.4' is the fourth"},
	{NODES(GROUP("n1", ", \"ntp\": [" WORD("a;b", 4) "]")), "ntp 'a;b'"},
	{NODES(GROUP("n1", ", \"search\": [" WORD("-x", 4) "]")), "search '-x' is neither"},
	{SYSLOG("log-1.org"), NULL},
	{SYSLOG("log:6514"), NULL},
	{SYSLOG("udp:10.1.0.1:514"), NULL},
	{SYSLOG("udp:fd00::1"), NULL},
	{SYSLOG("-x"), "syslog '-x' is neither"},
	{SYSLOG("udp:-x:514"), "syslog 'udp:-x:514' is neither"},
	{SYSLOG("udp:"), "syslog 'udp:' is neither"},
	{SYSLOG("tcp:log"), "syslog 'tcp:log' must be as \"loghost\""},
	{SYSLOG("log:0"), "syslog 'log:0' must be as"},
	{SYSLOG("log:65536"), "syslog 'log:65536' must be as"},
	{SYSLOG("log:514:x"), "syslog 'log:514:x' must be as"},
	{NODES(GROUP("n1",
		     ", \"mounts\": [" MOUNT("nfs:/a", "/a", "", 4) "," MOUNT("nfs:/b", "/a", "",
									      5) "]")),
	 "d/n.conf:5: mounts '/a' is mounted twice"},
	{NODES(GROUP("n1", ", \"mounts\": [" MOUNT("nfs:/a", "/a/../b", "", 4) "]")),
	 "must be an absolute"},
	{NODES(GROUP("n1", ", \"mounts\": [" MOUNT("nfs:/a", "/a/", "", 4) "]")),
	 "must be an absolute"},
	{NODES(GROUP("n1", ", \"mounts\": [" MOUNT("nfs:/a", "/a", "ro noexec", 4) "]")),
	 "has blanks or"},
	{"{\"files\": [{\"path\": \"/x\", \"owner\": \"root\", \"group\": \"root\", \"mode\": "
	 "\"0644\", "
	 "\"scope\": \"profile\", \"of\": \"a\", \"place\": \"P\"}]}",
	 "P: there is no profile 'a'"},
	{"{\"files\": [{\"path\": \"/x\", \"owner\": \"root\", \"group\": \"root\", \"mode\": "
	 "\"0644\", "
	 "\"scope\": \"label\", \"of\": \"a\", \"place\": \"P\"}]}",
	 "P: 'a' is no name of a label"},
};

static void what_is_wrong_is_said(void **state)
{
	(void)state;
	for (size_t i = 0; i < PHX_ARRAY_SIZE(settings); i++)
		check_wrong(&settings[i]);
}

/* ---- what counts ---- */

/* sets.json: lines are where things would be written in d/p.conf and d/n.conf */
static void load(struct phx_site *ret)
{
	PHX_AUTO_FREE char *text = NULL;
	assert_int_equal(phx_file_read(TEST_DIR "/unit/site/sets.json", 1 << 16, &text, NULL, NULL),
			 0);
	parse(text, ret);
}

static void add_origin(void *arg, const char *key, const char *name, const char *text,
		       const char *place)
{
	phx_buf_addf(arg, "%s %s %s %s\n", key, name, text, place);
}

/* All profiles in their order, then the node's own; later wins, per key. */
static void later_wins_per_key(void **state)
{
	PHX_AUTO(phx_buf_fini) struct phx_buf b = {0};
	struct phx_site s;
	struct phx_site_index *ix;
	(void)state;
	load(&s);
	assert_int_equal(phx_site_check(&s, add_line, &b), 0);
	assert_int_equal(phx_site_index_new(&s, &ix), 0);
	assert_int_equal(phx_site_origins(ix, "n2", add_origin, &b), 0);
	assert_string_equal(b.data,
			    "profile base  d/p.conf:1\n"
			    "profile gpu  d/p.conf:1\n"
			    "nodes n[1-9]  d/n.conf:1\n"
			    "nodes n[2-3]  d/n.conf:1\n"
			    "variables A base d/p.conf:2\n"
			    "variables B gpu d/p.conf:8\n"
			    "variables C few d/n.conf:5\n"
			    "sysctl vm.x 1 d/p.conf:4\n"
			    "kernel_args quiet quiet d/p.conf:6\n"
			    "kernel_args hugepages hugepages=64 d/p.conf:10\n"
			    "modules nv nv d/p.conf:9\n"
			    "modules_blocked nouveau nouveau d/p.conf:9\n"
			    "dns 10.9.9.9 10.9.9.9 d/n.conf:6\n"
			    "search a.org a.org d/p.conf:5\n"
			    "syslog log log d/p.conf:11\n"
			    "syslog udp:log2 udp:log2 d/p.conf:11\n"
			    "mounts /home other:/home d/n.conf:7\n"
			    "mounts /data/s-1 x:/s-1 d/n.conf:8\n");
	PHX_AUTO_FREE char *args = phx_site_kernel_args(ix, "n2");
	PHX_AUTO_FREE char *none = phx_site_kernel_args(ix, "m1");
	assert_string_equal(args, "quiet hugepages=64");
	assert_string_equal(none, "");
	phx_site_index_free(ix);
	phx_record_fini(&phx_site_record, &s);
}

static void render(const struct phx_site *s, const char *node, const char *rack,
		   struct phx_site_bundle *ret, struct phx_err *lacks)
{
	struct phx_list labels = {0};
	struct phx_label *l = phx_list_push(&labels, sizeof(*l));
	PHX_STR_SET(l->key, "rack");
	PHX_STR_SET(l->value, rack);
	const struct phx_site_node n = {node, "10.0.0.9", "role", "pool", NULL, &labels};
	struct phx_site_index *ix;
	assert_int_equal(phx_site_index_new(s, &ix), 0);
	assert_int_equal(phx_site_render(ix, &n, ret, lacks), 0);
	phx_site_index_free(ix);
	phx_list_fini(&labels);
}

/* NULL when the node has no such file. */
static const char *text_of(const struct phx_site_bundle *b, const char *path)
{
	PHX_LIST_EACH(struct phx_site_out, f, &b->files)
		if (!strcmp(f->path, path))
			return phx_text(f->text);
	return NULL;
}

#define MADE "# made by phx-agent from the settings of the site\n"

static void a_node_has_the_files_of_its_settings(void **state)
{
	static const struct {
		const char *path, *text;
	} files[] = {
		{"/etc/v", "base gpu few\n"},
		{"/etc/w", "gpu"}, /* gpu is its last profile, though base comes later in files */
		{"/etc/sysctl.d/90-phoenix.conf", MADE "vm.x = 1\n"},
		{"/etc/modules-load.d/phoenix-site.conf", MADE "nv\n"},
		{"/etc/modprobe.d/phoenix-site.conf",
		 MADE "blacklist nouveau\ninstall nouveau /bin/false\n"},
		{"/etc/rsyslog.d/90-phoenix.conf", MADE "*.* @@log\n*.* @log2\n"},
		{"/etc/resolv.conf", MADE "nameserver 10.9.9.9\nsearch a.org\n"},
		{"/etc/systemd/system/home.mount",
		 MADE "[Unit]\nBefore=phoenix-mounts.target\nWants=network-online.target\n"
		      "After=network-online.target\n\n[Mount]\nWhat=other:/home\nWhere=/home\n"
		      "Type=nfs\n"},
		{"/etc/systemd/system/data-s\\x2d1.mount",
		 MADE "[Unit]\nBefore=phoenix-mounts.target\nWants=network-online.target\n"
		      "After=network-online.target\n\n[Mount]\nWhat=x:/s-1\nWhere=/data/s-1\n"
		      "Type=nfs\nOptions=noexec\n"},
		{"/usr/local/lib/systemd/system/phoenix-mounts.target",
		 MADE "[Unit]\nDescription=Mounts of the site\nRequires=home.mount "
		      "data-s\\x2d1.mount\n"},
	};
	struct phx_site s;
	struct phx_site_bundle b;
	(void)state;
	load(&s);
	render(&s, "n2", "1", &b, NULL);
	for (size_t i = 0; i < PHX_ARRAY_SIZE(files); i++) {
		if (!text_of(&b, files[i].path))
			fail_msg("there is no %s", files[i].path);
		assert_string_equal(text_of(&b, files[i].path), files[i].text);
	}
	/* the last by its path: systemd knows the units when it is started */
	assert_string_equal(PHX_LIST_AT(&b.files, struct phx_site_out, b.files.n - 1)->path,
			    "/usr/local/lib/systemd/system/phoenix-mounts.target");
	phx_record_fini(&phx_site_bundle_record, &b);
	render(&s, "n2", "7", &b, NULL);
	assert_string_equal(text_of(&b, "/etc/w"), "rack");
	phx_record_fini(&phx_site_bundle_record, &b);
	phx_record_fini(&phx_site_record, &s);
}

/* ---- variables ---- */

/* Of a hundred nodes ninety have no group: the file and its line are told with all of them, and a
 * bundle of theirs lacks the file. */
static void who_lacks_a_variable_is_told(void **state)
{
	PHX_AUTO(phx_buf_fini) struct phx_buf b = {0};
	struct phx_site s;
	struct phx_site_index *ix;
	struct phx_list none = {0};
	struct phx_site_node nodes[100];
	char names[100][8];
	struct phx_site_bundle bundle;
	struct phx_err lacks = {0};
	(void)state;
	load(&s);
	for (uint32_t i = 0; i < 100; i++) {
		snprintf(names[i], sizeof(names[i]), "n%u", i);
		nodes[i] = (struct phx_site_node){names[i], "", "", "", NULL, &none};
	}
	assert_int_equal(phx_site_index_new(&s, &ix), 0);
	assert_int_equal(phx_site_check_nodes(ix, nodes, 100, add_line, &b), 1);
	assert_non_null(strstr(b.data, "files/all/etc/v:1: of n[0,10-99]: @A@ is no variable"));
	assert_int_equal(phx_site_check_nodes(ix, nodes + 1, 9, add_line, &b), 0);
	phx_site_index_free(ix);
	render(&s, "n77", "1", &bundle, &lacks);
	assert_null(text_of(&bundle, "/etc/v"));
	assert_non_null(strstr(lacks.text, "files/all/etc/v:1: @A@ is no variable"));
	phx_record_fini(&phx_site_bundle_record, &bundle);
	phx_record_fini(&phx_site_record, &s);
}

static void a_value_is_parsed_by_its_form(void **state)
{
	struct phx_site_value v = {.line = 3};
	struct phx_err err = {0};
	char text[400];
	(void)state;
	assert_int_equal(phx_site_value_parse(PHX_SITE_SPLIT, "vm.x = a=b", &v, &err), 0);
	assert_string_equal(v.name, "vm.x");
	assert_string_equal(v.text, "a=b");
	assert_int_equal(v.line, 3);
	assert_int_equal(phx_site_value_parse(PHX_SITE_WORDS, "a=b=c", &v, &err), 0);
	assert_string_equal(v.name, "a");
	assert_string_equal(v.text, "a=b=c");
	assert_int_equal(phx_site_value_parse(PHX_SITE_SPLIT, "novalue", &v, &err), -EINVAL);
	assert_int_equal(phx_site_value_parse(PHX_SITE_SPLIT, "=x", &v, &err), -EINVAL);
	memset(text, 'a', sizeof(text));
	text[sizeof(text) - 1] = '\0';
	assert_int_equal(phx_site_value_parse(PHX_SITE_WORDS, text, &v, &err), -ENAMETOOLONG);
	text[1] = '=';
	assert_int_equal(phx_site_value_parse(PHX_SITE_WORDS, text, &v, &err), -ENAMETOOLONG);
	assert_string_equal(v.text, "a=b=c");
}

/* Neither all of them nor what a node has of them is compared: that would take hours. */
static void a_list_has_an_end(void **state)
{
	PHX_AUTO(phx_buf_fini) struct phx_buf said = {0};
	struct phx_site s;
	(void)state;
	parse(NODES(GROUP("n1", ", \"modules\": [" WORD("ib", 4) "]")), &s);
	struct phx_list *l = &PHX_LIST_AT(&s.nodes, struct phx_site_set, 0)->modules;
	for (int i = 0; i < 1000; i++) {
		struct phx_site_value *v = phx_list_push(l, sizeof(*v));
		snprintf(v->name, sizeof(v->name), "m%d", i);
		PHX_STR_SET(v->text, v->name);
	}
	assert_int_equal(phx_site_check(&s, add_line, &said), 1);
	assert_string_equal(said.data,
			    "d/n.conf:1: modules: there are 1001; a set has at most 1000\n");
	phx_record_fini(&phx_site_record, &s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_wrong_is_said),
		cmocka_unit_test(later_wins_per_key),
		cmocka_unit_test(a_node_has_the_files_of_its_settings),
		cmocka_unit_test(who_lacks_a_variable_is_told),
		cmocka_unit_test(a_value_is_parsed_by_its_form),
		cmocka_unit_test(a_list_has_an_end),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
