/* What machines boot from follows the state (cmd/phxd/net.c): host files and names of nodes, what
 * dnsmasq is told of each change, and in which order it starts. Files are real, below a directory
 * of the test; the engine, the launcher and the settings of the site are fakes. */
#include <dirent.h>

#include "base/tree.h"
#include "fake/submitted.h"

#define phx_pki_ca_pem(pki) ((void)(pki), "the CAs\n")
#define phx_pki_site_pub_pem(pki) ((void)(pki), "the key of the site\n")
#include "phxd/net.c" /* a part of a program, not of the library */

static struct daemon d;
static struct phx_state s;
static struct phx_buf to_launcher; /* to the launcher */
static int fake_result;            /* of the launcher */
static bool fake_serves_names;
static const char *wrong_of; /* the node whose domain is none */
static char dir[64];

static unsigned count_files(const char *of)
{
	PHX_AUTO_FREE char *path = phx_path("%s/dnsmasq/%s", dir, of);
	DIR *at = opendir(path);
	unsigned n = 0;
	for (const struct dirent *e; at && (e = readdir(at));)
		n += e->d_name[0] != '.';
	if (at)
		closedir(at);
	return n;
}

static int tells(const char *what, uint32_t n, struct phx_err *err)
{
	assert_false(fake_engine_held); /* it waits for the launcher */
	phx_buf_addf(&to_launcher, "%s %u with %u hosts;", what, n, count_files("hosts"));
	return fake_result < 0 ? phx_err_set(err, fake_result, "the launcher says no") : 0;
}
int launch_hosts(struct launch *l, uint32_t n, bool again, struct phx_err *err)
{
	(void)l;
	return tells(again ? "again" : "hosts", n, err);
}
int launch_boot(struct launch *l, uint32_t n, struct phx_err *err)
{
	(void)l;
	return tells("boot", n, err);
}
void site_tell_networks(struct daemon *of, uint32_t n)
{
	assert_ptr_equal(of, &d);
	tells("networks", n, NULL);
}
bool site_name(struct daemon *of, const struct phx_node *n, struct phx_dhcp_name *ret)
{
	assert_ptr_equal(of, &d);
	assert_true(fake_engine_held);
	*ret = (struct phx_dhcp_name){0};
	PHX_STR_SET(ret->domain, strcmp(n->name, wrong_of) ? "example.org" : "no domain");
	PHX_STR_SET(ret->name, n->name);
	PHX_STR_SET(ret->ip, n->ip);
	return fake_serves_names && n->ip[0];
}
bool site_serves(struct daemon *of, const char *address, char ret_domain[128])
{
	assert_ptr_equal(of, &d);
	assert_true(fake_engine_held);
	phx_str_copy(ret_domain, 128, strcmp(address, "10.0.9.1") ? "example.org" : "far.org");
	return fake_serves_names;
}

/* ---- the state ---- */

static struct phx_node *add_node(const char *name, const char *mac, const char *ip)
{
	struct phx_node *n = phx_list_push(&s.nodes, sizeof(*n));
	PHX_STR_SET(n->name, name);
	PHX_STR_SET(n->ip, ip);
	n->number = s.nodes.n;
	if (mac)
		PHX_STR_SET(
			((struct phx_mac *)phx_list_push(&n->macs, sizeof(struct phx_mac)))->mac,
			mac);
	return n;
}

static struct phx_node *node(uint32_t i)
{
	return PHX_LIST_AT(&s.nodes, struct phx_node, i);
}

static void set_mac(uint32_t i, const char *mac)
{
	PHX_STR_SET(PHX_LIST_AT(&node(i)->macs, struct phx_mac, 0)->mac, mac);
}

#define MAC(n) "52:54:00:00:00:0" #n

static int setup(void **state)
{
	(void)state;
	fake_engine_begin();
	strcpy(dir, "/tmp/phx-net.XXXXXX");
	if (!mkdtemp(dir) || phx_state_init(&s) < 0)
		return -1;
	fake_state = &s;
	fake_result = 0;
	fake_serves_names = true;
	wrong_of = "";
	to_launcher = (struct phx_buf){0};
	d = (struct daemon){.cfg.dhcp_mode = PHX_DHCP_SERVE};
	PHX_STR_SET(d.cfg.run_dir, dir);
	add_node("n1", MAC(1), "10.0.0.1");
	add_node("n2", MAC(2), "");
	add_node("n3", NULL, "10.0.0.3"); /* no card of it is known */
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	fake_engine_is_free();
	phx_state_fini(&s);
	phx_buf_fini(&to_launcher);
	return phx_dir_remove(dir, NULL);
}

static void assert_told(const char *want)
{
	assert_string_equal(to_launcher.n ? to_launcher.data : "", want);
	phx_buf_fini(&to_launcher);
	to_launcher = (struct phx_buf){0};
}

static void begin(void)
{
	struct phx_err err = {0};
	assert_int_equal(net_start(&d, &err), 0);
	phx_buf_fini(&to_launcher);
	to_launcher = (struct phx_buf){0};
}

static char *content(const char *file)
{
	PHX_AUTO_FREE char *path = phx_path("%s/dnsmasq/%s", dir, file);
	char *text = NULL;
	return phx_file_read(path, 4096, &text, NULL, NULL) < 0 ? NULL : text;
}

static void assert_holds(const char *file, const char *word)
{
	PHX_AUTO_FREE char *text = content(file);
	if (!text || !strstr(text, word))
		fail_msg("%s: \"%s\" does not hold \"%s\"", file, text ? text : "-", word);
}

static void assert_none(const char *file)
{
	PHX_AUTO_FREE char *text = content(file);
	assert_null(text);
}

/* ---- the start ---- */

/* A machine that asks before its host file is there would get an address out of the range. */
static void files_are_there_before_dnsmasq_starts(void **state)
{
	struct phx_err err = {0};
	(void)state;
	assert_int_equal(net_start(&d, &err), 0);
	assert_told("networks 3 with 2 hosts;boot 3 with 2 hosts;");
	assert_holds("hosts/n1", MAC(1));
	assert_holds("hosts/n1", "10.0.0.1");
	assert_holds("hosts/n2", MAC(2));
	assert_none("hosts/n3");
	assert_holds("names/n1", "10.0.0.1");
	assert_none("names/n2"); /* it has no address of its own */
	fake_result = -ENOENT;
	assert_int_equal(net_start(&d, &err), -ENOENT);
}

/* What cannot be right for one node must not keep all others from booting. */
static void a_start_with_hosts_that_do_not_fit_goes_on(void **state)
{
	struct phx_err err = {0};
	(void)state;
	set_mac(1, MAC(1));
	assert_int_equal(net_start(&d, &err), 0);
	assert_told("networks 3 with 0 hosts;boot 3 with 0 hosts;");
}

static void where_another_serves_dhcp_nothing_is_written(void **state)
{
	static const enum phx_dhcp_mode modes[] = {PHX_DHCP_PROXY, PHX_DHCP_NONE};
	struct phx_err err = {0};
	(void)state;
	for (size_t i = 0; i < PHX_ARRAY_SIZE(modes); i++) {
		d.cfg.dhcp_mode = modes[i];
		assert_int_equal(net_sync_host(&d, "n1"), PHX_DHCP_SAME);
		net_sync_names(&d);
		net_hosts_changed(&d, PHX_DHCP_SIGHUP);
		assert_told("");
		/* but it may be started, for TFTP */
		assert_int_equal(net_start(&d, &err), 0);
		assert_told("networks 3 with 0 hosts;boot 3 with 0 hosts;");
		assert_int_equal(count_files("names"), 0);
	}
}

/* ---- changes ---- */

static void a_host_file_follows_its_node(void **state)
{
	(void)state;
	begin();
	assert_int_equal(net_sync_host(&d, "n1"), PHX_DHCP_SAME);
	PHX_STR_SET(node(0)->ip, "10.0.0.9");
	assert_int_equal(net_sync_host(&d, "n1"), PHX_DHCP_SIGHUP);
	assert_holds("hosts/n1", "10.0.0.9");
	assert_holds("names/n1", "10.0.0.9");
	assert_int_equal(net_sync_host(&d, "n1"), PHX_DHCP_SAME);
	add_node("n4", MAC(4), "10.0.0.4");
	assert_int_equal(net_sync_host(&d, "n4"), PHX_DHCP_LIVE);
	assert_holds("hosts/n4", MAC(4));
	assert_holds("names/n4", "10.0.0.4");
	/* it is removed, or all of its cards are */
	PHX_STR_SET(node(3)->name, "n5");
	assert_int_equal(net_sync_host(&d, "n4"), PHX_DHCP_SIGHUP);
	assert_none("hosts/n4");
	assert_none("names/n4");
	phx_list_fini(&node(1)->macs);
	assert_int_equal(net_sync_host(&d, "n2"), PHX_DHCP_SIGHUP);
	assert_none("hosts/n2");
	assert_told(""); /* the caller tells it, once for all of them */
}

/* Files of both are wrong then, and only one of them was named. */
static void a_card_that_goes_to_another_node_changes_both(void **state)
{
	(void)state;
	begin();
	set_mac(0, MAC(2));
	set_mac(1, MAC(1));
	assert_int_equal(net_sync_host(&d, "n1"), PHX_DHCP_SIGHUP);
	assert_holds("hosts/n1", MAC(2));
	assert_holds("hosts/n2", MAC(1));
}

static void what_does_not_fit_leaves_all_as_it_was(void **state)
{
	(void)state;
	begin();
	set_mac(1, MAC(1));
	assert_int_equal(net_sync_host(&d, "n2"), PHX_DHCP_SAME);
	assert_holds("hosts/n2", MAC(2));
	set_mac(1, "no card");
	assert_int_equal(net_sync_host(&d, "n2"), PHX_DHCP_SAME);
	assert_holds("hosts/n2", MAC(2));
	assert_int_equal(net_sync_host(&d, "../n2"), PHX_DHCP_SAME);
}

static void names_follow_the_settings(void **state)
{
	(void)state;
	begin();
	assert_int_equal(count_files("names"), 2);
	PHX_STR_SET(node(1)->ip, "10.0.0.2");
	net_sync_names(&d);
	assert_int_equal(count_files("names"), 3);
	fake_serves_names = false;
	net_sync_names(&d);
	assert_int_equal(count_files("names"), 0);
	assert_int_equal(count_files("hosts"), 2);
}

static void a_name_that_cannot_be_written_keeps_no_address(void **state)
{
	(void)state;
	PHX_STR_SET(node(1)->ip, "10.0.0.2");
	begin();
	wrong_of = "n1";
	PHX_STR_SET(node(0)->ip, "10.0.0.9");
	PHX_STR_SET(node(1)->ip, "10.0.0.8");
	assert_int_equal(net_sync_host(&d, "n1"), PHX_DHCP_SIGHUP);
	assert_holds("hosts/n1", "10.0.0.9");
	assert_holds("names/n1", "10.0.0.1"); /* as it was */
	net_sync_names(&d);
	assert_holds("names/n2", "10.0.0.8");
	assert_holds("names/n1", "10.0.0.1");
	wrong_of = "";
	assert_int_equal(net_sync_host(&d, "n1"), PHX_DHCP_SAME);
	assert_holds("names/n1", "10.0.0.9");
}

static void dnsmasq_reads_all_again_only_where_it_must(void **state)
{
	(void)state;
	begin();
	/* also where nothing has changed: its limits follow from the number of nodes */
	net_hosts_changed(&d, PHX_DHCP_SAME);
	net_hosts_changed(&d, PHX_DHCP_LIVE);
	net_hosts_changed(&d, PHX_DHCP_SIGHUP);
	assert_told("hosts 3 with 2 hosts;hosts 3 with 2 hosts;again 3 with 2 hosts;");
	fake_result = -EPIPE; /* it is told on standard error, and the head goes on */
	net_hosts_changed(&d, PHX_DHCP_SIGHUP);
	assert_told("again 3 with 2 hosts;");
}

/* ---- what a deploy environment has of its site ---- */

static void the_site_is_in_its_archive(void **state)
{
	struct phx_err err = {0};
	PHX_AUTO_FREE char *path = phx_path("%s/site.cpio", dir);
	(void)state;
	for (int signs = 0; signs < 2; signs++) {
		PHX_AUTO_FREE char *text = NULL;
		size_t n = 0;
		d.cfg.images_signed = signs;
		assert_int_equal(net_site_files(&d, "keys of packages\n", &err), 0);
		assert_int_equal(phx_file_read(path, 1 << 16, &text, &n, NULL), 0);
		assert_non_null(memmem(text, n, "the CAs\n", 8));
		assert_non_null(memmem(text, n, "the key of the site\n", 20));
		assert_non_null(memmem(text, n, "keys of packages\n", 17));
		assert_int_equal(memmem(text, n, "images.signed", 13) != NULL, signs);
	}
	PHX_STR_SET(d.cfg.run_dir, "/nowhere");
	assert_true(net_site_files(&d, "", &err) < 0);
	assert_true(err.text[0]);
}

/* An active web RE is named for its addresses, unless a node has that name. */
static void a_service_is_named_for_its_addresses(void **state)
{
	static const struct {
		const char *name, *address, *addresses;
		bool active;
		int type;
	} rows[] = {
		{"shop", "", "10.0.9.1 10.0.9.2", true, PHX_RE_WEB},
		{"news", "10.0.8.1", "", true, PHX_RE_WEB},
		{"role", "", "", true, PHX_RE_WEB},
		{"past", "10.0.8.2", "", false, PHX_RE_WEB},
		{"jobs", "10.0.8.3", "", true, PHX_RE_BATCH},
		{"n1", "10.0.8.4", "", true, PHX_RE_WEB},
	};
	(void)state;
	for (size_t i = 0; i < PHX_ARRAY_SIZE(rows); i++) {
		struct phx_re *re = phx_list_push(&s.res, sizeof(*re));
		phx_agreement_init(&re->agreement);
		PHX_STR_SET(re->name, rows[i].name);
		PHX_STR_SET(re->agreement.address, rows[i].address);
		PHX_STR_SET(re->agreement.addresses, rows[i].addresses);
		re->agreement.type = rows[i].type;
		re->active = rows[i].active;
	}
	net_sync_names(&d);
	assert_int_equal(count_files("services"), 2);
	assert_holds("services/shop", "10.0.9.1 shop.far.org shop\n10.0.9.2 shop.far.org shop\n");
	assert_holds("services/news", "10.0.8.1 news.example.org news\n");
	fake_serves_names = false;
	net_sync_services(&d);
	assert_int_equal(count_files("services"), 0);
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(files_are_there_before_dnsmasq_starts),
		TEST(a_start_with_hosts_that_do_not_fit_goes_on),
		TEST(where_another_serves_dhcp_nothing_is_written),
		TEST(a_host_file_follows_its_node),
		TEST(a_card_that_goes_to_another_node_changes_both),
		TEST(what_does_not_fit_leaves_all_as_it_was),
		TEST(names_follow_the_settings),
		TEST(a_name_that_cannot_be_written_keeps_no_address),
		TEST(a_service_is_named_for_its_addresses),
		TEST(dnsmasq_reads_all_again_only_where_it_must),
		TEST(the_site_is_in_its_archive),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
